"""Look for known faults in what `tests/requirements.lock` pins: `python -m tests.audit`.

pip-audit asks a database on the network. Before its silence counts for anything it is shown a pin with well-known
faults: where it does not find those, it could not look, and that is said; it is then neither a pass nor a failure.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

LOCK = Path(__file__).parent / "requirements.lock"
KNOWN_BAD = "urllib3==1.26.4"
"""Has had published advisories since 2021 (CVE-2021-33503)."""
LIMIT_S = 240

Report = dict[str, Any] | None
"""pip-audit's JSON; None: it gave none."""


def pip_audit(requirements: Path) -> Report:
    """Ask pip-audit about pins; nothing is resolved or installed."""
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--no-deps", "--progress-spinner=off"]
    try:
        done = subprocess.run(
            [*command, "--format=json", "--requirement", str(requirements)],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        report = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return None
    return report if isinstance(report, dict) else None


def faults(report: Report) -> list[str]:
    """One line for each known fault."""
    return [
        f"{each['name']} {each['version']}: {fault['id']}" + _mended(fault.get("fix_versions") or ())
        for each in (report or {}).get("dependencies", ())
        for fault in each.get("vulns", ())
    ]


def _mended(versions: Any) -> str:
    return f" (mended in {', '.join(versions)})" if versions else ""


def unseen(report: Report) -> list[str]:
    """The name of each dependency that the database says nothing about."""
    return [each["name"] for each in (report or {}).get("dependencies", ()) if "skip_reason" in each]


def verdict(ask: Callable[[Path], Report], lock: Path) -> tuple[int, str]:
    """The exit code and what to say: 0 nothing known, or could not look; 1 a fault is known."""
    with tempfile.TemporaryDirectory() as folder:
        bad = Path(folder, "requirements.txt")
        bad.write_text(f"{KNOWN_BAD}\n")
        about_bad = ask(bad)
    if about_bad is None:
        return 0, "audit: could not look: pip-audit gave no answer; has this machine a way to the advisory database?"
    if not faults(about_bad):
        return 0, f"audit: could not look: the advisory database knows nothing of {KNOWN_BAD}, which has faults"
    report = ask(lock)
    if report is None:
        return 0, f"audit: could not look: no answer about {lock.name}"
    found = faults(report)
    if found:
        return 1, "\n".join([f"audit: {len(found)} known faults in {lock.name}", *(f"  {line}" for line in found)])
    asked = len(report["dependencies"]) - len(unseen(report))
    without = f"; not asked about: {', '.join(unseen(report))}" if unseen(report) else ""
    return 0, f"audit: finds the faults of {KNOWN_BAD}, and none in {asked} pins{without}"


if __name__ == "__main__":
    code, said = verdict(pip_audit, LOCK)
    print(said)
    sys.exit(code)
