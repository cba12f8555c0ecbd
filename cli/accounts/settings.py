"""``hushgate accounts``: settings of accounts, one version per change."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import orjson
import typer

from cli.accounts import settings_reference, store_account
from cli.accounts.presets import preset
from cli.exit_codes import ExitCode
from cli.options import with_pool
from cli.output import emit, fail, json_text, stdout_is_terminal
from cli.output_file import input_file
from db.account_settings import account_versions
from worker.payload import no_json

app = typer.Typer(
    no_args_is_help=True,
    help="Settings of accounts: `create` makes an account, `list` names all, `show` and `set` are for one,"
    " `settings` lists all settings, and `preset` shows and stores sets of them; every change is a new"
    " version.",
)
COLUMNS: Final = ("user_id", "version", "on", "chats", "comments", "rules", "documents", "changed_at")
NO_SETTINGS: Final = ("user_id", "version")
"""What ``show`` prints beside the settings."""
MOST: Final = 100_000
app.command()(preset)


@app.command("set")
def set_(
    user_id: Annotated[str, typer.Argument(help="The account (user_id).")],
    source: Annotated[
        str,
        typer.Option("--file", help="A JSON object, such as that of `show`; - for standard input."),
    ],
) -> None:
    """Store a new version: the settings in force, changed by the file.

    Workers use it within a second; `hushgate accounts settings` lists the settings. A new account gets their
    defaults, in which the AI is off. A change, and a copy of all settings of another account:

        echo '{"flagged_keywords": ["spam"]}' | hushgate accounts set acme --file -

        hushgate accounts show acme | hushgate accounts set corner-shop --file -
    """
    changes = {name: value for name, value in _changes(source).items() if name not in NO_SETTINGS}
    version = asyncio.run(store_account.save(user_id, changes))
    emit([{"user_id": user_id, "version": version}], ["user_id", "version"])


@app.command()
def create(user_id: Annotated[str, typer.Argument(help="The account (user_id).")]) -> None:
    """Create an account: the AI drafts answers, and people approve each before it is sent.

    `hushgate accounts preset open --account acme --save` sends them at once. For example:

        hushgate accounts create acme
    """
    version = asyncio.run(store_account.create(user_id))
    emit([{"user_id": user_id, "version": version}], ["user_id", "version"])


@app.command("list")
def list_() -> None:
    """List all accounts that have settings, decisions or documents, by name; version 0 has no settings.

    For example:

        hushgate accounts list
    """
    found = with_pool(
        lambda source: account_versions.list_accounts(source, None, search="", after="", limit=MOST)
    )
    emit(map(asdict, found), COLUMNS)


@app.command()
def show(user_id: Annotated[str, typer.Argument(help="The account (user_id).")]) -> None:
    """Print the settings in force; version 0, with AI off, for an account without settings.

    For example:

        hushgate accounts show acme
    """
    row = asdict(asyncio.run(store_account.load(user_id)))
    if stdout_is_terminal():
        emit(
            [{"setting": name, "value": json_text(value)} for name, value in row.items()],
            ["setting", "value"],
        )
    else:
        emit([row], list(row))


@app.command()
def settings(
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the page docs/settings.md.")] = False,
) -> None:
    """List the settings of an account: name, value, default and meaning.

    For example:

        hushgate accounts settings
    """
    if markdown:
        typer.echo(settings_reference.as_markdown(), nl=False)
    else:
        emit(settings_reference.list_settings(), ["setting", "value", "default", "meaning"])


def _changes(source: str) -> dict[str, Any]:
    with input_file(Path(source)) as file:
        text = file.read()
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise fail(
            f"{source}: expected one JSON object, got {no_json(error)}", code=ExitCode.REJECTED
        ) from error
    if not isinstance(body, dict):
        raise fail(f"{source}: expected one JSON object, got a {type(body).__name__}", code=ExitCode.REJECTED)
    return body
