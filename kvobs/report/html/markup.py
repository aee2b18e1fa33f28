"""HTML in which nothing of somebody else's can be more than text. Pure."""

from __future__ import annotations

import html
import re

NO_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
"""What no HTML may hold, or no file in UTF-8."""

VOID = frozenset({"meta", "input"})


class Markup(str):
    """HTML that stands as it is; any other text is escaped where it meets one."""

    __slots__ = ()


def escaped(text: str) -> Markup:
    """Return a text as HTML that shows it.

    >>> escaped('<b title="a">') + escaped("\\x00")
    '&lt;b title=&quot;a&quot;&gt;\ufffd'
    """
    return text if isinstance(text, Markup) else Markup(html.escape(NO_CHARACTERS.sub("\ufffd", text)))


def tag(name: str, /, *children: str, **attributes: str | bool | None) -> Markup:
    """Return an element. A name may end in `_`, and each `_` within it is a `-`; False and None are left out.

    >>> tag("p", "a < b", class_="c", data_state="lit", hidden=True, id=None)
    '<p class="c" data-state="lit" hidden>a &lt; b</p>'
    """
    told = ""
    for key, value in attributes.items():
        written = key.rstrip("_").replace("_", "-")
        if value is True:
            told += f" {written}"
        elif value is not None and value is not False:
            told += f' {written}="{escaped(value)}"'
    if name in VOID:
        return Markup(f"<{name}{told}>")
    return Markup(f"<{name}{told}>{joined(*children)}</{name}>")


def joined(*children: str) -> Markup:
    """Return several pieces as one."""
    return Markup("".join(map(escaped, children)))
