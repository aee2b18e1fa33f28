"""References can be selected by JSONPath."""

import pytest

from kvobs.dashboard.select import check_expression, selection
from kvobs.errors import UsageError

BOARD = {
    "title": "x",
    "panels": [
        {"type": "row", "panels": [{"datasource": {"uid": "a"}}]},
        {"type": "stat", "datasource": {"uid": "b"}, "targets": [{"datasource": "c"}]},
    ],
    "templating": {"list": [{"name": "v", "datasource": {"uid": "d"}}]},
}
PLACES = {
    "a": ("panels", 0, "panels", 0, "datasource", "uid"),
    "b": ("panels", 1, "datasource", "uid"),
    "c": ("panels", 1, "targets", 0, "datasource"),
    "d": ("templating", "list", 0, "datasource", "uid"),
}
EXPRESSIONS = {
    "$": "abcd",
    "$..datasource": "abcd",
    "$..uid": "abd",
    "$.panels[0]": "a",
    "$.panels[-1]": "bc",
    "$.panels[*].datasource": "b",
    "$.panels[0:1]": "a",
    "$.panels[*].targets": "c",
    "$.templating.list[?(@.name == 'v')]": "d",
    '$.panels[?(@.type == "row")]': "a",
    "$['panels'][1]": "bc",
    "$.nowhere": "",
    "$.panels[7]": "",
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_selection(expression):
    """A JSONPath selects the references at its places and below."""
    chosen = selection(expression, BOARD)

    assert "".join(name for name, keys in PLACES.items() if chosen(keys)) == EXPRESSIONS[expression]


def test_paths_start_at_the_dashboard():
    """An API wrapper is taken off before a path is followed, and library panels stand in their places."""
    elements = {"lib": {"uid": "lib", "model": {"datasource": {"uid": "x"}}}}
    board = {**BOARD, "panels": [{"libraryPanel": {"uid": "lib"}}], "__elements": elements}

    chosen = selection("$.panels[0].datasource", {"meta": {}, "dashboard": board})

    assert chosen(("panels", 0, "datasource", "uid"))


@pytest.mark.parametrize("expression", ["", "$[", "$..[", "foo bar", "$$", "$.x.`nothing`", "'", "\0"])
def test_no_jsonpath(expression):
    """What is no JSONPath is a wrong argument, whatever the library makes of it."""
    with pytest.raises(UsageError, match="no JSONPath"):
        check_expression(expression)


def test_deep_document():
    """Depth alone does not stop a selection."""
    deep = {}
    for _ in range(3000):
        deep = {"x": deep}

    assert not selection("$..y", {"title": "x", "panels": [], "deep": deep})(("deep", "x"))


def test_endless_path():
    """A path of thousands of steps is refused and not followed into the ground."""
    with pytest.raises(UsageError, match="cannot be followed"):
        selection("$" + ".x" * 5000, BOARD)
