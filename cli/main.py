"""The command ``hushgate``: the list of its commands."""

from __future__ import annotations

import sys
from typing import Annotated, Final

import psycopg
import sqlalchemy as sa
import structlog
import typer
from redis.exceptions import RedisError

from cli.accounts import documents, rules, settings
from cli.assess import commands as assess
from cli.decisions import commands as decisions
from cli.demo import run as demo
from cli.deployment import config, gateway, serve
from cli.doctor import command as doctor
from cli.events import conversations, dead_letters, escalations, explain, publish, streams
from cli.exit_codes import MEANINGS, ExitCode, code_of
from cli.output import print_message
from cli.review import site
from worker import __version__
from worker.errors import HushgateError, StorageUnavailable

HELP: Final = """
Hushgate decides for each chat message or comment whether an AI may answer it, and sends no reply when not.

Start with `hushgate demo`. Then: `hushgate migrate`, `hushgate worker`, `hushgate publish events.ndjson`,
`hushgate decisions list`. On a terminal commands print tables, in a pipe one JSON object a line.
"""
EPILOG: Final = "Exit codes, the same for every command:\n\n" + "\n".join(
    f"- {code.value}: {meaning}" for code, meaning in MEANINGS.items()
)
PASSTHROUGH: Final = {"allow_extra_args": True, "ignore_unknown_options": True}

app = typer.Typer(
    help=HELP,
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
    rich_markup_mode="markdown",
)
app.command()(demo.demo)
app.command()(demo.up)
app.command()(publish.publish)
app.command()(explain.explain)
app.add_typer(decisions.app, name="decisions")
app.add_typer(site.app, name="review")
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(conversations.app, name="conversations")
app.add_typer(escalations.app, name="escalations")
app.add_typer(streams.app, name="streams")
app.add_typer(settings.app, name="accounts")
app.add_typer(documents.app, name="documents")
app.add_typer(rules.app, name="rules")
app.add_typer(assess.app, name="assess")
app.command(context_settings=PASSTHROUGH)(serve.worker)
app.command(context_settings=PASSTHROUGH)(serve.beat)
app.command()(gateway.gateway)
app.command()(serve.migrate)
app.command()(serve.sandbox)
app.command()(doctor.doctor)
app.add_typer(config.app, name="config")
app.command()(config.schema)


def _version(requested: bool) -> None:  # as Typer calls it
    if requested:
        typer.echo(f"hushgate {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command; an error that a person can fix is one line, a defect is a traceback."""
    if not structlog.is_configured():  # standard output is for results; servers configure their own log
        structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))
    try:
        if any("\udc80" <= character <= "\udcff" for word in sys.argv for character in word):
            print_message("arguments: expected UTF-8, got other bytes")
            sys.exit(ExitCode.USAGE)
        app()
    except (HushgateError, RedisError, psycopg.Error, sa.exc.DBAPIError) as error:
        print_message(_shown(error))
        sys.exit(code_of(error))
    except Exception as error:  # noqa: BLE001  # a defect: its traceback and its own exit code
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(ExitCode.DEFECT)


def _shown(error: Exception) -> str:
    """The message of an error: our errors whole, those of servers as one line with a hint."""
    match error:
        case StorageUnavailable():
            return f"{_first_line(error)} (hushgate doctor says more)"
        case HushgateError():
            return str(error)
        case RedisError():
            return f"Redis: {type(error).__name__}: {error} (hushgate doctor says more)"
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
    return f"Postgres: {_first_line(cause)} (hushgate doctor says more)"


def _first_line(error: BaseException | None) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
