"""Names of scrape configs, and the objects from which the Prometheus Operator wrote them. Pure."""

from __future__ import annotations

from dataclasses import dataclass

_KINDS = {each[0].lower() + each[1:]: each for each in ("ServiceMonitor", "PodMonitor", "ScrapeConfig", "Probe")}
"""What a name begins with -> the kind."""
_WITH_ENDPOINTS = ("ServiceMonitor", "PodMonitor")


@dataclass(frozen=True, slots=True)
class Origin:
    """The object that a scrape config was written from."""

    kind: str
    namespace: str
    name: str
    endpoint: int | None = None
    """The number of its endpoint; None: its kind has none."""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def edit(self) -> str:
        """The command that opens it."""
        return f"kubectl -n {self.namespace} edit {self.kind.lower()} {self.name}"


def origin_of(pool: str) -> Origin | None:
    """Return what a scrape config was written from; None where somebody wrote it by hand.

    >>> origin_of("podMonitor/ml/chat/1")
    Origin(kind='PodMonitor', namespace='ml', name='chat', endpoint=1)
    >>> print(origin_of("scrapeConfig/ml/static"), origin_of("kubernetes-pods"), origin_of("serviceMonitor/ml/chat"))
    ScrapeConfig ml/static None None
    """
    first, *rest = pool.split("/")
    kind = _KINDS.get(first)
    if kind is None or not all(rest):
        return None
    if kind not in _WITH_ENDPOINTS:
        return Origin(kind, rest[0], rest[1]) if len(rest) == 2 else None
    if len(rest) != 3 or not rest[2].isdecimal():
        return None
    return Origin(kind, rest[0], rest[1], int(rest[2]))
