"""Is it clear which stack is meant, and does nothing hold it up?"""

from __future__ import annotations

from ..control_plane import USER_WORKLOADS_HINT, is_openshift
from ..facts import Release
from .evidence import Evidence
from .verdict import Bad, Check, Fine, NotAsked, Verdict


def _decided(evidence: Evidence) -> Verdict:
    if evidence.undecided is not None:
        verdict = Bad if evidence.undecided.asked else NotAsked
        return verdict(evidence.undecided.said, evidence.undecided.hint)
    if evidence.plan is None:
        return None
    target = evidence.plan.target
    where = f"Prometheus {target.prometheus.namespace}/{target.prometheus.name}"
    if target.release is None:
        return Fine(f"{where} is reused")
    made = "is there" if target.live else "will be installed"
    return Fine(f"{where} of our release {target.release.namespace}/{target.release.name} {made}")


def _openshift(evidence: Evidence) -> Verdict:
    if evidence.facts is None or evidence.plan is None or not is_openshift(evidence.facts):
        return None
    chosen = evidence.plan.target.prometheus
    if chosen.namespace == "openshift-monitoring":
        return Bad(
            f"Prometheus {chosen.namespace}/{chosen.name} is OpenShift's own: it reads no monitor outside OpenShift's"
            " namespaces, and its operator undoes what others change",
            USER_WORKLOADS_HINT,
        )
    return Fine(f"OpenShift's own is left alone, {chosen.namespace}/{chosen.name} is used")


def _namespace(evidence: Evidence) -> Verdict:
    if evidence.facts is None or evidence.plan is None:
        return None
    target = evidence.plan.target
    used = [target.namespace, target.prometheus.namespace, *([target.grafana.namespace] if target.grafana else [])]
    for each in dict.fromkeys(used):
        if each in evidence.facts.terminating:
            why = evidence.facts.terminating[each]
            return Bad(
                f"namespace {each} is being deleted, and takes nothing new" + (f": {why}" if why else ""),
                f"wait for its end, or see what holds it up: kubectl get namespace {each} -o"
                " jsonpath='{.status.conditions[*].message}'; another place is --namespace NAME",
            )
    return Fine(target.namespace)


def _release(evidence: Evidence) -> Verdict:
    release = evidence.plan.target.release if evidence.plan is not None else None
    if evidence.facts is None or release is None:
        return None
    for each in evidence.facts.releases:
        if (each.namespace, each.name) == (release.namespace, release.name) and not _whole(each):
            said = f"{_as_it_is(each)}: a run of kvobs was interrupted there, or goes on right now"
            return Bad(said, "kvobs install waits for the one or mends the other, and goes on")
    return Fine()


def _other_release(evidence: Evidence) -> Verdict:
    if evidence.facts is None or evidence.plan is None or evidence.plan.target.release is not None:
        return None
    target = evidence.plan.target
    made_by = {target.prometheus.release, target.grafana.release if target.grafana else None}
    for each in evidence.facts.releases:
        if (each.namespace, each.name) in made_by and not _whole(each):
            where = f"{each.name} -n {each.namespace}"
            return Bad(
                f"{_as_it_is(each)}, and it is not kvobs' own: it is left as it is",
                f"helm history {where} says what happened; helm rollback {where} mends an upgrade that was interrupted",
            )
    return Fine()


def _as_it_is(release: Release) -> str:
    return f"Helm release {release.namespace}/{release.name} is {release.status} at revision {release.revision}"


def _whole(release: Release) -> bool:
    return release.status in ("deployed", "superseded", "")


CHECKS = (
    Check(id="decided", title="it is clear which stack is meant", severity="fatal", verdict=_decided),
    Check(id="openshift", title="the platform's own monitoring is left alone", severity="warning", verdict=_openshift),
    Check(id="namespace", title="no namespace that is used is being deleted", severity="fatal", verdict=_namespace),
    Check(id="release", title="our Helm release is not half done", severity="warning", verdict=_release, noted=True),
    Check(
        id="other-release",
        title="the stack's Helm release is not half done",
        severity="warning",
        verdict=_other_release,
    ),
)
