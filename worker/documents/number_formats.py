"""Values of spreadsheet cells as the sheet shows them: decimals, currency, percent and dates."""

from __future__ import annotations

import datetime as dt
import re
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

QUOTED: Final = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|_.|\*.|\[[^\]]*\]')
DIGITS: Final = re.compile(r"[#0?][#0?,.]*")
KEPT: Final = re.compile(r"[€$£¥₹₽]")


def shown_value(value: object, number_format: str) -> str:
    """The text that a cell shows; empty for no value."""
    match value:
        case bool():
            return str(value).upper()
        case dt.datetime():
            has_time = value.time() != dt.time() or "h" in number_format.lower()
            return value.strftime("%Y-%m-%d %H:%M" if has_time else "%Y-%m-%d")
        case dt.time():
            return value.strftime("%H:%M")
        case int() | float():
            return _number(value, number_format)
        case _:
            return "" if value is None else str(value)


def _number(value: float, number_format: str) -> str:
    sections = number_format.split(";")
    if len(sections) > 1 and not "".join(sections[:2]):  # ;;; hides a value
        return ""
    section = sections[1] if value < 0 and len(sections) > 1 and DIGITS.search(sections[1]) else sections[0]
    if section in ("General", "@", "") or not DIGITS.search(QUOTED.sub("", section)):
        return _general(value)
    signs: list[str] = []

    def kept(match: re.Match[str]) -> str:
        signs.append(match[1] or match[2] or match[3] or "")
        return "\x00"

    plain = QUOTED.sub(kept, section)
    found = DIGITS.search(plain)
    if found is None or "/" in plain or "E+" in plain.upper():
        return _general(value)
    texts = iter(signs)
    before, after = (
        re.sub("\x00|.", lambda each: next(texts, "") if each[0] == "\x00" else _literal(each[0]), part)
        for part in (plain[: found.start()], plain[found.end() :])
    )
    thousands = len(found[0]) - len(found[0].rstrip(","))
    scaled = Decimal(repr(value)) * (100 if "%" in plain else 1) / 1000**thousands
    number = _with_decimals(abs(scaled), found[0].rstrip(","))
    sign = "-" if scaled < 0 and "-" not in before and "(" not in before else ""
    return f"{before}{sign}{number}{after}".strip()


def _literal(char: str) -> str:
    return char if char in "%-+() /:" or KEPT.match(char) else ""


def _with_decimals(value: Decimal, digits: str) -> str:
    """A number with as many decimals as its format, without separators of thousands."""
    whole, point, decimals = digits.partition(".")
    most = len(re.sub("[^#0?]", "", decimals)) if point else 0
    least = decimals.count("0")
    rounded = value.quantize(Decimal(1).scaleb(-most), rounding=ROUND_HALF_UP)
    text = f"{rounded:f}"
    while "." in text and text.endswith("0") and len(text.partition(".")[2]) > least:
        text = text[:-1]
    number, point, rest = text.rstrip(".").partition(".")
    return f"{number.zfill(whole.count('0'))}{point}{rest}"


def _general(value: float) -> str:
    """Eleven digits, as spreadsheets show a number without a format."""
    return f"{value:.11g}" if isinstance(value, float) and abs(value) < 1e15 else str(value)
