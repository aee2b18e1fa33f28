"""What an earlier run was told holds for one that is told nothing of it: how it is recorded, how taken over. Pure.

Only what the user named is recorded, so that kvobs' own defaults move on with its versions. Values are not: the
release itself has them, and they may be secrets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..settings import CHART, Settings
from .facts import Object
from .installs import meant_parent
from .record import Record, read_record

REMEMBERED = (
    "datasources",
    "chart",
    "chart_version",
    "image_registry",
    "image_pull_secrets",
    "dcgm",
    "vllm_namespace",
    "vllm_selector",
    "vllm_port",
)
"""The settings that are recorded by their names."""


def record_of(parents: Sequence[Object], namespace: str | None) -> Record:
    """Return what earlier runs recorded in *namespace*, for None where one is meant; an empty record where none did."""
    meant = meant_parent(parents, namespace)
    return read_record(meant) if meant is not None else Record()


def recalled(settings: Settings, record: Record) -> Settings:
    """Return *settings* with what earlier runs were told wherever this one is told nothing.

    A version belongs to the chart it was named with: another chart, or the default one, takes it back. So do
    `auto` and an empty text what was said of DCGM and vLLM, and an empty text what was said of images.
    """
    told = record.settings
    pull_secrets = settings.image_pull_secrets or tuple(told.get("image_pull_secrets") or ())

    def text(name: str, given: str | None) -> str | None:
        return told.get(name) if given is None else given or None

    return replace(
        settings,
        datasources=settings.datasources or tuple(told.get("datasources") or ()),
        chart=settings.chart or told.get("chart"),
        chart_version=settings.chart_version or (None if settings.chart else told.get("chart_version")),
        dcgm=settings.dcgm or told.get("dcgm"),
        image_registry=text("image_registry", settings.image_registry),
        image_pull_secrets=() if pull_secrets == ("",) else pull_secrets,
        vllm_namespace=text("vllm_namespace", settings.vllm_namespace),
        vllm_selector=text("vllm_selector", settings.vllm_selector),
        vllm_port=text("vllm_port", settings.vllm_port),
    )


def remembered(before: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Return the recorded settings *before* with what *settings*, already `recalled`, say; defaults are left out."""
    told = {name: getattr(settings, name) for name in REMEMBERED}
    for name in ("datasources", "image_pull_secrets"):
        told[name] = list(told[name])
    defaults = {"chart": CHART, "dcgm": "auto"}
    said = {name: value for name, value in told.items() if value and value != defaults.get(name)}
    return {name: value for name, value in before.items() if name not in REMEMBERED} | said
