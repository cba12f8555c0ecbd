"""``hushgate trials golden``: sets of labelled messages on which settings and models are evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from cli.exit_codes import ExitCode
from cli.options import note_misspelt
from cli.output import emit, fail, json_text
from cli.output_file import Force, output_file
from db.pool import Pool
from trials.commands.golden_adding import add, import_
from trials.commands.shared import (
    GoldenAccount,
    SetName,
    actor,
    found_set,
    log_reading,
    require_used,
    run,
)
from trials.pure.evaluation.items import GoldenSet
from trials.pure.evaluation.rows import row_json
from trials.store import golden_sets

HELP: Final = """Sets of labelled messages, on which the command eval tries settings and models: `create`,
`add`, `import`, `export`, `list` and `remove`.

A row of `import` and `export` is one JSON object on a line:

    {"text": "When are you open?", "expected": "answer"}

- "text", "expected": required. "expected" is answer (an AI may answer) or silent (it must not).

- "id": unique in the set; without it a hash of the line. "reason": the reason code with which a silent
  decision should end. "reply": a good answer, for people. "labelled_by": who says so.

- "history": earlier lines, oldest first: objects with "role" (author, ai or person) and "text".

- "passages": what a search finds: objects with "id", "text", "title", "similarity" (0 to 1) and "labels".
  Without the field the account's documents are searched.

- "scope", "language", "author_id", "conversation_id", "message_id", "created_at", "attachments", "metadata":
  as in an event.
"""
COLUMNS: Final = ("name", "items", "version", "purpose", "created_by", "changed_at")
app = typer.Typer(no_args_is_help=True, help=HELP, rich_markup_mode="markdown")
app.command()(add)
app.command("import")(import_)


@app.command("list")
def list_(account: GoldenAccount) -> None:
    """List the golden sets of an account.

    For example:

        hushgate trials golden list acme
    """
    found = run(lambda source: golden_sets.list_sets(source, account))
    emit(map(_row, found), COLUMNS)
    note_misspelt(found, account)


@app.command()
def create(
    account: GoldenAccount,
    name: SetName,
    purpose: Annotated[str, typer.Option(help="What the set is for.")] = "",
) -> None:
    """Create an empty set.

    For example:

        hushgate trials golden create acme refunds --purpose "may answer about refunds, never promise money"
    """

    async def work(source: Pool) -> GoldenSet:
        await require_used(source, account)
        return await golden_sets.create_set(source, account, name, purpose, actor())

    made = run(work)
    emit([_row(made)], COLUMNS)


@app.command()
def export(
    account: GoldenAccount,
    name: SetName,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file; - is standard output.")] = Path(
        "-"
    ),
    force: Force = False,
) -> None:
    """Write the rows of a set as NDJSON, as `import` reads them. The access log says who did.

    For example:

        hushgate trials golden export acme refunds --output refunds.ndjson
    """

    async def work(source: Pool) -> list[dict[str, Any]]:
        golden = await found_set(source, account, name)
        await log_reading(source, golden, golden.items)
        return [row_json(each) for each in await golden_sets.load_items(source, golden)]

    rows = run(work)
    with output_file(output, force) as opened:
        for row in rows:
            opened.write(json_text(row) + "\n")


@app.command()
def remove(
    account: GoldenAccount,
    name: SetName,
    row: Annotated[
        list[str] | None, typer.Option("--row", help="The id of an item; may be given several times.")
    ] = None,
    whole: Annotated[bool, typer.Option("--whole-set", help="The set with its items and results.")] = False,
) -> None:
    """Remove items, or the whole set.

    For example:

        hushgate trials golden remove acme refunds --row 01a20047-0dfa-71d7-8e88-c1d4329d1fb5
    """
    if bool(row) == whole:
        raise fail("--row: expected it or --whole-set, got both or neither")

    async def work(source: Pool) -> int:
        golden = await found_set(source, account, name)
        if whole:
            await golden_sets.remove_set(source, golden, actor())
            return golden.items
        return await golden_sets.remove_items(source, golden, row or (), actor())

    gone = run(work)
    emit([{"set": name, "removed": gone}], ("set", "removed"))
    if row and gone < len(set(row)):
        raise fail(f"--row: {len(set(row)) - gone} of them are no items of {name}", code=ExitCode.NEGATIVE)


def _row(golden: GoldenSet) -> Mapping[str, Any]:
    return asdict(golden)
