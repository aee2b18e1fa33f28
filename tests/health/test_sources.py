"""Where references to data sources lead, as Grafana reads them, and which addresses of sources cannot be right."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.dashboard.board import Scope, SourceRef, Value
from kvobs.health.elsewhere import led_elsewhere, same_server
from kvobs.health.source_address import refused_by_health, unreachable
from kvobs.health.source_health import read_health
from kvobs.health.sources import GIVEN, Sources, sources_of
from kvobs.stack.facts import DatasourceFact, Service, ServicePort
from tests.stack.clusters import cluster, grafana, prometheus, source

KNOWN = (
    source("prom-uid", "Prometheus", is_default=True, time_interval="30s"),
    source("P0", "Thanos"),
    source("loki-uid", "Loki", type="loki"),
    source(None, "From-Variable"),
)
GRAFANA = Sources(
    known=KNOWN,
    complete=True,
    where="Grafana mon/grafana",
    inputs={"DS_PROM": "prometheus", "DS_L": "loki"},
    variables={"no_logs": "loki", "none": "prometheus"},
)
SCOPE: Scope = {
    "datasource": Value(values=("P0",)),
    "by_name": Value(values=("Thanos", "Prometheus"), multi=True),
    "chosen_default": Value(values=("default",)),
    "logs": Value(values=("loki-uid",)),
    "none": Value(values=()),
    "no_logs": Value(values=()),
    "cluster": Value(values=("0",)),
}


@pytest.mark.parametrize(
    ("written", "plugin", "uid"),
    [
        (None, None, "prom-uid"),
        (None, "prometheus", "prom-uid"),
        ("", "prometheus", "prom-uid"),
        ("default", None, "prom-uid"),
        ("P0", "prometheus", "P0"),
        ("P0", "loki", "P0"),
        ("Thanos", None, "P0"),
        ("Prometheus", "prometheus", "prom-uid"),
        ("$datasource", None, "P0"),
        ("${datasource}", "prometheus", "P0"),
        ("[[datasource]]", "prometheus", "P0"),
        ("${datasource:raw}", "prometheus", "P0"),
        ("P${cluster}", "prometheus", "P0"),
        ("${by_name}", "prometheus", "P0"),
        ("${chosen_default}", "prometheus", "prom-uid"),
    ],
)
def test_leads_to(written: str | None, plugin: str | None, uid: str) -> None:
    """A UID, a name, the default source, or a variable for any of them leads to that Prometheus."""
    assert GRAFANA.resolve(SourceRef(written, plugin), SCOPE).uid == uid
    assert GRAFANA.finding(SourceRef(written, plugin), SCOPE) is None


@pytest.mark.parametrize(
    ("written", "plugin", "word"),
    [
        ("__expr__", "__expr__", "expression"),
        (None, "__expr__", "expression"),
        ("-100", None, "expression"),
        ("-- Mixed --", "datasource", "names its own"),
        ("-- Dashboard --", "datasource", "built into Grafana"),
        ("-- Grafana --", None, "built into Grafana"),
        ("grafana", "datasource", "built into Grafana"),
        ("loki-uid", "loki", "loki"),
        ("loki-uid", "prometheus", "loki"),
        ("Loki", None, "loki"),
        ("$logs", "prometheus", "loki"),
        ("gone", "tempo", "tempo"),
        ("${DS_L}", None, "loki"),
        ("From-Variable", None, "UID is not known"),
        ("${none}", "loki", "loki"),
        ("$no_logs", None, "loki"),
    ],
)
def test_is_not_checked(written: str | None, plugin: str | None, word: str) -> None:
    """What asks no Prometheus is not checked, with the reason, and is no fault."""
    resolved = GRAFANA.resolve(SourceRef(written, plugin), SCOPE)

    assert resolved.uid is None
    assert resolved.cause is None
    assert word in resolved.why


@pytest.mark.parametrize(
    ("written", "plugin", "cause", "words"),
    [
        ("${DS_PROM}", "prometheus", "KVO-201", "an input of the import form"),
        ("${DS_PROM}", None, "KVO-201", "an input of the import form"),
        ("${DS_OTHER}", "prometheus", "KVO-201", "nothing else defines it"),
        ("$nobody", None, "KVO-201", "no variable of the dashboard"),
        ("PBFA97CFB590B2093", "prometheus", "KVO-202", "Grafana mon/grafana has no data source with UID"),
        ("PBFA97CFB590B2093", None, "KVO-202", "'PBFA97CFB590B2093'"),
        ("prometheus", "prometheus", "KVO-203", "writes it 'Prometheus' (UID prom-uid)"),
        ("thanos ", "prometheus", "KVO-203", "writes it 'Thanos' (UID P0)"),
        ("${none}", "prometheus", "KVO-301", "$none has no option"),
    ],
)
def test_leads_nowhere(written: str, plugin: str | None, cause: str, words: str) -> None:
    """A placeholder, a UID of elsewhere, a name in other letters, an empty variable: each is its own cause."""
    resolved = GRAFANA.resolve(SourceRef(written, plugin), SCOPE)
    finding = GRAFANA.finding(SourceRef(written, plugin), SCOPE)

    assert resolved.uid is None
    assert resolved.cause == cause
    assert finding is not None
    assert finding.cause == cause
    assert words in finding.said
    assert "Prometheus (prom-uid, prometheus)" in finding.evidence[0]


@pytest.mark.parametrize(
    ("known", "plugin", "outcome"),
    [
        ((source("l", "Loki", type="loki", is_default=True),), None, None),
        ((source("l", "Loki", type="loki", is_default=True),), "prometheus", "KVO-201"),
        ((source("p"),), "prometheus", "KVO-201"),
        ((source("p"),), None, "KVO-201"),
        ((source("p"),), "loki", None),
    ],
)
def test_default_that_is_no_prometheus(
    known: tuple[DatasourceFact, ...], plugin: str | None, outcome: str | None
) -> None:
    """Where the default source is another or none, what is meant for a Prometheus is a fault; what is not, is not."""
    resolved = Sources(known=known).resolve(SourceRef(None, plugin), {})

    assert resolved.uid is None
    assert resolved.cause == outcome


@pytest.mark.parametrize(
    ("written", "plugin", "uid"),
    [
        (None, None, GIVEN),
        ("${DS_PROMETHEUS}", "prometheus", GIVEN),
        ("${DS_PROMETHEUS}", None, GIVEN),
        ("$datasource", None, GIVEN),
        ("P1809F7CD0C75ACF3", "prometheus", GIVEN),
        ("P1809F7CD0C75ACF3", None, GIVEN),
        ("${DS_LOKI}", None, None),
        ("${DS_SECOND}", None, None),
        ("Loki", None, None),
        ("abc", "elasticsearch", None),
        (None, "loki", None),
        ("__expr__", None, None),
        ("-- Grafana --", None, None),
    ],
)
def test_without_a_grafana(written: str | None, plugin: str | None, uid: str | None) -> None:
    """With files and an address only, all that may be meant for a Prometheus is asked there, and nothing is a fault."""
    resolved = Sources(known=None, inputs={"DS_SECOND": "tempo"}).resolve(SourceRef(written, plugin), {})

    assert resolved.uid == uid
    assert resolved.cause is None
    assert bool(resolved.why) == (uid is None)


@pytest.mark.parametrize(("written", "plugin"), [("${DS_LOKI}", "loki"), ("$DS_LOKI", None)])
def test_a_variable_for_others_without_a_grafana(written: str, plugin: str | None) -> None:
    """With files only, a variable that offers Loki has no option here; what it is for is not checked, and no fault."""
    sources = Sources(known=None, variables={"DS_LOKI": "loki"})

    resolved = sources.resolve(SourceRef(written, plugin), {"DS_LOKI": Value(values=())})

    assert (resolved.uid, resolved.cause) == (None, None)
    assert "loki" in resolved.why


@pytest.mark.parametrize(
    ("plugin", "regex", "names"),
    [
        ("prometheus", "", ["Prometheus", "Thanos"]),
        ("prometheus", "/tha/i", ["Thanos"]),
        ("prometheus", "/Pro/", ["Prometheus"]),
        ("prometheus", "Pro", []),
        ("prometheus", "Pro.*", ["Prometheus"]),
        ("prometheus", "/(?<x/", ["Prometheus", "Thanos"]),
        ("loki", "", ["Loki"]),
        ("tempo", "", []),
    ],
)
def test_options_of_a_datasource_variable(plugin: str, regex: str, names: list[str]) -> None:
    """A data source variable offers the sources of its plugin by name, filtered as Grafana filters them."""
    assert [each.name for each in GRAFANA.for_variable(plugin, regex)] == names


def test_sources_of_a_grafana() -> None:
    """Sources that Grafana's own API told are all there are; of a Grafana that tells none nothing is known."""
    told = source(where="the API of Grafana mon/grafana")

    assert sources_of(grafana(datasources=(told,))).complete
    assert not sources_of(grafana()).complete
    assert sources_of(grafana(datasources=())).known is None
    assert sources_of(None).known is None
    assert sources_of(None).for_variable("prometheus")[0].uid == GIVEN
    assert GRAFANA.time_intervals() == {"prom-uid": "30s", "P0": None}


