"""What Helm passes over in an uninstall that it says went well: objects that it could not look at just then.

It takes them for somebody else's; once it has forgotten the release, nobody would know whose they were.
"""

from __future__ import annotations

from ..adapters.helm_release import HelmRelease
from ..errors import HelmError
from ..stack.changes import is_kept
from ..stack.facts import Ref
from ..stack.kinds import in_namespaces
from ..stack.leftovers import CRD_KIND
from ..stack.objects import ref
from ..stack.workloads import helm_release
from .act import WriteCluster, delete_members


def passed_over(cluster: WriteCluster, release: HelmRelease) -> list[Ref]:
    """Delete the objects of an uninstalled *release* that are still there and still its own; return them."""
    try:
        manifest = in_namespaces(release.manifest, release.namespace)
    except HelmError:
        # Helm itself could read it.
        return []
    left = [ref(each) for each in manifest if not is_kept(each) and ref(each).kind != CRD_KIND]
    return delete_members(cluster, [at for at in left if _stands(cluster, at, release)])


def _stands(cluster: WriteCluster, at: Ref, release: HelmRelease) -> bool:
    live = cluster.get(at.kind, at.name, at.namespace or None)
    if live is None or is_kept(live) or "deletionTimestamp" in live["metadata"]:
        return False
    return helm_release(live) == (release.namespace, release.name)
