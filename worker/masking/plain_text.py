"""A text as the patterns of personal data read it, and where its characters stand in the original."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from html import unescape
from typing import Final

INVISIBLE: Final = (
    "\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f"
)
ENTITY: Final = r"&(?:\#\d{2,4}|\#[xX][0-9a-fA-F]{2,4}|commat|period);"
DISGUISED: Final = re.compile(
    rf"[{INVISIBLE}]|{ENTITY}|[\uff01-\uff5e]|(?![0-9])\d|[\u2460-\u24ff\U0001d400-\U0001d7ff]"
)
"""Invisible characters, entities of HTML, full-width and mathematical letters, digits of other scripts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainText:
    """A folded text.

    Attributes:
        text: without invisible characters; entities, other forms of letters and other digits as ASCII.
        starts: place in the original where each character begins; empty: nothing was folded.
        ends: place behind it.
    """

    text: str
    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where a stretch of ``text`` stands in the original."""
        return (self.starts[start], self.ends[end - 1]) if self.starts else (start, end)


def plain_text(text: str) -> PlainText:
    """The folded text; most texts have nothing to fold, and cost one search."""
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    for match in DISGUISED.finditer(text):
        for place in range(at, match.start()):
            parts.append(text[place])
            starts.append(place)
            ends.append(place + 1)
        for char in _folded(match[0]):
            parts.append(char)
            starts.append(match.start())
            ends.append(match.end())
        at = match.end()
    if not at:
        return PlainText(text=text)
    rest = range(at, len(text))
    return PlainText(
        text="".join(parts) + text[at:],
        starts=(*starts, *rest),
        ends=(*ends, *(place + 1 for place in rest)),
    )


def _folded(found: str) -> str:
    if len(found) > 1:
        return unescape(found)
    digit = unicodedata.digit(found, None) if found.isdecimal() else None
    if digit is not None:
        return str(digit)
    if unicodedata.category(found) == "Cf":
        return ""
    plain = unicodedata.normalize("NFKC", found)
    return plain if len(plain) == 1 else found
