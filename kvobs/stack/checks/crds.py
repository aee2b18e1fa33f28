"""Do the Prometheus Operator's CRDs fit the chart that will be installed?"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..choice import DesiredRelease
from ..facts import Object
from ..merge import value_at
from ..workloads import annotations_of, containers_of, image_name, name_of, template_of
from .evidence import Crd, Evidence, Trouble
from .verdict import Bad, Check, Fine, NotAsked, Verdict

OPERATOR_VERSION = "operator.prometheus.io/version"
"""Annotation of the operator's CRDs."""

Version = tuple[int, ...]

_NUMBERS = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")


def version_in(text: str | None) -> Version | None:
    """Return the version as numbers; None where the text is none.

    >>> version_in("v0.93.1"), version_in("0.9.10-rc.1"), version_in("latest"), version_in(None)
    ((0, 93, 1), (0, 9, 10), None, None)
    """
    found = _NUMBERS.match(text or "")
    return tuple(map(int, found.groups())) if found else None


def operator_version(rendered: Iterable[Object]) -> Version | None:
    """Return the version of the operator that the chart brings, by the tag of its image."""
    for each in rendered:
        if each["kind"] == "Deployment":
            for container in containers_of(template_of(each).get("spec") or {}):
                if image_name(container) == "prometheus-operator":
                    image = str(container.get("image")).partition("@")[0]
                    return version_in(image.rpartition(":")[2])
    return None


def _release(evidence: Evidence) -> DesiredRelease | None:
    return evidence.plan.target.release if evidence.plan is not None else None


def _brings(release: DesiredRelease) -> bool:
    return value_at(release.values, "crds.enabled", True) is not False


def _asked(evidence: Evidence) -> tuple[Crd, ...] | NotAsked | None:
    if evidence.crds is None or _release(evidence) is None:
        return None
    if isinstance(evidence.crds, Trouble):
        return NotAsked(evidence.crds.said, evidence.crds.hint)
    return evidence.crds


def _there(evidence: Evidence) -> Verdict:
    found, release = _asked(evidence), _release(evidence)
    if release is None or not isinstance(found, tuple):
        return found if isinstance(found, NotAsked) else None
    if found:
        return Fine(f"{len(found)} of the operator are there")
    if not _brings(release):
        return Bad(
            "the Prometheus Operator's CRDs are not there, and crds.enabled=false keeps the chart from bringing them",
            f"leave crds.enabled out, or bring them first: {_apply(release)}",
        )
    return Fine("none yet, the chart brings them")


def _owner(evidence: Evidence) -> Verdict:
    found, release = _asked(evidence), _release(evidence)
    if release is None or not isinstance(found, tuple) or not found:
        return None
    ours = f"Helm release {release.namespace}/{release.name}"
    others = sorted({each.owner for each in found if each.owner is not None} - {ours})
    if not others:
        return Fine()
    count = sum(each.owner in others for each in found)
    return Bad(
        f"{count} of the Prometheus Operator's CRDs belong to {' and '.join(others)}; Helm leaves them as they are",
        "keep them as new as the chart there; --set crds.enabled=false says that this release does not bring them",
    )


def may_conflict(evidence: Evidence) -> bool:
    """Whether some CRDs may be of another version than the chart's, and held by somebody: the chart's then tell."""
    wanted, found = _wanted(evidence), evidence.crds
    if not _helm_applies(evidence) or not isinstance(found, tuple):
        return False
    return any(each.holders and _version(each) != wanted for each in found)


def chart_crds(objects: Iterable[Object]) -> dict[str, str | None]:
    """Return the CRDs among a chart's *objects*, each with the version of the operator that it was written for."""
    crds = (each for each in objects if each["kind"] == "CustomResourceDefinition")
    return {name_of(each): annotations_of(each).get(OPERATOR_VERSION) for each in crds}


def _conflicts(evidence: Evidence) -> Verdict:
    found, release = _asked(evidence), _release(evidence)
    if release is None or not isinstance(found, tuple) or not found or not _helm_applies(evidence):
        return None
    brought = evidence.chart_crds or {}
    held = [
        each
        for each in found
        if each.holders and each.name in brought and version_in(brought[each.name]) != version_in(each.operator_version)
    ]
    if not held:
        return Fine()
    holders = ", ".join(dict.fromkeys(name for each in held for name in each.holders))
    first = held[0]
    return Bad(
        f"{len(held)} of the Prometheus Operator's CRDs are not those of the chart ({first.name} is of"
        f" {_text(_version(first))}, the chart's of {brought[first.name]}) and belong to field manager {holders}:"
        " Helm 4 would stop there",
        f"bring them up to date first: {_apply(release)}; or leave them as they are: --set crds.enabled=false",
    )


def _age(evidence: Evidence) -> Verdict:
    found, wanted, release = _asked(evidence), _wanted(evidence), _release(evidence)
    if wanted is None or release is None or not isinstance(found, tuple) or not found:
        return None
    older = [each for each in found if _version(each) < wanted]
    if older and not _helm_applies(evidence):
        oldest = min(older, key=_version)
        return Bad(
            f"{len(older)} of the Prometheus Operator's CRDs are older than the chart's operator {_text(wanted)}"
            f" ({oldest.name} is of {_text(_version(oldest))}), and Helm leaves them so",
            _apply(release),
        )
    newest = max(map(_version, found))
    if newest > wanted:
        return Bad(
            f"the Prometheus Operator's CRDs are of {_text(newest)}, newer than the chart's operator"
            f" {_text(wanted)}: a newer operator was here, or is",
            "take a chart as new with --chart-version, or leave them: newer CRDs serve older operators",
        )
    return Fine(_text(wanted))


def _helm_applies(evidence: Evidence) -> bool:
    """Whether Helm applies the CRDs that are there: server-side, with the first install, since Helm 4."""
    release = _release(evidence)
    if release is None or not evidence.first_release or not _brings(release) or not isinstance(evidence.helm, str):
        return False
    return int(evidence.helm.partition(".")[0]) >= 4


def _wanted(evidence: Evidence) -> Version | None:
    """Version of the operator that the chart brings; None: unknown, or it brings none."""
    return operator_version(evidence.rendered) if isinstance(evidence.rendered, tuple) else None


def _version(crd: Crd) -> Version:
    """Version of a CRD; those that do not say it are older than all that do."""
    return version_in(crd.operator_version) or (0, 0, 0)


def _apply(release: DesiredRelease) -> str:
    version = f" --version {release.version}" if release.version else ""
    return f"helm show crds {release.chart}{version} | kubectl apply --server-side --force-conflicts -f -"


def _text(version: Version) -> str:
    return ".".join(map(str, version)) if any(version) else "no version that they name"


CHECKS = (
    Check(id="crds", title="the operator's CRDs are there, or come", severity="fatal", verdict=_there),
    Check(id="crds-owner", title="the CRDs belong to nobody else", severity="warning", verdict=_owner),
    Check(id="crds-conflict", title="Helm may bring the CRDs up to date", severity="fatal", verdict=_conflicts),
    Check(id="crds-age", title="the CRDs are as new as the chart", severity="warning", verdict=_age),
)
