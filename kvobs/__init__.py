"""kvobs: observability for LLM serving on Kubernetes, installed so that every panel can be lit.

The library is what the command line calls::

    import kvobs
    report = kvobs.install(kvobs.Settings(namespace="monitoring"))

Names are loaded when they are used, so that `import kvobs` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .dashboard.patch import Datasource as Datasource
    from .dashboard.patch import PatchedDashboard as PatchedDashboard
    from .dashboard.patch import Reference as Reference
    from .dashboard.patch import patch_dashboard as patch_dashboard
    from .errors import KvobsError as KvobsError
    from .settings import Settings as Settings
    from .use_cases.install import InstallReport as InstallReport
    from .use_cases.install import install as install
    from .use_cases.render import render as render
    from .use_cases.status import StatusReport as StatusReport
    from .use_cases.status import status as status
    from .use_cases.uninstall import UninstallReport as UninstallReport
    from .use_cases.uninstall import uninstall as uninstall

__version__ = "0.1.0"

_HOME = {
    "Datasource": "dashboard.patch",
    "InstallReport": "use_cases.install",
    "KvobsError": "errors",
    "PatchedDashboard": "dashboard.patch",
    "Reference": "dashboard.patch",
    "Settings": "settings",
    "StatusReport": "use_cases.status",
    "UninstallReport": "use_cases.uninstall",
    "install": "use_cases.install",
    "patch_dashboard": "dashboard.patch",
    "render": "use_cases.render",
    "status": "use_cases.status",
    "uninstall": "use_cases.uninstall",
}

__all__ = [
    "Datasource",
    "InstallReport",
    "KvobsError",
    "PatchedDashboard",
    "Reference",
    "Settings",
    "StatusReport",
    "UninstallReport",
    "install",
    "patch_dashboard",
    "render",
    "status",
    "uninstall",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
