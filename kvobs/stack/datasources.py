"""Which Grafana datasource a dashboard's references are patched to. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ..dashboard.datasources import read_datasource
from ..errors import Undecided
from ..settings import Settings
from .facts import DatasourceFact, Grafana, Prometheus
from .notes import Note


def chosen_datasources(
    grafana: Grafana | None, prometheus: Prometheus, settings: Settings
) -> dict[str, tuple[str, str | None]]:
    """Return type -> (UID, name): what the user gave, and for Prometheus otherwise the source that is meant.

    That is the one whose URL leads to *prometheus*, else the default one, else the only one; of several that lead
    there, the default one, since they are as good as each other.
    """
    given = given_datasources(settings)
    if "prometheus" in given or grafana is None:
        return given
    meant = _meant(grafana, prometheus)
    if meant is not None:
        return {**given, "prometheus": (str(meant.uid), meant.name)}
    sources = _sources(grafana)
    where = f"Grafana {grafana.namespace}/{grafana.name}"
    if sources:
        named = ", ".join(f"{each.name} ({each.uid})" for each in sources)
        raise Undecided(
            f"{where} has several datasources of type prometheus, and none is known to lead to"
            f" {prometheus.namespace}/{prometheus.name}: {named}",
            hint="say which one: --datasource prometheus=UID",
        )
    raise Undecided(
        f"no datasource of type prometheus was found for {where} in any ConfigMap or Secret that it reads",
        hint="say its UID (Grafana, Connections, Data sources; it stands in the address): --datasource prometheus=UID",
    )


def datasource_notes(grafana: Grafana | None, prometheus: Prometheus, settings: Settings) -> tuple[Note, ...]:
    """Say which source `chosen_datasources` takes of several, and why; and where the one it takes leads elsewhere.

    What the user has named needs no word; a source whose URL is not known says nothing of where it leads.
    """
    if grafana is None or "prometheus" in given_datasources(settings):
        return ()
    meant = _meant(grafana, prometheus)
    if meant is None:
        return ()
    notes = []
    leads = leads_to(meant.url, prometheus, seen_from=grafana.namespace)
    to = f"Prometheus {prometheus.namespace}/{prometheus.name}"
    others = [f"{each.name} ({each.uid})" for each in _sources(grafana) if each is not meant]
    if others:
        why = f"its URL leads to {to}" if leads else f"it is the default one, and no URL is known to lead to {to}"
        text = (
            f"Datasource {meant.name} ({meant.uid}) is used, since {why}; also of type prometheus: {', '.join(others)}"
        )
        notes.append(Note("datasource-chosen", f"{text}. --datasource prometheus=UID decides."))
    if meant.url and not leads:
        text = (
            f"Datasource {meant.name} ({meant.uid}) is used, but its URL {_shown(meant.url)} does not lead to a Service"
            f" of {to}; --datasource prometheus=UID decides."
        )
        notes.append(Note("datasource-elsewhere", text))
    return tuple(notes)


def _sources(grafana: Grafana) -> list[DatasourceFact]:
    return [each for each in grafana.datasources if each.type == "prometheus" and each.uid]


def _meant(grafana: Grafana, prometheus: Prometheus) -> DatasourceFact | None:
    """The source that is meant where nothing was said; None where that is not known."""
    sources = _sources(grafana)
    leading = [each for each in sources if leads_to(each.url, prometheus, seen_from=grafana.namespace)]
    default = [each for each in leading or sources if each.is_default]
    # Of several that lead there any is right; the first by UID, so that every run says the same.
    meant = default[:1] or sorted(leading, key=lambda each: str(each.uid))[:1] or (sources if len(sources) == 1 else [])
    return meant[0] if meant else None


def _shown(url: str) -> str:
    """*url* without what may be a secret: a user before its host, a query behind its path.

    >>> _shown("https://me:pw@prom.example:9090/api?token=x"), _shown("$PROMETHEUS")
    ('https://prom.example:9090/api', '$PROMETHEUS')
    """
    scheme, slashes, rest = url.partition("?")[0].partition("://")
    if not slashes:
        return scheme.rpartition("@")[2]
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def leads_to(url: str, prometheus: Prometheus, *, seen_from: str) -> bool:
    """Whether a datasource's URL is a Service of that Prometheus, for a Grafana in namespace *seen_from*.

    >>> from kvobs.stack.facts import Prometheus
    >>> p = Prometheus(namespace="mon", name="k8s", service_monitor_selector={}, pod_monitor_selector={},
    ...     service_monitor_namespace_selector={}, pod_monitor_namespace_selector={}, keeps_metrics=False,
    ...     release=None, tracked_by=None, service="prometheus-k8s")
    >>> hosts = ("prometheus-k8s.mon", "prometheus-k8s.mon.svc.cluster.local", "prometheus-k8s")
    >>> [leads_to(f"http://{host}:9090/", p, seen_from="mon") for host in hosts]
    [True, True, True]
    >>> leads_to("http://prometheus-k8s.other:9090", p, seen_from="mon")
    False
    """
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:  # it is somebody's text, and may be no URL at all
        return False
    service, _, rest = host.partition(".")
    namespace = rest.partition(".")[0] or seen_from
    return service in (prometheus.service, "prometheus-operated") and namespace == prometheus.namespace


def given_datasources(settings: Settings) -> dict[str, tuple[str, str | None]]:
    """Read `--datasource TYPE=UID[:NAME]`; raises `UsageError`."""
    given = map(read_datasource, settings.datasources)
    return {kind: (source.uid, source.name or None) for kind, source in given}


def known_datasources(grafana: Grafana | None) -> tuple[Mapping[str, Any], ...] | None:
    """The datasources of a Grafana for `patch_dashboard`; None where not one was read."""
    if grafana is None:
        return None
    return (
        tuple(
            {"uid": each.uid, "name": each.name, "type": each.type, "default": each.is_default}
            for each in grafana.datasources
        )
        or None
    )
