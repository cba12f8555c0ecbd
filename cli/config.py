"""``hushgate config`` and ``hushgate schema``: what can be set, what is set, what an event looks like."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Annotated, Any, Final

import orjson
import typer
from dotenv import dotenv_values
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from cli.output import emit, fail
from worker.errors import ConfigurationError
from worker.payload import EventPayload
from worker.settings import FIELDS, SECRETS, load

app = typer.Typer(no_args_is_help=True, help="What can be set, and what is set.")
MASK: Final = "********"


@app.command()
def show() -> None:
    """Every setting with its value and origin (environment, .env, default); secrets are masked."""
    emit(list(_values()), ["variable", "value", "origin", "meaning"])
    try:
        load()
    except ConfigurationError as error:
        raise fail(str(error)) from error


@app.command()
def example() -> None:
    """A complete .env file with every variable, its meaning and its default."""
    typer.echo("# Every variable Hushgate reads; made by `hushgate config example`.")
    for name, field in FIELDS.items():
        default = "" if field.is_required() or field.default is None else _text(field.default)
        required = " (required)" if field.is_required() else ""
        typer.echo(f"\n# {field.description}{required}")
        typer.echo(f"{'' if field.is_required() else '#'}{field.alias or name}={default}")


def schema(what: Annotated[str, typer.Argument(help="event")] = "event") -> None:
    """The JSON Schema (draft 2020-12) of an event, generated from the code that checks it."""
    if what != "event":
        raise fail(f"schema: expected 'event', got {what!r}")
    body = {"$schema": "https://json-schema.org/draft/2020-12/schema"} | EventPayload.model_json_schema()
    typer.echo(orjson.dumps(body, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode())


def _values() -> Iterator[dict[str, Any]]:
    in_file = dotenv_values(".env")
    for name, field in FIELDS.items():
        variable = field.alias or name
        value, origin = _value(variable, field, in_file)
        yield {"variable": variable, "value": value, "origin": origin, "meaning": field.description}


def _value(variable: str, field: FieldInfo, in_file: dict[str, str | None]) -> tuple[str | None, str]:
    for source, origin in ((os.environ, "environment"), (in_file, ".env")):
        if source.get(variable):
            return MASK if variable in SECRETS else source[variable], origin
    if field.is_required():
        return None, "missing"
    return (None if field.default is None else _text(field.default)), "default"


def _text(value: object) -> str:
    if isinstance(value, SecretStr):
        return MASK
    return str(value).lower() if isinstance(value, bool) else str(value)
