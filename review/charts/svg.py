"""SVG markup: every value is escaped, sizes are in percent, colours come from the style sheet."""

from __future__ import annotations

import html
import re
from functools import cache
from typing import Final

from markupsafe import Markup, escape

_SPECIAL: Final = re.compile("[&<>\"']")


def tag(element: str, /, *inside: object, **attributes: object) -> Markup:
    """One element; ``class_`` and ``stroke_width`` are ``class`` and ``stroke-width``; None is left out."""
    shown = "".join(
        [f' {_named(name)}="{_escaped(value)}"' for name, value in attributes.items() if value is not None]
    )
    content = "".join([each if isinstance(each, Markup) else escape(each) for each in inside])
    return Markup(f"<{element}{shown}>{content}</{element}>")  # noqa: S704  # every part was escaped above


def _escaped(value: object) -> str:
    """A page has thousands of attributes, almost all of them without such a character."""
    text = str(value)
    return html.escape(text) if _SPECIAL.search(text) else text


@cache
def _named(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def decoration(*inside: object, **attributes: object) -> Markup:
    """An SVG that screen readers skip, as the page has the same as text."""
    return tag("svg", *inside, **attributes, aria_hidden="true", focusable="false")


def share(value: float) -> str:
    """A position or length in percent, at most two decimals."""
    return f"{round(value, 2):g}%"


def pattern(key: str, number: int) -> Markup:
    """The fill of a series: a colour and, from the second on, lines or dots over it.

    The six patterns can be distinguished in black and white.
    """
    lines = PATTERNS[number % len(PATTERNS)]
    return tag(
        "pattern",
        tag("rect", width=8, height=8, class_=f"c{number % 6 + 1}"),
        *(tag("path", d=each, class_="over") for each in lines),
        id=f"{key}-p{number}",
        width=8,
        height=8,
        patternUnits="userSpaceOnUse",
    )


PATTERNS = (
    (),
    ("M-2 2L2 -2M0 8L8 0M6 10L10 6",),
    ("M2 2h2v2h-2zM6 6h2v2h-2z",),
    ("M0 2H8M0 6H8",),
    ("M2 0V8M6 0V8",),
    ("M-2 2L2 -2M0 8L8 0M6 10L10 6", "M-2 6L2 10M0 0L8 8M6 -2L10 2"),
)


def stroke(number: int) -> Markup:
    """A short line drawn like the series."""
    line = tag("line", x1="0", x2="100%", y1="50%", y2="50%", class_=f"line l{number % 6 + 1}")
    return decoration(line, class_="swatch long")


def swatch(key: str, number: int) -> Markup:
    """A small square painted like the series."""
    return decoration(
        tag("rect", width="100%", height="100%", fill=f"url(#{key}-p{number})"), class_="swatch"
    )
