"""Where a reference to a data source leads, as Grafana itself reads it: to a Prometheus, elsewhere, or nowhere. Pure.

Grafana looks for a UID, then for a name, so that a name in a UID's place works where it is written exactly so.
Without a Grafana (files, and the address of a Prometheus) every reference that may be meant for a Prometheus is taken
to be that one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..dashboard.board import Resolved, Scope, SourceRef
from ..dashboard.datasources import BUILTIN_TYPES, BUILTIN_UIDS, EXPRESSION, MIXED, PROMETHEUS_TYPES
from ..dashboard.js_regex import js_regex
from ..dashboard.placeholders import holds_any, name_in, pattern_of, put_in, whole_name
from ..stack.facts import DatasourceFact, Grafana
from .causes import found
from .verdict import Finding

GIVEN = "prometheus"
"""The UID that stands for the Prometheus given by its address, where there is no Grafana."""

TOLD_ITSELF = "the API of Grafana"
"""How the place of a data source begins that Grafana's own API told."""

_DEFAULT = "default"
_OTHERS = re.compile(
    r"loki|tempo|influx|elastic|opensearch|postgres|mysql|mssql|graphite|jaeger|zipkin|cloudwatch|stackdriver"
    r"|clickhouse|pyroscope|testdata|alertmanager|azure.?monitor",
    re.IGNORECASE,
)
"""Words in a name by which it is clearly meant for something else."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sources:
    """The data sources of one Grafana, or none where verify was given a Prometheus and files only."""

    known: tuple[DatasourceFact, ...] | None
    """None: there is no Grafana to look at."""
    complete: bool = False
    """Whether Grafana itself told them, those made by hand included."""
    where: str = "this Grafana"
    """Which Grafana, in words."""
    inputs: Mapping[str, str | None] = field(default_factory=dict)
    """The `__inputs` of the dashboard that is read: name -> plugin id."""
    variables: Mapping[str, str | None] = field(default_factory=dict)
    """Its data source variables: name -> plugin id of the sources that one offers."""

    def resolve(self, reference: SourceRef, scope: Scope) -> Resolved:
        """Return the Prometheus that *reference* leads to, or why its targets are not asked."""
        led = self._follow(reference, scope)
        if isinstance(led, Finding):
            return Resolved(why=led.said, cause=led.cause)
        if isinstance(led, DatasourceFact):
            assert led.uid is not None  # a source without one is never found
            return Resolved(uid=led.uid)
        return led

    def finding(self, reference: SourceRef, scope: Scope) -> Finding | None:
        """Return what is wrong with *reference*; None where it leads somewhere."""
        led = self._follow(reference, scope)
        return led if isinstance(led, Finding) else None

    def for_variable(self, plugin: str, regex: str = "") -> tuple[DatasourceFact, ...]:
        """Return what a data source variable for *plugin* offers, by name: Grafana's order.

        *regex* is as the variable has it, variables in it already put in.
        """
        if self.known is None:
            fits = plugin in PROMETHEUS_TYPES or not plugin
            return (_given(),) if fits else ()
        wanted = js_regex(regex) if regex else None  # one that this engine cannot read: no filter, not no source
        fitting = (each for each in self.known if each.uid and (each.type == plugin or not plugin))
        offered = (each for each in fitting if wanted is None or wanted.matches(each.name))
        return tuple(sorted(offered, key=lambda each: each.name.lower()))

    def time_intervals(self) -> dict[str, str | None]:
        """UID -> `timeInterval` of each source that sends PromQL."""
        return {each.uid: each.time_interval for each in self.known or (_given(),) if each.uid and _asks_promql(each)}

    # --- following a reference ---

    def _follow(self, reference: SourceRef, scope: Scope) -> DatasourceFact | Resolved | Finding:
        written, plugin = reference.written, reference.plugin
        if written in (EXPRESSION, "-100") or plugin == EXPRESSION:
            return Resolved(why="an expression of Grafana's, computed from other targets")
        if written == MIXED:
            return Resolved(why="each target of the panel names its own data source, and this one names none")
        if written in BUILTIN_UIDS or plugin in BUILTIN_TYPES:
            return Resolved(why=f"built into Grafana ({written or plugin}), no Prometheus")
        if written is None or written in ("", _DEFAULT):
            return self._default(plugin)
        empty = next((each for each in _names(written, scope) if not scope[each].values), None)
        if empty is not None:
            return self._without_option(empty, written, plugin or self.variables.get(empty))
        meant = _with_values(written, scope)
        if meant == _DEFAULT:
            return self._default(plugin)
        if meant in BUILTIN_UIDS:
            return Resolved(why=f"built into Grafana ({meant}), no Prometheus")
        if self.known is None:
            return self._taken_for_given(meant, plugin)
        if meant == written and holds_any(written):
            return self._dangling(written, plugin)
        return self._named(meant, plugin)

    def _without_option(self, name: str, written: str, plugin: str | None) -> Resolved | Finding:
        """Nothing that the variable could stand for is here: a fault where it is meant for a Prometheus."""
        if plugin is not None and plugin not in PROMETHEUS_TYPES:
            return _elsewhere(plugin)
        return found(
            "KVO-301",
            subject=f"variable {name}",
            said=f"the data source variable ${name} has no option in {self.where}, so {written} leads nowhere",
            fix=f"In the dashboard's settings, Variables, {name}: a type and a regex that a data source here fits; or"
            " add the data source that it is meant for",
            evidence=(f"data sources here: {self._listed()}",),
        )

    def _default(self, plugin: str | None) -> DatasourceFact | Resolved | Finding:
        if self.known is None:
            return _given() if plugin is None or plugin in PROMETHEUS_TYPES else _elsewhere(plugin)
        default = next((each for each in self.known if each.is_default and each.uid), None)
        if default is not None and (_asks_promql(default) or plugin not in PROMETHEUS_TYPES):
            return default if _asks_promql(default) else _elsewhere(default.type, default.name)
        if default is None and plugin is not None and plugin not in PROMETHEUS_TYPES:
            return _elsewhere(plugin)
        is_what = f"is {default.name}, of type {default.type}" if default else "is not known"
        return found(
            "KVO-201",
            subject="the default data source",
            said=f"it names no data source and so gets the default one of {self.where}, which {is_what}",
            fix=self._patch(),
            evidence=(f"data sources here: {self._listed()}", self._how_known()),
        )

    def _taken_for_given(self, meant: str, plugin: str | None) -> DatasourceFact | Resolved:
        plugin = plugin or self.inputs.get(whole_name(meant) or "")
        if plugin is not None:
            return _given() if plugin in PROMETHEUS_TYPES else _elsewhere(plugin)
        return _elsewhere(meant) if _OTHERS.search(meant) else _given()

    def _dangling(self, written: str, plugin: str | None) -> Resolved | Finding:
        name = whole_name(written) or written
        plugin = plugin or self.inputs.get(name)
        if plugin is not None and plugin not in PROMETHEUS_TYPES:
            return _elsewhere(plugin)
        is_input = name in self.inputs
        why = "an input of the import form, which loading from a file or a ConfigMap never asks for"
        return found(
            "KVO-201",
            subject=written,
            said=f"{written} is {why if is_input else 'no variable of the dashboard, and nothing else defines it'}",
            fix=self._patch(),
            evidence=(f"data sources here: {self._listed()}",),
        )

    def _named(self, meant: str, plugin: str | None) -> DatasourceFact | Resolved | Finding:
        """As Grafana: by UID, then by name; the plugin that is written beside it does not count."""
        known = self.known or ()
        source = next((each for each in known if each.uid == meant), None)
        source = source or next((each for each in known if each.name == meant and each.uid), None)
        if source is not None:
            return source if _asks_promql(source) else _elsewhere(source.type, source.name)
        if any(each.uid is None and each.name == meant for each in known):
            return Resolved(why=f"data source {meant} is here, and its UID is not known ({self._how_known()})")
        if plugin is not None and plugin not in PROMETHEUS_TYPES:
            return _elsewhere(plugin)
        near = next((each for each in known if each.name.strip().casefold() == meant.strip().casefold()), None)
        if near is not None:
            return found(
                "KVO-203",
                subject=meant,
                said=f"{meant!r} is a name and no UID, and {self.where} writes it {near.name!r} (UID {near.uid}):"
                " neither its UIDs nor its names have it so",
                fix=self._patch(near.uid),
                evidence=(f"data sources here: {self._listed()}",),
            )
        return found(
            "KVO-202",
            subject=meant,
            said=f"{self.where} has no data source with UID {meant!r}: it is one of the Grafana that the dashboard was"
            " made in",
            fix=self._patch(),
            evidence=(f"data sources here: {self._listed()}", self._how_known()),
        )

    def _patch(self, uid: str | None = None) -> str:
        ours = [each for each in self.known or () if each.uid and each.type == "prometheus"]
        chosen = next((each for each in ours if each.is_default), ours[0] if ours else None)
        return (
            "kvobs patch FILE --remap-foreign"
            f" --datasource prometheus={uid or (chosen.uid if chosen else 'UID')} --in-place"
        )

    def _listed(self) -> str:
        told = [f"{each.name} ({each.uid or 'UID not known'}, {each.type})" for each in self.known or ()]
        return ", ".join(told) or "none"

    def _how_known(self) -> str:
        if self.complete:
            return "Grafana itself told them"
        return (
            "read from the ConfigMaps, Secrets and objects that Grafana is provisioned from; --grafana URL asks itself"
        )


def _names(written: str, scope: Scope) -> Iterator[str]:
    pattern = pattern_of(scope)
    return (name_in(match) for match in pattern.finditer(written)) if pattern else iter(())


def _with_values(written: str, scope: Scope) -> str:
    """*written* with the first value of each variable in it, as Grafana puts them into a reference."""
    pattern = pattern_of(scope)
    matches = list(pattern.finditer(written)) if pattern else []
    return put_in(written, matches, [scope[name_in(each)].values[0] for each in matches])


def _asks_promql(source: DatasourceFact) -> bool:
    return source.type in PROMETHEUS_TYPES


def _elsewhere(plugin: str, name: str | None = None) -> Resolved:
    return Resolved(why=f"it asks {f'{name}, a data source of type ' if name else ''}{plugin}, no Prometheus")


def _given() -> DatasourceFact:
    return DatasourceFact(
        uid=GIVEN, name="Prometheus", type="prometheus", url="", is_default=True, where="the address that was given"
    )


def sources_of(grafana: Grafana | None, *, inputs: Mapping[str, str | None] | None = None) -> Sources:
    """Return the data sources of a Grafana as the cluster tells them; none that could be read is as no Grafana."""
    known = grafana.datasources if grafana is not None else ()
    if grafana is None or not known:
        return Sources(known=None, inputs=inputs or {})
    return Sources(
        known=known,
        complete=all(each.where.startswith(TOLD_ITSELF) for each in known),
        where=f"Grafana {grafana.namespace}/{grafana.name}",
        inputs=inputs or {},
    )
