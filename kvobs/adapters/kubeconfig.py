"""From kubectl's configuration to a connection: which file, which context, which credentials.

Differences from kubectl: $KUBECONFIG with missing files only is an error, not an empty configuration;
`disable-compression` has no effect; a login plugin's certificate is not renewed within a run.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import yaml

from ..errors import KubeconfigError, Unauthenticated
from .login import plugin_login, read_token_file, relogin_hint

Entry = dict[str, Any]

_PATHS: Mapping[str, tuple[str, ...]] = {
    "clusters": ("certificate-authority",),
    "users": ("client-certificate", "client-key", "tokenFile"),
}
"""Fields that hold a path, which counts from the folder of the file that it stands in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """How to reach one API server."""

    server: str
    """Its URL as it may be shown: without user, password and query."""
    context: str | None
    """The context it was taken from; None: from inside the cluster."""
    kubectl: str
    """The beginning of a kubectl command that reaches the same server."""
    relogin: str
    """What to do when the credentials are refused."""
    configuration: Any = field(repr=False)
    """kubernetes' Configuration, with credentials."""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Headers of every request: whom to impersonate."""
    new_token: Callable[[], str] | None = field(default=None, repr=False)
    """Fetches a fresh token, where one can be had without asking anybody."""

    def renew(self) -> bool:
        """Replace a refused token by a fresh one, where that can be done; whether it was."""
        if self.new_token is None:
            return False
        token = f"Bearer {self.new_token()}"
        for key in self.configuration.api_key:
            self.configuration.api_key[key] = token
        return True


def find_access(
    kubeconfig: str | None = None,
    context: str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    insecure: bool = False,
) -> Access:
    """The access that kubectl would use: the given file, $KUBECONFIG, ~/.kube/config, the pod's own account.

    With `insecure` the server's certificate is not verified. KubeconfigError says which file and what is wrong in
    it; `Unauthenticated` that a login plugin failed.
    """
    environ = os.environ if environ is None else environ
    paths = _existing(kubeconfig, environ)
    if paths:
        access = _Kubeconfig.read(paths).access(context, kubeconfig)
    elif context is None and environ.get("KUBERNETES_SERVICE_HOST"):
        access = _in_cluster()
    else:
        raise KubeconfigError(
            f"there is no kubeconfig at {_searched(kubeconfig, environ)}",
            hint="name one with --kubeconfig or KUBECONFIG; your cluster's provider has a command that writes it",
        )
    if insecure:
        access.configuration.verify_ssl = False
        access.configuration.ssl_ca_cert = None
        return replace(access, kubectl=f"{access.kubectl} --insecure-skip-tls-verify")
    return access


def _candidates(kubeconfig: str | None, environ: Mapping[str, str]) -> list[Path]:
    if kubeconfig is not None:
        return [Path(kubeconfig).expanduser()]
    listed = [part for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    return [Path(part) for part in listed] or [Path(environ.get("HOME") or Path.home(), ".kube", "config")]


def _existing(kubeconfig: str | None, environ: Mapping[str, str]) -> list[Path]:
    return [path for path in _candidates(kubeconfig, environ) if path.exists()]


def _searched(kubeconfig: str | None, environ: Mapping[str, str]) -> str:
    return " or ".join(str(path) for path in _candidates(kubeconfig, environ))


def _is_url(text: str) -> bool:
    try:
        return bool(urlsplit(text).hostname) and urlsplit(text).port != 0
    except ValueError:  # a port that is no number, half an IPv6 address
        return False


def shown_url(url: str) -> str:
    """The URL without what may be secret in it."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path.rstrip('/')}"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Kubeconfig:
    """Several files read as one; as in kubectl the first to say something wins."""

    paths: tuple[Path, ...]
    current: str | None
    contexts: Mapping[str, Entry]
    clusters: Mapping[str, Entry]
    users: Mapping[str, Entry]

    @classmethod
    def read(cls, paths: list[Path]) -> _Kubeconfig:
        current: str | None = None
        merged: dict[str, dict[str, Entry]] = {"contexts": {}, "clusters": {}, "users": {}}
        for path in paths:
            document = _document(path)
            current = current or document.get("current-context") or None
            for section, entries in merged.items():
                for name, entry in _entries(path, document, section).items():
                    entries.setdefault(name, entry)
        return cls(paths=tuple(paths), current=current, **merged)

    def access(self, context: str | None, kubeconfig: str | None) -> Access:
        name = self._chosen(context)
        chosen = self.contexts[name]
        cluster = self._named(self.clusters, chosen.get("cluster"), name, "cluster")
        user_name = chosen.get("user")
        user = self._named(self.users, user_name, name, "user") if user_name else {}
        server = cluster.get("server")
        if not isinstance(server, str) or not _is_url(server):
            raise KubeconfigError(
                f"{self._where}: cluster {chosen['cluster']!r} of context {name!r} has no server URL",
                hint="kubectl config set-cluster writes one",
            )
        user, new_token = _with_credentials(user, cluster, str(user_name))
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": user}],
        }
        kubectl = ["kubectl", *(["--kubeconfig", kubeconfig] if kubeconfig else []), "--context", name]
        return Access(
            server=shown_url(server),
            context=name,
            kubectl=shlex.join(kubectl),
            relogin=relogin_hint(self.users.get(str(user_name), {}), shlex.join(kubectl)),
            configuration=self._configuration(name, user, document, manages_token=new_token is not None),
            headers=_impersonation(user),
            new_token=new_token,
        )

    @property
    def _where(self) -> str:
        return "kubeconfig " + " and ".join(str(path) for path in self.paths)

    def _chosen(self, context: str | None) -> str:
        name = context or self.current
        known = ", ".join(sorted(self.contexts)) or "none"
        if name is None:
            raise KubeconfigError(
                f"{self._where} has no current context",
                hint=f"choose one with --context; there are: {known}",
            )
        if name not in self.contexts:
            raise KubeconfigError(
                f"{self._where} has no context {name!r}",
                hint=f"choose one with --context; there are: {known}",
            )
        return name

    def _named(self, entries: Mapping[str, Entry], name: Any, context: str, what: str) -> Entry:
        if not isinstance(name, str) or name not in entries:
            raise KubeconfigError(
                f"{self._where}: context {context!r} names the {what} {name!r}, which is not there",
                hint=f"kubectl config get-{what}s lists those that are",
            )
        return dict(entries[name])

    def _configuration(self, context: str, user: Entry, document: Entry, *, manages_token: bool) -> Any:
        from kubernetes import client, config

        configuration = client.Configuration()
        if "auth-provider" in user:
            self._load_legacy(context, configuration)
            return configuration
        try:
            config.load_kube_config_from_dict(document, client_configuration=configuration)
        except (config.ConfigException, OSError, ValueError, TypeError, KeyError) as exc:
            raise KubeconfigError(
                f"{self._where}: context {context!r} cannot be used: {_short(exc)}",
                hint=f"kubectl --context {shlex.quote(context)} cluster-info says whether kubectl can",
            ) from exc
        if proxy := document["clusters"][0]["cluster"].get("proxy-url"):
            configuration.proxy = proxy  # which kubernetes reads by itself from 36 on
        if manages_token:
            configuration.refresh_api_key_hook = None
        return configuration

    def _load_legacy(self, context: str, configuration: Any) -> None:
        """Load from the files: kubernetes renews an auth-provider's token, and writes it back there."""
        from kubernetes import config

        try:
            config.load_kube_config(
                config_file=os.pathsep.join(str(path) for path in self.paths),
                context=context,
                client_configuration=configuration,
            )
        except Exception as exc:  # each provider raises what its own libraries raise
            raise Unauthenticated(
                f"{self._where}: the auth-provider of {context!r} gave no token: {type(exc).__name__}",
                hint=f"log in again, then: kubectl --context {shlex.quote(context)} auth whoami",
            ) from exc


