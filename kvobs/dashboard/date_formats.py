"""`${__from:date:…}`: a moment in milliseconds, spelled as Grafana (that is moment.js) does, in UTC."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

_LEADING_NUMBER = re.compile(r"\s*([+-]?\d+)", re.ASCII)
_TOKEN = re.compile(
    r"\[[^\[\]]*\]|MMMM|MMM|MM|Mo|M|Qo|Q|DDDD|DDDo|DDD|DD|Do|D|dddd|ddd|dd|do|d|E|WW|Wo|W|GGGG|YYYY|YY|A|a|HH|H|hh|h"
    r"|kk|k|mm|m|ss|s|S{1,3}|ZZ|Z|X|x"
)


def date(text: str, arguments: Sequence[str]) -> str:
    """Return a moment in milliseconds as the arguments say: `iso` without any, `seconds`, `ms`, or a pattern.

    >>> date("1700000000000", []), date("1700000000000", ["YYYY-MM-DD"]), date("1700000000000", ["HH", "mm"])
    ('2023-11-14T22:13:20.000Z', '2023-11-14', '22:13')
    """
    number = _LEADING_NUMBER.match(text)
    if number is None:
        return "NaN"
    moment_ms = int(number[1])
    match arguments:
        case ["ms"]:
            return text
        case ["seconds"]:
            return str((moment_ms + 500) // 1000)
    try:
        moment = _EPOCH + timedelta(milliseconds=moment_ms)
    except OverflowError:
        return "Invalid date"
    if not arguments or arguments[0] == "iso":
        return _iso(moment)
    return _TOKEN.sub(lambda token: _spelled(token[0], moment), ":".join(arguments))


def _iso(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def _spelled(token: str, moment: datetime) -> str:
    if token.startswith("["):
        return token[1:-1]
    return _TOKENS[token](moment)


def _nth(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _hour12(moment: datetime) -> int:
    return moment.hour % 12 or 12


def _day(moment: datetime) -> int:
    return moment.isoweekday() % 7


def _yearday(moment: datetime) -> int:
    return moment.timetuple().tm_yday


def _ms(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


_TOKENS: Mapping[str, Callable[[datetime], str]] = {
    "YYYY": lambda at: f"{at.year:04d}",
    "YY": lambda at: f"{at.year % 100:02d}",
    "GGGG": lambda at: f"{at.isocalendar().year:04d}",
    "Q": lambda at: str((at.month + 2) // 3),
    "Qo": lambda at: _nth((at.month + 2) // 3),
    "MMMM": lambda at: _MONTHS[at.month - 1],
    "MMM": lambda at: _MONTHS[at.month - 1][:3],
    "MM": lambda at: f"{at.month:02d}",
    "Mo": lambda at: _nth(at.month),
    "M": lambda at: str(at.month),
    "WW": lambda at: f"{at.isocalendar().week:02d}",
    "Wo": lambda at: _nth(at.isocalendar().week),
    "W": lambda at: str(at.isocalendar().week),
    "DDDD": lambda at: f"{_yearday(at):03d}",
    "DDDo": lambda at: _nth(_yearday(at)),
    "DDD": lambda at: str(_yearday(at)),
    "DD": lambda at: f"{at.day:02d}",
    "Do": lambda at: _nth(at.day),
    "D": lambda at: str(at.day),
    "dddd": lambda at: _DAYS[_day(at)],
    "ddd": lambda at: _DAYS[_day(at)][:3],
    "dd": lambda at: _DAYS[_day(at)][:2],
    "do": lambda at: _nth(_day(at)),
    "d": lambda at: str(_day(at)),
    "E": lambda at: str(at.isoweekday()),
    "A": lambda at: "PM" if at.hour >= 12 else "AM",
    "a": lambda at: "pm" if at.hour >= 12 else "am",
    "HH": lambda at: f"{at.hour:02d}",
    "H": lambda at: str(at.hour),
    "hh": lambda at: f"{_hour12(at):02d}",
    "h": lambda at: str(_hour12(at)),
    "kk": lambda at: f"{at.hour or 24:02d}",
    "k": lambda at: str(at.hour or 24),
    "mm": lambda at: f"{at.minute:02d}",
    "m": lambda at: str(at.minute),
    "ss": lambda at: f"{at.second:02d}",
    "s": lambda at: str(at.second),
    "SSS": lambda at: f"{at.microsecond // 1000:03d}",
    "SS": lambda at: f"{at.microsecond // 10000:02d}",
    "S": lambda at: str(at.microsecond // 100000),
    "ZZ": lambda at: "+0000",
    "Z": lambda at: "+00:00",
    "X": lambda at: str(_ms(at) // 1000),
    "x": lambda at: str(_ms(at)),
}
