"""Tables on a terminal, NDJSON in a pipe."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import orjson
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from cli.exit_codes import ExitCode
from worker.spreadsheet import harmless

errors: Final = Console(stderr=True, soft_wrap=True)
screen: Final = Console()

HOSTILE: Final = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
SPACES: Final = {"\n": "↵", "\t": " ", "\u200c": "", "\u200d": "\u200d"}
WHOLE: Final = frozenset({"created_at", "id", "entry_id", "decision", "check", "state"})
"""Columns whose values are never broken over two lines: people copy them."""
NARROW: Final = 60
"""Columns of a terminal below which a row of a table is printed as lines, a value each."""
STYLES: Final = {"respond": "green", "escalate": "yellow", "ignore": "dim", "high": "green", "low": "red"}


def stdout_is_terminal() -> bool:
    """True when standard output is a terminal."""
    return sys.stdout.isatty()


def emit(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[str], *, fields: Sequence[str] | None = None
) -> None:
    """Print rows: a table of ``columns`` on a terminal, else NDJSON with ``fields``, or all."""
    if stdout_is_terminal() and fields is None:
        screen.print(_records(rows, columns) if screen.width < NARROW else table(rows, columns))
        return
    for row in rows:
        emit_json({name: row.get(name) for name in fields} if fields else row)


def emit_json(row: Mapping[str, Any]) -> None:
    """One JSON object on one line, flushed, so that a pipe sees it at once."""
    sys.stdout.write(json_text(row) + "\n")
    sys.stdout.flush()


def emit_csv(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Print columns of rows as CSV; no text is a formula of a spreadsheet."""
    written = csv.writer(sys.stdout, lineterminator="\n")
    written.writerow(columns)
    for row in rows:
        values = (row[name] for name in columns)
        written.writerow([harmless(printable(each)) if isinstance(each, str) else each for each in values])


def json_text(value: object) -> str:
    """Compact JSON; times as RFC 3339, identifiers as text, bytes as text with replacements.

    Characters that could control a terminal are escaped; JSON demands that only below U+0020.
    """
    text = orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()
    return HOSTILE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], *, title: str | None = None) -> Table:
    """Rows as a table; text is never read as markup."""
    shown = Table(title=title, title_justify="left", header_style="bold", show_edge=False, pad_edge=False)
    for column in columns:
        words = column.split("_")  # a heading is broken between words only, while the screen is wide enough
        width = max(map(len, words))
        shown.add_column(" ".join(words), overflow="fold", no_wrap=column in WHOLE, min_width=width)
    for row in rows:
        shown.add_row(*(cell(row.get(column)) for column in columns))
    return shown


def _records(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Table:
    """Rows below one another: a table of many columns would be letters below letters."""
    shown = Table.grid(padding=(0, 2))
    shown.add_column()
    shown.add_column(overflow="fold")
    for row in rows:
        for column in columns:
            shown.add_row(Text(column.replace("_", " "), style="dim"), cell(row.get(column)))
        shown.add_row()
    return shown


def cell(value: object) -> Text:
    """One value of a table."""
    if value is None:
        return Text("–", style="dim")
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, float):
        return Text(f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}")
    if isinstance(value, datetime):
        return Text(value.strftime("%m-%d %H:%M:%S"))
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    elif isinstance(value, Mapping):
        value = ", ".join(f"{name}={each}" for name, each in value.items())
    text = printable(str(value))
    return Text(text, style=STYLES.get(text, ""))


def progress_bar(*columns: ProgressColumn, transient: bool = False) -> Progress:
    """A bar on standard error, with further columns; hidden where standard error is no terminal."""
    shown = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *columns)
    return Progress(*shown, console=errors, disable=not errors.is_terminal, transient=transient)


def fail(message: str, *, code: ExitCode = ExitCode.USAGE) -> typer.Exit:
    """Print on stderr what is wrong; the caller raises the returned error."""
    print_message(message)
    return typer.Exit(code)


def print_message(message: str, *, style: str = "red") -> None:
    """Print on stderr; a line is not wrapped, however narrow the terminal."""
    for line in message.splitlines():
        errors.print(Text(printable(line), style=style))


def printable(text: str) -> str:
    """The text without control characters: hostile text must not control a terminal."""
    return "".join(character if character.isprintable() else SPACES.get(character, "�") for character in text)


def _plain(value: object) -> object:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, bytes | memoryview):
        return bytes(value).decode(errors="replace")
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"cannot print a {type(value).__name__}")
