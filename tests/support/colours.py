"""The colours of the style sheet, which of them stand on which, and their contrast (WCAG 2.2)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from review.http.templating import STATIC

TEXT: Final = 4.5
"""Least contrast of text, level AA."""
SHAPE: Final = 3.0
"""Least contrast of a border, bar or icon that carries meaning, level AA."""
DECLARED: Final = re.compile(r"--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Colour:
    """A colour token with its value for light and for dark."""

    name: str
    light: str
    dark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ColourPair:
    """A colour on another one; ``least`` is the contrast that it needs."""

    front: str
    ground: str
    least: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPair:
    """A pair with its contrast in light and in dark."""

    pair: ColourPair
    light: float
    dark: float


def _pairs(least: float, fronts: str, grounds: str) -> tuple[ColourPair, ...]:
    return tuple(
        ColourPair(front=front, ground=ground, least=least)
        for front in fronts.split()
        for ground in grounds.split()
    )


PAIRS: Final = (
    *_pairs(TEXT, "text muted link", "bg panel sunken"),
    *_pairs(TEXT, "text link", "accent-bg"),
    *_pairs(TEXT, "accent-text", "accent"),
    *_pairs(TEXT, "good", "good-bg panel"),
    *_pairs(TEXT, "warn", "warn-bg panel"),
    *_pairs(TEXT, "bad", "bad-bg panel bg sunken"),
    *_pairs(TEXT, "info", "info-bg panel"),
    *_pairs(TEXT, "text link", "good-bg warn-bg bad-bg info-bg"),
    *_pairs(TEXT, "mark-text", "mark"),
    *_pairs(SHAPE, "focus strong-line accent", "bg panel sunken"),
    *_pairs(SHAPE, "bar", "panel sunken"),
    *_pairs(SHAPE, "bar-2 bar-3 bar-4 bar-5 bar-6", "panel"),
)
"""Every text and meaningful shape of the pages with what it stands on."""
DECORATIVE: Final = frozenset({"line"})
"""Colours without a meaning of their own: borders between parts that space separates too."""


@cache
def colours() -> dict[str, Colour]:
    """The colour tokens by name, in the order of the sheet."""
    sheet = (STATIC / "style.css").read_text(encoding="utf-8")
    return {name: Colour(name=name, light=light, dark=dark) for name, light, dark in DECLARED.findall(sheet)}


def measured() -> tuple[MeasuredPair, ...]:
    """Every pair with its contrasts."""
    known = colours()
    return tuple(
        MeasuredPair(
            pair=pair,
            light=contrast(known[pair.front].light, known[pair.ground].light),
            dark=contrast(known[pair.front].dark, known[pair.ground].dark),
        )
        for pair in PAIRS
    )


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours such as #1a2126, 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(share: float) -> float:
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4
