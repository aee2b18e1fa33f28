"""Which Prometheus and which Grafana are used: every mixture as one line of a table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from kvobs.errors import KvobsError, Unanswered, Undecided, UsageError
from kvobs.settings import Settings
from kvobs.stack.choice import Target, choose, parent_of
from kvobs.stack.facts import Facts, Release
from kvobs.stack.plan import make_plan
from kvobs.stack.record import Record, ReleaseRecord

from .clusters import SIDECAR, after_helm, cluster, grafana, operator, parent_in, prometheus, source, stack
from .snapshots import TEMPLATES

OURS = Record(release=ReleaseRecord(namespace="monitoring", name="kube-prometheus-stack", chart="c", chart_version="1"))
NO_CRDS = cluster(kinds=frozenset())
OUR_STACK = after_helm(NO_CRDS, name="kube-prometheus-stack", namespace="monitoring", values={}, record=OURS)
FOREIGN_OPERATOR = cluster(operators=(operator("po", "ops"),))
TWO_PROMETHEUSES = stack(prometheuses=(prometheus(), prometheus("other", "ops")))
TWO_GRAFANAS = stack(grafanas=(grafana(), grafana("other", "ops")))
DENIED = {"Deployment.apps": "list Deployment.apps: not allowed"}
WITHOUT_OPERATOR = ("prometheusOperator.enabled=false", "crds.enabled=false")


def reused(**told: Any) -> Facts:
    """A stack with two of everything, for which an earlier run recorded *told*."""
    both = replace(TWO_PROMETHEUSES, grafanas=TWO_GRAFANAS.grafanas)
    return replace(both, parents=(parent_in("mon", Record(settings=told)),))


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A mixture that kvobs does not decide."""

    says: str
    facts: Facts
    settings: Settings = field(default_factory=Settings)
    error: type[KvobsError] = Undecided
    names: tuple[str, ...]
    """What the sentence has to name."""
    hint: str


