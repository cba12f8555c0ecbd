"""The command ``hushgate``: one line per command, each thin."""

from __future__ import annotations

import sys
from typing import Annotated, Final

import psycopg
import sqlalchemy as sa
import typer
from redis.exceptions import RedisError

from cli import (
    accounts,
    config,
    dead_letters,
    decisions,
    doctor,
    documents,
    publish,
    review_site,
    saving,
    serve,
)
from cli.assess import assess_app
from cli.demo import run as demo
from cli.output import complain
from cli.rules import rules_app, use_database
from worker import __version__
from worker.errors import ConfigurationError, HushgateError, StorageUnavailable

HELP: Final = """
Hushgate decides, for each chat message or comment, whether an AI may answer it, and stays silent when not.

Start with `hushgate demo`. Then: `hushgate migrate`, `hushgate worker`, `hushgate publish events.ndjson`,
`hushgate decisions list`. On a terminal commands print tables, in a pipe one JSON object a line.
"""
PASSTHROUGH: Final = {"allow_extra_args": True, "ignore_unknown_options": True}

app = typer.Typer(
    help=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
    rich_markup_mode="markdown",
)
app.command()(demo.demo)
app.command()(demo.up)
app.command()(publish.publish)
app.add_typer(decisions.app, name="decisions")
app.add_typer(review_site.app, name="review")
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(accounts.app, name="accounts")
app.add_typer(documents.app, name="documents")
app.add_typer(rules_app, name="rules")
app.add_typer(assess_app, name="assess")
app.command(context_settings=PASSTHROUGH)(serve.worker)
app.command(context_settings=PASSTHROUGH)(serve.beat)
app.command()(serve.migrate)
app.command()(serve.sandbox)
app.command()(doctor.doctor)
app.add_typer(config.app, name="config")
app.command()(config.schema)


use_database(load=saving.load_rules, save=saving.save_rules)


def _version(wanted: bool) -> None:  # as Typer calls it
    if wanted:
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
    """Run the command; what a person or a deployer must mend is one line, a bug is a traceback."""
    try:
        if any("\udc80" <= character <= "\udcff" for word in sys.argv for character in word):
            _end("arguments: expected UTF-8, got other bytes", code=2)
        app()
    except ConfigurationError as error:
        _end(str(error), code=2)
    except StorageUnavailable as error:
        _end(f"{_first_line(error)} (hushgate doctor says more)")
    except HushgateError as error:
        _end(str(error))
    except RedisError as error:
        _end(f"Redis: {type(error).__name__}: {error} (hushgate doctor says more)")
    except (psycopg.Error, sa.exc.DBAPIError) as error:
        cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
        _end(f"Postgres: {_first_line(cause)} (hushgate doctor says more)")


def _first_line(error: BaseException | None) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _end(message: str, *, code: int = 1) -> None:
    complain(message)
    sys.exit(code)
