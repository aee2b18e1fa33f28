"""Which matcher of a query fits nothing of what a metric has, told from the label values that it has. Pure."""

from __future__ import annotations

from ..dashboard.interpolation import names_in
from .causes import found
from .evidence import SelectorEvidence
from .gpu_fields import MIG_DROPS, MIG_LABELS
from .gpu_names import sliced
from .label_matchers import any_fits, holds, is_read, rank, renamed, twins, why_instead
from .label_values import never_together, value_absent, values_of
from .promql import Matcher
from .renames import known
from .verdict import Finding

_WORKLOAD = frozenset({"pod", "namespace", "container"})
"""Labels by which a GPU's metric says who uses it; those of its target have the same names."""


def label_finding(evidence: SelectorEvidence) -> Finding | None:
    """Return why a metric that is there has no series for the selector's matchers; None where they fit, or it is
    not known what labels there are."""
    selector, sets = evidence.selector, evidence.label_sets
    if evidence.matched is not False or not sets:
        return None
    if evidence.instead is not None:
        return _of_other_servers(evidence, evidence.instead)
    if any_fits(selector.filters, sets):
        # Prometheus says that nothing fits: then it is by a pattern that only it can read.
        unread = next((each for each in selector.filters if not is_read(each)), None)
        return None if unread is None else value_absent(unread, evidence)
    alone = [each for each in selector.filters if not any_fits((each,), sets)]
    if not alone:
        beside = _absent_beside_the_others(evidence) if selector.is_narrow else None
        return beside or never_together(evidence)
    for finding in (_undeclared, _of_a_pod):
        told = next((told for each in alone if (told := finding(each, evidence)) is not None), None)
        if told is not None:
            return told
    absent = [each for each in alone if not any(labels.get(each.label) for labels in sets)]
    if absent:
        return _label_absent(absent[0], evidence)
    return value_absent(alone[0], evidence)


def _of_other_servers(evidence: SelectorEvidence, instead: str) -> Finding:
    """Servers of several versions, or GPUs with slices and without: those that are asked for have another metric."""
    name = evidence.selector.name or ""
    if name in MIG_DROPS:
        return sliced(name)
    filters = ", ".join(str(each) for each in evidence.selector.filters)
    metric = known(name)
    return found(
        "KVO-502",
        subject=name.removesuffix(metric.suffix) if metric is not None else name,
        said=f"{name} is there, and not with {filters}: what has these labels has {instead} in its place",
        fix=f"In the query, for servers of both versions: {evidence.selector.text} or"
        f" {evidence.selector.named(instead).text}",
    )


def _absent_beside_the_others(evidence: SelectorEvidence) -> Finding | None:
    """A label that some series have, and none of those that fit the other filters."""
    filters = evidence.selector.filters
    for matcher in filters:
        others = tuple(each for each in filters if each is not matcher)
        fitting = [labels for labels in evidence.label_sets if any_fits(others, (labels,))]
        if fitting and not any(labels.get(matcher.label) for labels in fitting) and matcher.op in ("=", "=~"):
            said = f"the series of {evidence.selector.metric} with {', '.join(str(each) for each in others)}"
            why = why_instead(matcher.label, matcher.label)
            return found(
                "KVO-601",
                subject=f"label {matcher.label}",
                said=f"{said} have no label `{matcher.label}`, as others have" + (f": {why}" if why else ""),
                fix=f"In the query: leave {matcher} out",
            )
    return None


def _undeclared(matcher: Matcher, evidence: SelectorEvidence) -> Finding | None:
    """A variable that stands in the query as it is written, since the dashboard declares none of that name."""
    name = next((each for each in names_in(matcher.value) if not each.isdigit()), None)
    if name is None:
        return None
    return found(
        "KVO-301",
        subject=f"variable {name}",
        said=f"the dashboard has no variable `{name}`, so that {matcher} is asked as it stands",
        fix=f"In the dashboard: declare the variable `{name}`; or in the query: leave {matcher} out",
    )


def _label_absent(matcher: Matcher, evidence: SelectorEvidence) -> Finding:
    label, metric = matcher.label, evidence.selector.metric
    if label in MIG_LABELS and evidence.selector.name in MIG_DROPS:
        return sliced(evidence.selector.name)
    others = _instead(matcher, evidence)
    said = f"{metric} has no label `{label}`" if metric != "{}" else f"no series at all has a label `{label}`"
    said += f"; it has `{others[0]}`" if others else ""
    why = why_instead(label, others[0]) if others else ""
    names = sorted(evidence.label_names or ())
    values = values_of(others[0], evidence) if others else ""
    if others and values and not holds(matcher, others[0], evidence.label_sets):
        fix = f"In the query: filter by `{others[0]}` instead of {matcher}; it is {values}"
    elif others:
        fix = f"In the query: {renamed(matcher, others[0])} instead of {matcher}"
    elif label.startswith("exported_"):
        fix = f"In the query: leave {matcher} out; a GPU that no pod uses has no `{label}`"
    else:
        fix = f"In the query: leave {matcher} out, or filter by a label that is there"
    return found(
        "KVO-601",
        subject=f"label {label}",
        said=said + (f": {why}" if why else ""),
        fix=fix,
        evidence=(f"labels of {metric}: {', '.join(names)}",) if names else (),
    )


def _of_a_pod(matcher: Matcher, evidence: SelectorEvidence) -> Finding | None:
    """A filter by pod on a GPU's metric: its `pod` is the exporter's, and `exported_pod` the one that uses the GPU."""
    metric, own = evidence.selector.metric, matcher.label.removeprefix("exported_")
    if own not in _WORKLOAD or not metric.startswith("DCGM_") or not _of_the_exporter(evidence):
        return None
    theirs = f"exported_{own}"
    used = any(labels.get(f"exported_{each}") for labels in evidence.label_sets for each in ("pod", "container"))
    why = f"`{own}` is the exporter's own, and the label {theirs} is there only while a pod uses the GPU"
    if own == matcher.label:
        return found(
            "KVO-601",
            subject=f"label {own}",
            said=f"no series of {metric} has {matcher}: {why}",
            fix=f"In the query: {renamed(matcher, theirs)} instead of {matcher}",
        )
    if used:
        return None
    said = f"no pod uses a GPU now: {metric} has no `{matcher.label}` ({why})"
    return found("KVO-702", subject="GPUs in use", said=said, fix="Run a pod that asks for nvidia.com/gpu")


def _of_the_exporter(evidence: SelectorEvidence) -> bool:
    return all("dcgm" in labels.get("pod", "") for labels in evidence.label_sets)


def _instead(matcher: Matcher, evidence: SelectorEvidence) -> list[str]:
    """Labels of the metric that may be meant, likeliest first: those whose values fit, then other spellings."""
    sets = evidence.label_sets
    there = {name for labels in sets for name, value in labels.items() if value}
    there |= evidence.label_names or frozenset()
    label = matcher.label
    alike = [each for each in there if each.lower().replace("_", "") == label.lower().replace("_", "")]
    twin = [each for each in twins(label) if each in there]
    candidates = sorted({*alike, *twin} - {label})
    return sorted(candidates, key=lambda each: (not holds(matcher, each, sets), each not in alike, rank(label, each)))
