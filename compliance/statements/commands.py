"""``hushgate statements``: statements of reasons for the DSA Transparency Database."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TextIO
from uuid import UUID

import typer

from cli.exit_codes import ExitCode
from cli.options import read_audit, time_of, with_pool
from cli.output import fail, print_message
from cli.output_file import Force, output_file
from compliance.statements import restrictions
from compliance.statements.files import (
    StatementFile,
    StatementsRefused,
    read_texts,
    statement_file,
    without_ground,
)
from compliance.statements.restrictions import RestrictedPage
from compliance.statements.statement import CAUTION
from db.account_settings.accounts import current_account
from db.connection import Connection
from review.lists.export_layout import Form


def statements(
    account: Annotated[str, typer.Argument(help="The account.")],
    since: Annotated[str, typer.Option("--since", help="Decisions from then on, such as 2026-11-01 or 30d.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write; - is standard output.")],
    until: Annotated[str | None, typer.Option("--until", help="Decisions before then; default: now.")] = None,
    form: Annotated[
        Form | None,
        typer.Option("--format", case_sensitive=False, help="csv or ndjson; by default as the file ends."),
    ] = None,
    force: Force = False,
) -> None:
    """Write one statement of reasons for each restricted message, in the fields of the Transparency Database.

    A bot that says nothing does not restrict anything: a statement is due only where the message itself was
    removed, hidden, demoted or otherwise restricted. The account's statement_grounds name the reasons after
    which that happens; decisions with other reasons are counted on standard error and left out. For example:

        hushgate statements corner-shop --since 2026-11-01 --until 2026-12-01 -o november.ndjson
    """
    chosen = form or next((each for each in Form if output.suffix == f".{each}"), None)
    if chosen is None:
        raise fail(f"--format: expected csv or ndjson, as the name {output.name!r} ends with neither")
    start, end = time_of("--since", since), time_of("--until", until) or datetime.now(UTC)
    assert start is not None  # --since is required
    try:
        file = statement_file(with_pool(lambda source: current_account(source, account)), start, end, chosen)
    except StatementsRefused as refused:
        raise fail(str(refused), code=ExitCode.REJECTED) from None
    print_message(CAUTION)
    with output_file(output, force) as target:
        written, found = read_audit(lambda connection: _write(connection, file, target))
    print_message(f"{written} statements written to {output}", style="dim")
    for code, number in without_ground(file, found).items():
        print_message(f"{number} decisions left out: no ground for {code}", style="dim")


async def _write(
    connection: Connection, file: StatementFile, target: TextIO
) -> tuple[int, Mapping[str, int]]:
    async def load(after: tuple[datetime, UUID] | None) -> RestrictedPage:
        page = await restrictions.load_restricted(connection, file.period, file.grounds, after)
        await connection.rollback()  # a long export must not hold back the vacuum
        return page

    written = 0
    async for text, number in read_texts(file, load):
        target.write(text)
        written += number
    return written, await restrictions.count_silent(connection, file.period)
