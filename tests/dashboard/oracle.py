"""A second opinion: what a reference is, from the rules in the corpus' README; it shares no code with kvobs."""

import re

BUILTINS = ("-- Grafana --", "grafana", "-- Mixed --", "-- Dashboard --", "__expr__")


def inner(document):
    """Return the dashboard in a document of any shape."""
    if isinstance(document.get("dashboard"), dict) and "panels" not in document:
        return document["dashboard"]
    return document["spec"] if "apiVersion" in document else document


def names_of(board):
    """Return (unshadowed inputs, all variables, data source variables) of a dashboard."""
    inputs = {entry["name"] for entry in board.get("__inputs", [])}
    classic = board.get("templating", {}).get("list", [])
    entries = board["variables"] if isinstance(board.get("variables"), list) else []
    v2 = [{**entry["spec"], "type": entry["kind"]} for entry in entries]
    variables = {entry["name"]: entry.get("type") for entry in (*classic, *v2)}
    sources = {name for name, kind in variables.items() if kind in ("datasource", "DatasourceVariable")}
    return inputs - set(variables), set(variables), sources


def recount(board, names):
    """Yield (text or None, whether in a data source's place) for what refers to a source or to one of the names."""
    forms = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    either = re.compile(rf"\$(?:{forms})(?!\w)|\$\{{(?:{forms})(?::[^}}]*)?\}}|\[\[(?:{forms})(?::[^\]]*)?\]\]")
    stack = [value for key, value in board.items() if key not in ("__inputs", "__requires")]
    while stack:
        value = stack.pop()
        if isinstance(value, str) and names:
            yield from ((match[0], False) for match in either.finditer(value))
        elif isinstance(value, list):
            stack.extend(value)
        elif isinstance(value, dict):
            for key, child in value.items():
                if key != "datasource" or isinstance(child, list) or (isinstance(child, dict) and "spec" in child):
                    stack.append(child)
                elif isinstance(child, dict):
                    named = "uid" if child.get("uid") is not None else "name"
                    yield child.get(named), True
                    stack.extend(each for beside, each in child.items() if beside != named)
                else:
                    yield child, True


def compared(before, after, keys, changed):
    """Assert that two documents agree everywhere but in the changed places, key order included."""
    if keys in changed:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        gone = {"__inputs", "__requires", "__elements"} if keys in ((), ("spec",)) else set()
        if (*keys, "current") in changed and "current" not in before:
            gone.add("current")
        assert [key for key in before if key not in gone] == [key for key in after if key not in gone]
        for key in (after.keys() & before.keys()) - gone:
            if not (keys == () and key == "id" and after[key] is None):
                compared(before[key], after[key], (*keys, key), changed)
    elif isinstance(before, list) and isinstance(after, list):
        assert len(before) == len(after)
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            compared(one, other, (*keys, index), changed)
    else:
        assert type(before) is type(after)
        assert before == after
