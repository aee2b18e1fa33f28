"""A Prometheus that fails, from verify's end: a plain verdict for every panel, and never that all is fine."""

from __future__ import annotations

import json

import pytest

from kvobs.settings import Reach, Settings, Verification
from kvobs.use_cases.verify import verify

from ..adapters.site import Answer, Site, cut_off, dripping, ok, page, reset, silent, status

pytestmark = pytest.mark.usefixtures("without_proxy")

QUERIES = ("query", "query_range")
OTHERS = (
    *("labels", "label/__name__/values", "label/instance/values", "label/gpu/values"),
    *("targets", "status/buildinfo", "status/flags", "status/runtimeinfo"),
)
NAMES = ok(b'{"status":"success","data":["a"]}', Content_Type="application/json")


def said(code: int, error_type: str, error: str) -> Answer:
    """A failure as Prometheus writes it."""
    content = json.dumps({"status": "error", "errorType": error_type, "error": error}).encode()
    return lambda asked: asked.send(code, {"Content-Type": "application/json"}, content)


def huge(asked: object) -> None:
    """Two hundred megabytes, as it says itself."""
    asked.send(200, {}, b"{", length=200 * 2**20)  # type: ignore[attr-defined]


COULD_NOT_ASK = ("unknown", 4, {"KVO-901"})
FAULTS: dict[str, tuple[Answer, tuple[str, int, set[str]]]] = {
    # what it does: (the play, (state of every panel, exit code, causes))
    "slow": (silent, COULD_NOT_ASK),
    "a byte now and then": (dripping, COULD_NOT_ASK),
    "starting": (said(503, "unavailable", "starting"), COULD_NOT_ASK),
    "503": (status(503), COULD_NOT_ASK),
    "a proxy's page": (page("Sign in"), COULD_NOT_ASK),
    "a redirect to a login": (lambda asked: asked.send(302, {"Location": "/login"}, b""), COULD_NOT_ASK),
    "an expired token": (status(401), COULD_NOT_ASK),
    "broken": (reset, COULD_NOT_ASK),
    "cut off": (cut_off, COULD_NOT_ASK),
    "nothing": (ok(b""), COULD_NOT_ASK),
    "422": (said(422, "execution", "found duplicate series"), ("broken", 1, {"KVO-801"})),
    "200 MB": (huge, ("broken", 1, {"KVO-802"})),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_reads_as_all_fine(site: Site, fault: str) -> None:
    """Every panel that asks is told by the one cause, with what next; none is lit, and the exit code says so."""
    play, (state, code, causes) = FAULTS[fault]
    for path in (*QUERIES, *OTHERS):
        only_queries = (state, code, causes) != COULD_NOT_ASK and path not in QUERIES
        site.play(NAMES if only_queries else play, at=f"/api/v1/{path}")
    timeout_s = 0.3 if play in (silent, dripping) else 10.0
    reach = Reach(url=site.url(""), ca_file=str(site.ca_file), timeout_s=timeout_s, patience_s=0.0)
    report = verify(Settings(offline=True), Verification(sources=("dcgm",), reach=reach))
    panels = [panel for _, panel in report.panels if panel.type != "text"]
    assert {panel.state for panel in panels} == {state}
    assert {panel.finding.cause for panel in panels if panel.finding is not None} == causes
    assert all(panel.finding is not None and panel.finding.fix for panel in panels)
    assert report.exit_code == code


def test_one_that_is_away(site: Site) -> None:
    """Nobody listens: it is found out by a few questions, not by one a panel."""
    reach = Reach(url="https://localhost:1", ca_file=str(site.ca_file), timeout_s=5.0, patience_s=0.0)
    report = verify(Settings(offline=True), Verification(sources=("dcgm",), reach=reach))
    assert {panel.finding.cause for _, panel in report.panels if panel.finding is not None} == {"KVO-901"}
    assert report.exit_code == 4
    assert report.requests <= 3