REFUSED = [
    Refused(
        says="an operator alone: its namespace and the way to a stack of its own",
        facts=FOREIGN_OPERATOR,
        names=("no Prometheus object", "Prometheus Operator ops/po"),
        hint="--stack install --set prometheusOperator.enabled=false --set crds.enabled=false",
    ),
    Refused(
        says="values for a stack that is somebody else's: they would be in force nowhere",
        facts=stack(),
        settings=Settings(set_values=("grafana.adminPassword=hunter2",)),
        error=UsageError,
        names=("--values and --set", "Prometheus mon/k8s is reused"),
        hint="give them to the release that made it",
    ),
    Refused(
        says="an operator without Grafana: both are named, and the flag that does without dashboards",
        facts=stack(grafanas=()),
        names=("no Grafana with a dashboard sidecar", "Prometheus object mon/k8s", "Prometheus Operator mon/"),
        hint="--grafana none",
    ),
    Refused(
        says="Grafana alone: nothing is put beside it unasked",
        facts=cluster(grafanas=(grafana(),)),
        names=("no Prometheus object", "Grafana with a dashboard sidecar mon/grafana"),
        hint="--stack install",
    ),
    Refused(
        says="Grafana on a cluster without the operator's CRDs: that is said too",
        facts=cluster(kinds=frozenset(), grafanas=(grafana(),)),
        names=("no Prometheus Operator CRDs", "mon/grafana"),
        hint="--stack install",
    ),
    Refused(
        says="a Prometheus object whose operator is not seen",
        facts=stack(operators=()),
        names=("Prometheus object mon/k8s", "no Prometheus Operator"),
        hint="--stack reuse",
    ),
    Refused(
        says="two Prometheus objects: both are named",
        facts=TWO_PROMETHEUSES,
        names=("mon/k8s", "ops/other"),
        hint="--prometheus NAMESPACE/NAME",
    ),
    Refused(
        says="two Grafanas with a sidecar: both are named",
        facts=TWO_GRAFANAS,
        names=("mon/grafana", "ops/other"),
        hint="--grafana NAMESPACE/NAME",
    ),
    Refused(
        says="a Grafana without a sidecar: no ConfigMap reaches it",
        facts=stack(grafanas=(grafana(sidecar=None),)),
        names=("no Grafana with a dashboard sidecar", "Grafana without a dashboard sidecar mon/grafana"),
        hint="--grafana none",
    ),
    Refused(
        says="a Grafana without a sidecar, chosen by flag",
        facts=stack(grafanas=(grafana(sidecar=None),)),
        settings=Settings(grafana="mon/grafana"),
        names=("mon/grafana", "no dashboard sidecar"),
        hint="grafana.sidecar.dashboards",
    ),
    Refused(
        says="a Prometheus that Argo CD tracks",
        facts=stack(prometheuses=(prometheus(tracked_by="Argo CD application obs"),)),
        names=("Argo CD application obs", "mon/k8s"),
        hint="--stack reuse",
    ),
    Refused(
        says="a Grafana that Flux tracks",
        facts=stack(grafanas=(grafana(tracked_by="Flux HelmRelease flux/kps"),)),
        names=("Flux HelmRelease flux/kps",),
        hint="--stack reuse",
    ),
    Refused(
        says="a Prometheus by flag that is not there: what is there is named",
        facts=stack(),
        settings=Settings(prometheus="mon/gone"),
        names=("--prometheus mon/gone", "mon/k8s"),
        hint="prometheusOperator.enabled=false",
    ),
    Refused(
        says="a Grafana by flag that is not there",
        facts=stack(),
        settings=Settings(grafana="mon/gone"),
        names=("--grafana mon/gone", "mon/grafana"),
        hint="--grafana none",
    ),
    Refused(
        says="our own stack beside somebody's operator",
        facts=FOREIGN_OPERATOR,
        settings=Settings(stack="install"),
        names=("ops/po", "second Prometheus Operator"),
        hint="prometheusOperator.enabled=false",
    ),
    Refused(
        says="our own stack beside the operator of somebody's release",
        facts=cluster(operators=(operator("kps-operator", "ops", release=("ops", "kps")),)),
        settings=Settings(stack="install"),
        names=("ops/kps-operator",),
        hint="prometheusOperator.enabled=false",
    ),
    Refused(
        says="a Helm release of our name that we did not make",
        facts=replace(
            NO_CRDS,
            releases=(Release(namespace="monitoring", name="kube-prometheus-stack", status="failed", revision=1),),
        ),
        names=("release kube-prometheus-stack", "namespace monitoring"),
        hint="--release",
    ),
    Refused(
        says="installs in two namespaces",
        facts=replace(NO_CRDS, parents=(parent_in("obs"), parent_in("a"))),
        names=("a, obs",),
        hint="--namespace",
    ),
    Refused(
        says="a Grafana none of whose datasources leads to the Prometheus",
        facts=stack(grafanas=(grafana(datasources=(source("a", "A", url=""), source("b", "B", url=""))),)),
        names=("A (a)", "B (b)", "mon/k8s"),
        hint="--datasource prometheus=UID",
    ),
    Refused(
        says="a Grafana without a datasource of type prometheus",
        facts=stack(grafanas=(grafana(datasources=(source("l", "Loki", type="loki"),)),)),
        names=("mon/grafana", "no datasource of type prometheus"),
        hint="--datasource prometheus=UID",
    ),
    Refused(
        says="a datasource whose UID only Grafana itself knows",
        facts=stack(grafanas=(grafana(datasources=(source(None),)),)),
        names=("no datasource of type prometheus",),
        hint="--datasource prometheus=UID",
    ),
    Refused(
        says="workloads that may not be listed: that nothing was seen is no reason to install",
        facts=replace(NO_CRDS, unasked=DENIED),
        error=Unanswered,
        names=("Prometheus Operator", "not allowed"),
        hint="credentials",
    ),
    Refused(
        says="workloads that may not be listed, and our own stack asked for: never a second operator",
        facts=replace(NO_CRDS, unasked=DENIED),
        settings=Settings(stack="install"),
        error=Unanswered,
        names=("not allowed",),
        hint="credentials",
    ),
    Refused(
        says="a Prometheus chosen, but a stack of our own would be made",
        facts=NO_CRDS,
        settings=Settings(prometheus="mon/k8s"),
        error=UsageError,
        names=("--prometheus mon/k8s", "of our own"),
        hint="leave it out",
    ),
    Refused(
        says="no Grafana wanted, but a stack of our own would be made",
        facts=NO_CRDS,
        settings=Settings(grafana="none", stack="install"),
        error=UsageError,
        names=("--grafana none",),
        hint="leave it out",
    ),
    Refused(
        says="reuse, where the stack is our own release",
        facts=OUR_STACK,
        settings=Settings(stack="reuse"),
        error=UsageError,
        names=("--stack reuse", "our own Helm release kube-prometheus-stack"),
        hint="kvobs uninstall",
    ),
    Refused(
        says="a Prometheus chosen, where the stack is our own release",
        facts=OUR_STACK,
        settings=Settings(prometheus="mon/k8s"),
        error=UsageError,
        names=("--prometheus mon/k8s", "our own Helm release"),
        hint="kvobs uninstall",
    ),
    Refused(
        says="another release name than the one we made",
        facts=OUR_STACK,
        settings=Settings(release="other"),
        error=UsageError,
        names=("--release other", "kube-prometheus-stack"),
        hint="kvobs uninstall",
    ),
    Refused(
        says="values that switch Prometheus off",
        facts=NO_CRDS,
        settings=Settings(set_values=("prometheus.enabled=false",)),
        error=UsageError,
        names=("switch Prometheus off",),
        hint="--stack reuse",
    ),
    Refused(
        says="a datasource flag that says no UID",
        facts=stack(),
        settings=Settings(datasources=("prometheus",)),
        error=UsageError,
        names=("--datasource 'prometheus'",),
        hint="prometheus=",
    ),
    Refused(
        says="values without the chart's datasource: which one is used has to be said",
        facts=NO_CRDS,
        settings=Settings(set_values=("grafana.sidecar.datasources.defaultDatasourceEnabled=false",)),
        names=("no datasource of type prometheus",),
        hint="--datasource prometheus=UID",
    ),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.says)
