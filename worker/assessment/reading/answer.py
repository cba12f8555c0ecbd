"""The judge's answer as a reading; an unusable answer keeps its own name and is never a score."""

from __future__ import annotations

import ast
import json
import math
import re
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
_WRAPPERS: Final = ("reading", "properties")
"""The name of the schema, and of its part that small models fill in instead of answering by it."""
_FENCE: Final = re.compile(r"\s*```\w*\s*\n(.*?)(?:```\s*)?", re.DOTALL)
_WRITTEN: Final = re.compile(r'("(?:[^"\\]|\\.)*+"?)|,(?=\s*[}\]])|(?<=[\s,{\[])//[^\n]*|\u00a0', re.DOTALL)
"""Texts of JSON, and what models write between them that is no JSON."""
_ESCAPE: Final = re.compile(r'(\\["\\/bfnrtu])|\\')


class _Unusable(Exception):
    def __init__(self, outcome: ReadingOutcome, detail: str) -> None:
        super().__init__(detail)
        self.answer = without_reading(outcome, detail)


def read_answer(text: str, request: ReadingRequest) -> ReadingAnswer:
    """The reading in a judge's text.

    Fences, prose around the object, a bare list of sentences, ``quote`` for ``quotes``, sentences without
    numbers in order, numbers as text, names in other letters, commas too many, comments and literals of
    Python are accepted. An answer that was cut off is none.
    """
    if not text.strip():
        return without_reading(ReadingOutcome.EMPTY)
    failed: list[ReadingAnswer] = []
    for each in _forms(text[:MOST_CHARS]):
        try:
            return ReadingAnswer(outcome=ReadingOutcome.READ, reading=_reading(_object(each), request))
        except _Unusable as error:
            failed.append(error.answer)
    return failed[0]


def _forms(text: str) -> Iterator[str]:
    """The text, the text without what JSON does not allow, and JSON of a text that is a literal of Python."""
    yield text
    yield _WRITTEN.sub(lambda found: _ESCAPE.sub(r"\1", found[1] or ""), text)
    fenced = _FENCE.fullmatch(text)
    try:
        value = ast.literal_eval((fenced[1] if fenced else text).strip())
        yield value if isinstance(value, str) else json.dumps(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return


def _object(text: str) -> dict[str, Json]:
    """The one JSON object or list of the text that can be an answer.

    A text with several is none: one of them may be copied from the draft or from a passage.
    """
    found = [each for value in _values(text) if (each := _as_answer(value))]
    answers = [each for each in found if not _FIELDS.isdisjoint(each)] or found
    if not answers:
        raise _Unusable(ReadingOutcome.NOT_JSON, text.strip())
    if any(each != answers[0] for each in answers):
        raise _Unusable(ReadingOutcome.SEVERAL, f"{len(answers)} answers")
    return answers[0]


def _as_answer(value: Json) -> dict[str, Json]:
    """A value as an answer, alone in a list or under the name of the schema; empty for another shape."""
    if isinstance(value, list):
        (alone, *others) = value or [None]
        if not others and not _FIELDS.isdisjoint(found := _named(alone)):
            return found
        return {"sentences": value} if value and all(isinstance(each, dict) for each in value) else {}
    found = _named(value)
    inner = (within for name in _WRAPPERS if not _FIELDS.isdisjoint(within := _named(found.get(name))))
    return found if not _FIELDS.isdisjoint(found) else next(inner, found)


def _named(value: Json) -> dict[str, Json]:
    """An object, its fields also under their names in small letters; empty for another value."""
    return {**{_word(name): each for name, each in value.items()}, **value} if isinstance(value, dict) else {}


def _word(said: str) -> str:
    """A word of the schema, such as ``no_claim`` for "No claim" and ``noClaim``."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|[\s-]", "_", said.strip(" .!*`\"'"))
    return apart.casefold()


def _values(text: str) -> Iterator[Json]:
    decoder, at = json.JSONDecoder(strict=False), 0
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
    if isinstance(found, str):
        found = next(_values(found), found)
    if isinstance(found, dict):
        found = [{"number": number, **_named(each)} for number, each in found.items()]
    if not isinstance(found, list):
        raise _Unusable(ReadingOutcome.NO_SENTENCES, repr(found))
    by_number: dict[int, SentenceReading] = {}
    for place, each in enumerate(found, start=1):
        if not isinstance(each, dict):
            continue
        named = _named(each)
        number, read = _whole(named.get("number"), place), _sentence(named)
        other = by_number.get(number)
        by_number[number] = read if other is None else min(read, other, key=_worth)
    if 0 in by_number and len(request.sentences) not in by_number:  # counted from 0
        by_number = {number + 1: read for number, read in by_number.items()}
    missing = [number for number in range(1, len(request.sentences) + 1) if number not in by_number]
    if missing:
        raise _Unusable(ReadingOutcome.SENTENCE_MISSING, f"no verdict on sentences {missing[:10]}")
    return tuple(by_number[number] for number in range(1, len(request.sentences) + 1))


def _sentence(found: dict[str, Json]) -> SentenceReading:
    named = _word(str(found.get("verdict", "")))
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
        said = re.sub(r"\A0,", "0.", str(found).strip())
        value = float(said[:-1]) / 100 if said.endswith("%") else float(said)
    except ValueError:
        raise _Unusable(missing, repr(found)) from None
    if not math.isfinite(value) or not 0.0 <= value <= 1.0:
        raise _Unusable(ReadingOutcome.OUT_OF_RANGE, repr(found))
    return value
