"""Which names hold a secret: what stands below them is on no command line, and in nothing that is repeated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .objects import HIDDEN

_SECRET = re.compile(r"pass|pwd|secret|token|credential|auth|private|apikey|api[_-]key|\bkey\b|dsn|cookie", re.I)
# Names whose values name a secret (a Secret, a key in it, a file) without being one.
_NAMES_ONE = re.compile(r"^existing|(?:Key|Name|File|Ref)$")

_LEADS_TO_ONE = re.compile(r"(?:[uU][rR][lLiI]|[hH]eader|(?<!client)Secret)$")
# Names of an address, or of a Secret (`envFromSecret`), which may stand where everybody reads them.

_OWN_OF_KUBERNETES = frozenset({"key"})
"""Names that a selector, a toleration or a reference has too; what stands below them there is none."""


def names_a_secret(name: str) -> bool:
    """Whether the value of that *name* is one to hide.

    >>> [names_a_secret(name) for name in ("adminPassword", "passwordKey", "existingSecret", "replicas")]
    [True, False, False, False]
    """
    return bool(_SECRET.search(name)) and not _NAMES_ONE.search(name)


def secret_texts(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the texts that are secret in Helm *values*, longest first: those below names that say so.

    >>> secret_texts({"grafana": {"adminPassword": "hunter22", "replicas": 2}})
    ('hunter22',)
    """
    return tuple(sorted(set(_secrets(values, False)), key=lambda text: (-len(text), text)))


def plain_secrets(values: Mapping[str, Any], *, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, text) of each value whose own name says that it is a secret: those that need not stand in values.

    >>> list(plain_secrets({"ini": {"client_secret": "hunter22", "auth_url": "https://a"}, "envFromSecret": "mine"}))
    [('ini.client_secret', 'hunter22')]
    >>> list(plain_secrets({"env": [{"name": "TOKEN", "value": "hunter22"}], "imagePullSecrets": [{"name": "pull"}]}))
    [('env[0].value', 'hunter22')]
    """
    for name, inner in values.items():
        at = f"{path}.{name}" if path else str(name)
        if isinstance(inner, Mapping):
            yield from plain_secrets(inner, path=at)
        elif isinstance(inner, list | tuple):
            for number, each in enumerate(inner):
                if isinstance(each, Mapping):
                    yield from plain_secrets(each, path=f"{at}[{number}]")
        elif isinstance(inner, str) and len(inner) >= 4 and _is_plain_secret(str(name), values):
            yield at, inner


def masked(value: Any, secrets: Sequence[str], name: str = "") -> Any:
    """Return *value*, which stands under *name*, as it may be shown: without *secrets*, and without what names say.

    >>> masked({"env": [{"name": "TOKEN", "value": "a"}], "url": "http://me:hunter22@host"}, ["hunter22"])
    {'env': [{'name': 'TOKEN', 'value': '<hidden>'}], 'url': 'http://me:<hidden>@host'}
    """
    if isinstance(value, Mapping):
        of = str(value.get("name") or "")
        return {key: masked(each, secrets, of if key == "value" else str(key)) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [masked(each, secrets, name) for each in value]
    if not isinstance(value, str):
        return value
    if value and names_a_secret(name) and name not in _OWN_OF_KUBERNETES and not name.endswith(".json"):
        return HIDDEN
    for secret in secrets:
        value = value.replace(secret, HIDDEN)
    return value


def _is_plain_secret(name: str, beside: Mapping[str, Any]) -> bool:
    """Whether what stands under *name* is a secret itself; *beside*: the map, where `value` has its name beside it."""
    own = str(beside.get("name") or "") if name == "value" else name
    return names_a_secret(own) and own not in _OWN_OF_KUBERNETES and not _LEADS_TO_ONE.search(own)


def _secrets(value: Any, secret: bool) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _secrets(inner, secret or names_a_secret(str(name)))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _secrets(inner, secret)
    elif secret and isinstance(value, str | int) and not isinstance(value, bool) and len(str(value)) >= 4:
        yield str(value)
