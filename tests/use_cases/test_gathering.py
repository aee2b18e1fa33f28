"""Evidence is gathered cheaply: only what the ladder needs, in its order, and never twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from kvobs.dashboard.board import Panel, Query, SourceRef, Target
from kvobs.health.answers import (
    Answer,
    Exposed,
    Names,
    NoAnswer,
    Refused,
    Relabelings,
    Result,
    ScrapeTarget,
    Series,
    Server,
)
from kvobs.health.evidence import ClusterEvidence, DarkQuery, ServerEvidence
from kvobs.stack.facts import Facts, Object
from kvobs.use_cases.verifying.asking import Answers
from kvobs.use_cases.verifying.gathering import Unlit, gather, server_evidence

from .without_pages import WithoutPages

NONE = Result(type="vector")
UP = ScrapeTarget(pool="serviceMonitor/ml/vllm/0", labels={"job": "vllm"}, url="http://10.0.0.7:8000", health="up")
EXPOSED = Exposed(labels=UP.labels, type="histogram")


def one(value: float = 1.0, **labels: str) -> Result:
    """An answer of one series."""
    return Result(
        type="vector",
        series=(Series(labels=labels, samples=4, numbers=4, nonzero=4 if value else 0, last=value, last_s=90.0),),
    )


class Fake(WithoutPages):
    """Answers by the first text that the question has in it; remembers what it was asked."""

    def __init__(self, **answers: Answer) -> None:
        self.answers, self.asked = answers, list[str]()
        self.relabels: Relabelings | Refused = Refused(kind="unsupported", said="no such page")

    def query(self, query: Query) -> Answer:
        """Answer a query."""
        self.asked.append(query.expr)
        return next((each for text, each in self.answers.items() if text in query.expr), NONE)

    def metric_names(self, start_s: float | None, end_s: float | None) -> Names | Refused | NoAnswer:
        """Two names."""
        self.asked.append(f"names {'ever' if start_s is None else 'in range'}")
        return Names(values=frozenset({"up", "vllm:long_gone"}))

    def label_names(
        self, matches: Sequence[str], start_s: float | None, end_s: float | None
    ) -> Names | Refused | NoAnswer:
        """One label."""
        self.asked.append(f"labels of {' '.join(matches)}")
        return Names(values=frozenset({"hostname", "__name__"}))

    def label_values(
        self, label: str, matches: Sequence[str], start_s: float | None, end_s: float | None
    ) -> Names | Refused | NoAnswer:
        """None is needed."""
        raise AssertionError(label)

    def scrape_pools(self) -> Names | Refused | NoAnswer:
        """Nor of scrape pools."""
        self.asked.append("scrape pools")
        return Refused(kind="unsupported", said="no such page")

    def relabelings(self) -> Relabelings | Refused | NoAnswer:
        """What each scrape config drops."""
        self.asked.append("relabelings")
        return self.relabels

    def exposed(self, metric: str) -> tuple[Exposed, ...] | Refused | NoAnswer:
        """One histogram, at one target."""
        self.asked.append(f"who exposes {metric}")
        return (EXPOSED,) if metric == "vllm:e2e" else ()


def gathered(
    expr: str,
    fake: Fake,
    answer: Answer = NONE,
    server: ServerEvidence | None = None,
) -> DarkQuery:
    """The evidence of one dark query."""
    query = Query(expr=expr, instant=False, start_s=0.0, end_s=3600.0, step_s=15.0, source="p")
    target = Target(ref_id="A", source=SourceRef(None), expr=expr)
    unlit = Unlit(panel=Panel(id=1, title="p", type="stat"), target=target, query=query, answer=answer)
    asked = Answers(fake)
    server = server or ServerEvidence()
    first = gather(unlit, asked, server)
    sent = len(fake.asked)
    assert gather(unlit, asked, server) == first
    assert len(fake.asked) == sent, "an equal query asks nothing again"
    return first


@pytest.mark.parametrize("answer", [NoAnswer(said="away"), Refused(kind="bad query", said="parse error")])
def test_what_was_not_answered_is_not_looked_into(answer: Answer) -> None:
    """A query that was refused, or not answered, costs no further question."""
    fake = Fake()

    gathered("m > 0", fake, answer)

    assert fake.asked == []


def test_a_metric_that_is_absent() -> None:
    """One question tells that it is not there; then names are asked for, and no part of the query."""
    fake = Fake()

    dark = gathered("rate(kvobs_gone_total[5m]) > 0", fake)

    assert dark.selectors[0].present is False
    assert dark.lost == ()
    assert fake.asked == [
        "group by () (last_over_time(kvobs_gone_total[3900s]))",
        "names in range",
        "names ever",
    ]


def test_names_of_a_known_family_are_asked_exactly() -> None:
    """The list of names holds those that ended before the range; of vLLM's only the exact answer counts."""
    fake = Fake(**{"{__name__": one(__name__="vllm:kv_cache_usage_perc")})

    dark = gathered("vllm:gpu_cache_usage_perc", fake)

    assert dark.server.names == {"up", "vllm:kv_cache_usage_perc"}
    assert dark.server.names_ever == {"up", "vllm:long_gone"}


