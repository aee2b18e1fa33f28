"""Where kvobs is installed: its ApplySet parents, which of them is meant, which of them the others keep to. Pure.

One install on a cluster loads the dashboards and does the DCGM step; a further one, in another namespace, keeps to it
and records where it is (`BESIDE`). When the one that it keeps to is gone, its next run does the whole job.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..errors import Unanswered, Undecided
from .applyset import PARENT_NAME
from .facts import Facts, Object, Ref
from .notes import Note
from .record import Record, read_record
from .workloads import namespace_of

BESIDE = "beside"
"""In the record of a further install: the namespace of the one that it keeps to."""


def meant_parent(parents: Iterable[Object], namespace: str | None) -> Object | None:
    """Return the parent in *namespace*, or for None the one that is meant without a word; None: there is none.

    That is the only one, or the only one that keeps to no other. Raises `ActionError` where a record is damaged that
    has to be read.
    """
    by_namespace = {namespace_of(each): each for each in parents}
    if namespace is not None:
        return by_namespace.get(namespace)
    if len(by_namespace) > 1:
        by_namespace = {place: each for place, each in by_namespace.items() if _keeps_to(each) not in by_namespace}
    return next(iter(by_namespace.values())) if len(by_namespace) == 1 else None


def first_install(parents: Sequence[Object], namespace: str) -> Object | None:
    """Return the parent of the install that one in *namespace* has to keep to; None: it does the whole job itself.

    An install that does the whole job goes on doing it. Raises `ActionError` where a record is damaged.
    """
    by_namespace = {namespace_of(each): each for each in parents}
    own = by_namespace.pop(namespace, None)
    if own is not None and _keeps_to(own) is None:
        return None
    whole = {place: each for place, each in by_namespace.items() if _keeps_to(each) is None}
    if not whole:
        return None
    known = _keeps_to(own) if own is not None else None
    return whole[known] if known is not None and known in whole else whole[min(whole)]


def _keeps_to(parent: Object) -> str | None:
    beside = read_record(parent).settings.get(BESIDE)
    return beside if isinstance(beside, str) else None


def parent_of(facts: Facts, namespace: str | None) -> Object | None:
    """Return kvobs' ApplySet parent in *namespace*, or for None the one that is meant (`meant_parent`).

    Raises `Undecided` where none is named and several could be meant.
    """
    _refuse_unseen_parent(facts, namespace)
    found = meant_parent(facts.parents, namespace)
    if found is None and namespace is None and facts.parents:
        raise _several(facts)
    return found


def only_parent_of(facts: Facts, namespace: str | None) -> Object | None:
    """As `parent_of`, but where nothing is named and there are several, none is meant: for what cannot be undone."""
    if namespace is None and len(facts.parents) > 1:
        raise _several(facts)
    return parent_of(facts, namespace)


def _several(facts: Facts) -> Undecided:
    there = ", ".join(sorted(map(namespace_of, facts.parents)))
    return Undecided(f"kvobs is installed in several namespaces: {there}", hint="say which one with --namespace")


def kept_to_by(parents: Iterable[Object], namespace: str) -> tuple[str, ...]:
    """Return the namespaces of the installs that keep to the one in *namespace*."""
    return tuple(sorted(namespace_of(each) for each in parents if _keeps_to(each) == namespace))


def beside_notes(parents: Sequence[Object], namespace: str, record: Record) -> tuple[Note, ...]:
    """Say of the install in *namespace*, whose record this is, which one it keeps to, or that this one is gone."""
    beside = record.settings.get(BESIDE)
    if not isinstance(beside, str):
        return ()
    if any(namespace_of(each) == beside for each in parents):
        text = (
            f"Dashboards, GPU metrics and the label {_LABEL} are those of kvobs in namespace {beside}; here are only"
            " the vLLM monitors that it lacks."
        )
        return (Note("beside", text),)
    text = (
        f"kvobs in namespace {beside} is gone, and with it the dashboards, the GPU metrics and the label {_LABEL} that"
        f" this one kept to; to have them here: kvobs install --namespace {namespace}"
    )
    return (Note("first-gone", text),)


_LABEL = "kvobs.dev/scrape"


def _refuse_unseen_parent(facts: Facts, namespace: str | None) -> None:
    """Raise `Unanswered` where a parent may be there unseen: its record would be overwritten by one without a past."""
    key = "ConfigMap" if namespace is None else str(Ref("ConfigMap", namespace, PARENT_NAME))
    seen = namespace is None and facts.parents
    if key in facts.unasked and not seen:
        raise Unanswered(
            f"whether kvobs is installed here could not be asked: {facts.unasked[key]}",
            hint="say where with --namespace NAME, or use credentials that may read ConfigMaps",
        )