def test_refused(case: Refused) -> None:
    """One sentence names what was found, the hint the flag that decides, and the exit code is that of the error."""
    with pytest.raises(KvobsError) as refused:
        choose(case.facts, case.settings)

    sentence = str(refused.value)
    assert type(refused.value) is case.error
    assert all(name in sentence for name in case.names), sentence
    assert "\n" not in sentence
    assert case.hint in (refused.value.hint or "")


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A mixture that is decided."""

    says: str
    facts: Facts
    settings: Settings = field(default_factory=Settings)
    namespace: str = "mon"
    prometheus: str = "mon/k8s"
    grafana: str | None = "mon/grafana"
    uid: str | None = "prom-uid"
    release: str | None = None


OWN: dict[str, Any] = {
    "namespace": "monitoring",
    "prometheus": "monitoring/kube-prometheus-stack-prometheus",
    "grafana": "monitoring/kube-prometheus-stack-grafana",
    "uid": "prometheus",
    "release": "monitoring/kube-prometheus-stack",
}
SEVERAL = (source("a", "A"), source("b", "B"))
CHOSEN = [
    Chosen(says="nothing there: a stack of our own", facts=NO_CRDS, **OWN),
    Chosen(says="CRDs alone, left behind by an uninstall: a stack of our own", facts=cluster(), **OWN),
    Chosen(
        says="a namespace and a name given: our own stack is there and called so",
        facts=NO_CRDS,
        settings=Settings(namespace="obs", release="kps"),
        namespace="obs",
        prometheus="obs/kps-kube-prometheus-stack-prometheus",
        grafana="obs/kps-grafana",
        uid="prometheus",
        release="obs/kps",
    ),
    Chosen(
        says="an operator, and values without a second one: our own Prometheus and Grafana",
        facts=FOREIGN_OPERATOR,
        settings=Settings(stack="install", set_values=WITHOUT_OPERATOR),
        **OWN,
    ),
    Chosen(
        says="Grafana alone, and a stack of our own asked for",
        facts=cluster(grafanas=(grafana(),)),
        settings=Settings(stack="install"),
        **OWN,
    ),
    Chosen(says="our own release is kept", facts=OUR_STACK, **OWN),
    Chosen(
        says="our own release is kept, also when somebody's operator came later",
        facts=replace(OUR_STACK, operators=(*OUR_STACK.operators, operator("po", "ops"))),
        **OWN,
    ),
    Chosen(
        says="our own release whose install was interrupted is finished",
        facts=replace(NO_CRDS, parents=(parent_in("monitoring", OURS),)),
        **OWN,
    ),
    Chosen(
        says="Grafana switched off by the values: no dashboards, and none to reach",
        facts=NO_CRDS,
        settings=Settings(set_values=("grafana.enabled=false",)),
        **(OWN | {"grafana": None, "uid": None}),
    ),
    Chosen(says="one of everything is reused, in its namespace", facts=stack()),
    Chosen(
        says="one of everything is reused, our objects where the user wants them",
        facts=stack(),
        settings=Settings(namespace="obs"),
        namespace="obs",
    ),
    Chosen(
        says="a Grafana without a sidecar beside one with it does not count",
        facts=stack(grafanas=(grafana("plain", "team", sidecar=None), grafana())),
    ),
    Chosen(
        says="--prometheus decides between two",
        facts=TWO_PROMETHEUSES,
        settings=Settings(prometheus="ops/other"),
        prometheus="ops/other",
        namespace="ops",
    ),
    Chosen(
        says="--grafana decides between two",
        facts=TWO_GRAFANAS,
        settings=Settings(grafana="ops/other"),
        grafana="ops/other",
    ),
    Chosen(
        says="--grafana none: monitors only",
        facts=stack(grafanas=()),
        settings=Settings(grafana="none"),
        grafana=None,
        uid=None,
    ),
    Chosen(
        says="--stack reuse goes beside what Argo CD tracks",
        facts=stack(prometheuses=(prometheus(tracked_by="Argo CD application obs"),)),
        settings=Settings(stack="reuse"),
    ),
    Chosen(
        says="--stack reuse believes that an operator runs that is not seen",
        facts=stack(operators=()),
        settings=Settings(stack="reuse"),
    ),
    Chosen(
        says="--stack reuse works where workloads may not be listed, if told what to use",
        facts=stack(operators=(), grafanas=(), unasked=DENIED),
        settings=Settings(stack="reuse", grafana="none"),
        grafana=None,
        uid=None,
    ),
    Chosen(
        says="--datasource decides between several",
        facts=stack(grafanas=(grafana(datasources=(source("a", url=""), source("b", url=""))),)),
        settings=Settings(datasources=("prometheus=b:B", "loki=x")),
        uid="b",
    ),
    Chosen(
        says="the datasource whose address leads to the Prometheus, before the default one",
        facts=stack(
            grafanas=(grafana(datasources=(source("d", is_default=True, url="http://thanos.x"), source("a"))),)
        ),
        uid="a",
    ),
    Chosen(
        says="of two that lead there the default one",
        facts=stack(grafanas=(grafana(datasources=(source("a"), source("b", is_default=True))),)),
        uid="b",
    ),
    Chosen(
        says="of two that lead there and are no default, always the same",
        facts=stack(grafanas=(grafana(datasources=SEVERAL[::-1]),)),
        uid="a",
    ),
    Chosen(
        says="the default one, where no address leads there",
        facts=stack(
            grafanas=(grafana(datasources=(source("a", url="http://[x"), source("b", url="", is_default=True))),)
        ),
        uid="b",
    ),
    Chosen(
        says="the only one, wherever it leads",
        facts=stack(grafanas=(grafana(datasources=(source("only", url="$PROMETHEUS"), source("l", type="loki"))),)),
        uid="only",
    ),
    Chosen(
        says="an address without a namespace is in Grafana's own",
        facts=stack(
            grafanas=(
                grafana(datasources=(source("a", url="http://prometheus-operated:9090"), source("b", url="http://x"))),
            )
        ),
        uid="a",
    ),
    Chosen(
        says="what an earlier run chose is chosen again",
        facts=reused(prometheus="ops/other", grafana="ops/other", datasources=["prometheus=before"]),
        prometheus="ops/other",
        grafana="ops/other",
        uid="before",
    ),
    Chosen(
        says="what this run is told goes before what an earlier one was told",
        facts=reused(prometheus="ops/other", grafana="none", datasources=["prometheus=before"]),
        settings=Settings(prometheus="mon/k8s", grafana="mon/grafana", datasources=("prometheus=now",)),
        uid="now",
    ),
    Chosen(
        says="a Prometheus and a Grafana that are gone are no longer meant",
        facts=stack(parents=(parent_in("mon", Record(settings={"prometheus": "a/gone", "grafana": "a/gone"})),)),
    ),
    Chosen(
        says="--stack reuse holds for later runs",
        facts=stack(operators=(), parents=(parent_in("mon", Record(settings={"stack": "reuse"})),)),
    ),
    Chosen(
        says="the reused stack is gone: a stack of our own, where kvobs is, whatever was chosen before",
        facts=cluster(parents=(parent_in("monitoring", Record(settings={"prometheus": "a/b", "grafana": "none"})),)),
        **OWN,
    ),
    Chosen(
        says="--stack install after a reuse: what was chosen then does not speak against it",
        facts=replace(
            stack(),
            parents=(parent_in("monitoring", Record(settings={"stack": "reuse", "prometheus": "mon/k8s"})),),
        ),
        settings=Settings(stack="install", set_values=WITHOUT_OPERATOR),
        **OWN,
    ),
]


def named(target: Target) -> dict[str, str | None]:
    """What a target is, in the words of `Chosen`."""
    graph, release = target.grafana, target.release
    return {
        "namespace": target.namespace,
        "prometheus": f"{target.prometheus.namespace}/{target.prometheus.name}",
        "grafana": f"{graph.namespace}/{graph.name}" if graph else None,
        "uid": target.datasources["prometheus"][0] if "prometheus" in target.datasources else None,
        "release": f"{release.namespace}/{release.name}" if release else None,
    }


@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case.says)
def test_chosen(case: Chosen) -> None:
    """The Prometheus, the Grafana, the datasource and the release are the ones that the case says."""
    target = choose(case.facts, case.settings)

    assert named(target) == {key: getattr(case, key) for key in named(target)}


@pytest.mark.parametrize(
    "case", [case for case in CHOSEN if case.release is None or case.facts is NO_CRDS], ids=lambda case: case.says
)
def test_a_second_run_without_flags_chooses_the_same(case: Chosen) -> None:
    """What a run records makes a run without the choosing flags choose the same, and record the same."""
    first = choose(case.facts, case.settings)
    plan = make_plan(case.facts, first, case.settings, dashboards=(), monitors=TEMPLATES)
    facts = replace(case.facts, parents=(parent_in(first.namespace, plan.record),))
    if first.release is not None:
        facts = after_helm(
            case.facts,
            name=first.release.name,
            namespace=first.release.namespace,
            values=dict(first.release.values),
            record=plan.record,
        )
    settings = Settings(values=case.settings.values, set_values=case.settings.set_values)

    second = choose(facts, settings)

    assert named(second) == named(first)
    assert make_plan(facts, second, settings, dashboards=(), monitors=TEMPLATES).record == plan.record


@pytest.mark.parametrize(
    ("set_values", "makes", "secret"),
    [
        ((), "kube-prometheus-stack-grafana-admin", "kube-prometheus-stack-grafana-admin"),
        (("grafana.adminPassword=mine",), None, "kube-prometheus-stack-grafana"),
        (("grafana.admin.existingSecret=mine",), None, "mine"),
        (("grafana.enabled=false",), None, None),
    ],
)
def test_administrator(set_values: tuple[str, ...], makes: str | None, secret: str | None) -> None:
    """kvobs makes Grafana's administrator unless the user did, and the chart is told of exactly that Secret."""
    target = choose(NO_CRDS, Settings(set_values=set_values))

    assert target.admin_secret == makes
    assert (target.grafana.admin_secret if target.grafana else None) == secret
    # In a Secret of ours the name is always the same; in another it has to be read.
    if target.grafana is not None:
        assert target.grafana.admin_user == ("admin" if makes else (secret, "admin-user"))