def _document(path: Path) -> Entry:
    try:
        document = yaml.safe_load(path.read_bytes())
    except OSError as exc:
        raise KubeconfigError(f"kubeconfig {path} cannot be read: {exc.strerror}") from exc
    except (yaml.YAMLError, ValueError) as exc:
        mark = getattr(exc, "problem_mark", None)
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        # Without its cause: a YAML error quotes the text around it, which may be a key.
        raise KubeconfigError(
            f"kubeconfig {path} is not YAML{place}", hint="kubectl config view reads it too, and says more"
        ) from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise KubeconfigError(f"kubeconfig {path} is YAML, but not a kubeconfig")
    return document


def _entries(path: Path, document: Entry, section: str) -> dict[str, Entry]:
    """The named entries of one section, their paths made absolute."""
    singular = section[:-1]
    found: dict[str, Entry] = {}
    listed = document.get(section) or []
    for item in listed if isinstance(listed, list) else [listed]:
        entry = item.get(singular) if isinstance(item, dict) else None
        if not isinstance(entry, dict | None) or not isinstance(item, dict) or not isinstance(item.get("name"), str):
            raise KubeconfigError(
                f"kubeconfig {path}: {section} must be a list of entries with `name` and `{singular}`",
                hint="kubectl config view reads it too, and says more",
            )
        found[item["name"]] = _absolute(entry or {}, path, _PATHS.get(section, ()))
    return found


