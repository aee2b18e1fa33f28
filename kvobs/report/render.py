"""The text of `kvobs render`."""

from __future__ import annotations

from ..stack.manifests import to_yaml as objects_to_yaml
from ..use_cases.render import Rendered
from .text import to_text


@to_text.register
def _(report: Rendered, *, verbose: bool = False) -> str:
    return "\n".join(report.files) if report.files else objects_to_yaml(report.objects)
