"""The JSON object in a payload, with the limits of Postgres and of the JSON parser inside Redis."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final

from pydantic import JsonValue

from worker.errors import PayloadRejected

DEPTH: Final = 32
TOO_DEEP: Final = ("too_deep", f"at most {DEPTH} levels of nesting", "more levels")
SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
JSON_KINDS: Final[dict[type, str]] = {
    dict: "a JSON object",
    list: "a JSON array",
    str: "a JSON string",
    int: "a JSON number",
    float: "a JSON number",
    bool: "true or false",
    type(None): "null",
}


def json_object(payload: bytes) -> dict[str, Any]:
    """The one JSON object in a payload.

    Raises:
        PayloadRejected: not UTF-8, not a JSON object, nested too deeply, or with half a surrogate pair.
    """
    body = _parsed(payload)
    _check_depth(body)
    if b"\\u" in payload:
        _check_surrogates(body)
    return body


def check_storable(metadata: dict[str, JsonValue]) -> None:
    """Refuse NUL, which Postgres cannot store, and integers over 64 bits, which some readers cannot."""
    for leaf in _leaves(metadata):
        match leaf:
            case str() if "\x00" in leaf:
                expected, got = "text without NUL", shown(leaf)
            case int() if not -(2**63) <= leaf < 2**64:
                expected, got = "integers of at most 64 bits", f"one of {leaf.bit_length()} bits"
            case float() if not math.isfinite(leaf):
                expected, got = "numbers that a double can hold", "a larger one"
            case _:
                continue
        raise rejected("invalid", expected, got, field="metadata")


def rejected(code: str, expected: str, got: str, *, field: str = "data") -> PayloadRejected:
    """The error of a payload that cannot become an event."""
    return PayloadRejected(code=code, field=field, expected=expected, got=got)


def json_kind(value: object) -> str:
    """A JSON value's type in words."""
    return JSON_KINDS.get(type(value), "nothing")


def shown(text: str) -> str:
    """The start of a text without control characters, for an error message."""
    return re.sub(r"[\x00-\x1f\x7f\ud800-\udfff]", "?", text)[:120]


def _parsed(payload: bytes) -> dict[str, Any]:
    try:
        text = payload.decode("utf-8")
    except UnicodeDecodeError as error:
        raise rejected("not_utf8", "UTF-8", f"byte {payload[error.start]:#04x} at {error.start}") from error
    try:
        body = json.loads(text, parse_constant=_no_constant)
    except RecursionError as error:
        raise rejected(*TOO_DEEP) from error
    except ValueError as error:
        raise rejected("not_json", "one JSON object", shown(str(error))) from error
    if not isinstance(body, dict):
        raise rejected("not_object", "one JSON object", json_kind(body))
    return body


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _check_depth(body: dict[str, Any]) -> None:
    level: list[Any] = [body]
    for _ in range(DEPTH):
        level = [child for node in level for child in _children(node)]
        if not level:
            return
    raise rejected(*TOO_DEEP)


def _children(node: Any) -> list[Any]:
    values = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return [value for value in values if isinstance(value, dict | list)]


def _check_surrogates(body: JsonValue) -> None:
    """Refuse half a surrogate pair anywhere: neither Postgres nor the JSON parser inside Redis accepts it."""
    if any(isinstance(leaf, str) and SURROGATE.search(leaf) for leaf in _leaves(body)):
        raise rejected("not_utf8", "whole characters", "half of a surrogate pair")


def _leaves(node: JsonValue) -> Iterator[JsonValue]:
    """Every key and every scalar value."""
    match node:
        case dict():
            for key, value in node.items():
                yield key
                yield from _leaves(value)
        case list():
            for value in node:
                yield from _leaves(value)
        case _:
            yield node
