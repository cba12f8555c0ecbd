"""A recording as compressed JSON, both ways; reading is strict, as a guess would not be a replay."""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

import orjson

from worker.errors import (
    EndpointMisconfigured,
    HushgateError,
    ModelRejected,
    ModelUnavailable,
    ModerationRejected,
    ModerationUnavailable,
    RetrievalUnavailable,
    RetryableError,
    StorageUnavailable,
)
from worker.model import Completion, Message, ModerationScores, NewerEvent, Retrieved
from worker.recordings.recording import (
    FORM,
    Port,
    RecordedAnswer,
    RecordedOutcome,
    Recording,
    RecordingUnreadable,
)
from worker.stored_json import read_object

LEVEL: Final = 1
"""Level of zlib: a higher level saves a tenth of the size for three times the time."""
WINDOW_BITS: Final = 13
MEMORY_LEVEL: Final = 6
"""The tables of zlib's defaults are larger than a recording: to clear them took five times as long."""
FAST, FULL = b"o", b"j"
"""First byte: written by orjson, or by ``json`` where a number or text is beyond what orjson writes."""
MOST_BYTES: Final = 32_000_000
"""Bytes of the JSON; an event has at most some hundred answers of some ten thousand characters."""
KEY_BYTES: Final = 8
OPTIONS: Final = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
Value = TypeVar("Value")

RETRYABLE: Final[Mapping[str, type[RetryableError]]] = {
    each.__name__: each
    for each in (ModerationUnavailable, ModelUnavailable, RetrievalUnavailable, StorageUnavailable)
}


def request_key(request: object) -> str:
    """The hash of a request: a dataclass, or a tuple of plain values."""
    return hashlib.blake2b(_json(request)[1], digest_size=KEY_BYTES).hexdigest()


def encoded(recording: Recording) -> bytes:
    """The stored form.

    Raises:
        TypeError, ValueError: a port answered something that JSON cannot hold.
    """
    head = {name: getattr(recording, name) for name in Recording.__slots__ if name != "answers"}
    mark, text = _json({**head, "answers": [_written(each) for each in recording.answers]})
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, WINDOW_BITS, MEMORY_LEVEL)
    return mark + packer.compress(text) + packer.flush()


def decoded(stored: bytes) -> Recording:
    """The recording of its stored form.

    Raises:
        RecordingUnreadable: it is damaged, or of another form.
    """
    try:
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(stored[1:], MOST_BYTES)
        found = orjson.loads(text) if stored[:1] == FAST else json.loads(text)
        if not unpacker.eof:
            raise RecordingUnreadable("the recording is cut off or too large")
    except (zlib.error, ValueError) as error:
        raise RecordingUnreadable("the recording is damaged") from error
    if not isinstance(found, dict) or found.get("form") != FORM:
        form = found.get("form") if isinstance(found, dict) else None
        raise RecordingUnreadable(f"form: expected {FORM}, got {form!r}")
    answers = found.pop("answers", None)
    try:
        made = tuple(_answer(each) for each in answers or ())
    except (TypeError, ValueError, KeyError) as error:
        raise RecordingUnreadable("an answer of the recording is damaged") from error
    return replace(_read(Recording, found | {"answers": []}), answers=made)


def _json(value: object) -> tuple[bytes, bytes]:
    try:
        return FAST, orjson.dumps(value, default=_plain, option=OPTIONS)
    except TypeError:
        return FULL, json.dumps(value, default=_plain_dataclass, sort_keys=True).encode()


def _plain(value: object) -> object:
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"expected a value that JSON can hold, got {type(value).__name__}")


def _plain_dataclass(value: Any) -> object:
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return _plain(value)


def _written(answer: RecordedAnswer) -> list[object]:
    value = _value_json(answer.value) if answer.outcome is RecordedOutcome.VALUE else answer.value
    head = (answer.port, answer.request, answer.number, answer.begun, answer.walls, answer.monotonics)
    return [*head, answer.outcome, int(answer.at_once), value]


def _answer(stored: Any) -> RecordedAnswer:
    port, request, number, begun, walls, monotonics, outcome, at_once, value = stored
    kind = RecordedOutcome(outcome)
    match kind:
        case RecordedOutcome.ERROR:
            value = _error(value)
        case RecordedOutcome.VALUE:
            value = READERS[Port(port.partition(":")[0])](value)
    return RecordedAnswer(
        port=str(port),
        request=str(request),
        number=int(number),
        begun=int(begun),
        walls=int(walls),
        monotonics=int(monotonics),
        outcome=kind,
        at_once=bool(at_once),
        value=value,
    )


def _value_json(value: Any) -> object:
    if isinstance(value, Retrieved):
        return replace(value, embedding=None)  # of traces only
    if isinstance(value, ModerationScores) and not all(map(math.isfinite, value.scores.values())):
        raise ValueError("expected finite scores")
    return value


def error_json(error: HushgateError) -> dict[str, object]:
    """The stored form of an error of a port."""
    names = ("kind", "retry_after_s", "status", "cause", "is_too_long")
    found = {name: getattr(error, name) for name in names if getattr(error, name, None) is not None}
    if isinstance(found.get("retry_after_s"), float | int):
        found["retry_after_s"] = repr(float(found["retry_after_s"]))
    return {"error": type(error).__name__, "message": str(error), **found}


def _error(stored: dict[str, Any]) -> HushgateError:
    name, message = stored["error"], stored["message"]
    if (retryable := RETRYABLE.get(name)) is not None:
        wait = stored.get("retry_after_s")
        return retryable(message, kind=stored["kind"], retry_after_s=None if wait is None else float(wait))
    if name == ModelRejected.__name__:
        return ModelRejected(
            message,
            status=stored["status"],
            kind=stored["kind"],
            is_too_long=bool(stored.get("is_too_long")),
        )
    if name == EndpointMisconfigured.__name__:
        return EndpointMisconfigured(message, cause=stored["cause"], status=stored["status"])
    if name == ModerationRejected.__name__:
        return ModerationRejected(message)
    raise ValueError(f"expected an error of a port, got {name!r}")


def _read(kind: type[Value], stored: object) -> Value:
    unreadable: list[str] = []
    found = read_object(kind, stored, "", unreadable)
    if unreadable:
        raise RecordingUnreadable(f"{unreadable[0] or kind.__name__}: damaged")
    return found


def _scores(stored: Any) -> ModerationScores:
    return _read(ModerationScores, stored)


def _completion(stored: Any) -> Completion:
    return _read(Completion, stored)


READERS: Final[Mapping[Port, Callable[[Any], Any]]] = {
    Port.MODERATOR: _scores,
    Port.CLASSIFIER: _scores,
    Port.MODEL: _completion,
    Port.JUDGE: _completion,
    Port.SEARCH: lambda stored: _read(Retrieved, stored),
    Port.HISTORY: lambda stored: tuple(_read(Message, each) for each in stored),
    Port.ARRIVALS: lambda stored: tuple(_read(NewerEvent, each) for each in stored),
    Port.SLEEP: lambda _: None,
}
