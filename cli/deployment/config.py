"""``hushgate config`` and ``hushgate schema``: variables, schemas of streams, reason codes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final

import orjson
import typer
from dotenv import dotenv_values
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from cli.exit_codes import ExitCode
from cli.output import emit, fail
from tasks.asyncapi import asyncapi_document, check_schema, event_schema
from tasks.sending.entry_types import ENTRY_TYPES
from tasks.webhooks.bodies import webhook_schema
from worker.errors import ConfigurationError
from worker.reasons import reasons_table
from worker.settings import (
    FIELDS,
    KNOWN_FIELDS,
    RARE,
    REQUIRED,
    SECRETS,
    Settings,
    load,
    require_models,
    topic_of,
)
from worker.settings.secret_files import SUFFIX

app = typer.Typer(
    no_args_is_help=True,
    help="The environment variables: `show` prints their values, `example` an .env file.",
)
MASK: Final = "********"
FILES: Final = "HUSHGATE_MODEL_KEY_FILE=/run/secrets/model"
COMPOSE: Final = (
    "# docker-compose.yml sets DATABASE_URL and REDIS_URL; for it add POSTGRES_PASSWORD and REDIS_PASSWORD,\n"
    "# and set the passwords HUSHGATE_DB_WORKER_PASSWORD, _REVIEW_, _AUDIT_ and _GATEWAY_PASSWORD below."
)
REASONS_HEAD: Final = (
    "# Reason codes\n\nMade by `hushgate schema reasons` from [worker/reasons.py](../worker/reasons.py)."
    " `reason_code` in `ai_decisions` holds one of them; no code is ever renamed.\n\n"
)

REASONS: Final = "reasons"
DOCUMENTS: Final[Mapping[str, Callable[[], dict[str, Any]]]] = {
    "event": event_schema,
    **{each.name: each.schema for each in ENTRY_TYPES},
    "webhook": webhook_schema,
    "check": check_schema,
    "asyncapi": asyncapi_document,
}
"""What ``hushgate schema`` prints as JSON, by name."""


@app.command()
def show() -> None:
    """Print every variable with its value and origin (environment, file, .env, default); secrets are masked.

    Exit 3 when a worker could not start with these values; standard error names every reason.
    """
    emit(list(_values()), ["variable", "value", "origin", "meaning"])
    try:
        require_models(load(Settings))
    except ConfigurationError as error:
        raise fail(str(error), code=ExitCode.CONFIGURATION) from error


@app.command()
def example(
    every: Annotated[bool, typer.Option("--all", help="Also variables that few deployments need.")] = False,
) -> None:
    """Print an .env file: required variables first, then by topic, each with its meaning and default.

    For example:

        hushgate config example > .env
    """
    what = "Every variable" if every else "The usual variables; `hushgate config example --all` prints all"
    typer.echo(f"# {what}.")
    typer.echo(f"# A secret can be in a file: NAME{SUFFIX} is its path, such as {FILES}.")
    typer.echo(COMPOSE)
    topic = ""
    for name, field in FIELDS.items():
        if field.alias in RARE and not every:
            continue
        if field.alias not in REQUIRED and topic != (topic := topic_of(name)):
            typer.echo(f"\n### {topic}")
        default = "" if field.is_required() or field.default is None else _text(field.default)
        typer.echo(f"\n# {field.description}{_without_value(field)}")
        typer.echo(f"{'' if field.alias in REQUIRED else '#'}{field.alias or name}={default}")


def schema(
    what: Annotated[str, typer.Argument(help=f"{', '.join((*DOCUMENTS, REASONS))}.")] = "event",
) -> None:
    """Print a document that is made from the code.

    `event`, `reply`, `retraction`, `escalation_opened` and `escalation_closed`: the JSON Schema (draft
    2020-12) of the field `data` of a stream entry; `webhook` and `check`: that of a webhook's body and of a
    check; `asyncapi`: all streams as AsyncAPI 3.0; `reasons`: the table of reason codes. For example:

        hushgate schema event > event.schema.json
    """
    if what == REASONS:
        typer.echo(REASONS_HEAD + reasons_table())
        return
    if what not in DOCUMENTS:
        raise fail(f"schema: expected one of {', '.join((*DOCUMENTS, REASONS))}, got {what!r}")
    typer.echo(orjson.dumps(DOCUMENTS[what](), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode())


def _values() -> Iterator[dict[str, Any]]:
    in_file = dotenv_values(".env")
    for name, field in KNOWN_FIELDS.items():
        variable = field.alias or name
        value, origin = _value(variable, field, in_file)
        yield {"variable": variable, "value": value, "origin": origin, "meaning": field.description}


def _value(variable: str, field: FieldInfo, in_file: dict[str, str | None]) -> tuple[str | None, str]:
    if variable in SECRETS and (os.environ | in_file).get(f"{variable}{SUFFIX}"):
        return MASK, f"{variable}{SUFFIX}"
    for source, origin in ((os.environ, "environment"), (in_file, ".env")):
        if source.get(variable):
            return MASK if variable in SECRETS else source[variable], origin
    if field.is_required():
        return None, "missing"
    return (None if field.default is None else _text(field.default)), "default"


def _without_value(field: FieldInfo) -> str:
    """The remark on a variable without a default."""
    if field.is_required():
        return " (required)"
    return " Not set by default." if field.default in (None, "", {}, ()) else ""


def _text(value: object) -> str:
    if isinstance(value, SecretStr):
        return MASK
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
