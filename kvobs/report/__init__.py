"""Results as text, JSON and YAML; nobody else formats.

Text is for people and may change; a document is for programs.
"""

from __future__ import annotations

from . import check as check

# Each of these says how one report reads.
from . import dashboards as dashboards
from . import diff as diff
from . import explain as explain
from . import install as install
from . import patch as patch
from . import render as render
from . import static as static
from . import status as status
from . import uninstall as uninstall
from . import verify as verify
from .documents import error_document, to_document, to_json, to_yaml
from .text import to_text

__all__ = ["error_document", "to_document", "to_json", "to_text", "to_yaml"]
