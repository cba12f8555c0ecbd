"""``hushgate accounts``: settings of accounts, one version per change."""

from __future__ import annotations

import asyncio
import getpass
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from cli.options import connected
from cli.output import emit, fail, for_eyes, json_text
from db import accounts
from db.pool import Pool, pool
from worker.account_settings import changed
from worker.model import Account

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
    version = asyncio.run(_set(user_id, _changes(source)))
    emit([{"user_id": user_id, "version": version}], ["user_id", "version"])


@app.command()
def show(user_id: Annotated[str, typer.Argument(help="The account.")]) -> None:
    """The settings in force; version 0 when the account has none, and AI is off."""
    row = asdict(asyncio.run(_show(user_id)))
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


async def _set(user_id: str, changes: dict[str, Any]) -> int:
    async with _opened() as source:
        account = changed(await accounts.newest(source, user_id), changes)
        return await accounts.store(source, account, changed_by=getpass.getuser())


async def _show(user_id: str) -> Account:
    async with _opened() as source:
        return await accounts.newest(source, user_id)


@asynccontextmanager
async def _opened() -> AsyncIterator[Pool]:
    url = connected().database_url.get_secret_value()
    async with pool(url, size=2, application="hushgate-cli", role=None) as source:
        yield source
