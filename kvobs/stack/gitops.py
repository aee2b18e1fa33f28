"""What of a rendered chart is handed to GitOps: which of its objects, in which order, and no secret. Pure.

Hooks stay, with their annotations: Argo CD runs them as its own, and for everybody else they are Jobs and roles that
are safe to apply again. Helm's tests go: nothing but `helm test` would run them once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ActionError, UsageError
from .facts import Object, Ref
from .kinds import in_namespaces
from .notes import Note
from .objects import kind_of, ref
from .secret_names import plain_secrets
from .target import DesiredRelease, Target
from .values import ADMIN_PASSWORD_KEY, ADMIN_USER_KEY, stack_values, wants_admin_secret
from .workloads import annotations_of

_HOOK = "helm.sh/hook"
_TESTS = {"test", "test-success", "test-failure"}


@dataclass(frozen=True, kw_only=True, slots=True)
class HandedOut:
    """The objects of a chart that GitOps gets."""

    objects: tuple[Object, ...]
    public: frozenset[Ref]
    """Secrets among them whose content is the chart's own, the same for everybody."""
    notes: tuple[Note, ...]


def refuse_made_up(values: Mapping[str, Any]) -> None:
    """Raise `UsageError` where the chart would make up Grafana's password: another one in each render, and in it."""
    if wants_admin_secret(values):
        raise UsageError(
            "the values take back the Secret with Grafana's administrator, so the chart would put a new random"
            " password into every render",
            hint="leave grafana.admin.existingSecret out, or name a Secret of yours there",
        )


def chart_defaults(release: DesiredRelease) -> Mapping[str, Any]:
    """Return the values of *release* without anything of the user's."""
    of_kvobs: Mapping[str, Any] = (release.values.get("grafana") or {}).get("admin") or {}
    return stack_values({}, admin_secret=of_kvobs.get("existingSecret") or "none")


def handed_out(rendered: Sequence[Object], by_default: Iterable[Object], *, namespace: str) -> HandedOut:
    """Return what of the *rendered* objects is handed out, each with its namespace.

    *by_default* are those that the chart makes under nobody's values: a Secret with the content of one there holds
    nothing but what the chart tells everybody. Any other is left out, and its keys are named.
    """
    usual = [_content(each) for each in by_default if kind_of(each) == "Secret"]
    kept: list[Object] = []
    notes: list[Note] = []
    public: set[Ref] = set()
    for each in without_tests(in_namespaces(rendered, namespace)):
        at = ref(each)
        if at.kind == "Secret":
            if _content(each) not in usual:
                notes.append(_left_out(each))
                continue
            public.add(at)
        kept.append(each)
    refuse_doubles(kept)
    return HandedOut(objects=tuple(kept), public=frozenset(public), notes=tuple(notes))


def in_the_open(values: Mapping[str, Any], objects: Iterable[Object]) -> tuple[Note, ...]:
    """Say which of the *values* stand in an object that is no Secret though their names say that they are secret."""
    readable = [(ref(each), tuple(_texts(each))) for each in objects if kind_of(each) != "Secret"]
    notes: list[Note] = []
    for path, text in plain_secrets(values):
        places = [str(at) for at, texts in readable if any(_holds(each, text) for each in texts)]
        if places:
            more = f" and {len(places) - 3} more" if len(places) > 3 else ""
            notes.append(
                Note(
                    "secret-in-the-open",
                    f"value {path} stands in {', '.join(places[:3])}{more} for everybody to read: do not put it"
                    " into git; have the values name a Secret of yours (Grafana: grafana.envFromSecret,"
                    " grafana.envValueFrom)",
                )
            )
    return tuple(notes)


def without_tests(objects: Iterable[Object]) -> tuple[Object, ...]:
    """Return *objects* without those that only `helm test` applies."""
    return tuple(each for each in objects if not _TESTS & {*_hooks(each)})


def refuse_doubles(objects: Iterable[Object]) -> None:
    """Raise `ActionError` where two objects are the same one: whichever is applied last would win."""
    seen: set[Ref] = set()
    for at in map(ref, objects):
        if at in seen:
            raise ActionError(
                f"{at} is rendered twice, and one would overwrite the other",
                hint="give one of the two another name, or leave it out of the values",
            )
        seen.add(at)


def namespace_object(name: str) -> Object:
    """Return the Namespace that everything goes into."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def secret_notes(target: Target, pull_secrets: Sequence[str]) -> tuple[Note, ...]:
    """Say which Secrets a render counts on and does not hold, and how to make them."""
    notes: list[Note] = []
    if target.admin_secret is not None:
        # The password comes by a pipe: in an argument, every process of the machine could read it.
        make = (
            f"openssl rand -base64 24 | tr -d '\\n' | kubectl -n {target.namespace} create secret generic"
            f" {target.admin_secret} --from-literal={ADMIN_USER_KEY}=admin"
            f" --from-file={ADMIN_PASSWORD_KEY}=/dev/stdin"
        )
        notes.append(
            Note(
                "admin-secret",
                f"Secret {target.namespace}/{target.admin_secret} with Grafana's administrator is not rendered; make"
                f" it once: {make}",
            )
        )
    for name in (name for name in pull_secrets if name):
        notes.append(
            Note(
                "pull-secret",
                f"Secret {target.namespace}/{name} to pull images with is not rendered; make it once: kubectl -n"
                f" {target.namespace} create secret generic {name} --type=kubernetes.io/dockerconfigjson"
                " --from-file=.dockerconfigjson=$HOME/.docker/config.json",
            )
        )
    return tuple(notes)


def _hooks(each: Object) -> tuple[str, ...]:
    return tuple(hook.strip() for hook in annotations_of(each).get(_HOOK, "").split(","))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _holds(text: str, secret: str) -> bool:
    """Whether a secret stands in a text; a short one is the whole text, since it would be found in any."""
    return secret in text if len(secret) >= 8 else secret == text


def _content(secret: Object) -> tuple[Any, Any]:
    return secret.get("data") or {}, secret.get("stringData") or {}


def _left_out(secret: Object) -> Note:
    keys = ", ".join(sorted({*(secret.get("data") or {}), *(secret.get("stringData") or {})})) or "none"
    return Note(
        "secret-left-out",
        f"{kind_of(secret)} {secret['metadata']['namespace']}/{secret['metadata']['name']} is left out: your values"
        f" are in it (keys: {keys}). Make it by the way that you keep secrets in git (Sealed Secrets, External"
        " Secrets, SOPS), under this name and with these keys, or have the values name a Secret of yours",
    )
