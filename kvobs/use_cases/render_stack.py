"""Helm's part of a render: the chart's objects, without a cluster, and what can be said of them before they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..adapters.helm import ChartInfo
from ..errors import UsageError
from ..settings import Settings
from ..stack.chart_versions import refuse_too_old
from ..stack.facts import Object
from ..stack.gitops import HandedOut, chart_defaults, handed_out, in_the_open, refuse_made_up
from ..stack.images import image_places, image_values, without_image, without_images
from ..stack.merge import deep_merge
from ..stack.notes import Note
from ..stack.objects import kind_of
from ..stack.target import DesiredRelease


class Templates(Protocol):
    """What a render needs of Helm."""

    def chart(self, ref: str, version: str | None = None) -> ChartInfo:
        """Say what a chart is."""

    def template(
        self,
        name: str,
        chart: str,
        *,
        version: str | None,
        namespace: str,
        values: Mapping[str, Any],
        set_integers: tuple[str, ...] = (),
        kube_version: str | None = None,
        include_crds: bool = False,
    ) -> tuple[Object, ...]:
        """Render a chart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StackImage:
    """An image of the stack."""

    source: str
    """What the chart and the values name by themselves."""
    target: str | None
    """What it is with `--image-registry`; None where no registry was given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageList:
    """What has to be in a registry of one's own before an install can do without any other."""

    chart: str
    chart_version: str
    chart_image: StackImage | None
    """The chart as a registry has it, by tag like an image; None where it comes from a folder or another place."""
    images: tuple[StackImage, ...]
    """Sorted by their source, each once; those of the chart's own test too."""
    missed: tuple[str, ...]
    """Images that `--image-registry` does not reach: the values name them whole."""
    notes: tuple[Note, ...]

    @property
    def exit_code(self) -> int:
        """0, or 1 where an image is not reached."""
        return 1 if self.missed else 0


def stack_objects(helm: Templates, release: DesiredRelease, settings: Settings) -> tuple[Object, ...]:
    """Return all that Helm makes of *release*, CRDs, hooks and tests too. Raises `HelmError` or `UsageError`."""
    chart = helm.chart(release.chart, release.version)
    refuse_too_old(chart.name, chart.version)
    return _rendered(helm, release, settings, release.values, release.set_integers)


def stack_for_gitops(helm: Templates, release: DesiredRelease, settings: Settings) -> HandedOut:
    """Return the stack's objects as GitOps gets them: the same for the same input, and no secret among them."""
    refuse_made_up(release.values)
    made = stack_objects(helm, release, settings)
    by_default: tuple[Object, ...] = ()
    if any(kind_of(each) == "Secret" for each in made):
        by_default = _rendered(helm, release, settings, chart_defaults(release), (), include_crds=False)
    out = handed_out(made, by_default, namespace=release.namespace)
    return replace(out, notes=(*out.notes, *in_the_open(release.values, out.objects)))


def list_images(helm: Templates, release: DesiredRelease, settings: Settings) -> ImageList:
    """Return the images of *release*, and the chart, as they are named before and after `--image-registry`."""
    chart = helm.chart(release.chart, release.version)
    refuse_too_old(chart.name, chart.version)
    registry = settings.image_registry
    # Without the registry that the flag names; what the user's own values say of other things stays.
    plain = without_images(release.values, registry=bool(registry), pull_secrets=False)
    before = _rendered(helm, release, settings, plain, release.set_integers)
    sources = [image for _, image in image_places(before)]
    targets: list[str] | list[None] = [None] * len(sources)
    if registry:
        after = _rendered(helm, release, settings, deep_merge(plain, image_values(registry, ())), release.set_integers)
        targets = [image for _, image in image_places(after)]
    pairs = {StackImage(source=source, target=target) for source, target in zip(sources, targets, strict=True)}
    images = tuple(sorted(pairs, key=lambda each: (each.source, each.target or "")))
    missed = tuple(each.target for each in images if registry and each.target and not _within(each.target, registry))
    return ImageList(
        chart=chart.name,
        chart_version=chart.version,
        chart_image=_chart_image(release.chart, chart.version, registry),
        images=images,
        missed=missed,
        notes=tuple(
            Note("image-of-operator", f"{at} names no image, so the Prometheus Operator takes its own default for it")
            for at in without_image(before)
        ),
    )


def _rendered(
    helm: Templates,
    release: DesiredRelease,
    settings: Settings,
    values: Mapping[str, Any],
    set_integers: tuple[str, ...],
    *,
    include_crds: bool = True,
) -> tuple[Object, ...]:
    return helm.template(
        release.name,
        release.chart,
        version=release.version,
        namespace=release.namespace,
        values=values,
        set_integers=set_integers,
        kube_version=settings.kube_version,
        include_crds=include_crds,
    )


def _within(image: str, registry: str) -> bool:
    return image.startswith(f"{registry}/")


def _chart_image(chart: str, version: str, registry: str | None) -> StackImage | None:
    if not chart.startswith("oci://"):
        return None
    # A tag has no plus sign: Helm writes it as an underscore.
    source = f"{chart.removeprefix('oci://')}:{version.replace('+', '_')}"
    path = source.partition("/")[2]
    return StackImage(source=source, target=f"{registry}/{path}" if registry else None)


def refuse_without_release(release: DesiredRelease | None) -> DesiredRelease:
    """*release*, unless the stack is somebody else's. Raises `UsageError`."""
    if release is None:
        raise UsageError("there is no chart to render where a stack is reused", hint="leave --stack reuse out")
    return release
