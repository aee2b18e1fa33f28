"""Versions of vLLM: read, compared, and told from the names of the metrics that a server shows. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache, total_ordering
from typing import NamedTuple

_VERSION = re.compile(
    r"""
    v?(?P<release>\d{1,6}(?:\.\d{1,6}){1,3})
    (?:[-._]?(?P<pre>a|b|rc|alpha|beta)[-._]?(?P<pre_n>\d{1,6}))?
    (?:[-._]?post[-._]?(?P<post>\d{1,6}))?
    (?:[-._]?dev[-._]?(?P<dev>\d{1,6}))?
    (?:[-+_].*)?
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
"""As Python packages and image tags write them: `0.10.2.post1`, `v0.11.1rc3.dev7+gabc`, `v0.12.0-cu129`."""

_PRE = {"alpha": 0, "a": 0, "beta": 1, "b": 1, "rc": 2}
_NONE_YET = (3, 0)
"""In place of a pre-release's rank where there is none: after all of them."""


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """One version; they compare as Python's packaging says: dev < rc < release < post."""

    text: str
    release: tuple[int, int, int, int]
    pre: tuple[int, int] = _NONE_YET
    post: int = -1
    dev: int | None = None

    @property
    def _order(self) -> tuple[object, ...]:
        bare_dev = self.dev is not None and self.pre == _NONE_YET and self.post < 0
        pre = (-1, 0) if bare_dev else self.pre
        return self.release, pre, self.post, self.dev is None, self.dev or 0

    def __eq__(self, other: object) -> bool:
        return self._order == other._order if isinstance(other, Version) else NotImplemented

    def __lt__(self, other: Version) -> bool:
        return self._order < other._order

    def __hash__(self) -> int:
        return hash(self._order)

    def __str__(self) -> str:
        return self.text

    def reached(self, change: Version) -> bool:
        """Whether what changed in *change* has changed here; a pre-release of that version has it already."""
        return self.release >= change.release


@lru_cache(maxsize=256)
def read_version(text: str) -> Version | None:
    """Read a version or an image tag; None where it names none (`latest`, `nightly`, a digest).

    >>> str(read_version("v0.12.0-cu129")), read_version("nightly")
    ('0.12.0', None)
    >>> read_version("0.10.2rc1") < read_version("0.10.2") < read_version("0.10.2.post1") < read_version("0.11")
    True
    """
    match = _VERSION.fullmatch(text.strip())
    if match is None:
        return None
    numbers = [int(each) for each in match["release"].split(".")]
    a, b, c, d = (*numbers, 0, 0, 0)[:4]
    pre = (_PRE[match["pre"].lower()], int(match["pre_n"])) if match["pre"] else _NONE_YET
    post = int(match["post"]) if match["post"] else -1
    dev = int(match["dev"]) if match["dev"] else None
    written = match["release"]
    written += f"{('a', 'b', 'rc')[pre[0]]}{pre[1]}" if match["pre"] else ""
    written += f".post{post}" if match["post"] else ""
    written += f".dev{dev}" if match["dev"] else ""
    return Version(written, (a, b, c, d), pre, post, dev)


def version(text: str) -> Version:
    """Return a version that is known to be one."""
    found = read_version(text)
    assert found is not None, text
    return found


class VersionRange(NamedTuple):
    """What is known of a running version: from *oldest*, itself among them, to before *before*; None: no bound."""

    oldest: Version | None
    before: Version | None

    @property
    def told(self) -> bool:
        """Whether anything is known."""
        return self.oldest is not None or self.before is not None

    def __str__(self) -> str:
        if self.oldest and self.before:
            return f"{self.oldest} or newer, older than {self.before}"
        if self.oldest:
            return f"{self.oldest} or newer"
        return f"older than {self.before}" if self.before else "not known"