@pytest.mark.parametrize(
    ("facts", "settings", "note"),
    [
        (stack(), Settings(grafana="none"), "no-grafana"),
        (NO_CRDS, Settings(set_values=("grafana.enabled=false",)), "no-sidecar"),
        (NO_CRDS, Settings(set_values=("grafana.sidecar.dashboards.enabled=false",)), "no-sidecar"),
        (stack(), Settings(), None),
    ],
)
def test_no_dashboards_is_said(facts: Facts, settings: Settings, note: str | None) -> None:
    """Where no dashboard will be loaded, a note says so and why."""
    target = choose(facts, settings)

    assert [each.id for each in target.notes] == ([note] if note else [])
    assert (target.sidecar is None) == (note is not None)


def test_live_datasource_over_the_foretold_one() -> None:
    """Of our own release, the datasource that is really there counts."""
    live = tuple(replace(each, datasources=(source("seen", url=""),)) for each in OUR_STACK.grafanas)

    assert choose(replace(OUR_STACK, grafanas=live), Settings()).datasources == {"prometheus": ("seen", "Prometheus")}


def test_known_datasources() -> None:
    """The patch is told every datasource that was read, and that none is known where none was read."""
    two = grafana(datasources=(source("a", is_default=True), source("l", "Loki", type="loki")))

    assert choose(stack(grafanas=(two,)), Settings()).known == (
        {"uid": "a", "name": "Prometheus", "type": "prometheus", "default": True},
        {"uid": "l", "name": "Loki", "type": "loki", "default": False},
    )
    nothing_read = stack(grafanas=(grafana(datasources=()),))
    assert choose(nothing_read, Settings(datasources=("prometheus=x",))).known is None


