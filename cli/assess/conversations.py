"""``hushgate assess conversations``: how many right, wrong and invented answers a gate sends."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Final, TypeVar

import typer
from rich.progress import TimeElapsedColumn

from cli.assess.conversation_figures import (
    COLUMNS,
    KIND_COLUMNS,
    all_decided,
    as_shown,
    case_rows,
    figure_rows,
    kind_rows,
)
from cli.assess.conversation_fleet import (
    EMBEDDINGS_OFF,
    MeasuredPolicy,
    add_accounts,
    measured_policies,
    measuring_fleet,
)
from cli.assess.conversation_runs import EVENTS, MeasuredRun, RunResult, measured
from cli.exit_codes import ExitCode
from cli.options import own_connections
from cli.output import emit_json, errors, fail, progress_bar, screen, stdout_is_terminal, table
from cli.output_file import Force, output_file, refuse_existing
from cli.stack.fleet import Fleet
from cli.stack.start_watch import await_workers
from sandbox.cases import Case, Writes, load_cases
from sandbox.forwarding import parse_forward
from sandbox.replies.known_conversations import parse_writes
from sandbox.replies.known_readings import parse_judge
from tasks.shards.clients import connect

JUDGES: Final = ("perfect", "noisy:0.1", "noisy:0.2", "off")
WORKERS: Final = 2
Given = TypeVar("Given")
Found = TypeVar("Found")


def conversations(
    folder: Annotated[Path, typer.Argument(help="A set of conversations: cases.jsonl and docs/DOMAIN/*.md.")],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A design, JSON, a JSON file, or all; may be repeated. Default: that of an account."
        ),
    ] = None,
    judge: Annotated[
        list[str] | None, typer.Option(help="perfect, noisy:SHARE or off; may be repeated. Default: four.")
    ] = None,
    writes: Annotated[
        list[str] | None, typer.Option(help="right, wrong or invented; may be repeated. Default: all three.")
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="DOMAIN", help="Only the cases of one business.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most so many cases, of every kind its share.")
    ] = None,
    embeddings: Annotated[
        str,
        typer.Option(help="none: search by words only; or an embedding server, http://127.0.0.1:PORT/v1."),
    ] = EMBEDDINGS_OFF,
    embedding_model: Annotated[str, typer.Option(help="Name of its model.")] = "measured",
    workers: Annotated[int, typer.Option(min=1, max=32, help="Worker processes.")] = WORKERS,
    as_json: Annotated[bool, typer.Option("--json", help="NDJSON on a terminal too.")] = False,
    out: Annotated[Path | None, typer.Option(help="A file for a line of JSON per question and run.")] = None,
    force: Force = False,
) -> None:
    """Publish the questions of a set and count which answers are sent: right, wrong and invented ones.

    Starts Postgres, Valkey, workers and the sandbox on free ports, as a model and a judge that know the truth
    of the set; adds one account for each business with its documents and default settings; stops everything
    at the end. A noisy judge is wrong in a share of the drafts, with a quote that fits. Variables of this
    shell are not used. docs/conversations-set.md describes the set and the columns. For example:

        hushgate assess conversations bench/conversations --judge perfect --judge off
    """
    if out is not None:
        refuse_existing(out, force)
    policies = measured_policies(policy or ())
    combinations = _combinations(judge or JUDGES, writes or list(Writes))
    cases = _cases(folder, only, limit)
    if embeddings != EMBEDDINGS_OFF:
        _checked(parse_forward, embeddings)
    errors.print(
        f"{len(cases)} cases, {len(policies) * len(combinations)} runs; starting servers and workers"
    )
    runs = [
        MeasuredRun(name=f"measure-{secrets.token_hex(4)}", policy=each, judge=judging, writes=writing)
        for (judging, writing), each in product(combinations, policies)
    ]
    with measuring_fleet(folder, embeddings=embeddings, embedding_model=embedding_model, workers=workers) as (
        running,
        names,
    ):
        results = asyncio.run(_measure(running, names, folder, policies, runs, cases))
    _show(results, as_json=as_json)
    if out is not None:
        with output_file(out, force) as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in case_rows(results))
    if not all_decided(results):
        raise fail("not every question was decided; see runs in the NDJSON", code=ExitCode.NEGATIVE)


async def _measure(
    running: Fleet,
    names: tuple[str, ...],
    folder: Path,
    policies: Sequence[MeasuredPolicy],
    runs: Sequence[MeasuredRun],
    cases: Sequence[Case],
) -> list[RunResult]:
    client = connect(running.stack.redis_url)
    results = []
    async with own_connections(running.stack.database_url) as source:
        await add_accounts(source, running, folder, policies, cases)
        await await_workers(running, client, EVENTS, names, errors.print)
        with progress_bar(TimeElapsedColumn(), transient=True) as bar:
            task = bar.add_task("", total=len(runs) * len(cases))
            for run in runs:
                bar.update(task, description=f"{run.policy.label}, judge {run.judge}, writes {run.writes}")
                results.append(
                    await measured(source, running, run, cases, lambda more: bar.advance(task, more))
                )
    await client.aclose()
    return results


def _show(results: Sequence[RunResult], *, as_json: bool) -> None:
    rows = figure_rows(results)
    if as_json or not stdout_is_terminal():
        for row in rows:
            emit_json(row)
        return
    screen.print(table(map(as_shown, rows), COLUMNS))
    screen.print(table(map(as_shown, kind_rows(rows)), KIND_COLUMNS, title="\nby kind of question"))


def _combinations(judges: Sequence[str], writers: Sequence[str]) -> list[tuple[str, Writes]]:
    """Judge and writer of each run; a judge that is off comes last: the workers pause calls to it."""
    each = [_checked(parse_judge, name) for name in judges]
    names = list(dict.fromkeys(found.name for found in sorted(each, key=lambda found: found.off)))
    writing = list(dict.fromkeys(_checked(parse_writes, name) for name in writers))
    return list(product(names, writing))


def _cases(folder: Path, only: str | None, limit: int | None) -> Sequence[Case]:
    """The cases by kind, of which a limit takes every so many: each kind keeps its share."""
    found = _checked(load_cases, folder).cases
    domains = sorted({case.domain for case in found})
    if only is not None and only not in domains:
        raise fail(f"--only: expected one of {', '.join(domains)}, got {only!r}")
    chosen = sorted((case for case in found if only in (None, case.domain)), key=lambda case: case.kind)
    most = min(limit or len(chosen), len(chosen))
    return [chosen[place * len(chosen) // most] for place in range(most)]


def _checked(parse: Callable[[Given], Found], given: Given) -> Found:
    """What ``parse`` makes of an option's value; its ValueError, which names the field, ends the command."""
    try:
        return parse(given)
    except ValueError as error:
        raise fail(str(error)) from error
