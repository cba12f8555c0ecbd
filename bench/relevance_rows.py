"""Rows about relevance from labelled replies: ``python -m bench.relevance_rows --cases FILE``.

The kinds are those of ``worker.assessment.training.relevance_rows``. The rows are for ``hushgate assess``:
``label`` is 1 for a reply that does not answer its question, ``task`` is the kind.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from cli.assess.rows import read_rows
from worker.assessment.training.relevance_rows import RelevanceKind, relevance_rows
from worker.assessment.training.rows import AssessmentRow


def main(
    cases: Annotated[list[Path], typer.Option(help="Labelled rows as for `hushgate assess`.")],
    kind: Annotated[list[RelevanceKind] | None, typer.Option(help="Only these kinds.")] = None,
    label: Annotated[
        str, typer.Option(help="The field that is 1 for a reply that is not grounded.")
    ] = "label",
) -> None:
    """Print the rows as NDJSON; the questions of all files are mixed with each other."""
    rows = [row for path in cases for row in read_rows(path, label=label)]
    for row in relevance_rows(rows):
        if kind is None or row.task in kind:
            print(orjson.dumps(_line(row)).decode())


def _line(row: AssessmentRow) -> dict[str, Any]:
    return {
        "id": row.row_id,
        "group": row.group,
        "task": row.task,
        "lang": row.language,
        "query": row.query,
        "history": [{"role": turn.role, "text": turn.text} for turn in row.evidence.history],
        "context": [passage.text for passage in row.evidence.passages],
        "response": row.response,
        "label": int(bool(row.ungrounded)),
    }


if __name__ == "__main__":
    typer.run(main)
