"""The README tells of every cause."""

from __future__ import annotations

from tests.cause_table import README, written


def test_the_readme_has_the_table_of_causes() -> None:
    """What stands between the marks is what the causes say; if they are meant: python -m tests.cause_table."""
    readme = README.read_text()
    assert written(readme) == readme, "python -m tests.cause_table writes the table anew"
