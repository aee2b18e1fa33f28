"""Monitors of others that are meant for a server and give its dashboards nothing, so that ours stands beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .facts import Facts, MetricsPod, Monitor, Object, Prometheus
from .notes import Note
from .targets import Target, aimed_at, in_words, metrics_endpoints, reached, selected


def of_no_use(ours: Mapping[Target, MetricsPod], facts: Facts, prometheus: Prometheus, *, what: str) -> Iterator[Note]:
    """Yield a note for each monitor that *prometheus* reads, and that is meant in vain for servers that are *ours*.

    It gives their metrics other names or drops them; or it selects them and asks for a port that they do not have.
    """
    pods = list(ours.values())
    theirs = [each for each in facts.monitors if not each.ours and selected(prometheus, each, facts.namespaces)]
    for monitor in sorted(theirs, key=lambda m: (m.kind, m.namespace, m.name)):
        aimed = aimed_at(monitor, facts, pods)
        found = reached(monitor, facts, aimed)
        name = f"{monitor.kind} {monitor.namespace}/{monitor.name}"
        hit = [ours[target] for target in found if target in ours]
        if hit:
            text = (
                f"{name} scrapes {what} {in_words(hit)} too, but its metricRelabelings rename the metrics or drop them,"
                " and no dashboard asks for what is left; kvobs adds a monitor of its own beside it."
            )
            yield Note("metrics-renamed", text)
        elif not found and metrics_endpoints(monitor) and _is_only_for(monitor, aimed, facts):
            asked = " and ".join(sorted(map(_asked_port, metrics_endpoints(monitor))))
            text = (
                f"{name} is meant for {what} {in_words(aimed)} and finds nothing there: it asks for {asked}; kvobs adds"
                " a monitor of its own."
            )
            yield Note("monitor-finds-nothing", text)


def _is_only_for(monitor: Monitor, pods: Sequence[MetricsPod], facts: Facts) -> bool:
    """Whether it selects some *pods* and no others: a monitor for whatever has a port of some name is for more."""
    return bool(pods) and bool(monitor.selector) and not aimed_at(monitor, facts, facts.bystanders)


def _asked_port(endpoint: Object) -> str:
    if endpoint.get("port"):
        return f"a port called {endpoint['port']}"
    return f"port {endpoint.get('portNumber') or endpoint.get('targetPort') or 'of any name'}"
