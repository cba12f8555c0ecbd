"""A JSON answer in the schema that the request asks for."""

from __future__ import annotations

from collections.abc import Mapping

PASS_AT = 0.5
"""Score from which a boolean is true."""


def schema_answer(answer: Mapping[str, object], schema: Mapping[str, object] | None) -> dict[str, object]:
    """The answer reduced to the properties of a JSON schema; missing properties are made from its score.

    A number becomes the score, an integer 0..10, a boolean ``score >= 0.5``, a string with ``enum`` the first
    value on a pass and the last on a fail, any other string the reason.
    """
    properties = (schema or {}).get("properties")
    if not isinstance(properties, dict):
        return dict(answer)
    return {
        name: answer[name] if name in answer else _filled(kind if isinstance(kind, dict) else {}, answer)
        for name, kind in properties.items()
    }


def _filled(kind: Mapping[str, object], answer: Mapping[str, object]) -> object:
    score = answer.get("score")
    number = float(score) if isinstance(score, int | float) else 0.0
    choices = kind.get("enum")
    if isinstance(choices, list) and choices:
        return choices[0] if number >= PASS_AT else choices[-1]
    by_type: dict[str, object] = {
        "number": number,
        "integer": round(number * 10),
        "boolean": number >= PASS_AT,
        "string": answer.get("reason", ""),
        "array": [],
        "object": {},
    }
    return by_type.get(str(kind.get("type")))
