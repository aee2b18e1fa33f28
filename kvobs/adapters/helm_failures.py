"""What can go wrong with Helm, in our words, with what to do next."""

from __future__ import annotations

import re
from collections.abc import Coroutine
from typing import Any, TypeVar

import yaml
from pyhelm3 import errors as pyhelm3_errors

from ..errors import HelmError
from .helm_command import HelmCommand
from .helm_output import last_lines

Result = TypeVar("Result")

OLDEST = (3, 13)
"""Oldest Helm that is taken, and the oldest that was tried (3.13.3)."""

INSTALL_HELM = "install it from https://helm.sh/docs/intro/install, or say where it is with --helm PATH"

_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:[-+][0-9A-Za-z.+-]*)?")

_NOT_READY = "kubectl get pods in its namespace shows what is waiting; a larger --timeout gives it longer"
_NO_WAY = "this machine cannot reach that address; a chart that is here already is named with --chart PATH"
_ANY = "run the same command again: it goes on where this one stopped; helm history says how the release stands"
_ANY_OF_CHART = (
    "this is of the chart and the values alone, and changed nothing: correct what Helm names, and run it again"
)
_HINTS = (
    # (a pattern in what Helm says, in lower case; what to do). The first that fits is taken.
    ("another operation", "an earlier run was interrupted, or one goes on right now: helm history says which"),
    (
        "release: already exists|release: not found|cannot re-use a name",
        "something else works on this release right now: let it end, then run the same command again",
    ),
    (
        r"execution error at|don't meet the specifications of the schema",
        "the chart does not take these values, and says which: change --values or --set",
    ),
    ("context deadline exceeded", _NOT_READY),
    ("timed out waiting", _NOT_READY),
    ("invalid ownership metadata", "an object of that name is there already, and not of this release"),
    ("conflict", "somebody else set a field of this release's objects; the message names who"),
    ("forbidden", "the credentials lack a right that Helm needs"),
    ("unauthorized", "the cluster, or the chart's registry, does not accept the credentials"),
    ("certificate", "where a proxy or registry has a certificate of its own, SSL_CERT_FILE names its authority"),
    ("cluster unreachable", "kubectl version with the same --kubeconfig and --context says whether it answers"),
    ("no such host", _NO_WAY),
    ("dial tcp", _NO_WAY),
    (r"missing in charts/ directory", "helm dependency build fetches what the chart depends on"),
    (r"namespaces \".*\" not found", "kubectl create namespace makes it"),
    (
        r"is invalid:|failed to create typed patch object",
        "a value that the user gave does not fit the chart or the cluster",
    ),
    (
        r"(?:path|repo|chart) .*not found|: not found$|chart\.yaml file is missing",
        "a chart is a folder, an archive, oci://REGISTRY/PATH, an https:// address, or REPO/NAME",
    ),
)


async def translated(work: Coroutine[Any, Any, Result], what: str, command: HelmCommand) -> Result:
    """Return what *work*, done with *command*, returns; whatever fails in it is a HelmError that names *what*."""
    try:
        return await work
    except TimeoutError:
        raise HelmError(
            f"{what}: Helm did not end within {command.limit_s:.0f} s and was stopped",
            hint="a larger --timeout; a webhook or an API server that does not answer makes Helm wait",
        ) from None
    except pyhelm3_errors.Error as error:
        said = last_lines(error.stderr.decode(errors="replace"))
        reason = said or f"exit status {error.returncode} without a word"
        raise HelmError(f"{what}: {reason}", hint=_hint(what, said)) from error
    except OSError as error:
        raise HelmError(f"{command.path} cannot be run: {error.strerror or error}", hint=INSTALL_HELM) from error
    except (ValueError, LookupError, TypeError, yaml.YAMLError):
        # The cause holds what Helm printed, manifests and values: neither repeated nor chained.
        raise HelmError(
            f"{what}: Helm's answer cannot be read", hint="take a released helm; kvobs is tried with 3.22 and 4.3"
        ) from None


def usable_version(path: str, printed: str) -> str:
    """Return the version that `helm version` *printed*, without its v; raises HelmError when it cannot be used.

    >>> usable_version("helm", "v4.3.1")
    '4.3.1'
    """
    match = _VERSION.fullmatch(printed)
    if match is None:
        raise HelmError(
            f"{path} says that its version is {printed[:60]!r}, which is no complete version",
            hint="it was built without its version, as some distributions do; take a released one from"
            " https://helm.sh/docs/intro/install, and name it with --helm PATH",
        )
    if (int(match[1]), int(match[2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise HelmError(f"{path} is Helm {printed}; kvobs needs {oldest} or newer", hint=INSTALL_HELM)
    return printed.removeprefix("v")


def _hint(what: str, said: str) -> str:
    lowered = said.lower()
    otherwise = _ANY_OF_CHART if what.startswith("chart ") else _ANY
    return next((hint for pattern, hint in _HINTS if re.search(pattern, lowered, re.MULTILINE)), otherwise)
