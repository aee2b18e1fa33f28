"""How queries and durations stand in sentences. Pure."""

from __future__ import annotations


def short(expr: str, most: int = 100) -> str:
    """Return an expression in one line, cut where it is long.

    >>> short("sum(\\n  up\\n)"), short("abcdef", most=4)
    ('sum( up )', 'abc…')
    """
    text = " ".join(expr.split())
    return text if len(text) <= most else text[: most - 1] + "…"


def duration(seconds: float) -> str:
    """Return a duration as Prometheus writes one.

    >>> duration(90), duration(3600), duration(0.5)
    ('1m30s', '1h', '500ms')
    """
    rest, text = round(seconds * 1000), ""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, rest = divmod(rest, size)
        text += f"{count}{unit}" if count else ""
    return text or "0s"