def test_a_label_that_is_absent() -> None:
    """Its metric's labels are asked for, and neither names nor parts."""
    fake = Fake(m=one(0.0, gpu="0"))

    dark = gathered('m{Hostname=~".+"} > 0', fake)

    assert dark.selectors[0].matched is False
    assert dark.selectors[0].label_names == {"hostname"}
    assert [each for each in fake.asked if not each.startswith("group by")] == ["labels of m"]


def test_parts_from_the_inside() -> None:
    """Parts are asked from the inside, and none that holds one that is lost."""
    fake = Fake(**{"group by": one(), "> 0": NONE, "rate(": one(), "max": one(0.0)})

    dark = gathered("sum(rate(m_total[5m])) > 0 > 1", fake)

    assert [each.part.expr for each in dark.lost] == ["sum(rate(m_total[5m])) > 0"]
    assert "sum(rate(m_total[5m])) > 0 > 1" not in fake.asked
    assert dark.selectors[0].zeroes is True


@pytest.mark.parametrize(("events", "asked"), [((), []), (({"type": "Warning"},), ["scrape pools"])])
def test_scrape_pools_are_asked_for_what_the_operator_says(events: tuple[Object, ...], asked: list[str]) -> None:
    """Scrape configs matter where a warning has to be held against them, and cost no request elsewhere."""
    fake = Fake()
    cluster = ClusterEvidence(facts=Facts(server_version="v1", kinds=frozenset()), prometheus=None, events=events)

    found = server_evidence(fake, cluster)

    assert fake.asked == asked
    assert found.pools is None


DROPS = {UP.pool: ({"sourceLabels": ["__name__"], "action": "drop", "regex": "vllm:.*"},)}
BUCKETS = ["relabelings", "who exposes vllm:e2e_bucket", "who exposes vllm:e2e"]


@pytest.mark.parametrize(
    ("expr", "server", "relabels", "asked", "exposed"),
    [
        ("vllm:e2e_bucket", {}, DROPS, BUCKETS, {"vllm:e2e_bucket": (EXPOSED,)}),
        ('{__name__=~"vllm:e2e_bucket|m"}', {}, DROPS, BUCKETS, {"vllm:e2e_bucket": (EXPOSED,)}),
        ("vllm:e2e_total", {}, DROPS, ["relabelings", "who exposes vllm:e2e_total", "who exposes vllm:e2e"],
         {"vllm:e2e_total": ()}),
        ("m", {}, DROPS, ["relabelings"], {}),
        ("vllm:e2e_bucket", {}, Refused(kind="unsupported", said="no"), ["relabelings"], {}),
        ("vllm:e2e_bucket offset 1d", {}, DROPS, [], {}),
        ("vllm:e2e_bucket", {"past": True}, DROPS, [], {}),
        ("vllm:e2e_bucket", {"targets": (replace(UP, health="down"),)}, DROPS, [], {}),
        ("vllm:e2e_bucket", {"targets": None}, DROPS, [], {}),
    ],
    ids=["dropped", "of a pattern", "of another type", "not dropped", "not shown", "of yesterday", "in the past",
         "nothing up", "targets unknown"],
)  # fmt: skip
def test_who_exposes_a_metric_is_asked_where_a_scrape_drops_it(
    expr: str,
    server: dict[str, Any],
    relabels: Relabelings | Refused,
    asked: list[str],
    exposed: dict[str, tuple[Exposed, ...]],
) -> None:
    """The configuration is asked for a metric that is not there now; its targets, where a step of it drops that."""
    fake = Fake()
    fake.relabels = relabels

    dark = gathered(expr, fake, server=ServerEvidence(**{"targets": (UP,), **server}))

    assert [each for each in fake.asked if each == "relabelings" or each.startswith("who")] == asked
    assert dark.server.exposed == exposed


def test_a_server_that_says_little() -> None:
    """Pages that a server does not have are unknown, and no fault."""
    found = server_evidence(Fake(), datasource_interval_s=30.0)

    assert (found.targets, found.dropped, found.server, found.datasource_interval_s) == (None, None, Server(), 30.0)