def _absolute(entry: Entry, path: Path, keys: tuple[str, ...]) -> Entry:
    base = path.absolute().parent
    entry = {**entry, **{key: str(base / str(entry[key])) for key in keys if entry.get(key)}}
    plugin = entry.get("exec")
    if isinstance(plugin, dict) and os.sep in str(plugin.get("command", "")):
        entry["exec"] = {**plugin, "command": str(base / str(plugin["command"]))}
    return entry


def _with_credentials(user: Entry, cluster: Entry, user_name: str) -> tuple[Entry, Callable[[], str] | None]:
    """The user entry with what its plugin or token file gives, and how to get a fresh token."""
    if "auth-provider" in user:
        return user, None
    if token_file := user.pop("tokenFile", None):  # which wins over a token, as in kubectl

        def from_file() -> str:
            return read_token_file(token_file)

        return {**user, "token": from_file()}, from_file
    if user.get("token"):
        return {**user, "token": str(user["token"]).strip()}, None
    plugin = user.pop("exec", None)
    if not plugin:
        return user, None

    def from_plugin() -> str:
        return plugin_login(plugin, cluster, user_name).get("token", "")

    credentials = plugin_login(plugin, cluster, user_name)
    return {**user, **credentials}, from_plugin if "token" in credentials else None


def _impersonation(user: Entry) -> tuple[tuple[str, str], ...]:
    headers: list[tuple[str, str]] = []
    if user.get("as"):
        headers.append(("Impersonate-User", str(user["as"])))
    if user.get("as-uid"):
        headers.append(("Impersonate-Uid", str(user["as-uid"])))
    headers += [("Impersonate-Group", str(group)) for group in user.get("as-groups") or ()]
    for key, values in (user.get("as-user-extra") or {}).items():
        headers += [(f"Impersonate-Extra-{quote(str(key), safe='')}", str(value)) for value in values]
    return tuple(headers)


def _in_cluster() -> Access:
    from kubernetes import client, config

    configuration = client.Configuration()
    try:
        config.load_incluster_config(client_configuration=configuration)
    except (config.ConfigException, OSError) as exc:
        raise KubeconfigError(
            f"this pod has no service account to use: {_short(exc)}",
            hint="set automountServiceAccountToken: true, or name a kubeconfig with --kubeconfig",
        ) from exc
    return Access(
        server=shown_url(configuration.host),
        context=None,
        kubectl="kubectl",
        relogin="the pod's service account is not accepted: restart the pod, or bind another account",
        configuration=configuration,
    )


def _short(exc: BaseException) -> str:
    text = " ".join(str(exc).split())
    return text if len(text) <= 256 else text[:255] + "…"
