"""``hushgate trials golden add`` and ``import``: items from decisions and from files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final
from uuid import UUID

import typer

from cli.exit_codes import ExitCode
from cli.options import who
from cli.output import emit, fail, print_message
from cli.output_file import input_file
from db.pool import Pool
from trials.commands.shared import GoldenAccount, SetName, actor, found_set, id_of, log_reading, run
from trials.pure.evaluation.items import Expected, GoldenItem, GoldenLabel, GoldenRejected
from trials.pure.evaluation.rows import imported_row
from trials.store import golden_sets
from trials.store.golden_sources import LabelledDecision, agreed_decisions, edited_drafts, gather_items

ADDED_COLUMNS: Final = ("set", "added", "known", "left_out")
ROWS_AT_ONCE: Final = 500


def add(
    account: GoldenAccount,
    name: SetName,
    decision: Annotated[
        list[str] | None, typer.Option("--decision", help="The id of a decision; may be given several times.")
    ] = None,
    expect: Annotated[
        Expected | None,
        typer.Option(help="With --decision: the label; default: what its reviews agree about."),
    ] = None,
    agreed: Annotated[
        bool,
        typer.Option(
            "--agreed", help="Decisions with a known answer, or on which all of two or more readers agree."
        ),
    ] = False,
    edited: Annotated[
        bool, typer.Option("--edited-drafts", help="Messages whose draft a person edited and sent.")
    ] = False,
    live_search: Annotated[
        bool, typer.Option("--live-search", help="Search the documents, not the passages of the decision.")
    ] = False,
) -> None:
    """Add messages of decisions, with the history and the passages of then.

    A decision without a recording cannot be an item. What is left out is counted, with the reason; then the
    command ends with code 1 if nothing was added. For example:

        hushgate trials golden add acme refunds --agreed --edited-drafts
    """
    if not (decision or agreed or edited):
        raise fail("--decision: expected it, --agreed or --edited-drafts, got none")
    if expect and not decision:
        raise fail("--expect: expected it with --decision, got it alone")
    ids = [id_of("--decision", each) for each in decision or ()]

    async def work(source: Pool) -> dict[str, Any]:
        golden = await found_set(source, account, name)
        labelled: dict[UUID, LabelledDecision] = {}
        if edited:
            labelled |= {each.decision_id: each for each in await edited_drafts(source, account)}
        if agreed:
            labelled |= {each.decision_id: each for each in await agreed_decisions(source, account)}
        chosen = await _chosen(source, account, ids, expect)
        labelled |= {each.decision_id: each for each in chosen}
        gathered = await gather_items(source, account, tuple(labelled.values()), live_search=live_search)
        await log_reading(source, golden, len(labelled))
        added = await golden_sets.add_items(source, golden, gathered.items, actor())
        unlabelled = len(set(ids)) - len(chosen)
        left_out = dict(gathered.left_out) | ({"no_agreement": unlabelled} if unlabelled else {})
        return {"set": name, "added": added, "known": len(gathered.items) - added, "left_out": left_out}

    done = run(work)
    emit([done], ADDED_COLUMNS)
    if "no_agreement" in done["left_out"]:
        print_message("no_agreement: no two reviews agree about the decision; --expect labels it")
    if not done["added"] and done["left_out"]:
        raise typer.Exit(ExitCode.NEGATIVE)


def import_(
    account: GoldenAccount,
    name: SetName,
    file: Annotated[Path, typer.Argument(help="Rows as NDJSON; - is standard input.")],
) -> None:
    """Add the rows of a file; good rows are stored also when others are wrong.

    Each wrong row is named with its line and field; then the command ends with code 1, or with 5 when no row
    could be stored. Importing a file again adds only what is new. For example:

        hushgate trials golden import acme refunds rows.ndjson
    """
    now = datetime.now(UTC)
    wrong: list[str] = []

    async def work(source: Pool) -> tuple[int, int]:
        golden = await found_set(source, account, name)
        read, added, part = 0, 0, list[GoldenItem]()

        async def store() -> int:
            stored = await golden_sets.add_items(source, golden, part, actor())
            part.clear()
            return stored

        with input_file(file) as lines:
            for item in _imported(lines, account, now, wrong):
                part.append(item)
                read += 1
                if len(part) >= ROWS_AT_ONCE:
                    added += await store()
        return read, added + (await store() if part else 0)

    read, added = run(work)
    left_out = {"wrong": len(wrong)} if wrong else {}
    if wrong:
        print_message("\n".join(wrong))
        print_message(f"{len(wrong)} rows are wrong; the {read} others are stored", style="yellow")
    emit([{"set": name, "added": added, "known": read - added, "left_out": left_out}], ADDED_COLUMNS)
    if wrong:
        raise typer.Exit(ExitCode.NEGATIVE if read else ExitCode.REJECTED)
    if not read:
        raise fail(f"{file}: expected rows, got none", code=ExitCode.REJECTED)


async def _chosen(
    source: Pool, account: str, ids: Sequence[UUID], expect: Expected | None
) -> tuple[LabelledDecision, ...]:
    """The decisions of ``--decision`` with their label; without ``--expect`` those with agreed reviews."""
    if not expect:
        return await agreed_decisions(source, account, ids) if ids else ()
    label = GoldenLabel(expected=expect, labelled_by=who())
    return tuple(LabelledDecision(decision_id=each, labelled_by=who(), label=label) for each in set(ids))


def _imported(lines: Iterable[bytes], account: str, now: datetime, wrong: list[str]) -> Iterator[GoldenItem]:
    """The items of good lines; ``wrong`` collects the others, as ``line N: FIELD: ...``."""
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = imported_row(line, account, now)
        except GoldenRejected as error:
            wrong.append(f"line {number}: {error}")
            continue
        if (before := seen.setdefault(row.row_id, number)) != number:
            wrong.append(f"line {number}: id: expected each once, got {row.row_id!r} of line {before} again")
            continue
        yield row
