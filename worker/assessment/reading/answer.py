"""The judge's answer as a reading; an unusable answer keeps its own name and is never a score."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Final

from worker.assessment.reading.model import (
    Reading,
    ReadingAnswer,
    ReadingOutcome,
    ReadingRequest,
    SentenceReading,
    without_reading,
)
from worker.model import Json, Verdict

MOST_CHARS: Final = 100_000
"""Longest answer that is read; a judge's token limit is far below it."""
MOST_QUOTES: Final = 20
"""Most quotes of one sentence that are looked up."""
MOST_STARTS: Final = 50
"""Most braces at which a JSON object is tried in prose."""
_FIELDS: Final = frozenset({"sentences", "scores"})
"""Fields that distinguish an answer from another object in prose."""


class _Unusable(Exception):
    def __init__(self, outcome: ReadingOutcome, detail: str) -> None:
        super().__init__(detail)
        self.answer = without_reading(outcome, detail)


def read_answer(text: str, request: ReadingRequest) -> ReadingAnswer:
    """The reading in a judge's text.

    Fences, prose around the object, a bare list of sentences, ``quote`` for ``quotes``, sentences without
    numbers in order, and numbers as text are accepted.
    """
    if not text.strip():
        return without_reading(ReadingOutcome.EMPTY)
    try:
        return ReadingAnswer(outcome=ReadingOutcome.READ, reading=_reading(_object(text), request))
    except _Unusable as error:
        return error.answer


def _object(text: str) -> dict[str, Json]:
    """The one JSON object or list of the text that can be an answer.

    A text with several is none: one of them may be copied from the draft or from a passage.
    """
    found = [each for value in _values(text[:MOST_CHARS]) if (each := _as_answer(value))]
    answers = [each for each in found if not _FIELDS.isdisjoint(each)] or found
    if not answers:
        raise _Unusable(ReadingOutcome.NOT_JSON, text.strip())
    if any(each != answers[0] for each in answers):
        raise _Unusable(ReadingOutcome.SEVERAL, f"{len(answers)} answers")
    return answers[0]


def _as_answer(value: Json) -> dict[str, Json]:
    """A value as an answer; empty for a value of another shape."""
    if isinstance(value, list) and all(isinstance(each, dict) for each in value):
        return {"sentences": value} if value else {}
    return value if isinstance(value, dict) else {}


def _values(text: str) -> Iterator[Json]:
    decoder, at = json.JSONDecoder(), 0
    for _ in range(MOST_STARTS):
        starts = [place for sign in "{[" if (place := text.find(sign, at)) >= 0]
        if not starts:
            return
        at = min(starts)
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        yield value


def _reading(found: dict[str, Json], request: ReadingRequest) -> Reading:
    scores = _scores(found.get("scores", found), request) if request.aspects else {}
    if not request.wants_verdicts:
        return Reading(scores=scores)
    left_out = found.get("left_out")
    return Reading(
        sentences=_sentences(found.get("sentences"), request),
        relevance=_share(found.get("relevance"), ReadingOutcome.NO_RELEVANCE),
        left_out=left_out.strip()[:300] if isinstance(left_out, str) else "",
        scores=scores,
    )


def _scores(found: Json, request: ReadingRequest) -> dict[str, float]:
    given = found if isinstance(found, dict) else {}
    return {name: _share(given.get(name), ReadingOutcome.NO_SCORES) for name in request.aspects}


def _sentences(found: Json, request: ReadingRequest) -> tuple[SentenceReading, ...]:
    """One reading for each sentence; of two for the same sentence the worse one counts."""
    if not isinstance(found, list):
        raise _Unusable(ReadingOutcome.NO_SENTENCES, repr(found))
    by_number: dict[int, SentenceReading] = {}
    for place, each in enumerate(found, start=1):
        if not isinstance(each, dict):
            continue
        number = _whole(each.get("number"), place)
        read = _sentence(each)
        other = by_number.get(number)
        by_number[number] = read if other is None else min(read, other, key=_worth)
    missing = [number for number in range(1, len(request.sentences) + 1) if number not in by_number]
    if missing:
        raise _Unusable(ReadingOutcome.SENTENCE_MISSING, f"no verdict on sentences {missing[:10]}")
    return tuple(by_number[number] for number in range(1, len(request.sentences) + 1))


def _sentence(found: dict[str, Json]) -> SentenceReading:
    named = str(found.get("verdict", "")).strip(" .!\"'").casefold().replace(" ", "_").replace("-", "_")
    if named not in set(Verdict):
        raise _Unusable(ReadingOutcome.NO_SENTENCES, f"verdict {named!r}")
    verdict = Verdict(named)
    given = found.get("probability")
    missing = float(verdict is Verdict.SUPPORTED)
    return SentenceReading(
        verdict=verdict,
        probability=missing if given is None else _share(given, ReadingOutcome.OUT_OF_RANGE),
        quotes=_quotes(found.get("quotes", found.get("quote"))),
    )


def _worth(read: SentenceReading) -> tuple[bool, float]:
    return read.verdict is Verdict.SUPPORTED, read.probability


def _quotes(found: Json) -> tuple[str, ...]:
    several = found if isinstance(found, list) else [found]
    given = (each.get("text", each.get("quote")) if isinstance(each, dict) else each for each in several)
    texts = (each for each in given if isinstance(each, str) and each.strip())
    return tuple(text for text, _ in zip(texts, range(MOST_QUOTES), strict=False))


def _whole(found: Json, place: int) -> int:
    try:
        return int(str(found))
    except ValueError:
        return place


def _share(found: Json, missing: ReadingOutcome) -> float:
    """A number from 0 to 1, also as text; None for others, such as "yes" and 7."""
    if isinstance(found, bool) or not isinstance(found, int | float | str):
        raise _Unusable(missing, repr(found))
    try:
        value = float(found)
    except ValueError:
        raise _Unusable(missing, repr(found)) from None
    if not math.isfinite(value) or not 0.0 <= value <= 1.0:
        raise _Unusable(ReadingOutcome.OUT_OF_RANGE, repr(found))
    return value
