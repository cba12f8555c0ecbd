"""Exports: the decisions of a filter, written piece by piece by a job, given out piece by piece."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qsl

from db import audit, export_rows, items, jobs
from db.audit import Row
from db.jobs import Job, Step, Transaction
from db.people import Person
from db.review_store import Store
from review.access import Right, accounts_with
from review.lists.export_layout import Form, Layout
from review.lists.filters import Asker, asked
from review.web import Site

ROWS: Final = 2000
"""Decisions of one piece: about a megabyte in memory."""


class ExportRefused(Exception):  # noqa: N818  # an ending: shown to the person
    """Somebody may not have this export any more."""


class ExportGone(Exception):  # noqa: N818  # an ending: the download breaks off
    """The file was deleted while somebody fetched it."""


def ordered(query: str, layout: Layout, accounts: Sequence[str] | None) -> dict[str, Any]:
    """What a job needs to know, as JSON; ``accounts`` are those it may hold decisions of, None: all."""
    return {
        "query": query,
        "form": layout.form.value,
        "bom": layout.bom,
        "site": layout.site,
        "accounts": None if accounts is None else list(accounts),
    }


def layout_of(job: Job) -> Layout:
    """How the file looks."""
    return Layout(form=Form(job.params["form"]), bom=job.params["bom"], site=job.params["site"])


def check_right(job: Job, person: Person) -> None:
    """That somebody may still export all the accounts whose decisions the export may hold.

    Raises:
        ExportRefused: they may not.
    """
    now, then = accounts_with(person, Right.EXPORT), job.params["accounts"]
    if now is None or (then is not None and set(then) <= set(now)):
        return
    raise ExportRefused(
        "You no longer have the right to export every account it was asked for. Ask for it anew."
    )


async def step(_site: Site, connection: Transaction, job: Job, person: Person) -> Step:
    """Write the next piece."""
    check_right(job, person)
    accounts = None if job.params["accounts"] is None else tuple(job.params["accounts"])
    wanted = asked(parse_qsl(job.params["query"]), Asker(now=job.created_at, login=person.login), accounts)
    until = min(wanted.filters.until or job.created_at, job.created_at)  # what came later is not in it
    number, _, cursor = (job.position or "0:").partition(":")
    filters = await audit.unspoilt(connection, replace(wanted.filters, until=until), person.person_id)
    page = await audit.page(connection, filters, limit=ROWS, cursor=cursor or None)
    hidden = await items.hidden(connection, person.person_id)
    rows = await export_rows.completed(connection, page.rows, hidden=hidden)
    piece = await asyncio.to_thread(_piece, layout_of(job), rows, first=number == "0")
    await jobs.add_part(connection, job.job_id, int(number) + 1, piece)
    position = f"{int(number) + 1}:{page.older or ''}"
    return Step(done=job.done + len(page.rows), position=position, finished=page.older is None)


async def pieces(store: Store, job: Job, *, packed: bool) -> AsyncIterator[bytes]:
    """The file, piece by piece; ``packed``: as one gzip stream.

    Raises:
        ExportGone: it was deleted meanwhile; breaking off is how a browser learns that the file is not whole.
    """
    last = int((job.position or "0:").partition(":")[0])
    for number in range(1, last + 1):
        async with store.reading() as connection:
            data = await jobs.part(connection, job.job_id, number)
        if data is None:
            raise ExportGone(f"part {number} of {last}")
        yield data if packed else await asyncio.to_thread(zlib.decompress, data, 31)


def _piece(layout: Layout, rows: Sequence[Row], *, first: bool) -> bytes:
    text = (layout.head() if first else "") + layout.lines(rows)
    return gzip.compress(text.encode(), compresslevel=5, mtime=0)
