"""Kubernetes' resource quantities, which the API server respells: `1000m` comes back as `1`."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

_SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}

_QUANTITY = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+))(?:[eE]([-+]?\d{1,3})|([numkMGTPE]?|[KMGTPE]i))", re.ASCII)


def quantity(value: str | int | float) -> Decimal | None:
    """The exact number that a quantity stands for, in units (bytes, cores); None if it is none.

    >>> quantity("1.5Gi"), quantity("250m"), quantity("1e3"), quantity("1E"), quantity("a lot")
    (Decimal('1610612736.0'), Decimal('0.250'), Decimal('1E+3'), Decimal('1000000000000000000'), None)
    """
    match = _QUANTITY.fullmatch(str(value))
    if match is None:
        return None
    number, exponent, suffix = match.groups()
    if exponent is not None:
        return Decimal(number).scaleb(int(exponent))
    return Decimal(number) * _SUFFIXES[suffix]


def same_quantity(one: Any, other: Any) -> bool:
    """Whether both are quantities of the same size."""
    if not isinstance(one, str | int | float) or not isinstance(other, str | int | float):
        return False
    left = quantity(one)
    return left is not None and left == quantity(other)
