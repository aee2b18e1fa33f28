"""One look asks nothing twice, and gives what the API server would."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.adapters.discovery import Discovery, Resource
from kvobs.errors import ApiError, Forbidden
from kvobs.use_cases.one_look import OneLook

SERVED = Resource(kind="Service", version="v1", plural="services", namespaced=True, verbs=frozenset())


def obj(name: str, namespace: str = "m", **labels: str) -> dict[str, Any]:
    """Return an object."""
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels}}


class Asked:
    """A cluster of Services and Secrets that counts what it is asked."""

    def __init__(self) -> None:
        self.questions: list[Any] = []
        self.objects = [obj("a", release="x"), obj("b"), obj("c", "n", release="y")]

    def server_version(self) -> str:
        """Say it."""
        self.questions.append("version")
        return "v1"

    def discover(self) -> Discovery:
        """Say which kinds are served; uncounted, as every question needs it."""
        return Discovery(dict.fromkeys(("Service", "Secret"), SERVED), frozenset({"away.example"}))

    def list(self, kind: str, *, namespace: str | None = None, labels: str | None = None, **more: Any) -> list[Any]:
        """Give those in the namespace; this one does not read labels."""
        self.questions.append((kind, namespace, labels))
        if kind == "Secret":
            raise Forbidden("no", status=403)
        return [each for each in self.objects if namespace in (None, each["metadata"]["namespace"])]

    def get(self, kind: str, name: str, namespace: str | None = None) -> Any:
        """Give one."""
        self.questions.append((kind, name, namespace))
        return next((each for each in self.objects if each["metadata"]["name"] == name), None)

    def proxy_get(self, namespace: str, service: str, port: str | int, path: str) -> tuple[int, bytes]:
        """Answer with the path, unless the Service is gone."""
        self.questions.append(("proxy", namespace, service, port, path))
        if service == "gone":
            raise ApiError("no endpoint", status=503)
        return 200, path.encode()


def names(found: list[Any]) -> list[str]:
    """Return the names of objects."""
    return [each["metadata"]["name"] for each in found]


def test_whole_lists_answer_for_their_parts() -> None:
    """What was listed whole is not asked for by namespace, label or name again."""
    cluster = Asked()
    seen = OneLook(cluster)  # type: ignore[arg-type]

    assert names(seen.list("Service")) == ["a", "b", "c"]
    assert names(seen.list("Service", namespace="m")) == ["a", "b"]
    assert names(seen.list("Service", labels="release=x")) == ["a"]
    assert names(seen.list("Service", labels="release", metadata_only=True)) == ["a", "c"]
    assert names(seen.list("Service", namespace="n", labels="release=x")) == []
    assert seen.get("Service", "b", "m") == obj("b")
    assert seen.get("Service", "b", "n") is None
    assert cluster.questions == [("Service", None, None)]


def test_a_page_of_a_service_is_asked_for_once() -> None:
    """What a Service answered is remembered by its path; what it did not answer is asked again."""
    cluster = Asked()
    seen = OneLook(cluster)  # type: ignore[arg-type]
    for path in ("/a", "/a", "/b"):
        assert seen.proxy_get("m", "grafana", 80, path) == (200, path.encode())
    for _ in range(2):
        with pytest.raises(ApiError):
            seen.proxy_get("m", "gone", 80, "/a")

    services = [question[2] for question in cluster.questions]
    assert services == ["grafana", "grafana", "gone", "gone"]


def test_parts_are_remembered_as_they_were_asked_for() -> None:
    """A part answers for itself only: nothing is concluded from it about the rest."""
    cluster = Asked()
    seen = OneLook(cluster)  # type: ignore[arg-type]
    for _ in range(2):
        seen.list("Service", namespace="m")
        seen.list("Service", labels="a in (b,c)")
        seen.list("Service", namespace="m", labels="a in (b,c)")
        seen.list("Service", namespace="n", metadata_only=True)
        seen.list("Service", namespace="n")
        seen.get("Service", "missing", "m")
        seen.server_version()

    assert cluster.questions == [
        ("Service", "m", None),
        ("Service", None, "a in (b,c)"),
        ("Service", "m", "a in (b,c)"),
        ("Service", "n", None),
        ("Service", "n", None),
        ("Service", "missing", "m"),
        "version",
    ]


def test_metadata_answers_for_metadata() -> None:
    """A list of metadata answers for a part of itself, and never where more is asked for."""
    cluster = Asked()
    seen = OneLook(cluster)  # type: ignore[arg-type]
    seen.list("Service", namespace="m", metadata_only=True)

    assert names(seen.list("Service", namespace="m", labels="release=x", metadata_only=True)) == ["a"]
    seen.list("Service", namespace="m", labels="release=x")
    assert cluster.questions == [("Service", "m", None), ("Service", "m", "release=x")]


def test_what_was_given_is_nobodys_to_change() -> None:
    """Whoever changes the list that they were given changes no later answer."""
    seen = OneLook(Asked())  # type: ignore[arg-type]
    seen.list("Service").clear()

    assert names(seen.list("Service")) == ["a", "b", "c"]


def test_a_refusal_is_no_answer() -> None:
    """Who was refused is refused again, by the API server."""
    cluster = Asked()
    seen = OneLook(cluster)  # type: ignore[arg-type]
    for _ in range(2):
        with pytest.raises(Forbidden):
            seen.list("Secret")

    assert len(cluster.questions) == 2


def test_a_kind_that_is_not_served() -> None:
    """A kind that the cluster does not know is not asked for; one whose group does not answer may be there."""
    cluster = Asked()
    seen = OneLook(cluster)  # type: ignore[arg-type]

    assert seen.list("Gone.example") == []
    assert seen.get("Gone.example", "a") is None
    assert cluster.questions == []
    seen.list("Kind.away.example")
    assert cluster.questions == [("Kind.away.example", None, None)]
