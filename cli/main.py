"""The command ``hushgate``: the list of its commands."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
from collections.abc import Iterable, Mapping
from typing import Annotated, Final

import psycopg
import structlog
import typer
import typer.core
from redis.exceptions import RedisError

from cli.exit_codes import MEANINGS, ExitCode, code_of
from cli.optional import PASSTHROUGH, add_command
from cli.output import print_message
from cli.summaries import help_of
from db.faults import answer_of
from features.feature import hook_mapping
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

COMMANDS: Final = {
    "demo": "cli.demo.run:demo",
    "up": "cli.demo.up:up",
    "publish": "cli.events.publish:publish",
    "explain": "cli.events.explain:explain",
    "decisions": "cli.decisions.commands:app",
    "review": "cli.review.site:app",
    "dead-letters": "cli.events.dead_letters:app",
    "repair": "cli.events.repair:repair",
    "conversations": "cli.events.conversations:app",
    "escalations": "cli.events.escalations:app",
    "webhooks": "cli.webhooks.commands:app",
    "streams": "cli.events.streams:app",
    "shards": "cli.events.shards:app",
    "accounts": "cli.accounts.settings:app",
    "documents": "cli.accounts.documents:app",
    "rules": "cli.accounts.rules:app",
    "perspective": "cli.perspective.command:perspective",
    "limits": "cli.events.limits:limits",
    "costs": "cli.accounts.costs:costs",
    "assess": "cli.assess.commands:app",
    "worker": "cli.deployment.serve:worker",
    "beat": "cli.deployment.serve:beat",
    "gateway": "cli.deployment.gateway:gateway",
    "retention": "cli.deployment.retention:app",
    "metrics": "cli.deployment.metrics:metrics",
    "alerts": "cli.alerts.commands:app",
    "migrate": "cli.deployment.migrate:migrate",
    "backup": "cli.deployment.backup:backup",
    "restore": "cli.deployment.backup:restore",
    "sandbox": "cli.deployment.serve:sandbox",
    "doctor": "cli.doctor.command:doctor",
    "config": "cli.deployment.config:app",
    "schema": "cli.deployment.config:schema",
}
"""Where each command is defined: module and name. A module is imported when its command runs: a start that
imports all of them takes five seconds of CPU."""
FULL_DISK: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
MOST_NAME_CHARS: Final = 200
COMPLETION: Final = "_HUSHGATE_COMPLETE"
"""Set by a shell that completes a command and its options."""
HELP_COLUMNS: Final = 80
"""Narrower terminals get a plain help: its tables would cut the names of options."""
CELERY: Final = frozenset({"worker", "beat"})
"""Commands that pass their options on to Celery."""


def commands() -> Mapping[str, str]:
    """The commands of the core and of the features in force."""
    return COMMANDS | hook_mapping("commands")


def command_line(names: Iterable[str] | None = None) -> typer.Typer:
    """The command `hushgate` with these commands, or with all."""
    line = _empty_line()
    known, groups = commands(), dict[str, typer.Typer]()
    for name in known if names is None else names:
        group = name.rpartition(" ")[0]
        if group and group not in groups:
            groups[group] = typer.Typer(no_args_is_help=True, help=hook_mapping("groups")[group])
            line.add_typer(groups[group], name=group)
        context = PASSTHROUGH if name in CELERY else None
        add_command(groups[group] if group else line, name, known[name], context_settings=context)
    return line


def command_list() -> typer.Typer:
    """The command `hushgate` whose commands have a name and a help, and do nothing."""
    line = _empty_line()
    helps = {name: help_of(place) for name, place in commands().items() if " " not in name}
    for name, text in (helps | hook_mapping("groups")).items():
        line.command(name, help=text)(lambda: None)
    return line


def _empty_line() -> typer.Typer:
    line = typer.Typer(
        help=HELP,
        epilog=EPILOG,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=True,
        rich_markup_mode="markdown",
    )
    line.callback()(_root)
    return line


def _version(requested: bool) -> None:  # as Typer calls it
    if requested:
        typer.echo(f"hushgate {__version__}")
        raise typer.Exit


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
    typer.core.HAS_RICH = typer.core.HAS_RICH and shutil.get_terminal_size().columns >= HELP_COLUMNS
    try:
        if any("\udc80" <= character <= "\udcff" for word in sys.argv for character in word):
            print_message("arguments: expected UTF-8, got other bytes")
            sys.exit(ExitCode.USAGE)
        named = _named([word for word in sys.argv[1:] if not word.startswith("-")])
        is_list = named is None and COMPLETION not in os.environ
        line = command_list() if is_list else command_line(named)
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # from now on a command ends its own work
            signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.exit(line(prog_name="hushgate", standalone_mode=False))
    except typer.TyperException as error:
        from cli.usage import usage_problem  # noqa: PLC0415  # other commands need no pydantic

        print_message(usage_problem(error))
        sys.exit(ExitCode.USAGE)
    except typer.Abort:  # Ctrl-C or the end of standard input at a question
        sys.exit(ExitCode.INTERRUPTED)
    except (HushgateError, RedisError, psycopg.Error) as error:
        print_message(_shown(error))
        sys.exit(code_of(error))
    except Exception as error:  # noqa: BLE001  # a defect: its traceback and its own exit code
        if problem := _file_problem(error):
            print_message(problem)
            sys.exit(ExitCode.USAGE)
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(ExitCode.DEFECT)


def _file_problem(error: Exception) -> str:
    """The file that cannot be used and why, or that standard output is a full disk; empty for a defect."""
    if not isinstance(error, OSError) or (error.filename is None and error.errno not in FULL_DISK):
        return ""
    name = "standard output" if error.filename is None else str(error.filename)
    return f"{name[:MOST_NAME_CHARS]}: {error.strerror}"


def _named(words: list[str]) -> Iterable[str] | None:
    """The command that the first words name, or the commands of a group; None for all commands."""
    known = commands()
    for name in (" ".join(words[:2]), *words[:1]):
        if name in known:
            return [name]
    return [name for name in known if words and name.startswith(f"{words[0]} ")] or None


def _shown(error: Exception) -> str:
    """The message of an error: our errors whole, errors of servers as one line with a hint."""
    match error:
        case StorageUnavailable():
            return f"{_first_line(str(error))} ({_hint(error.__cause__)})"
        case HushgateError():
            return str(error)
        case RedisError():
            return f"Redis: {type(error).__name__}: {error} (hushgate doctor says more)"
        case psycopg.Error():
            answer = answer_of(error) or type(error).__name__
            return f"Postgres: {_first_line(answer)} ({_hint(error)})"
    raise error


def _hint(error: BaseException | None) -> str:
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return "DATABASE_URL has another login than this command needs"
    return "hushgate doctor says more"


def _first_line(text: str) -> str:
    return (text.splitlines() or [""])[0]