@pytest.mark.parametrize(
    ("sources", "settings", "says"),
    [
        ((source("a", url="http://me:pw@thanos.x:9090/p?t=1", is_default=True), source("b", url="http://y")),
         Settings(),
         "Datasource Prometheus (a) is used, but its URL http://thanos.x:9090/p does not lead"),
        ((source("a", url="http://prometheus-k8s.other:9090"),), Settings(), "prometheus-k8s.other"),
        ((source("a", url="$PROMETHEUS"),), Settings(), "$PROMETHEUS"),
        ((source("a", url="http://x"),), Settings(datasources=("prometheus=a",)), None),
        ((source("a", url=""),), Settings(), None),
        ((source("a"), source("b", url="http://x", is_default=True)), Settings(), None),
    ],
    ids=["the default one elsewhere", "the only one elsewhere", "a variable", "told", "not known", "one leads there"],
)  # fmt: skip
def test_datasource_that_leads_elsewhere(sources: Any, settings: Settings, says: str | None) -> None:
    """A source that is taken though its address leads elsewhere is named, with the flag that decides."""
    target = choose(stack(grafanas=(grafana(datasources=sources),)), settings)
    notes = [each.text for each in target.notes if each.id == "datasource-elsewhere"]

    assert len(notes) == (1 if says else 0)
    assert all(part in notes[0] for part in (says, "mon/k8s", "--datasource prometheus=UID", "a")) if says else True
    assert "pw" not in "".join(notes)


