"""A dashboard that could not be had this time is not taken off the cluster for it."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.settings import Settings
from kvobs.stack.applyset import PARENT_NAME, applyset_id
from kvobs.stack.choice import choose
from kvobs.stack.facts import Facts, LoadedDashboard, Ref
from kvobs.stack.plan import Plan, make_plan

from .clusters import parent_in, stack
from .snapshots import TEMPLATES

OURS = applyset_id(PARENT_NAME, "mon")
EARLIER = Ref("ConfigMap", "mon", "kvobs-dashboard-earlier")


def facts(uid: str = "earlier", title: str = "Earlier", applyset: str | None = OURS) -> Facts:
    """A reused stack on which an earlier run loaded one dashboard."""
    there = LoadedDashboard(uid=uid, title=title, where="x", ours=True, carrier=EARLIER, applyset=applyset)
    return stack(dashboards=(there,), parents=(parent_in("mon"),))


def plan(seen: Facts, *documents: Any, incomplete: bool = False) -> Plan:
    """Plan with some dashboards."""
    named = [(f"{number}.json", each) for number, each in enumerate(documents)]
    target = choose(seen, Settings())
    return make_plan(seen, target, Settings(), dashboards=named, monitors=TEMPLATES, incomplete=incomplete)


BOARD = {"uid": "b", "title": "B", "panels": []}
CASES: dict[str, tuple[Facts, tuple[Any, ...], bool, bool]] = {
    "all-were-had": (facts(), (BOARD,), False, False),
    "one-could-not-be-had": (facts(), (BOARD,), True, True),
    "one-is-no-dashboard": (facts(), (BOARD, {"no": "dashboard"}), False, True),
    "none-is-made": (facts(), (), True, False),
    "of-another-install": (facts(applyset="applyset-other-v1"), (BOARD,), True, False),
    "of-nobody": (facts(applyset=None), (BOARD,), True, False),
    "its-uid-is-made-by-another-now": (facts(uid="b"), (BOARD,), True, False),
    "its-title-is-made-by-another-now": (facts(title=" b"), (BOARD,), True, False),
}


@pytest.mark.parametrize("name", CASES)
def test_what_stays(name: str) -> None:
    """What an earlier run loaded stays while something that is asked for is missing, unless it clashes; it is said."""
    seen, documents, incomplete, stays = CASES[name]
    made = plan(seen, *documents, incomplete=incomplete)

    assert (EARLIER in made.refs) is stays
    assert [note.text.startswith(f"{EARLIER} of an earlier run stays") for note in made.notes].count(True) == stays
    assert EARLIER not in {each.config_map for each in made.dashboards}


def test_what_is_made_again_is_not_kept_but_made() -> None:
    """A dashboard of an earlier run that is asked for again is applied as any other."""
    made = plan(facts(), {"uid": "earlier", "title": "Earlier", "panels": []}, incomplete=True)

    assert made.kept == frozenset()
    assert [each.config_map for each in made.dashboards] == [EARLIER]
