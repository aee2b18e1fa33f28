"""The README's table of causes: `python -m tests.cause_table` writes it anew from `kvobs/health/causes`."""

from __future__ import annotations

from pathlib import Path

from kvobs.health.causes import CAUSES

BEGIN, END = "<!-- causes -->", "<!-- /causes -->"
README = Path(__file__).parents[1] / "README.md"


def cause_table() -> list[str]:
    """Return the lines of the table, in the order of the ids."""
    rows = [f"| {each.id} | {each.severity} | {_cell(each.sentence)} |" for each in CAUSES.values()]
    return ["| id | severity | what is the matter |", "|---|---|---|", *rows]


def written(readme: str) -> str:
    """Return the README with the table between its marks.

    >>> written("a\\n<!-- causes -->\\nold\\n<!-- /causes -->\\nb").splitlines()[:3]
    ['a', '<!-- causes -->', '| id | severity | what is the matter |']
    """
    head, begin, rest = readme.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the README has no {BEGIN} … {END}")
    return "\n".join([head + BEGIN, *cause_table(), END + tail])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    README.write_text(written(README.read_text()))
