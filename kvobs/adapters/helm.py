"""Helm, through pyhelm3. Carries out what was decided elsewhere, and says in our words what went wrong.

pyhelm3's `Command` does the work. Its `Client` and models are stepped around: the client runs a shell when it
is made and merges values in its own way (a null is lost, lists are joined), a `ReleaseRevision` parses the
whole manifest of the stack in pure Python, and a `Chart` refuses references and metadata that Helm takes.
It is loaded when Helm is first needed: where nothing has changed, it is not.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import HelmError, UsageError
from ..stack.facts import Object
from .blocking import run_blocking
from .helm_manifests import manifest_objects
from .helm_release import HelmRelease as HelmRelease
from .helm_release import release_of

if TYPE_CHECKING:
    from .helm_command import HelmCommand

Result = TypeVar("Result")

_LIMIT_S = 30.0
"""How much longer than its own time-out Helm may run: so that it can say itself what was not ready."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartInfo:
    """A chart, by its own words."""

    name: str
    version: str


class Helm:
    """One helm executable and one cluster. Making it runs nothing; every method blocks until Helm has ended.

    The first call makes sure that there is a Helm, and one that can be used. Methods may be called inside a
    running event loop. Interrupted (KeyboardInterrupt, or an error in a callback), Helm and all it started are
    stopped before the call returns. Everything that goes wrong is a HelmError.
    """

    def __init__(
        self,
        *,
        executable: str = "helm",
        kubeconfig: str | None = None,
        context: str | None = None,
        insecure: bool = False,
        timeout_s: int = 600,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.executable = executable
        self.kubeconfig = kubeconfig
        self.context = context
        self.insecure = insecure
        self.timeout_s = timeout_s
        given = os.environ if environment is None else environment
        # HELM_KUBECONTEXT and its like would send Helm to another cluster than kvobs, or as another user.
        self._environment = {name: value for name, value in given.items() if not name.startswith("HELM_KUBE")}
        self._checked: tuple[str, str] | None = None

    @property
    def keeps_secrets(self) -> bool:
        """Whether Helm keeps its releases in Secrets, as it does unless HELM_DRIVER says otherwise."""
        return self._environment.get("HELM_DRIVER", "") in ("", "secret", "secrets")

    def version(self) -> str:
        """Return Helm's version, `4.3.1`; raises HelmError when there is none that can be used."""
        return self._usable()[1]

    def applies(self) -> bool:
        """Whether this Helm goes on to apply server-side what was applied so, as it does since 4; raises HelmError."""
        return int(self.version().partition(".")[0]) >= 4

    def chart(self, ref: str, version: str | None = None) -> ChartInfo:
        """Return what the chart at *ref* (a path, oci://…, https://…, REPO/NAME) says it is."""
        _positional(ref)
        command = self._command()
        told = self._run(command, command.show_chart(ref, version=version), f"chart {_where(ref, version)}")
        if not isinstance(told, dict) or not told.get("name") or not told.get("version"):
            raise HelmError(f"{_where(ref, version)} has no name and version: it is not a chart")
        return ChartInfo(name=str(told["name"]), version=str(told["version"]))

    def release(self, name: str, namespace: str) -> HelmRelease | None:
        """Return the release as it stands, whatever its status; None when there is none."""
        _positional(name)
        command = self._command()

        async def ask() -> HelmRelease | None:
            from pyhelm3 import errors as pyhelm3_errors

            try:
                told = await command.status(name, namespace=namespace)
            except pyhelm3_errors.ReleaseNotFoundError:
                return None
            # One revision for all questions: another may be made in between.
            revision = told["version"]
            chart = await command.get_chart_metadata(name, namespace=namespace, revision=revision)
            values = await command.get_values(name, namespace=namespace, revision=revision)
            return release_of(told, chart, values)

        return self._run(command, ask(), f"release {namespace}/{name}")

    def template(
        self,
        name: str,
        chart: str,
        *,
        version: str | None,
        namespace: str,
        values: Mapping[str, Any],
        set_integers: Sequence[str] = (),
        kube_version: str | None = None,
        api_versions: Sequence[str] = (),
        include_crds: bool = False,
    ) -> tuple[Object, ...]:
        """Return the objects that an install would apply, hooks included (by their `helm.sh/hook` annotation).

        No cluster is asked: *kube_version* (`v1.36.3`) and *api_versions* (`monitoring.coreos.com/v1`) are what the
        chart is told of it. With *include_crds* those of its crds/ folders come first. An object in the release's
        own namespace may name none. What the chart makes up (passwords, certificates) is new each time, and secret.
        """
        _positional(name, chart)
        _json_values(name, values)
        extra = [
            *_set(set_integers),
            *(("--kube-version", kube_version) if kube_version else ()),
            *(word for each in api_versions for word in ("--api-versions", each)),
        ]
        command = self._command(values=values, extra=extra)

        async def act() -> tuple[Object, ...]:
            rendered = await command.template(
                name, chart, dict(values), namespace=namespace, version=version, include_crds=include_crds
            )
            return manifest_objects(rendered)

        return self._run(command, act(), f"chart {_where(chart, version)}")

    def install_or_upgrade(
        self,
        name: str,
        chart: str,
        *,
        version: str | None,
        namespace: str,
        values: Mapping[str, Any],
        set_integers: Sequence[str] = (),
        wait: bool,
        timeout_s: int | None = None,
        create_namespace: bool = False,
        on_line: Callable[[str], None] | None = None,
    ) -> HelmRelease:
        """Install the release, or upgrade it where there is one; its values are exactly *values*.

        *values* go to Helm on stdin; *set_integers* (`stack.values.set_integers`) beside them as `--set`.
        *wait*: until workloads and Jobs are ready. *on_line* is given, in the caller's thread, each line that
        Helm says on the way. Helm may take *timeout_s* (this object's own, when None) in all.
        """
        _positional(name, chart)
        _json_values(name, values)
        limit_s = timeout_s or self.timeout_s
        said: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        command = self._command(
            limit_s=limit_s, values=values, extra=_set(set_integers), on_line=said.put if on_line else None
        )

        async def act() -> HelmRelease:
            told = await command.install_or_upgrade(
                name,
                chart,
                dict(values),
                namespace=namespace,
                version=version,
                create_namespace=create_namespace,
                # Without it, no values at all would mean: those of the last revision.
                reset_values=True,
                timeout=f"{limit_s}s",
                wait=wait,
            )
            return release_of(told, told["chart"]["metadata"], told.get("config") or {})

        return self._run(command, act(), f"release {namespace}/{name}", said=said, on_line=on_line)

    def rollback(
        self,
        name: str,
        namespace: str,
        *,
        revision: int | None = None,
        wait: bool = False,
        timeout_s: int | None = None,
    ) -> None:
        """Put the release back to *revision*, or to the one before the newest."""
        _positional(name)
        limit_s = timeout_s or self.timeout_s
        command = self._command(limit_s=limit_s)
        act = command.rollback(name, revision, namespace=namespace, timeout=f"{limit_s}s", wait=wait)
        self._run(command, act, f"rollback of release {namespace}/{name}")

    def uninstall(self, name: str, namespace: str, *, wait: bool = True, timeout_s: int | None = None) -> bool:
        """Uninstall the release; *wait* until its objects are gone. Return whether there was one."""
        _positional(name)
        limit_s = timeout_s or self.timeout_s
        command = self._command(limit_s=limit_s)

        async def act() -> bool:
            from pyhelm3 import errors as pyhelm3_errors

            try:
                await command.uninstall(name, namespace=namespace, timeout=f"{limit_s}s", wait=wait)
            except pyhelm3_errors.ReleaseNotFoundError:
                return False
            return True

        return self._run(command, act(), f"uninstall of release {namespace}/{name}")

    def _usable(self) -> tuple[str, str]:
        """Return the path and the version of a Helm that can be used."""
        if self._checked is None:
            from .helm_failures import usable_version

            path = self._found()
            command = self._made(path, self.timeout_s)
            printed = self._run(command, command.version(), f"{path} version").strip()
            self._checked = path, usable_version(path, printed)
        return self._checked

    def _found(self) -> str:
        from .helm_failures import INSTALL_HELM

        searched = self._environment.get("PATH", os.defpath)
        path = shutil.which(self.executable, path=searched)
        if path is not None:
            return path
        if os.sep in self.executable:
            what = "is not executable" if os.path.exists(self.executable) else "does not exist"
            raise HelmError(f"helm: {self.executable} {what}", hint=INSTALL_HELM)
        raise HelmError(f"no helm on PATH: looked for {self.executable!r} in {searched}", hint=INSTALL_HELM)

    def _command(self, limit_s: int | None = None, **given: Any) -> HelmCommand:
        return self._made(self._usable()[0], limit_s or self.timeout_s, **given)

    def _made(self, path: str, limit_s: int, **given: Any) -> HelmCommand:
        from .helm_command import HelmCommand

        return HelmCommand(
            executable=path,
            kubeconfig=self.kubeconfig,
            context=self.context,
            insecure=self.insecure,
            environment=self._environment,
            limit_s=limit_s + _LIMIT_S,
            **given,
        )

    def _run(
        self,
        command: HelmCommand,
        work: Coroutine[Any, Any, Result],
        what: str,
        *,
        said: queue.SimpleQueue[str | None] | None = None,
        on_line: Callable[[str], None] | None = None,
    ) -> Result:
        from .helm_failures import translated

        return run_blocking(translated(work, what, command), said or queue.SimpleQueue(), on_line)


def _json_values(name: str, values: Mapping[str, Any]) -> None:
    try:
        json.dumps(values, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"the values of release {name} are not JSON: {error}") from None


def _set(expressions: Sequence[str]) -> list[str]:
    return [word for each in expressions for word in ("--set", each)]


def _positional(*words: str) -> None:
    for word in words:
        if not word or word.startswith("-"):
            raise UsageError(f"{word!r} names no release or chart: Helm would take it for a flag")


def _where(ref: str, version: str | None) -> str:
    return f"{ref} {version}" if version else ref
