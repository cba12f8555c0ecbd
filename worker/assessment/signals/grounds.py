"""What a reply may rest on: the units, pairs, numbers and names of its question and its evidence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from worker.assessment.signals.records import RecordAttribute, doubtful_attributes, record_pairs, record_text
from worker.assessment.text.once import once
from worker.assessment.text.quantities import spelled_numbers, stated_numbers, times_of_day
from worker.assessment.text.words import (
    DISCOURSE,
    STOP,
    comparable_unit,
    content_units,
    is_unspaced,
    normalised_text,
    unaccented_unit,
)

PREFIX = 5
"""Letters of a word's beginning that show its relation to another word (medical, medicine)."""

_NAME = re.compile(r"\b([A-Z][A-Za-z]+)(?=[^\w.!?\n]{1,3}([A-Z][A-Za-z]+)\b)")

_WINDOW = 4
"""Distance in words within which the evidence must contain two neighbouring words of a reply."""


class EvidenceKind(StrEnum):
    """The shape of the evidence; each kind has its own coefficients."""

    QUESTION = "question"
    SUMMARY = "summary"
    RECORDS = "records"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """The evidence and the question as the signals compare them, computed once.

    Attributes:
        units: every comparable unit of the evidence.
        prefixes: first five letters of the longer words.
        together: pairs of fact units within four words of each other, in their order.
        asked_together: the same of the question; a reply may repeat them too.
        asked: units of the question; a reply may repeat them without evidence.
        asked_plain: the same without accents, because people type questions without them.
        figures: numbers of evidence and question.
        times: times of day in the evidence.
        names: names of evidence and question.
        attributes: attributes of a record that are off or blank.
        size: number of units in the evidence.
        kind: shape of the evidence.
    """

    units: frozenset[str]
    prefixes: frozenset[str]
    together: frozenset[tuple[str, str]]
    asked_together: frozenset[tuple[str, str]]
    asked: frozenset[str]
    asked_plain: frozenset[str]
    figures: frozenset[str]
    times: frozenset[tuple[int, int]]
    names: frozenset[tuple[str, str]]
    attributes: tuple[RecordAttribute, ...]
    size: int
    kind: EvidenceKind


@once
def evidence_grounds(query: str, context: str) -> Grounds:
    """The grounds that ``context`` and ``query`` give a reply."""
    records = record_pairs(record_text(context))
    text = normalised_text("\n".join(f"{key}: {value}" for key, value in records) if records else context)
    asked_text = normalised_text(query)
    found = content_units(text)
    asked_units = content_units(asked_text)
    asked = frozenset(asked_units)
    seen = frozenset(found)
    return Grounds(
        units=seen,
        prefixes=frozenset(u[:PREFIX] for u in seen if len(u) >= PREFIX and not is_unspaced(u)),
        together=_pairs_within(bearing_units(found)),
        asked_together=_pairs_within(bearing_units(asked_units)),
        asked=asked,
        asked_plain=frozenset(unaccented_unit(u) for u in asked),
        figures=stated_numbers(text) | spelled_numbers(seen) | stated_numbers(asked_text),
        times=times_of_day(text),
        names=name_pairs(text) | name_pairs(asked_text),
        attributes=doubtful_attributes(records),
        size=len(found),
        kind=_kind(records=bool(records), asked=bool(asked)),
    )


def _kind(*, records: bool, asked: bool) -> EvidenceKind:
    if records:
        return EvidenceKind.RECORDS
    return EvidenceKind.QUESTION if asked else EvidenceKind.SUMMARY


def bearing_units(found: Sequence[str]) -> list[str]:
    """The units that bear meaning: no grammar, no framing; numbers too."""
    return [u for u in found if u not in STOP and u not in DISCOURSE]


def _pairs_within(bearing: Sequence[str]) -> frozenset[tuple[str, str]]:
    pairs: set[tuple[str, str]] = set()
    for step in range(1, _WINDOW + 1):
        pairs.update(zip(bearing, bearing[step:], strict=False))
    return frozenset(pairs)


def name_pairs(text: str) -> frozenset[tuple[str, str]]:
    """Names of two or more capitalised words, as pairs of neighbouring units.

    Only words in the letters A to Z; names in other letters are compared by their unseen pairs.
    """
    pairs = ((comparable_unit(a.casefold()), comparable_unit(b.casefold())) for a, b in _NAME.findall(text))
    return frozenset(pair for pair in pairs if STOP.isdisjoint(pair) and DISCOURSE.isdisjoint(pair))
