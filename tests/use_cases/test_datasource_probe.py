"""Whether Grafana's data sources reach a Prometheus: its own test first, the address where it gives none."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.errors import ApiError, Unanswered
from kvobs.use_cases.verifying.datasource_probe import unreachable_sources
from tests.stack.clusters import cluster, grafana, prometheus, source
from tests.stack.listed import Listed

FINE = b'{"status": "OK", "message": "ok"}'
ILL = b'{"status": "ERROR", "message": "404 Not Found"}'
LOGIN = b'{"message": "Unauthorized"}'
LOST = source(url="http://localhost:9090")


class Proxied(Listed):
    """An API server whose proxy leads to a Grafana that answers one thing."""

    answer: bytes | None = None

    def proxy_get(self, namespace: str, service: str, port: str | int, path: str) -> tuple[int, bytes]:
        """Answer."""
        assert path == "/api/datasources/uid/prom-uid/health"
        if self.answer is None:
            raise ApiError("no endpoint", status=503)
        return 200, self.answer


def proxied(answer: bytes | None) -> Proxied:
    """Return the API server."""
    found = Proxied((), frozenset())
    object.__setattr__(found, "answer", answer)
    return found


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (FINE, None),
        (ILL, "404 Not Found"),
        (LOGIN, "Grafana's own pod"),
        (None, "Grafana's own pod"),
    ],
)
def test_through_the_api_server(answer: bytes | None, words: str | None) -> None:
    """Grafana's word counts where it gives one to a visitor; else what can be seen of the address."""
    found = unreachable_sources(
        [LOST, source("l", "Loki", type="loki"), source(None)],
        grafana=grafana(),
        prometheus=prometheus(),
        facts=cluster(),
        cluster=proxied(answer),
    )

    assert set(found) == ({"prom-uid"} if words else set())
    assert all(words is not None and words in each.said for each in found.values())


class Api:
    """A Grafana that is asked with a token."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def health(self, uid: str) -> tuple[bool, str] | None:
        """Answer."""
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("answer", "words"),
    [((True, "ok"), None), ((False, "refused"), "refused"), (None, None), (Unanswered("away"), None)],
)
def test_with_a_token(answer: Any, words: str | None) -> None:
    """Grafana's answer is its word; where it gives none and nothing else is known, nothing is said."""
    found = unreachable_sources([LOST], api=Api(answer))

    assert [words in each.said for each in found.values() if words] == ([True] if words else [])
    assert bool(found) == bool(words)
