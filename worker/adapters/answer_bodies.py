"""The JSON value of an answer, also of one that a server sends as events although it was asked for none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, Final

import orjson

from worker.adapters.completion_reading import spoken_content

NEWLINE: Final = re.compile(r"\r\n|\n|\r")
OTHER_FIELDS: Final = (":", "event:", "id:", "retry:")
"""Comments and fields of events that hold no data."""
DATA: Final = "data:"
END: Final = "[DONE]"
SIGN_OF_LIFE: Final = frozenset({"type"})
"""The only field of an event that keeps the connection open."""
LEAST_CUMULATIVE_CHARS: Final = 20
CUT_OFF: Final = "incomplete"
"""The finish reason of a stream that has neither one nor an end."""


def answer_value(content: bytes) -> Any:
    """The JSON value of an answer; half a surrogate pair in a text does not lose the others.

    Raises:
        ValueError: no JSON, or nested too deeply.
    """
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        pass
    if not content.strip():
        raise ValueError("answer: expected JSON, got nothing")
    try:
        return json.loads(content, strict=False)  # a server may leave line ends in a text as they are
    except RecursionError as error:
        raise ValueError("answer: expected JSON with less nesting") from error
    except ValueError:
        try:
            found = _value_of_events(content)
        except (AttributeError, LookupError, TypeError) as error:
            raise ValueError(f"answer: expected events of chat completions ({error})") from error
        if found is None:
            raise
        return found


def _value_of_events(content: bytes) -> Any:
    """The value of a body with lines of server-sent events; None for any other body.

    Raises:
        ValueError: the data is no JSON.
    """
    lines = [line for line in NEWLINE.split(content.decode("utf-8-sig", errors="replace")) if line.strip()]
    plain = [line for line in lines if not line.startswith(OTHER_FIELDS)]
    data = [line.removeprefix(DATA).strip() for line in plain if line.startswith(DATA)]
    if len(plain) == len(lines) and not data:
        return None
    is_ended = END in data
    data = [each for each in data if each != END]
    if not data:  # one value, framed
        return orjson.loads("\n".join(line for line in plain if not line.startswith(DATA)))
    return _joined([orjson.loads(each) for each in data], is_ended=is_ended)


def _joined(events: list[Any], *, is_ended: bool) -> Any:
    """One completion from its chunks; an event that is no chunk, such as an error, as it is."""
    events = [each for each in events if isinstance(each, Mapping) and not each.keys() <= SIGN_OF_LIFE]
    whole = next((each for each in events if not _is_chunk(each)), None)
    if whole is not None:
        return whole
    parts = [part for event in events for part in event["choices"] or () if not part.get("index")]
    document = {name: value for event in events for name, value in event.items() if value is not None}
    reason = next((each["finish_reason"] for each in parts if each.get("finish_reason")), None)
    if reason is None and not is_ended:
        reason = CUT_OFF
    choice = {"message": _message(each.get("delta") or {} for each in parts), "finish_reason": reason}
    return {**document, "choices": [choice] if parts else []}


def _is_chunk(event: Any) -> bool:
    """Whether an event is a piece of a completion."""
    if not isinstance(event, Mapping) or event.get("error") or "choices" not in event:
        return False
    choices = event["choices"] or []
    return isinstance(choices, list) and all(
        isinstance(each, Mapping) and (each.get("delta") or not {"message", "text"} & each.keys())
        for each in choices
    )


def _message(deltas: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    pieces: dict[str, list[str]] = {"content": [], "refusal": []}
    calls: dict[int, list[dict[str, Any]]] = {}
    for delta in deltas:
        for name, found in pieces.items():
            found.append(spoken_content(delta.get(name)))
        for at, piece in enumerate(delta.get("tool_calls") or ()):
            of_index = calls.setdefault(piece.get("index") or at, [])
            function = piece.get("function") or {}
            arguments = function.get("arguments") or ""
            arguments = arguments if isinstance(arguments, str) else json.dumps(arguments)
            if not of_index or _begins_call(of_index[-1], piece.get("id"), function.get("name"), arguments):
                of_index.append({"name": "", "arguments": ""})
            call = of_index[-1]
            call["id"] = call.get("id") or piece.get("id")
            call["name"] = call["name"] or function.get("name") or ""
            call["arguments"] += arguments
    message = {name: _text_of([each for each in found if each]) for name, found in pieces.items()}
    return {**message, "tool_calls": [call for each in calls.values() for call in each]}


def _begins_call(before: Mapping[str, Any], call_id: Any, name: Any, arguments: str) -> bool:
    """Whether a piece begins another call at the index of a call: some gateways number each as the first."""
    if call_id and call_id == before["id"]:
        return False
    if not before["arguments"]:
        return bool(name and before["name"] and call_id)
    try:
        orjson.loads(before["arguments"])
    except orjson.JSONDecodeError:
        return False  # its arguments go on, though some servers give each piece an id of its own
    return bool(name) or arguments.lstrip().startswith("{")


def _text_of(pieces: list[str]) -> str:
    """The pieces of a text joined; the last one where each repeats all that was before it."""
    is_cumulative = all(later.startswith(earlier) for earlier, later in pairwise(pieces))
    if len(pieces) > 1 and is_cumulative and len(pieces[-1]) > LEAST_CUMULATIVE_CHARS:
        return pieces[-1]
    return "".join(pieces)
