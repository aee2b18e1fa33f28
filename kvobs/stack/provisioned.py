"""Grafana's provisioning files, as ConfigMaps and Secrets hold them: the datasources that they give it. Pure."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

import yaml

from .facts import DatasourceFact, Object

Found = MutableMapping[str, str]
"""What could not be read, in words -> why."""


def read_datasources(text: str, where: str, unread: Found) -> Iterator[DatasourceFact]:
    """Yield the datasources of one file, which is *where*; what cannot be read goes into *unread*."""
    try:
        documents = list(yaml.safe_load_all(text))
    except (yaml.YAMLError, ValueError) as error:  # the second for a date that is none
        # Not the error's own text: it quotes the file, which may hold a password.
        mark = getattr(error, "problem_mark", None)
        place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        unread[where] = f"it is not YAML{place}"
        return
    for document in documents:
        entries = document.get("datasources") if isinstance(document, dict) else None
        for each in entries if isinstance(entries, list) else ():
            name = text_of(each.get("name")) if isinstance(each, dict) else None
            if name is None:
                unread[where] = "an entry of its datasources has no name"
                continue
            uid = text_of(each.get("uid"))
            yield DatasourceFact(
                # A value with a variable is expanded by Grafana from its own environment: unknown from here.
                uid=uid_from_name(name) if uid is None else None if "$" in uid else uid,
                name=name,
                type=text_of(each.get("type")) or "",
                url=text_of(each.get("url")) or "",
                is_default=each.get("isDefault") is True,
                where=where,
                time_interval=time_interval_of(each),
            )


def time_interval_of(source: Mapping[str, Any]) -> str | None:
    """`timeInterval` of a data source, as Grafana's files and its API have it."""
    told = source.get("jsonData")
    return text_of(told.get("timeInterval")) if isinstance(told, Mapping) else None


def uid_from_name(name: str) -> str:
    """The UID that Grafana gives a provisioned datasource which states none.

    >>> uid_from_name("Prometheus")
    'PBFA97CFB590B2093'
    """
    return "P" + hashlib.sha256(name.encode()).hexdigest()[:16].upper()


def files_of(each: Object, *, encoded: bool = False) -> Iterator[tuple[str, str]]:
    """The files of a ConfigMap, or of a Secret (*encoded*); what is not text is no file of ours to read."""
    plain: Mapping[str, Any] = {} if encoded else each.get("data") or {}
    base64_parts = [each.get("data") or {}] if encoded else [each.get("binaryData") or {}]
    yield from plain.items()
    for part in base64_parts:
        for key, value in part.items():
            try:
                yield key, base64.b64decode(value, validate=True).decode()
            except (binascii.Error, UnicodeDecodeError):
                continue


def text_of(value: Any) -> str | None:
    """*value* where it is a text that says something."""
    return value if isinstance(value, str) and value else None
