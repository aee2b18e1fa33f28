"""Data sources that lead to another server than the Prometheus that is asked. Pure."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from ..dashboard.datasources import PROMETHEUS_TYPES
from ..dashboard.origins import shown
from ..stack.notes import Note
from .sources import Sources


def led_elsewhere(
    sources: Sources, leads: Callable[[str], bool], *, asked: str, hint: str = ""
) -> tuple[dict[str, str], tuple[Note, ...]]:
    """Return UID -> where it leads, of each data source that leads elsewhere; and what is to be said.

    *leads* says whether an address is that of the Prometheus that is asked. Where no source leads there by its address
    (something stands between, a Thanos say, or a port-forward), all are taken to, which is said; so is one whose
    address is not known.
    """
    those = [each for each in sources.known or () if each.uid and each.type in PROMETHEUS_TYPES]
    right = [each for each in those if leads(each.url)]
    if not right:
        named = ", ".join(f"{each.name} ({shown(each.url)})" if each.url else each.name for each in those)
        said = (
            f"No data source of {sources.where} leads to {asked} by its address; it is asked in place of all of them:"
            f" {named}.{hint and f' {hint}'}"
        )
        return {}, (Note("datasource-elsewhere", said),) if those else ()
    wrong = [each for each in those if each.url and each not in right]
    return {str(each.uid): f"data source {each.name} leads to {shown(each.url)}" for each in wrong}, ()


def same_server(url: str, other: str) -> bool:
    """Whether two addresses are of one server, whoever asks, and however it is written.

    >>> same_server("http://me:pw@Prom.example:80/prometheus/", "http://prom.example/prometheus")
    True
    >>> same_server("http://prom.example/a", "http://prom.example/b"), same_server("$URL", "$URL")
    (False, False)
    """
    ours = _place(url)
    return ours is not None and ours == _place(other)


def _place(url: str) -> tuple[str, str, int | None, str] | None:
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:  # it is somebody's text
        return None
    return (parts.scheme, parts.hostname.rstrip("."), port, parts.path.rstrip("/")) if parts.hostname else None
