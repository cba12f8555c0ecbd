"""Flags: pairs of regional letters, and tag characters after a black flag."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

FURTHER: Final = frozenset(
    [
        "AN",
        "AQ",
        "BV",
        "CP",
        "CQ",
        "CW",
        "DG",
        "EA",
        "EU",
        "GS",
        "HM",
        "IC",
        "IO",
        "PN",
        "SX",
        "TA",
        "TF",
        "UM",
        "UN",
        "XK",
        "AX",
        "GG",
        "IM",
        "JE",
        "MF",
        "BL",
        "BQ",
        "SS",
    ]
)
"""Regions with a flag emoji and no telephone numbers of their own (Unicode CLDR)."""
LETTERS: Final = re.compile("[\U0001f1e6-\U0001f1ff]+")
FIRST: Final = 0x1F1E6
SUBDIVISION: Final = re.compile("[a-z]{2}[a-z0-9]{1,3}")
BLANKS: Final = "\u25a1\u25a1"
"""Signs that are no letters, as many as a flag has characters."""


@cache
def _regions() -> frozenset[str]:
    from phonenumbers import SUPPORTED_REGIONS  # noqa: PLC0415  # 2 MB, and hardly any text has a flag

    return FURTHER.union(SUPPORTED_REGIONS)


def is_subdivision(code: str) -> bool:
    """Whether a code can be that of a region's part: ISO 3166-2 without its dash, such as ``gbeng``."""
    return SUBDIVISION.fullmatch(code) is not None and code[:2].upper() in _regions()


def without_flags(text: str) -> str:
    """The text with two blanks for each flag; of the same length.

    Letters that make no flag are shown as letters, and with them all others of their row.
    """
    if text.isascii() or LETTERS.search(text) is None:
        return text
    return LETTERS.sub(
        lambda found: BLANKS * (len(found[0]) // 2) if _are_flags(found[0]) else found[0], text
    )


def _are_flags(letters: str) -> bool:
    names = [chr(ord(letter) - FIRST + ord("A")) for letter in letters]
    pairs = ["".join(names[at : at + 2]) for at in range(0, len(names), 2)]
    return len(names) % 2 == 0 and _regions().issuperset(pairs)
