"""Raised or lowered characters as plain text: cents of a price, exponents, ordinals; marks of notes go."""

from __future__ import annotations

import re
from typing import Final

CURRENCY: Final = r"(?:[€$£¥₹₽₺₩₴]|(?i:EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK|HUF|CAD|AUD|kr|zł|Kč|Ft|Fr))"
PRICE_BEFORE: Final = re.compile(rf"{CURRENCY}\.?\s*(?:\d[\d.,'’ \u00a0\u202f]*)?\d\Z")
CURRENCY_AFTER: Final = re.compile(rf"\s*{CURRENCY}")
AREA_UNIT: Final = re.compile(r"(?:^|[\d\s(/])(?:[mckd]?m|ft|in|yd|km)\Z")
EXPONENTS: Final = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
POWER: Final = re.compile(r"(?:^|\D)10\Z")
SEPARATED: Final = re.compile(r"[.,]\d{2}\Z")
CENTS: Final = re.compile(rf"(\d{{2}})\s*{CURRENCY}\s*")
HALF: Final = re.compile(r"\d\s?[/⁄]\s?\d{1,2}")
HOUR: Final = re.compile(r"(?:^|[^\d.,:])(?:[01]?\d|2[0-4])\Z")
MINUTES: Final = frozenset({"00", "15", "30", "45"})
NOTE: Final = re.compile(r"[\s*†‡§¶#()\[\],\d]*")
"""Signs and numbers that stand for a note."""


def raised(before: str, text: str, after: str, *, marks_note: bool = False) -> str:
    """What is read for ``text``, which stands raised between ``before`` and ``after``.

    Digits never join the digits before: two digits behind a price are its cents, others are an exponent or
    the mark of a note, which is left out. ``marks_note``: the text is a link to a note.
    """
    text = text.strip()
    if text.isdigit() and before[-1:].isspace() and PRICE_BEFORE.search(before[-40:].rstrip()):
        before = before.rstrip()
    if marks_note and NOTE.fullmatch(text):
        return ""
    if before[-1:].isdigit():
        return _behind_digit(before, text, after)
    if not text.isdigit() and text.translate(EXPONENTS) == text:
        return "" if NOTE.fullmatch(text) else text
    if AREA_UNIT.search(before[-4:]):
        return text.translate(EXPONENTS)
    return text if _continues_number(before) else ""


def _behind_digit(before: str, text: str, after: str) -> str:
    """Cents, minutes, a fraction, the exponent of ten or the mark of a note, which is left out."""
    for pattern, mark in ((SEPARATED, ""), (CENTS, "."), (HALF, " ")):
        if pattern.fullmatch(text):
            return mark + text
    if text.isdigit():
        is_price = PRICE_BEFORE.search(before[-40:]) or CURRENCY_AFTER.match(after)
        if len(text) == 2 and (is_price or (text in MINUTES and HOUR.search(before[-4:]))):
            return f"{'.' if is_price else ':'}{text}"
        return text.translate(EXPONENTS) if POWER.search(before[-4:]) and not is_price else ""
    exponent = text.translate(EXPONENTS)
    if exponent != text:
        return exponent if POWER.search(before[-4:]) else ""
    return "" if NOTE.fullmatch(text) else text


def lowered(before: str, text: str, after: str) -> str:
    """What is read for ``text``, which stands lowered: an index joins a letter, cents follow a price."""
    if before[-1:].isdigit() and text.strip().isdigit():
        return raised(before, text, after)
    return text


def _continues_number(before: str) -> bool:
    """Whether a separator or currency stands between the digits and the raised ones, as in ``4,``."""
    return re.search(rf"\d\s*(?:[.,'’]|{CURRENCY})\s*\Z|{CURRENCY}\s*\Z", before[-8:]) is not None
