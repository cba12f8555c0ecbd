"""Files of rows to assess and of recorded judge scores: how they are read and what is wrong with them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from cli.output import fail
from worker.assessment.cases import CaseRejected, Row, row_from

_MOST_PROBLEMS = 10


def read_rows(path: Path, *, label: str | None = None) -> tuple[Row, ...]:
    """Every row of a file, or a refusal that names the first ten lines that are wrong."""
    rows: list[Row] = []
    problems: list[str] = []
    for number, line in _lines(path):
        try:
            rows.append(row_from(json.loads(line), label=label))
        except (ValueError, CaseRejected) as error:
            problems.append(f"{path.name}, line {number}: {error}")
    if problems:
        more = len(problems) - _MOST_PROBLEMS
        shown = [*problems[:_MOST_PROBLEMS], *([f"and {more} more lines"] if more > 0 else [])]
        raise fail("\n".join(shown))
    if not rows:
        raise fail(f"{path.name}: expected at least one row, got none")
    return tuple(rows)


def read_scores(path: Path) -> Mapping[str, str | float]:
    """Recorded judge answers by row id: ``{"id", "score"}``; the score is read like a live answer."""
    scores: dict[str, str | float] = {}
    for number, line in _lines(path):
        try:
            row = json.loads(line)
            score = row["score"]
            scores[str(row["id"])] = score if isinstance(score, str | int | float) else json.dumps(score)
        except (ValueError, KeyError, TypeError) as error:
            raise fail(
                f'{path.name}, line {number}: expected {{"id": ..., "score": ...}}, got {line[:80]!r}'
            ) from error
    return scores


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as file:
            yield from ((number, line) for number, line in enumerate(file, start=1) if line.strip())
    except (OSError, UnicodeDecodeError, EOFError) as error:
        raise fail(f"{path}: expected a readable .jsonl or .jsonl.gz file, got {error}") from error
