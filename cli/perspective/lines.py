"""Reads a line with a text, the recorded answer of Perspective API and, if known, of the moderation API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from worker.adapters.moderation_results import scores_of_result, worst
from worker.errors import RejectedError
from worker.model import ModerationScores
from worker.payload import no_json

SCORES: Final = "attributeScores"
MOST_NAME: Final = 60


class LineRejected(RejectedError):
    """A line that cannot be compared; the message names field, expectation and value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedLine:
    """One text with what was recorded of it.

    Attributes:
        attributes: attribute -> score, 0..1; None when Perspective gave an error.
        error: Perspective's error, else empty.
        moderation: None without a recorded answer.
    """

    id: str
    text: str
    attributes: Mapping[str, float] | None
    error: str
    moderation: ModerationScores | None


def parse_line(number: int, line: bytes) -> RecordedLine:
    """The line of this number, from 1.

    Raises:
        LineRejected: it is no JSON, or a field is missing or wrong.
    """
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise LineRejected(f"expected one JSON object, got {no_json(error)}") from None
    if not isinstance(data, dict):
        raise LineRejected(f"expected one JSON object, got {_kind(data)}")
    comment = data.get("comment")
    text = data.get("text", comment.get("text") if isinstance(comment, dict) else comment)
    if not isinstance(text, str):
        raise _rejected("text", "a string", _kind(text))
    answer = data.get("perspective", data if {SCORES, "error"} & data.keys() else None)
    if not isinstance(answer, dict):
        raise _rejected("perspective", "the response of Perspective API", _kind(answer))
    attributes = None if "error" in answer else _attributes(answer)
    problem = "" if attributes is not None else _error(answer["error"])
    moderation = None if data.get("moderation") is None else _moderation(data["moderation"])
    name = str(data.get("id", number))
    return RecordedLine(id=name, text=text, attributes=attributes, error=problem, moderation=moderation)


def _attributes(answer: Mapping[str, Any]) -> dict[str, float]:
    """The summary scores; also of an answer that was stored as attribute -> score."""
    field, scores = SCORES, answer.get(SCORES)
    if SCORES not in answer and answer and all(name.isupper() for name in answer):
        field, scores = "perspective", answer
    if not isinstance(scores, dict) or not scores:
        raise _rejected(field, "an object attribute -> scores", _kind(scores))
    return {str(name): _score(f"{field}.{name[:MOST_NAME]}", each) for name, each in scores.items()}


def _score(field: str, value: object) -> float:
    if isinstance(value, dict):
        field, value = f"{field}.summaryScore.value", value.get("summaryScore")
        value = value.get("value") if isinstance(value, dict) else value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise _rejected(field, "a number from 0 to 1", _kind(value))
    return float(value)


def _error(error: object) -> str:
    """The kind of an error, such as LANGUAGE_NOT_SUPPORTED_BY_ATTRIBUTE, else its status or message."""
    if not isinstance(error, dict):
        return str(error)
    details = error.get("details")
    kinds = [each.get("errorType") for each in details or () if isinstance(each, dict)]
    return str(next(filter(None, kinds), None) or error.get("status") or error.get("message") or "error")


def _moderation(answer: object) -> ModerationScores:
    """A whole answer of the moderation API, or one result of it."""
    expected = "an answer of the moderation API"
    if not isinstance(answer, dict):
        raise _rejected("moderation", expected, _kind(answer))
    try:
        results = [
            scores_of_result(each, str(answer.get("model"))) for each in answer.get("results", [answer])
        ]
    except (ValueError, TypeError, AttributeError, LookupError):
        raise _rejected("moderation", expected, _kind(answer)) from None
    found = [each for each in results if isinstance(each, ModerationScores)]
    if not found or len(found) < len(results):
        raise _rejected("moderation", expected, "one without usable scores")
    return worst(found)


def _rejected(field: str, expected: str, got: str) -> LineRejected:
    return LineRejected(f"{field}: expected {expected}, got {got}")


def _kind(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case dict() | list():
            return f"{'an' if value else 'an empty'} {'object' if isinstance(value, dict) else 'array'}"
    return f"{type(value).__name__} {str(value)[:MOST_NAME]!r}"
