"""pyhelm3's Command, started as kvobs needs it.

pyhelm3 starts Helm through a shell, so that cancelling kills the shell and Helm runs on; it logs the whole
command line; and its errors carry raw stderr. This subclass replaces the one place where it starts a process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyhelm3 import command as pyhelm3_command
from pyhelm3 import errors as pyhelm3_errors

from .helm_output import repeatable
from .processes import run_to_end

# In JSON text: an escaped backslash (to step over), or a pair of escapes for a character beyond U+FFFF.
_ESCAPES = re.compile(rb"\\\\|\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})")

# A line of klog, which Helm's Kubernetes client writes beside Helm: `E1129 17:05:01.123456   99 reflector.go:343] …`.
_LIBRARY_LOG = re.compile(r"\s*[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+:\d+\]")


class HelmCommand(pyhelm3_command.Command):  # type: ignore[misc]  # pyhelm3 ships no types
    """Runs Helm without a shell and without a log; what it raises holds no secret.

    `values` are the values of this run, so that they can be left out of what is said; `extra` are arguments that
    pyhelm3 knows no way to give; every other argument is pyhelm3's own.
    """

    def __init__(
        self,
        *,
        executable: str,
        kubeconfig: str | None,
        context: str | None,
        environment: Mapping[str, str],
        limit_s: float,
        values: Mapping[str, Any] | None = None,
        extra: Sequence[str] = (),
        insecure: bool = False,
        on_line: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(executable=executable)
        self.path = executable
        self.connection = [
            *(("--kubeconfig", kubeconfig) if kubeconfig else ()),
            *(("--kube-context", context) if context else ()),
            *(("--kube-insecure-skip-tls-verify",) if insecure else ()),
        ]
        self.environment = environment
        self.limit_s = limit_s
        self.values = values or {}
        self.extra = extra
        self.on_line = on_line

    async def run(self, command: Sequence[Any], input: bytes | None = None) -> bytes:
        """Run one Helm command, return its stdout; raises pyhelm3's errors, TimeoutError after `limit_s`."""
        ended = await run_to_end(
            [self.path, *map(str, command), *self.extra, *self.connection],
            environment=self.environment,
            stdin=None if input is None else readable_json(input),
            timeout_s=self.limit_s,
            on_error_line=self._tell if self.on_line else None,
        )
        if ended.returncode == 0:
            return ended.stdout
        lines = ended.stderr.decode(errors="replace").splitlines()
        said = repeatable("\n".join(line for line in lines if not _LIBRARY_LOG.match(line)), self.values)
        kind = pyhelm3_errors.ReleaseNotFoundError if "release: not found" in said.lower() else pyhelm3_errors.Error
        # Stdout is left out: a failed upgrade may have printed manifests there.
        raise kind(ended.returncode, b"", said.encode())

    async def template(
        self, release_name: str, chart_ref: str, values: Mapping[str, Any] | None = None, **given: Any
    ) -> bytes:
        """Return the rendered manifest as text: pyhelm3's own reads it in pure Python, which takes seconds."""
        words = ["template", release_name, chart_ref, "--values", "-", "--namespace", given["namespace"]]
        words.append("--include-crds" if given["include_crds"] else "--skip-crds")
        if given["version"]:
            words += ["--version", given["version"]]
        printed = await self.run(words, json.dumps(values or {}).encode())
        if printed.startswith(b"---"):
            return printed
        # Some say in front of it what they have pulled.
        return printed[printed.find(b"\n---\n") + 1 :]

    def _tell(self, line: str) -> None:
        if self.on_line and line.strip() and not _LIBRARY_LOG.match(line):
            self.on_line(repeatable(line, self.values))


def readable_json(document: bytes) -> bytes:
    r"""Return a JSON document as Helm can read it: as YAML, which knows no surrogate escapes.

    >>> readable_json(b'{"a": "\\ud83d\\udd25"}') == '{"a": "🔥"}'.encode()
    True
    """

    def character(match: re.Match[bytes]) -> bytes:
        if match[1] is None:
            return match[0]
        return str(json.loads(b'"' + match[0] + b'"')).encode()

    return _ESCAPES.sub(character, document)
