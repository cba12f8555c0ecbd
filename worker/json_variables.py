"""Variables that hold JSON."""

from __future__ import annotations

from typing import Any

import orjson


def json_value(value: object, *, expected: str, kind: type[dict[Any, Any] | list[Any]] = dict) -> Any:
    """The value in the text of a variable; what is no text was given by code, and stays.

    Raises:
        ValueError: it is not JSON of this kind; ``expected`` says what it should be.
    """
    if not isinstance(value, str):
        return value
    try:
        found = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"expected {expected}") from error
    if not isinstance(found, kind):
        raise ValueError(f"expected {expected}")  # noqa: TRY004  # pydantic reports a ValueError
    return found
