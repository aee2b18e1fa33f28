"""Every check in its order, and the answers to all of them."""

from __future__ import annotations

from collections.abc import Container, Iterator

from . import admission, cluster, crds, grafana, helm, permissions, scraping, stack, storage
from .evidence import Evidence
from .verdict import Bad, Category, Check, Checked, Fine, NotAsked, Outcome, Verdict

CATEGORIES: tuple[Category, ...] = (
    Category(title="Kubernetes", checks=cluster.CHECKS),
    Category(title="Stack", checks=stack.CHECKS),
    Category(title="Permissions", checks=permissions.CHECKS),
    Category(title="Helm", checks=helm.CHECKS),
    Category(title="CRDs", checks=crds.CHECKS),
    Category(title="Admission", checks=admission.CHECKS),
    Category(title="Storage", checks=storage.CHECKS),
    Category(title="Grafana", checks=grafana.CHECKS),
    Category(title="Scraping", checks=scraping.CHECKS),
)


def every_check() -> Iterator[tuple[Category, Check]]:
    """Yield each check with its category, in order."""
    for category in CATEGORIES:
        for check in category.checks:
            yield category, check


def run_checks(evidence: Evidence, *, ignored: Container[str] = ()) -> tuple[Checked, ...]:
    """Return the answer of each check whose question arises, in order, but for those whose id is *ignored*."""
    asked = ((category, check) for category, check in every_check() if check.id not in ignored)
    answers = ((category, check, check.verdict(evidence)) for category, check in asked)
    return tuple(_checked(category, check, verdict) for category, check, verdict in answers if verdict is not None)


def _checked(category: Category, check: Check, verdict: Verdict) -> Checked:
    outcome: Outcome
    hint = ""
    match verdict:
        case Bad(said, hint):
            outcome = "failed" if check.severity == "fatal" else "warning"
        case NotAsked(said, hint):
            outcome = "not asked"
        case Fine(said):
            outcome = "passed"
        case None:
            raise ValueError(f"{check.id} did not arise")
    return Checked(
        id=check.id,
        category=category.title,
        title=check.title,
        severity=check.severity,
        outcome=outcome,
        said=said,
        hint=hint or None,
    )
