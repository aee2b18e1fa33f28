"""kvobs: observability for LLM serving on Kubernetes, installed so that every panel can be lit.

The library is what the command line calls::

    import kvobs
    report = kvobs.install(kvobs.Settings(namespace="monitoring"))
    seen = kvobs.verify(kvobs.Settings(namespace="monitoring"), kvobs.Verification(wait_s=120))
    for cause in seen.causes:
        print(cause.finding.said, cause.finding.fix)

Names are loaded when they are used, so that `import kvobs` costs nothing.
"""

from __future__ import annotations

import importlib

# What type checkers take for true. typing itself would take as long to load as Python takes to start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .dashboard.patch import Datasource as Datasource
    from .dashboard.patch import PatchedDashboard as PatchedDashboard
    from .dashboard.patch import Reference as Reference
    from .dashboard.patch import patch_dashboard as patch_dashboard
    from .errors import KvobsError as KvobsError
    from .settings import Reach as Reach
    from .settings import Settings as Settings
    from .settings import Verification as Verification
    from .use_cases.check import CheckReport as CheckReport
    from .use_cases.check import check as check
    from .use_cases.diff import DiffReport as DiffReport
    from .use_cases.diff import diff as diff
    from .use_cases.dry_run import DryRunReport as DryRunReport
    from .use_cases.dry_run import dry_run as dry_run
    from .use_cases.install import InstallReport as InstallReport
    from .use_cases.install import install as install
    from .use_cases.render import render as render
    from .use_cases.status import StatusReport as StatusReport
    from .use_cases.status import status as status
    from .use_cases.uninstall import UninstallReport as UninstallReport
    from .use_cases.uninstall import uninstall as uninstall
    from .use_cases.verify import verify as verify
    from .use_cases.verify_report import VerifyReport as VerifyReport

__version__ = "0.1.0"

_HOME = {
    "CheckReport": "use_cases.check",
    "Datasource": "dashboard.patch",
    "DiffReport": "use_cases.diff",
    "DryRunReport": "use_cases.dry_run",
    "InstallReport": "use_cases.install",
    "KvobsError": "errors",
    "PatchedDashboard": "dashboard.patch",
    "Reach": "settings",
    "Reference": "dashboard.patch",
    "Settings": "settings",
    "StatusReport": "use_cases.status",
    "UninstallReport": "use_cases.uninstall",
    "Verification": "settings",
    "VerifyReport": "use_cases.verify_report",
    "check": "use_cases.check",
    "diff": "use_cases.diff",
    "dry_run": "use_cases.dry_run",
    "install": "use_cases.install",
    "patch_dashboard": "dashboard.patch",
    "render": "use_cases.render",
    "status": "use_cases.status",
    "uninstall": "use_cases.uninstall",
    "verify": "use_cases.verify",
}

__all__ = [
    "CheckReport",
    "Datasource",
    "DiffReport",
    "DryRunReport",
    "InstallReport",
    "KvobsError",
    "PatchedDashboard",
    "Reach",
    "Reference",
    "Settings",
    "StatusReport",
    "UninstallReport",
    "Verification",
    "VerifyReport",
    "check",
    "diff",
    "dry_run",
    "install",
    "patch_dashboard",
    "render",
    "status",
    "uninstall",
    "verify",
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
