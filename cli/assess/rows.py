"""Reads files of rows and of recorded readings, and reports their errors."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

from cli.assess.row_format import AssessmentRow, RowRejected, has_field, parse_row
from cli.exit_codes import ExitCode
from cli.output import fail
from worker.model import Json
from worker.payload import no_json

_MOST_PROBLEMS = 10


def read_rows(path: Path, *, label: str | None = None) -> tuple[AssessmentRow, ...]:
    """Every row of a file; with ``label`` each must have its human label in the field of that name."""
    return _rows(path, lambda data: parse_row(data, label=label))


def read_cases(path: Path, *, label: str) -> tuple[AssessmentRow, ...]:
    """Every row of a file, with its human label if it has one in the field ``label``."""
    return _rows(path, lambda data: parse_row(data, label=label if has_field(data, label) else None))


def _rows(path: Path, read: Callable[[Json], AssessmentRow]) -> tuple[AssessmentRow, ...]:
    """Every row, or an error that names the first ten wrong lines."""
    rows: list[AssessmentRow] = []
    problems: list[str] = []
    for number, line in _lines(path):
        try:
            rows.append(read(parsed_json(line)))
        except json.JSONDecodeError as error:
            problems.append(f"{path.name}, line {number}: expected JSON, got {no_json(error)}")
        except (ValueError, RowRejected) as error:
            problems.append(f"{path.name}, line {number}: {error}")
    if problems:
        more = len(problems) - _MOST_PROBLEMS
        shown = [*problems[:_MOST_PROBLEMS], *([f"and {more} more lines"] if more > 0 else [])]
        raise fail("\n".join(shown), code=ExitCode.REJECTED)
    if not rows:
        raise fail(f"{path.name}: expected at least one row, got none", code=ExitCode.REJECTED)
    return tuple(rows)


def parsed_json(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        json.JSONDecodeError: no JSON, or nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise json.JSONDecodeError("nested too deeply", text[:80], 0) from error


def read_readings(path: Path) -> Mapping[str, str]:
    """Recorded answers of a judge by row id: ``{"id", "reading"}``; each is read like a live answer."""
    readings: dict[str, str] = {}
    for number, line in _lines(path):
        try:
            row = parsed_json(line)
            reading = row["reading"]
            readings[str(row["id"])] = reading if isinstance(reading, str) else json.dumps(reading)
        except (ValueError, KeyError, TypeError) as error:
            raise fail(
                f'{path.name}, line {number}: expected {{"id": ..., "reading": ...}}, got {line[:80]!r}',
                code=ExitCode.REJECTED,
            ) from error
    return readings


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as file:
            yield from ((number, line) for number, line in enumerate(file, start=1) if line.strip())
    except (gzip.BadGzipFile, zlib.error, UnicodeDecodeError, EOFError) as error:
        raise _unreadable(path, error, ExitCode.REJECTED) from error
    except OSError as error:
        raise _unreadable(path, error, ExitCode.USAGE) from error


def _unreadable(path: Path, error: Exception, code: ExitCode) -> typer.Exit:
    return fail(f"{path}: expected a readable .jsonl or .jsonl.gz file, got {error}", code=code)
