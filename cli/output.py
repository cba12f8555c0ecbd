"""Tables for eyes, NDJSON for pipes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import orjson
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

errors: Final = Console(stderr=True)
screen: Final = Console()

HOSTILE: Final = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
SPACES: Final = {"\n": "↵", "\t": " ", "\u200c": "", "\u200d": "\u200d"}
WHOLE: Final = frozenset({"created_at", "id", "entry_id", "decision", "check", "state"})
"""Columns to copy from or to scan along: never broken."""
STYLES: Final = {"respond": "green", "escalate": "yellow", "ignore": "dim", "high": "green", "low": "red"}


def for_eyes() -> bool:
    """True when standard output is a terminal."""
    return sys.stdout.isatty()


def emit(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[str], *, fields: Sequence[str] | None = None
) -> None:
    """Print rows: a table of ``columns`` on a terminal, else NDJSON with ``fields``, or all."""
    if for_eyes() and fields is None:
        screen.print(table(rows, columns))
        return
    for row in rows:
        emit_json({name: row.get(name) for name in fields} if fields else row)


def emit_json(row: Mapping[str, Any]) -> None:
    """One JSON object on one line, flushed, so that a pipe sees it at once."""
    sys.stdout.write(json_text(row) + "\n")
    sys.stdout.flush()


def json_text(value: object) -> str:
    """Compact JSON; times as RFC 3339, identifiers as text, bytes as text with replacements.

    What could drive a terminal is escaped: JSON asks for that only below U+0020.
    """
    text = orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()
    return HOSTILE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], *, title: str | None = None) -> Table:
    """Rows as a table; text is shown as text, never as markup."""
    shown = Table(title=title, title_justify="left", header_style="bold", show_edge=False, pad_edge=False)
    for column in columns:
        shown.add_column(column.replace("_", " "), overflow="fold", no_wrap=column in WHOLE)
    for row in rows:
        shown.add_row(*(cell(row.get(column)) for column in columns))
    return shown


def cell(value: object) -> Text:
    """One value as a person reads it."""
    if value is None:
        return Text("–", style="dim")
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, float):
        return Text(f"{value:.3g}")
    if isinstance(value, datetime):
        return Text(value.strftime("%m-%d %H:%M:%S"))
    text = printable(str(value))
    return Text(text, style=STYLES.get(text, ""))


def fail(message: str, *, code: int = 2) -> typer.Exit:
    """Say on stderr what is wrong; raise what this returns."""
    complain(message)
    return typer.Exit(code)


def complain(message: str, *, style: str = "red") -> None:
    """Say something on stderr; a line stays a line however narrow the terminal."""
    for line in message.splitlines():
        errors.print(Text(printable(line), style=style), soft_wrap=True)


def printable(text: str) -> str:
    """Control characters as pictures: hostile text must not drive a terminal."""
    return "".join(character if character.isprintable() else SPACES.get(character, "�") for character in text)


def _plain(value: object) -> object:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, bytes | memoryview):
        return bytes(value).decode(errors="replace")
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"cannot print a {type(value).__name__}")