def test_datasource_of_our_own_chart() -> None:
    """The source that the chart provisions leads to its Prometheus; one that the values lead elsewhere is named."""
    elsewhere = Settings(set_values=("grafana.sidecar.datasources.url=http://thanos.x/",))

    assert choose(NO_CRDS, Settings()).notes == ()
    assert [each.id for each in choose(NO_CRDS, elsewhere).notes] == ["datasource-elsewhere"]


def test_no_secret_of_the_user_is_shown() -> None:
    """Values may hold passwords, and a datasource's address too: none is in a repr, from the settings to the plan."""
    settings = Settings(
        values=({"grafana": {"env": {"TOKEN": "hunter2"}, "neutral": 12345678}},),
        set_values=("grafana.adminPassword=hunter2", "grafana.other=87654321"),
    )
    url = "http://me:hunter2@prometheus"
    facts = replace(NO_CRDS, grafanas=(grafana("theirs", datasources=(source(url=url),)),))
    settings = replace(settings, stack="install")
    target = choose(facts, settings)
    plan = make_plan(facts, target, settings, dashboards=(), monitors=TEMPLATES)

    for shown in map(repr, (settings, facts, target, plan, plan.steps, plan.record)):
        assert not any(secret in shown for secret in ("hunter2", "12345678", "87654321")), shown
    assert target.release is not None
    assert target.release.set_integers == ("grafana.other=87654321",)
    assert target.release.values["grafana"]["adminPassword"] == "hunter2"


def test_the_only_parent_is_found_without_a_namespace() -> None:
    """No namespace given: the install is wherever it is; one given: it is the one there."""
    one, two = parent_in("a"), parent_in("b")

    assert parent_of(cluster(), None) is None
    assert parent_of(cluster(), "a") is None
    assert parent_of(cluster(parents=(one,)), None) == one
    assert parent_of(cluster(parents=(one, two)), "b") == two


def test_sidecar_of_the_live_grafana() -> None:
    """Dashboards are made for the sidecar that is there, not for the chart's defaults."""
    theirs = replace(SIDECAR, label="dash", label_value=None, namespaces=("team",))

    assert choose(stack(grafanas=(grafana(sidecar=theirs),)), Settings()).sidecar == theirs
