"""The JSON body of a change: read into its dataclass, or refused with every wrong field."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Any, Final, TypeVar, cast

import orjson
from pydantic import ValidationError
from starlette.responses import Response

from review.http.field_problems import FieldProblem
from review.http.parameters import adapter_of
from review.http.visit import Refused, Visit
from review.typed.kinds import EXPECTED
from worker.expectations import expectation
from worker.payload import got_value

Body = TypeVar("Body")
JSON: Final = "application/json"
MESSAGE: Final = re.compile(r"([\w ]+): expected (.*), got (.*)", re.DOTALL)


async def read_body(visit: Visit, kind: type[Body]) -> Body:
    """The body of a request.

    Raises:
        Refused: 415, it is not JSON; 422, a field is missing, unknown, or has another value than described.
    """
    require_media(visit, JSON)
    try:
        found: Body = adapter_of(cast("Any", kind)).validate_json(await visit.request.body(), strict=True)
    except ValidationError as error:
        raise unusable(field_problems(error)) from error
    return found


def require_media(visit: Visit, *accepted: str) -> str:
    """The media type of the body, one of ``accepted``; refused (415) otherwise."""
    found = visit.request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if found not in accepted:
        text = f"Content-Type: expected {' or '.join(accepted)}, got {found[:80] or 'nothing'!r}."
        raise Refused(415, "Media type", text)
    return found


def unusable(problems: list[FieldProblem]) -> Refused:
    """The refusal (422) of a body with wrong fields."""
    text = f"Nothing was stored. {'; '.join(map(str, problems[:3]))}."
    return Refused(422, "A field cannot be used", text, problems=problems)


def rejected(message: str) -> Refused:
    """The refusal (422) for a message ``field: expected ..., got ...``."""
    if named := MESSAGE.fullmatch(message):
        field, expected, got = named.groups()
        return unusable([FieldProblem(field=field, expected=expected, got=got)])
    return Refused(422, "Cannot be used", f"Nothing was stored. {message}")


def json_answer(body: object, status: int = 200, *, media_type: str = JSON) -> Response:
    """A JSON answer: a dictionary, or one of the dataclasses of answers."""
    text = orjson.dumps(body, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS)
    return Response(text, status_code=status, media_type=media_type)


def field_problems(error: ValidationError) -> list[FieldProblem]:
    """Every wrong field of a body, in its order, each once."""
    found = [_problem(each) for each in error.errors(include_url=False)]
    return list({each.field: each for each in reversed(found)}.values())[::-1]


def _problem(error: Any) -> FieldProblem:
    named = takewhile(lambda part: re.fullmatch(r"\w+", str(part)), error["loc"])  # not branches of a union
    field = ".".join(map(str, named)) or "data"
    if error["type"] == "json_invalid":
        return FieldProblem(field=field, expected="JSON", got=error["msg"].partition(": ")[2])
    if error["type"] in {"unexpected_keyword_argument", "extra_forbidden"}:
        return FieldProblem(field=field, expected="no such field", got="one")
    expected = EXPECTED.get(error.get("ctx", {}).get("pattern", "")) or expectation(error["msg"])
    return FieldProblem(field=field, expected=expected, got=got_value(error))
