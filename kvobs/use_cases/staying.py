"""What an uninstall leaves unless it is asked: CRDs, volumes, the namespace. Each goes, or is said with the reason."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..adapters.cluster import Cluster
from ..errors import ActionError, ApiError, Forbidden
from ..settings import Settings
from ..stack.applyset import check_parent
from ..stack.facts import Facts, Object, Ref
from ..stack.leftovers import CRD_KIND, DATABASE, GROUP, operator_crds, operator_kinds, volume_namespaces, volumes
from ..stack.objects import delete_order, ref
from ..stack.occupants import PASSING, goes_by_itself, occupants
from ..stack.record import Record
from ..stack.workloads import helm_release
from .access import kubectl
from .act import delete_members
from .progress import Progress
from .wait import wait_gone

NAMED = 3
"""How many objects are named, where there are more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Left:
    """Something that stays."""

    what: str
    why: str
    how: str | None = None
    """The flag or command that removes it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Staying:
    """Looks at what stays of one install, once everything else is gone; deletes of it what it is told to."""

    cluster: Cluster
    facts: Facts
    record: Record
    settings: Settings
    removed: list[Ref] = field(default_factory=list)
    """What it deleted."""

    @property
    def _kubectl(self) -> str:
        return shlex.join(kubectl(self.settings))

    def crds(self, *, delete: bool) -> list[Left]:
        """Delete or list the operator's CRDs; they stay as long as anybody needs them."""
        # Where the stack is somebody else's, so are they: they are no news there.
        if self.record.release is None and not delete:
            return []
        definitions = operator_crds(self.cluster.list(CRD_KIND, metadata_only=True))
        if not definitions:
            return []
        what = f"{len(definitions)} CRDs of {GROUP}"
        pattern = rf"/[^.]*\.{re.escape(GROUP)}$"
        command = f"{self._kubectl} get crd -o name | grep '{pattern}' | xargs {self._kubectl} delete"
        if not delete:
            older = "" if self.record.settings.get("crds_created") else "they were there before this install, and "
            why = f"{older}deleting them deletes every monitor on the cluster"
            return [Left(what=what, why=why, how=_either("--delete-crds", command))]
        if needed := self._crds_needed(definitions):
            return [Left(what=what, why=needed, how=f"once nobody needs them: {command}")]
        self._delete(map(ref, definitions))
        return []

    def _crds_needed(self, definitions: Sequence[Object]) -> str | None:
        """Say who needs the operator's CRDs; None: nobody."""
        release = self.record.release
        ours = (release.namespace, release.name) if release else None
        for operator in self.facts.operators:
            if operator.release is None or operator.release != ours:
                return f"Prometheus Operator {operator.namespace}/{operator.name} needs them"
        for owner in map(helm_release, definitions):
            if owner is not None and owner != ours:
                return f"they belong to Helm release {'/'.join(owner)}"
        for kind in operator_kinds(self.facts.kinds):
            if objects := self.cluster.list(kind, metadata_only=True):
                return f"{_some(objects)} still there"
        return None

    def volumes(self, secrets: Sequence[Ref], *, delete: bool) -> list[Left]:
        """Delete or list the release's volumes; Grafana's *secrets* go unless a database that knows them stays."""
        claims = [
            claim
            for namespace in volume_namespaces(self.record)
            for claim in self.cluster.list("PersistentVolumeClaim", namespace=namespace, metadata_only=True)
        ]
        ours = [(ref(claim), holds) for claim, holds in volumes(self.record, claims)]
        if delete:
            self._delete(at for at, _ in ours)
            ours = []
        left = [
            Left(what=str(at), why=f"it holds {holds}", how=_either("--delete-pvcs", self._command("pvc", at)))
            for at, holds in ours
        ]
        if not any(holds == DATABASE for _, holds in ours):
            self._delete(secrets)
            return left
        why = "the database that stays knows this password, and would not take another"
        return left + [Left(what=str(at), why=why, how=self._command("secret", at)) for at in secrets]

    def namespace(self, parent: Object, progress: Progress, *, delete: bool) -> list[Left]:
        """Delete or list the namespace of the install; it stays where somebody else has anything in it."""
        at = Ref("Namespace", "", parent["metadata"]["namespace"])
        if not self.record.settings.get("namespace_created"):
            return [Left(what=str(at), why="it was there before kvobs")]
        command = self._command("namespace", at)
        if not delete:
            how = _either("--delete-namespace", command)
            return [Left(what=str(at), why="others may have put something into it", how=how)]

        def occupied() -> list[Object]:
            objects = _objects_in(self.cluster, at.name)
            return occupants(objects, applyset=check_parent(parent), release=self.record.release)

        try:
            # What nobody comes for is not waited for; while there is none of it, the rest may just be on its way out.
            if not (stay := [each for each in occupied() if not goes_by_itself(each)]):
                stay = wait_gone(occupied, progress=progress)
        except Forbidden as error:
            return [Left(what=str(at), why=f"whether others use it could not be asked: {error}", how=command)]
        except ApiError as error:
            # As long as the parent is there, the next run can finish this; without it nobody would know whose it was.
            raise ActionError(
                f"whether others use namespace {at.name} could not be asked: {error}",
                hint="run the same command again; without --delete-namespace all the rest is taken away",
            ) from error
        if stay:
            return [Left(what=str(at), why=f"{_some(stay)} still there", how=command)]
        self._delete([at])
        return []

    def _delete(self, refs: Iterable[Ref]) -> None:
        self.removed.extend(delete_members(self.cluster, list(refs)))

    def _command(self, kind: str, at: Ref) -> str:
        return f"{self._kubectl} delete {kind} {at.name}" + (f" -n {at.namespace}" if at.namespace else "")


def _objects_in(cluster: Cluster, namespace: str) -> list[Object]:
    """Every object in *namespace* that somebody can have put there, without its content."""
    served = cluster.discover()
    if served.unavailable:
        groups = ", ".join(sorted(served.unavailable))
        raise ApiError(f"the API group {groups} does not answer", status=503, reason="ServiceUnavailable")
    found: list[Object] = []
    for each in served.resources.values():
        if each.namespaced and {"list", "delete"} <= each.verbs and each.kind not in PASSING:
            try:
                found += cluster.list(each.kind, namespace=namespace, metadata_only=True)
            except ApiError as error:
                if error.status != 404:  # its CRD has gone since
                    raise
    return found


def _either(flag: str, command: str) -> str:
    """How to remove something: kvobs has forgotten this install by the time that anybody reads it."""
    return f"{flag} next time, or now {command}"


def _some(objects: Sequence[Object]) -> str:
    """Name the first few and count the others, up to the verb."""
    refs = delete_order(map(ref, objects))
    names = [str(each) for each in refs[:NAMED]]
    if others := len(refs) - len(names):
        names.append(f"{others} more")
    return f"{', '.join(names[:-1])} and {names[-1]} are" if len(names) > 1 else f"{names[0]} is"
