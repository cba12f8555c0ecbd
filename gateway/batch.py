"""The body of a request that publishes events: split into events, and each event checked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from review.http.field_problems import FieldProblem
from review.http.visit import Refused
from tasks.publishing.publish import CheckedEvent, checked_event
from worker.errors import PayloadRejected
from worker.payload import EventPayload, Identifier

JSON: Final = "application/json"
LINES: Final = frozenset({"application/x-ndjson", "application/ndjson"})
DOCUMENTS: Final = frozenset({JSON, "application/cloudevents+json", "application/cloudevents-batch+json"})
CLOUD_EVENT: Final = {
    "type": "object",
    "description": "One event as CloudEvents 1.0.",
    "properties": {
        "specversion": {"const": "1.0"},
        **{name: {"type": "string", "minLength": 1} for name in ("id", "source", "type")},
        "data": {"$ref": "#/components/schemas/PublishedEvent"},
    },
    "required": ["specversion", "id", "source", "type", "data"],
}
ACCEPTED: Final[Mapping[str, Mapping[str, Any]]] = {
    "application/x-ndjson": {"type": "string", "description": "One event a line; `application/ndjson` too."},
    "application/cloudevents+json": CLOUD_EVENT,
    "application/cloudevents-batch+json": {"type": "array", "minItems": 1, "items": CLOUD_EVENT},
}
"""Media types beside JSON with their schemas, for the OpenAPI document."""
JSON_SPACE: Final = " \t\r\n"
SPACE: Final = re.compile(rf"[{JSON_SPACE}]*+")
READER: Final = json.JSONDecoder()


class PublishedEvent(EventPayload):
    """An event with the id by which a repeated request is recognised."""

    event_id: Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The events of a body in order, and what is wrong with the others.

    Attributes:
        items: the number of each event in the body, from 0.
    """

    events: tuple[CheckedEvent, ...]
    items: tuple[int, ...]
    problems: tuple[FieldProblem, ...]


def media_type(content_type: str, encoding: str, *, accepted: frozenset[str] = LINES | DOCUMENTS) -> str:
    """The media type of a body, one of those ``accepted``.

    Raises:
        Refused: 415.
    """
    found = content_type.partition(";")[0].strip().lower()
    if found not in accepted:
        text = f"Content-Type: expected {', '.join(sorted(accepted))}, got {found[:80] or 'nothing'!r}."
        raise Refused(415, "Media type", text)
    if encoding not in {"", "identity"}:
        raise Refused(415, "Media type", f"Content-Encoding: expected none, got {encoding[:40]!r}.")
    return found


def split(body: bytes, media: str, most: int) -> Sequence[bytes]:
    """The events of a body as they were written, unchecked: lines, elements of an array, or a single event.

    Of more than ``most`` the first ones and one more; the others are not read.

    Raises:
        Refused: 422, the body holds no events.
    """
    if media in LINES:
        found = list(islice((line for line in body.split(b"\n") if line.strip()), most + 1))
    elif body.lstrip(JSON_SPACE.encode())[:1] == b"[":
        found = _elements(body, most + 1)
    else:
        found = [body] if body.strip() else []
    if not found:
        raise _unusable("at least one object", "none")
    return found


def check(events: Sequence[bytes]) -> Batch:
    """Check every event as a worker does; each needs an id, so that a repeated request changes nothing."""
    good, items, problems = [], [], []
    for item, event in enumerate(events):
        try:
            found = checked_event(event)
        except PayloadRejected as error:
            problems += [
                FieldProblem(item=item, field=each.field, expected=each.expected, got=each.got)
                for each in (error, *error.further)
            ]
            continue
        if not found.event_id:
            expected = "a value: a repeated request is recognised by it"
            problems.append(FieldProblem(item=item, field="event_id", expected=expected, got="nothing"))
            continue
        good.append(found)
        items.append(item)
    return Batch(events=tuple(good), items=tuple(items), problems=tuple(problems))


def unusable(problems: Sequence[FieldProblem], events: int) -> Refused:
    """The refusal (422) of a body without a usable event; nothing of it was published."""
    text = f"None of {events} events can be used, and none was published. First: {problems[0]}."
    return Refused(422, "Not events", text, problems=problems)


def _elements(body: bytes, most: int) -> list[bytes]:
    """The first elements of an array as written, so that each is read like an event that came alone."""
    try:
        text = body.decode().strip(JSON_SPACE)
        return [text[start:end].encode() for start, end in islice(_spans(text), most)]
    except UnicodeDecodeError as error:
        raise _unusable("UTF-8", f"byte {body[error.start]:#04x} at {error.start}") from error
    except RecursionError as error:
        raise _unusable("at most 32 levels of nesting", "more levels") from error
    except ValueError as error:
        raise _unusable("a JSON array of objects", str(error)[:120]) from error


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the elements of a JSON array begin and end; ValueError for another text."""
    at = _after_space(text, 1)
    last = len(text) - 1
    if text.startswith("]", last) and at == last:
        return
    while True:
        _, end = READER.raw_decode(text, at)
        yield at, end
        sign = _after_space(text, end)
        if text.startswith("]", last) and sign == last:
            return
        if not text.startswith(",", sign):
            raise json.JSONDecodeError("Expecting ',' delimiter", text, sign)
        at = _after_space(text, sign + 1)


def _after_space(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    return found.end() if found else at


def _unusable(expected: str, got: str) -> Refused:
    problem = FieldProblem(field="data", expected=expected, got=got)
    return Refused(422, "Not events", f"Nothing was published. {problem}.", problems=(problem,))
