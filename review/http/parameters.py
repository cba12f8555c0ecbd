"""The parameters of the JSON API's queries: one declaration describes and reads each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import QueryParams

from review.http.field_problems import FieldProblem
from review.typed.kinds import Limit, QueryText
from worker.payload import got_value

MOST_VALUES: Final = 20
"""Values of a repeated parameter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a query.

    Attributes:
        kind: the type of its value, read and described by Pydantic.
        default: the value without the parameter.
        several: takes several values, by repeating the parameter.
    """

    name: str
    text: str
    kind: Any = QueryText
    default: Any = None
    several: bool = False

    @property
    def schema_of_one(self) -> dict[str, Any]:
        """The JSON Schema of a single value."""
        return adapter_of(self.kind).json_schema()

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the parameter."""
        one = self.schema_of_one
        found = {"type": "array", "items": one, "maxItems": MOST_VALUES} if self.several else one
        return found if self.default is None else found | {"default": self.default}


class UnusableParameter(Exception):
    """Parameters that cannot be used."""

    def __init__(self, problems: Sequence[FieldProblem]) -> None:
        super().__init__("; ".join(map(str, problems[:3])))
        self.problems = tuple(problems)


def cursor(kind: Any) -> Parameter:
    """The parameter for the place where a page starts."""
    return Parameter(name="cursor", text="From an earlier page: where this page starts", kind=kind)


ACCOUNT: Final = Parameter(name="account", text="One account")
LIMIT: Final = Parameter(name="limit", text="Rows of the page", kind=Limit, default=50)


def read_query(given: QueryParams, known: Sequence[Parameter]) -> Mapping[str, Any]:
    """The value of each parameter that was given or has a default.

    Raises:
        UnusableParameter: a parameter is unknown, repeated, or has a value of another type.
    """
    problems, found = _unknown(given, known), {}
    for parameter in known:
        values = given.getlist(parameter.name)
        if parameter.several:
            values = [part for value in values for each in value.split(",") if (part := each.strip())]
        if not values:
            found[parameter.name] = parameter.default
            continue
        most = MOST_VALUES if parameter.several else 1
        if len(values) > most:
            expected = f"at most {most} values" if parameter.several else "one value"
            problems.append(FieldProblem(field=parameter.name, expected=expected, got=str(len(values))))
            continue
        try:
            read = tuple(adapter_of(parameter.kind).validate_strings(each) for each in values)
        except ValidationError as error:
            expected, got = _expected(parameter.schema_of_one), got_value(error.errors(include_url=False)[0])
            problems.append(FieldProblem(field=parameter.name, expected=expected, got=got))
            continue
        found[parameter.name] = read if parameter.several else read[0]
    if problems:
        raise UnusableParameter(problems)
    return found


def _unknown(given: QueryParams, known: Sequence[Parameter]) -> list[FieldProblem]:
    names = {each.name for each in known}
    expected = f"one of {', '.join(sorted(names))}" if names else "no parameters"
    return [
        FieldProblem(field=name[:60] or "data", expected=expected, got="this parameter")
        for name in dict.fromkeys(given)
        if name not in names
    ]


def _expected(schema: Mapping[str, Any]) -> str:
    """The expectation of a message, from the schema of a value."""
    if known := schema.get("enum") or ([schema["const"]] if "const" in schema else None):
        return f"one of {', '.join(known)}" if len(known) > 1 else known[0]
    if schema.get("format") == "uuid":
        return "an id such as 01a20047-0dfa-71d7-8e88-c1d4329d1fb5"
    if "minimum" in schema:
        number = "a whole number" if schema["type"] == "integer" else "a number"
        return f"{number} from {schema['minimum']} to {schema['maximum']}"
    return str(schema["description"])


@cache
def adapter_of(kind: Any) -> TypeAdapter[Any]:
    """Reads and describes values of a type; made once."""
    return TypeAdapter(kind)
