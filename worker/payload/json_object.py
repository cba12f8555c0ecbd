"""The JSON object in a payload."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from worker.errors import PayloadFault, PayloadRejected
from worker.payload.characters import whole_characters

LEVELS: Final = 256
"""Most levels of nesting, also of unknown fields: the JSON parser inside Redis takes 1,000."""
TOO_DEEP: Final = (PayloadFault.TOO_DEEP, f"at most {LEVELS} levels of nesting", "more levels")
INTEGER_DIGITS: Final = 20
"""Longer integers are read as floats, as they exceed 64 bits."""
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
        PayloadRejected: not UTF-8, not a JSON object, or nested too deeply for the parser.
    """
    try:
        text = whole_characters(payload).decode()
    except UnicodeDecodeError as error:
        raise rejected(
            PayloadFault.NOT_UTF8, "UTF-8", f"byte {payload[error.start]:#04x} at {error.start}"
        ) from error
    try:
        body = json.loads(text, parse_int=_integer)
    except RecursionError as error:
        raise rejected(*TOO_DEEP) from error
    except json.JSONDecodeError as error:
        raise rejected(PayloadFault.NOT_JSON, "one JSON object", no_json(error)) from error
    if not isinstance(body, dict):
        raise rejected(PayloadFault.NOT_OBJECT, "one JSON object", json_kind(body))
    _check_depth(body)
    return body


def no_json(error: json.JSONDecodeError) -> str:
    """Where a text stops being JSON, for an error message."""
    if "UTF-8" in error.msg:
        return "bytes that are not UTF-8"
    if not error.doc.strip():
        return "an empty text"
    line = f"line {error.lineno}, " if "\n" in error.doc.strip() else ""
    return f"no JSON at {line}column {error.colno}"


def rejected(code: PayloadFault, expected: str, got: str, *, field: str = "data") -> PayloadRejected:
    """The error of a payload that cannot become an event."""
    return PayloadRejected(code=code, field=field, expected=expected, got=got)


def json_kind(value: object) -> str:
    """A JSON value's type in words."""
    return JSON_KINDS.get(type(value), "nothing")


def shown(text: str) -> str:
    """The start of a text without control characters, for an error message."""
    return re.sub(r"[\x00-\x1f\x7f\ud800-\udfff]", "?", text)[:120]


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= INTEGER_DIGITS else float(digits)


def _check_depth(body: dict[str, Any]) -> None:
    level: list[Any] = [body]
    for _ in range(LEVELS):
        level = [child for node in level for child in _children(node)]
        if not level:
            return
    raise rejected(*TOO_DEEP)


def _children(node: Any) -> list[Any]:
    values = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return [value for value in values if isinstance(value, dict | list)]
