"""What `kvobs verify` found, as values: every panel's verdict, and the causes, each once with all of its panels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ..health.verdict import ORDER, BoardVerdict, Finding, PanelVerdict, Severity, State
from ..stack.notes import Note

STATES: tuple[State, ...] = ("lit", "broken", "unknown", "dark", "expected", "not checked")
"""In the order in which they are counted out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a panel is."""

    dashboard: str
    panel: str
    id: int | None = None
    source: str = ""
    """Where the dashboard was read from, which tells those of one title apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CauseGroup:
    """One cause with one subject: what one fix would light."""

    finding: Finding
    panels: tuple[Place, ...]
    """The dark panels that it explains; empty where it is about a whole dashboard."""
    partly: tuple[Place, ...] = ()
    """Lit panels of which it darkens some queries."""
    dashboards: tuple[str, ...] = ()
    """Sources of the dashboards that it is about as a whole."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VerifyReport:
    """One look at every panel."""

    prometheus: str
    """What was asked, as it may be shown."""
    server: str | None = None
    """Its kind and version, as far as it says."""
    start_s: float | None = None
    end_s: float | None = None
    """The time range that was asked for, in seconds since 1970; None where dashboards have different ones."""
    boards: tuple[BoardVerdict, ...] = ()
    queries: int = 0
    """Questions that the panels have."""
    requests: int = 0
    """Requests that were sent: equal questions once, and those about what came back empty."""
    notes: tuple[Note, ...] = ()
    min_severity: Severity = "expected"
    """The least severity that is shown."""
    fail_on: Severity = "broken"
    """The least severity that makes the run fail."""
    unmet: tuple[str, ...] = field(default=())
    """Entries of the `--expect` file that nothing dark answers to, one sentence each."""

    @property
    def panels(self) -> Iterator[tuple[BoardVerdict, PanelVerdict]]:
        """Every panel with its dashboard."""
        return ((board, panel) for board in self.boards for panel in board.panels)

    @property
    def counts(self) -> Mapping[State, int]:
        """How many panels are in each state."""
        states = [panel.state for _, panel in self.panels]
        return {state: states.count(state) for state in STATES}

    @property
    def causes(self) -> tuple[CauseGroup, ...]:
        """Each cause with one subject once, worst first, then the one that explains most; without accepted panels."""
        return _grouped(self.boards)

    @property
    def exit_code(self) -> int:
        """1 where anything not accepted is as bad as `fail_on`, else 4 where anything is unknown, else 0.

        4 too where there was no dashboard: nothing looked at is not all fine.
        """
        if not self.boards:
            return 4
        met = [panel.state for _, panel in self.panels if panel.accepted is None]
        met += [finding.severity for board in self.boards for finding in board.findings]
        if any(failing(state, self.fail_on) for state in met):
            return 1
        return 4 if "unknown" in met else 0


def failing(state: State, fail_on: Severity) -> bool:
    """Whether a panel in *state* makes a run fail; one of which nothing is known never does by itself."""
    return state in ORDER and state != "unknown" and ORDER.index(state) <= ORDER.index(fail_on)


def shown(severity: Severity, least: Severity) -> bool:
    """Whether something of that severity is shown where *least* is the least one to show."""
    return ORDER.index(severity) <= ORDER.index(least)


def _grouped(boards: tuple[BoardVerdict, ...]) -> tuple[CauseGroup, ...]:
    groups: dict[tuple[str, str], CauseGroup] = {}

    def group(finding: Finding) -> CauseGroup:
        return groups.setdefault((finding.cause, finding.subject), CauseGroup(finding=finding, panels=()))

    for board in boards:
        for finding in board.findings:
            found = group(finding)
            key = (finding.cause, finding.subject)
            groups[key] = replace(found, dashboards=(*found.dashboards, board.source))
        for panel in board.panels:
            if panel.accepted is not None:
                continue
            place = Place(dashboard=board.title or board.source, panel=panel.title, id=panel.id, source=board.source)
            if panel.finding is not None:
                found = group(panel.finding)
                groups[panel.finding.cause, panel.finding.subject] = replace(found, panels=(*found.panels, place))
            elif panel.state == "lit":
                for each in dict.fromkeys(t.finding for t in panel.targets if t.finding is not None):
                    found = group(each)
                    groups[each.cause, each.subject] = replace(found, partly=(*found.partly, place))
    return tuple(sorted(groups.values(), key=_rank))


def _rank(group: CauseGroup) -> tuple[int, int, int, str, str]:
    whole = len(group.panels) + len(group.dashboards)
    finding = group.finding
    return (ORDER.index(finding.severity), -whole, -len(group.partly), finding.cause, finding.subject)
