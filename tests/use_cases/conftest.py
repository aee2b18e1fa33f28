"""What several use cases are tested against."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ..adapters.site import Site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server on loopback that plays what it is told."""
    with Site(tmp_path_factory.mktemp("site")) as site:
        yield site


@pytest.fixture
def without_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy of this machine's environment stands in between."""
    for name in ("ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
