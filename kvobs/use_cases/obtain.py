"""A dashboard that somebody else publishes: from the cache where its bytes are settled, else downloaded and checked.

Its checksum is settled by the catalogue, by the address itself (`#sha256=`), or by the first download of something
that cannot change: a file at a commit, a revision on Grafana.com. What stands at any other address may change, so
it is downloaded each time, and the last copy is used where that fails for want of an answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Protocol

from ..adapters.dashboard_cache import DashboardCache, Pin, pin_now, sha256_of
from ..dashboard.catalog import Catalog, grafana_com_revisions_url
from ..dashboard.document import unwrapped
from ..dashboard.jsontext import JsonText, read_json
from ..dashboard.origins import Remote, at_revision
from ..errors import ActionError, DocumentError, DownloadError

How = Literal["downloaded", "cached"]


class Fetches(Protocol):
    """Gets the bytes at an address, or raises DownloadError."""

    def fetch(self, url: str) -> bytes: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Obtained:
    """A dashboard's bytes, checked, and what a person should know about how they came."""

    content: bytes
    text: JsonText
    how: How
    revision: str | None
    warnings: tuple[str, ...] = ()

    @property
    def sha256(self) -> str:
        """The checksum of the bytes."""
        return sha256_of(self.content)


class Library:
    """Obtains dashboards one after another."""

    def __init__(
        self,
        catalog: Catalog,
        cache: DashboardCache,
        downloads: Fetches,
        *,
        offline: bool = False,
        refresh: bool = False,
    ) -> None:
        """`offline`: nothing is downloaded; `refresh`: everything is, and what was pinned before is forgotten."""
        self._catalog = catalog
        self._cache = cache
        self._downloads = downloads
        self._offline = offline
        self._refresh = refresh

    def obtain(self, remote: Remote) -> Obtained:
        """Return the dashboard; raise DownloadError with what went wrong and what to do about it."""
        if remote.url is not None:
            return self._settled(remote)
        found, said, newest = self._at_some_revision(remote)
        obtained = self._settled(found)
        warnings = [said, *obtained.warnings]
        if newest:
            pin = pin_now(remote.key, obtained.content, revision=found.revision)
            warnings += self._keep(obtained.content, pin)
        return replace(obtained, warnings=tuple(dict.fromkeys(warnings)))

    def _at_some_revision(self, remote: Remote) -> tuple[Remote, str, bool]:
        """Return the revision that is meant where none is named, a sentence on it, and whether it was looked up."""
        pin = None if self._refresh else self._cache.pin(remote.key)
        if pin is not None and pin.revision is not None:
            said = (
                f"revision {pin.revision}, the newest when it was first downloaded ({pin.at}); a newer one is looked"
                f" for by: kvobs dashboards pull --refresh {remote.name}"
            )
            return at_revision(remote, int(pin.revision), self._catalog), said, False
        if self._offline:
            raise self._not_here(remote)
        newest = self._newest_revision(remote)
        said = f"revision {newest} was taken, the newest; to name it: {remote.name}@{newest}"
        return at_revision(remote, newest, self._catalog), said, True

    def _newest_revision(self, remote: Remote) -> int:
        assert remote.grafana_com is not None  # Only Grafana.com's have no address of their own.
        url = grafana_com_revisions_url(remote.grafana_com)
        try:
            listed = read_json(self._downloads.fetch(url)).document
        except DownloadError:
            raise
        except DocumentError as error:
            raise DownloadError(f"{url}: {error}", hint=f"name a revision: {remote.name}@1") from error
        items = listed.get("items") if isinstance(listed, dict) else None
        numbers = [each.get("revision") for each in items or () if isinstance(each, dict)]
        revisions = [each for each in numbers if type(each) is int and each > 0]
        if not revisions:
            raise DownloadError(f"{url} lists no revision", hint=f"name a revision: {remote.name}@1")
        return max(revisions)

    def _settled(self, remote: Remote) -> Obtained:
        before = self._cache.pin(remote.key)
        pin = None if self._refresh else before
        expected = remote.sha256 or (pin.sha256 if pin and remote.immutable else None)
        if expected is not None and not self._refresh and (content := self._cache.content(expected)) is not None:
            return self._obtained(remote, content, "cached")
        if self._offline:
            return self._last_copy(remote, pin, self._not_here(remote))
        assert remote.url is not None
        try:
            content = self._downloads.fetch(remote.url)
        except DownloadError as error:
            if not error.passing:
                raise
            return self._last_copy(remote, pin, error)
        if expected is not None and sha256_of(content) != expected:
            raise _wrong_checksum(remote, expected, sha256_of(content), pin)
        obtained = self._obtained(remote, content, "downloaded")
        return replace(obtained, warnings=(*self._news(remote, before, obtained), *self._pinned(remote, content)))

    def _news(self, remote: Remote, pin: Pin | None, obtained: Obtained) -> tuple[str, ...]:
        if remote.sha256 is not None or (pin is not None and pin.sha256 == obtained.sha256):
            return ()
        if pin is not None:
            return (f"it has changed since {pin.at}: sha256 {pin.sha256} then, {obtained.sha256} now",)
        return (f"its checksum was not known; from now on it is sha256 {obtained.sha256}",) if remote.immutable else ()

    def _pinned(self, remote: Remote, content: bytes) -> tuple[str, ...]:
        return self._keep(content, None if remote.sha256 is not None else pin_now(remote.key, content))

    def _keep(self, content: bytes, pin: Pin | None) -> tuple[str, ...]:
        try:
            self._cache.keep(content, pin)
        except ActionError as error:
            return (f"it is not kept for later runs: {error}",)
        return ()

    def _last_copy(self, remote: Remote, pin: Pin | None, why: DownloadError) -> Obtained:
        """Return what an address that may change gave last, or raise *why* there is nothing better."""
        content = self._cache.content(pin.sha256) if pin is not None and not remote.immutable else None
        if content is None or pin is None:
            raise why
        said = f"the copy of {pin.at} was taken" + ("" if self._offline else f": {why}")
        return replace(self._obtained(remote, content, "cached"), warnings=(said,))

    def _not_here(self, remote: Remote) -> DownloadError:
        return DownloadError(
            f"{remote.name} is not in the cache ({self._cache.directory}), and --offline downloads nothing",
            hint=f"with a network: kvobs dashboards pull '{remote.name}', and copy the cache; or give a FILE",
        )

    def _obtained(self, remote: Remote, content: bytes, how: How) -> Obtained:
        try:
            text = read_json(content)
            unwrapped(text.document)
        except DocumentError as error:
            raise DownloadError(f"{remote.place}: {error}", hint=error.hint) from error
        return Obtained(content=content, text=text, how=how, revision=remote.revision)


def _wrong_checksum(remote: Remote, expected: str, got: str, pin: Pin | None) -> DownloadError:
    if remote.sha256 is None and pin is not None:
        whose, hint = f"pinned at {pin.at}", f"if the change is meant: kvobs dashboards pull --refresh {remote.name}"
    else:
        whose, hint = "known beforehand", "do not use it before you know why; to use it all the same, give it as a FILE"
    return DownloadError(
        f"{remote.name}: {remote.place} gave other bytes than expected: sha256 {got}, expected {expected} ({whose})",
        hint=hint,
    )