SERVICE = Service(
    namespace="mon",
    name="prometheus-k8s",
    labels={},
    selector={},
    ports=(ServicePort(name="web", port=9090, target=9090),),
)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://prometheus-k8s.mon.svc:9090", None),
        ("http://prometheus-k8s:9090/", None),
        ("http://prometheus-k8s.mon:9091", "asks port 9091 of Service mon/prometheus-k8s, which has 9090"),
        ("http://prometheus-k8s.mon", "asks port 80"),
        ("http://localhost:9090", "Grafana's own pod"),
        ("http://127.0.0.1:9090", "Grafana's own pod"),
        (
            "http://me:hunter2@prometheus.mon.svc.cluster.local:9090",
            "leads to Service mon/prometheus, which is not there",
        ),
        ("http://prometheus:9090", "leads to Service mon/prometheus, which is not there"),
        ("https://prometheus.example.com", None),
        ("http://prometheus.elsewhere", None),
        ("http://10.1.2.3:9090", None),
        ("$PROMETHEUS_URL", None),
        ("", None),
        ("http://[", "cannot be read"),
    ],
)
def test_address(url: str, words: str | None) -> None:
    """An address that leads to no Service, to no port of it or to Grafana itself is a fault; one elsewhere is not."""
    facts = cluster(services=(SERVICE,))

    finding = unreachable(source(url=url), grafana(), prometheus(), facts)

    assert (finding is None) == (words is None), finding
    if finding is not None:
        assert finding.cause == "KVO-204"
        assert words is not None
        assert words in finding.said
        assert "http://prometheus-k8s.mon:9090" in finding.fix
        assert "hunter2" not in str(finding)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b'{"status": "OK", "message": "Successfully queried"}', (True, "Successfully queried")),
        (b'{"status": "ERROR", "message": "404 Not Found -\\n no"}', (False, "404 Not Found - no")),
        (b'{"message": "Unauthorized"}', None),
        (b"<html>", None),
        (b"[]", None),
    ],
)
def test_health(body: bytes, told: Any) -> None:
    """Grafana's test of a source is its word where it gives one, and nothing else is."""
    assert read_health(body) == told


