"""Helm's own record of a release, read where Helm keeps it: a Secret for each revision, the same in Helm 3 and 4.

One Secret is read, by its name: what Helm would be asked for in three processes of a second each comes in one
request. Where Helm keeps its releases elsewhere (HELM_DRIVER), or a record cannot be read, Helm has to be asked.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Protocol

from ..errors import HelmError
from ..stack.facts import Object
from .helm_release import HelmRelease, release_of

_GZIP = b"\x1f\x8b\x08"
_WINDOW = zlib.MAX_WBITS | 16
"""Says to zlib that it is gzip."""

LARGEST = 64 * 2**20
"""Bytes that a record may unpack to: the real stack's is 3 MB, and a Secret of 1 MB could unpack to 1 GB."""


class SecretReader(Protocol):
    """What reading a record needs of an API server."""

    def list(
        self, kind: str, *, namespace: str | None = None, labels: str | None = None, metadata_only: bool = False
    ) -> list[Object]:
        """Return the objects of a kind, by their labels."""

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """Return the object, None where there is none."""


def stored_release(cluster: SecretReader, name: str, namespace: str, revision: int | None = None) -> HelmRelease | None:
    """Return a *revision* of the release, the newest one for None; None where there is no such record.

    Raises `HelmError` where the record is not as Helm writes it, and what the API server refuses.
    """
    if revision is None:
        revision = max(recorded_statuses(cluster, name, namespace), default=None)
    if revision is None:
        return None
    secret = cluster.get("Secret", secret_name(name, revision), namespace)
    return None if secret is None else _read(secret)


def recorded_statuses(cluster: SecretReader, name: str, namespace: str) -> dict[int, str]:
    """Return each recorded revision with its status, by the labels that Helm itself goes by."""
    found = cluster.list("Secret", namespace=namespace, labels=f"owner=helm,name={name}", metadata_only=True)
    labels = [each["metadata"].get("labels") or {} for each in found]
    return {int(each["version"]): each.get("status", "") for each in labels if each.get("version", "").isdecimal()}


def secret_name(name: str, revision: int) -> str:
    """Return the name of the Secret that holds a revision."""
    return f"sh.helm.release.v1.{name}.v{revision}"


def _read(secret: Object) -> HelmRelease:
    at = secret["metadata"]
    try:
        packed = base64.b64decode(base64.b64decode(secret["data"]["release"], validate=True), validate=True)
        told = json.loads(_unpacked(packed) if packed.startswith(_GZIP) else packed)
        return release_of(told, told["chart"]["metadata"], told.get("config") or {})
    except (ValueError, LookupError, TypeError, AttributeError, zlib.error):
        # Neither chained nor repeated: it holds manifests and values.
        raise HelmError(
            f"Secret {at.get('namespace')}/{at['name']} is not a release as Helm keeps it",
            hint="helm history says what Helm makes of it",
        ) from None


def _unpacked(packed: bytes) -> bytes:
    stream = zlib.decompressobj(_WINDOW)
    unpacked = stream.decompress(packed, LARGEST)
    if not stream.eof:
        raise ValueError("cut short, or too large")
    return unpacked
