"""``hushgate accounts``: settings of accounts, one version per change."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from cli import saving
from cli.output import emit, fail, for_eyes, json_text

app = typer.Typer(no_args_is_help=True, help="Settings of accounts; every change is a new version.")


@app.command("set")
def set_(
    user_id: Annotated[str, typer.Argument(help="The account.")],
    source: Annotated[str, typer.Option("--file", help="A JSON object of settings; - for standard input.")],
) -> None:
    """Store a new version: the settings in force, changed by what the file names.

    Workers use it within a second. Example, from a pipe:

        echo '{"flagged_keywords": ["spam"]}' | hushgate accounts set acme --file -
    """
    version = asyncio.run(saving.save(user_id, _changes(source)))
    emit([{"user_id": user_id, "version": version}], ["user_id", "version"])


@app.command()
def show(user_id: Annotated[str, typer.Argument(help="The account.")]) -> None:
    """The settings in force; version 0 when the account has none, and AI is off."""
    row = asdict(asyncio.run(saving.load(user_id)))
    if for_eyes():
        emit(
            [{"setting": name, "value": json_text(value)} for name, value in row.items()],
            ["setting", "value"],
        )
    else:
        emit([row], list(row))


def _changes(source: str) -> dict[str, Any]:
    try:
        body = orjson.loads(sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes())
    except OSError as error:
        raise fail(f"{source}: {error.strerror}") from error
    except orjson.JSONDecodeError as error:
        raise fail(f"{source}: expected one JSON object, got {error}") from error
    if not isinstance(body, dict):
        raise fail(f"{source}: expected one JSON object, got a {type(body).__name__}")
    return body
