"""Why an exporter that is scraped lacks a DCGM field: slices, the kind of GPU, its list of fields. Pure."""

from __future__ import annotations

from dataclasses import replace

from .causes import found
from .evidence import DarkQuery
from .gpu_fields import (
    MIG_DROPS,
    MIG_INSTEAD,
    MIG_LABELS,
    PROFILING,
    WITHOUT_PROFILING,
    Field,
    gpu_field,
    to_export,
)
from .verdict import Finding


def gpu_finding(dark: DarkQuery, name: str, members: frozenset[str]) -> Finding | None:
    """Return why the server lacks *name* beside its other DCGM metrics, *members*; None for what is no field."""
    field = gpu_field(name)
    if field is None:
        return None
    if name in MIG_DROPS and _mig(dark):
        return sliced(name)
    if field.group == "profiling" and (cards := _consumer_cards(dark)):
        said = f"{cards} has no profiling fields ({PROFILING}…): they need a data centre GPU of Volta or newer"
        # No list of fields brings them, so that there is nothing to mend.
        return replace(found("KVO-507", subject=f"profiling on {cards}", said=said, fix=""), severity="expected")
    return found(
        "KVO-507",
        subject=name,
        said=_why_not_exported(field, members),
        fix=_how_to_export(field),
        evidence=(f"the server has {len(members)} other metrics of DCGM",),
    )


def sliced(name: str) -> Finding:
    """Return that a slice of a GPU has no such field."""
    return found(
        "KVO-508",
        subject=name,
        said=f"the GPUs are sliced by MIG, and a slice has no {name}",
        fix=f"In the query: {MIG_INSTEAD[name]} * 100 instead of {name}" if name in MIG_INSTEAD else "",
        evidence=(f"DCGM series carry {' and '.join(MIG_LABELS)}",),
    )


def _mig(dark: DarkQuery) -> bool:
    by_labels = bool(set(MIG_LABELS) & (dark.server.dcgm_labels or frozenset()))
    return by_labels or bool(dark.cluster and dark.cluster.facts.mig_nodes)


def _consumer_cards(dark: DarkQuery) -> str:
    """The models of the GPUs, where all of them are consumer cards; "" where one is not, or they are not known."""
    models = sorted(dark.server.gpu_models or ())
    return " and ".join(models) if all(any(word in each for word in WITHOUT_PROFILING) for each in models) else ""


def _how_to_export(field: Field) -> str:
    if field.default:
        return (
            f"Look whether {field.name} is in the exporter's list of counters (its argument -f, or"
            " DCGM_EXPORTER_COLLECTORS), and what its log says about the field"
        )
    how = to_export(field)
    return how[:1].upper() + how[1:]


def _why_not_exported(field: Field, members: frozenset[str]) -> str:
    if field.group == "profiling" and not any(each.startswith(PROFILING) for each in members):
        return (
            f"{field.name} is a profiling field, and none of them is exported: the GPU has none (they need a data"
            " centre GPU of the Volta generation or newer), or the exporter may not read them"
        )
    if not field.default:
        return f"{field.name} is not among the fields that the DCGM exporter exports by default"
    return f"the DCGM exporter exports other fields, and not {field.name}: its list leaves it out, or the GPU has none"
