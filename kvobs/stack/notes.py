"""What a run has to say beside what it does, as values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Note:
    """One sentence that names the object and the reason and, where one helps, the command (`text`).

    `id` is stable: a script may look for it.
    """

    id: str
    text: str
