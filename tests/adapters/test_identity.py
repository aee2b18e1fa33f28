"""A process as others can recognise it, and whether it is still there."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kvobs.adapters.identity import has_died, own_identity


def test_ours() -> None:
    """We are alive, by host and pid, and no two of our runs have one name."""
    one = own_identity()
    assert not has_died(one)
    assert one.split("/")[1] == str(os.getpid())
    assert one != own_identity()


def test_a_process_that_has_ended() -> None:
    """A process of this machine that has ended has died."""
    says = "from kvobs.adapters.identity import own_identity; print(own_identity())"
    ended = subprocess.run([sys.executable, "-c", says], capture_output=True, text=True, check=True)
    assert has_died(ended.stdout.strip())


HOST, PID, MARK = own_identity().split("/")
GONE = "4194305"
"""More than the kernel gives out."""
UNKNOWN = [
    ("another host", f"elsewhere.{HOST}/{GONE}/{MARK}"),
    ("another machine of this name, or another container on it", f"{HOST}/{GONE}/00000000-1"),
    ("no pid", f"{HOST}/-1/{MARK}"),
    ("a pid of nobody's", f"{HOST}/{'9' * 40}/{MARK}"),
    ("init, which is not ours to signal", f"{HOST}/1/{MARK}"),
    ("somebody else's form", "kube-scheduler_0815"),
    ("nothing", ""),
]


@pytest.mark.parametrize("identity", [case[1] for case in UNKNOWN], ids=[case[0] for case in UNKNOWN])
def test_what_cannot_be_known(identity: str) -> None:
    """Only who is known to have died has: of all others the Lease itself has to tell."""
    assert not has_died(identity)


def test_the_cases_differ_in_what_they_name() -> None:
    """The same pid here is known to be nobody's."""
    assert has_died(f"{HOST}/{GONE}/{MARK}")
