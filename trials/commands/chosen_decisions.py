"""The decisions that a replay or a backtest makes again: of ids, a file, a saved view or filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import parse_qsl
from uuid import UUID

import orjson
import typer

from cli.decisions.filter_options import FilteredCommand
from cli.exit_codes import ExitCode
from cli.options import read_audit, read_lists
from cli.output import fail
from db.audit import decision_list, saved_views
from db.audit.filters import Filters
from db.connection import Connection
from review.lists.filter_parsers import ParseContext
from review.lists.filters import parse_query
from trials.commands.shared import check_used, id_of
from worker.payload import no_json

PAGE: Final = 1000
"""Decisions read at a time."""
ID_FIELDS: Final = ("id", "decision_id")
"""Fields of a line of NDJSON that hold the id, as the commands ``decisions`` and ``replay`` write it."""
SavedViewName = Annotated[
    str | None,
    typer.Option(
        "--view", help="The decisions of a saved view: NAME, or LOGIN/NAME when several people have it."
    ),
]


def chosen_ids(
    context: typer.Context, ids: Sequence[str], file: Path | None, view: str | None, limit: int
) -> list[UUID]:
    """The decisions to make again, each once; of a view or filters the newest ``limit``."""
    given = [
        *(["ids"] if ids else []),
        *(["--file"] if file else []),
        *(["--view"] if view is not None else []),
        *(["filters"] if _has_filters(context) else []),
    ]
    if len(given) > 1:
        raise fail(f"replay: expected one of ids, --file, --view and filters, got {' and '.join(given)}")
    if ids:
        return list(dict.fromkeys(id_of("id", each) for each in ids))
    if file is not None:
        return ids_of_file(file)
    filters = context.obj if view is None else filters_of_view(view)
    found = ids_of_filters(filters, limit)
    if not found:
        check_used(filters.user_id)
    return found


def ids_of_file(file: Path) -> list[UUID]:
    """The ids of a file: one a line, or a line of JSON with the field ``id`` or ``decision_id``."""
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise fail(f"--file: {error.strerror}: {file}") from error
    except UnicodeDecodeError as error:
        raise fail(f"--file: expected UTF-8, got another encoding at byte {error.start}") from error
    found = {_id_of_line(number, line.strip()): None for number, line in enumerate(lines, 1) if line.strip()}
    if not found:
        raise fail("--file: expected one id a line, got no line")
    return list(found)


def filters_of_view(text: str, *, account: str | None = None) -> Filters:
    """The filters of a saved view, read as its owner reads them; with ``account`` of this account only."""
    found = read_audit(lambda connection: saved_views.views_named(connection, text))
    if not found:
        raise fail(f"--view: no saved view {text!r}", code=ExitCode.NEGATIVE)
    if len(found) > 1:
        names = ", ".join(f"{each.login}/{each.name}" for each in found)
        raise fail(f"--view: expected one saved view, got {len(found)}: {names}")
    view = found[0]
    parsed = parse_query(
        parse_qsl(view.query), ParseContext(now=datetime.now(UTC), login=view.login), accounts=None
    )
    if parsed.problems:
        raise fail("\n".join(f"--view: {each}" for each in parsed.problems))
    filters = parsed.filters
    if account is None:
        return filters
    if filters.user_id not in {None, account}:
        raise fail(f"--view: expected a view of {account} or of every account, got one of {filters.user_id}")
    return replace(filters, user_id=account)


def ids_of_filters(filters: Filters, limit: int | None = None) -> list[UUID]:
    """The newest decisions of filters, the newest first; without ``limit`` all of them."""

    async def load(connection: Connection) -> list[UUID]:
        found: list[UUID] = []
        cursor = None
        while limit is None or len(found) < limit:
            most = PAGE if limit is None else min(PAGE, limit - len(found))
            page = await decision_list.load_page(connection, filters, limit=most, cursor=cursor)
            found += [row["id"] for row in page.rows]
            if (cursor := page.older) is None:
                break
        return found

    return read_lists(load)


def _id_of_line(number: int, line: str) -> UUID:
    text: object = line
    if line.startswith("{"):
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise fail(f"--file: line {number}: expected JSON, got {no_json(error)}") from error
        text = next((row[name] for name in ID_FIELDS if name in row), None)
        if text is None:
            raise fail(f"--file: line {number}: expected the field id or decision_id, got {', '.join(row)}")
    return id_of(f"--file: line {number}", str(text))


def _has_filters(context: typer.Context) -> bool:
    assert isinstance(context.command, FilteredCommand)
    sources = map(context.get_parameter_source, context.command.filters)
    return any(each is not None and each.name == "COMMANDLINE" for each in sources)
