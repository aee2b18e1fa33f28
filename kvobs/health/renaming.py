"""What a rewrite of a dashboard makes of each name, for one version of vLLM. Pure."""

from __future__ import annotations

from ..dashboard.rename import Choice, Decide
from .renames import meant, standing
from .versions import Version


def new_names(running: Version) -> Decide:
    """Return what decides: a name that this version lacks becomes its replacement, where that is exactly the same."""

    def decide(name: str) -> Choice | None:
        told = standing(name, running)
        if told is None:
            names = meant(name)
            return Choice(None, f"no series is called so; there is {' and '.join(names)}") if names else None
        if told.state == "there":
            return Choice(None, f"{told.said}. {told.advice}") if told.advice else None
        if told.exact and told.state != "not yet":
            return Choice(told.instead[0], told.said)
        return Choice(None, f"{told.said}. {told.advice}" if told.advice else told.said)

    return decide
