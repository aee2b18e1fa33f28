"""The text of `kvobs render`."""

from __future__ import annotations

from ..stack.manifests import to_yaml as objects_to_yaml
from ..use_cases.render import Rendered
from ..use_cases.render_stack import ImageList, StackImage
from .text import to_text


@to_text.register
def _(report: Rendered, *, verbose: bool = False) -> str:
    if report.files:
        return "\n".join((*report.files, *(f"{path} (deleted: no longer rendered)" for path in report.removed)))
    return objects_to_yaml(report.objects, public=report.public)


@to_text.register
def _(report: ImageList, *, verbose: bool = False) -> str:
    """One a line, as a loop over `crane copy` or `skopeo copy` takes it; the chart like an image, since it is one."""
    listed = (*((report.chart_image,) if report.chart_image else ()), *report.images)
    return "\n".join(_line(each) for each in listed)


def _line(image: StackImage) -> str:
    return image.source if image.target is None else f"{image.source} {image.target}"
