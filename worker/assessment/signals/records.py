"""Structured evidence (``key: value`` lines or JSON): its attributes that are off or blank."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from worker.assessment.text.words import fact_units, normalised_text, text_units
from worker.model import Json

BLANK = frozenset({"", "none", "null", "n/a", "unknown"})
"""Values that mean unknown."""

_OFF = frozenset({"false", "no"})
_KEY_CHARS = 80
_FEWEST_LINES = 5
_FEWEST_SHARE = 0.5
"""A text is a record when at least 5 lines and half of all are ``key: value``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordAttribute:
    """One attribute of a record that is off or blank.

    Attributes:
        words: the units that name it, without those it shares with many attributes.
        blank: True when its value is unknown, False when it is off.
    """

    words: frozenset[str]
    blank: bool


def record_text(text: str) -> str:
    """A JSON object or list as ``path: value`` lines; any other text unchanged."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return "\n".join(_lines(json.loads(text), ""))
    except (ValueError, RecursionError):
        return text


def _lines(value: Json, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _lines(inner, f"{path} {key}".strip())
    elif isinstance(value, list):
        for inner in value:
            yield from _lines(inner, path)
    else:
        yield f"{path}: {'' if value is None else value}"


def record_pairs(text: str) -> tuple[tuple[str, str], ...]:
    """The (key, value) pairs of a record; empty when the text is prose."""
    lines = [line for line in text.splitlines() if line.strip()]
    found = [pair for line in lines if (pair := _pair(line)) is not None]
    is_record = len(found) >= _FEWEST_LINES and len(found) >= _FEWEST_SHARE * len(lines)
    return tuple(found) if is_record else ()


def _pair(line: str) -> tuple[str, str] | None:
    key, separator, value = line.partition(":")
    named = 0 < len(key) <= _KEY_CHARS and (value.startswith(" ") or not value)
    return (key, value.strip()) if separator and named else None


def doubtful_attributes(pairs: Sequence[tuple[str, str]]) -> tuple[RecordAttribute, ...]:
    """Attributes whose every value is false, no or blank, with the words that name them."""
    switches: dict[tuple[str, ...], set[str]] = {}
    for key, value in pairs:
        if value.casefold() in BLANK | _OFF | {"true", "yes"}:
            switches.setdefault(tuple(fact_units(text_units(normalised_text(key)))), set()).add(
                value.casefold()
            )
    shared = Counter(word for words in switches for word in words)
    return tuple(
        RecordAttribute(words=frozenset(named), blank=values <= BLANK)
        for words, values in switches.items()
        if values & (_OFF | BLANK) and (named := [w for w in words if shared[w] <= 2] or words[-1:])
    )
