"""Texts of form fields that hold the parts of one value: rows, percentages, numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from review.typed.numbers import typed_number, typed_share
from review.typed.problems import number_problem, twice_problem

Texts = Mapping[str, str]
"""Part -> typed text; the part of a value with one field is empty."""
ReportProblem = Callable[[str, str], None]
"""Takes a part and its problem."""
EMPTY_ROWS: Final = 1
"""Rows for further texts."""
ROW: Final = re.compile(r"(\d{1,3})\.key")


def parts_below(texts: Texts, path: str) -> dict[str, str]:
    """The texts below a path, such as ``0.key`` of ``fallbacks.0.key``; its own text has an empty part."""
    found = {part[len(path) + 1 :]: text for part, text in texts.items() if part.startswith(f"{path}.")}
    return found | ({"": texts[path]} if path in texts else {})


def row_numbers(texts: Texts) -> tuple[int, ...]:
    """The numbers of the rows among parts such as ``0.key``; an empty row where there are none."""
    return tuple(int(each[1]) for part in texts if (each := ROW.fullmatch(part))) or tuple(range(EMPTY_ROWS))


def row_texts(pairs: Mapping[str, str]) -> dict[str, str]:
    """Key and text of each pair, and an empty row for a further pair."""
    rows = enumerate([*pairs.items(), *[("", "")] * EMPTY_ROWS])
    return {
        f"{row}.{part}": text for row, pair in rows for part, text in zip(("key", "text"), pair, strict=True)
    }


def row_pairs(typed: Texts, report: ReportProblem) -> dict[str, str]:
    """The pairs of rows that are not empty; a key that comes twice is a problem."""
    found: dict[str, str] = {}
    for row in row_numbers(typed):
        key, text = typed.get(f"{row}.key", "").strip(), typed.get(f"{row}.text", "")
        if not key and not text.strip():
            continue
        if key in found:
            report(f"{row}.key", twice_problem(key))
        found[key] = text
    return found


def share_of(text: str, part: str, report: ReportProblem) -> float:
    """The share of a part, like ``typed_share``; a problem is reported."""
    try:
        return typed_share(text)
    except ValueError as error:
        report(part, str(error))
        return 0.0


def number_text(value: float | None) -> str:
    """A number without an idle fraction; empty for None."""
    return "" if value is None else repr(value).removesuffix(".0")


def number_of(text: str, part: str, report: ReportProblem) -> float:
    """A number; a whole one is an int, which every setting with numbers accepts. A problem is reported."""
    try:
        number = typed_number(text)
    except ValueError:
        report(part, number_problem(text))
        return 0
    return int(number) if number.is_integer() else number