@pytest.mark.parametrize("url", ["", "http://prometheus-k8s.mon.svc:9090"])
def test_refused_by_health(url: str) -> None:
    """Grafana's own words say why a source does not answer, and which source, also where nobody knows its address."""
    ours = prometheus(https=True, route_prefix="/prom")

    finding = refused_by_health(source(url=url), "404 Not Found", ours)

    assert finding.cause == "KVO-204"
    assert finding.said.startswith("data source Prometheus (prom-uid) does not answer Grafana: 404 Not Found")
    assert finding.fix == "set its url to https://prometheus-k8s.mon:9090/prom in ConfigMap mon/sources"
    assert refused_by_health(source(), "no", None).fix == "correct its url in ConfigMap mon/sources"


THERE = "http://prometheus-k8s.mon.svc:9090"


@pytest.mark.parametrize(
    ("known", "elsewhere", "note"),
    [
        ((source(url=THERE),), {}, None),
        (
            (source(url=THERE), source("t", "Thanos", url="http://me:hunter2@thanos:9090")),
            {"t": "data source Thanos leads to http://***@thanos:9090"},
            None,
        ),
        ((source(url=THERE), source("t", "Thanos", url="")), {}, None),
        ((source(url=THERE), source("l", "Loki", type="loki", url="http://loki:3100")), {}, None),
        (
            (source("a", "A", url="http://me:hunter2@thanos:9090"), source("b", "B", url="")),
            {},
            "No data source of Grafana mon/g leads to Prometheus mon/k8s by its address; it is asked in place of all"
            " of them: A (http://***@thanos:9090), B. Ask another.",
        ),
        ((source("l", "Loki", type="loki", url="http://loki:3100"),), {}, None),
        (None, {}, None),
    ],
)
def test_sources_that_lead_elsewhere(
    known: tuple[DatasourceFact, ...] | None, elsewhere: dict[str, str], note: str | None
) -> None:
    """What another server answers is not asked of this one; where all would be elsewhere, this one stands for them."""
    sources = Sources(known=known, where="Grafana mon/g")

    found, notes = led_elsewhere(
        sources, lambda url: same_server(url, THERE + "/"), asked="Prometheus mon/k8s", hint="Ask another."
    )

    assert found == elsewhere
    assert [each.text for each in notes] == ([note] if note else [])
