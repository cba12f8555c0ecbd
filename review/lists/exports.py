"""Exports: a job writes the decisions of a filter in pieces, a download reads them in pieces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from db import jobs
from db.audit import decision_list, export_rows
from db.audit.search import SearchRow
from db.connection import Connection
from db.jobs import Job, JobStep
from db.people.records import Person
from db.review_store import Store
from db.reviews import queue_items
from review.access import Right, accounts_with
from review.http.visit import Site
from review.lists import export_file
from review.lists.export_file import GZIP_HEAD, ExportRefused, Written
from review.lists.export_layout import Form, Layout
from review.lists.filter_parsers import ParseContext
from review.lists.filters import parse_stored_query

ROWS: Final = 2000
"""Decisions of one piece: about a megabyte in memory."""


class ExportGone(Exception):
    """The file was deleted during its download."""


def job_params(query: str, layout: Layout, accounts: Sequence[str] | None) -> dict[str, Any]:
    """The parameters of a job, as JSON; ``accounts`` are those whose decisions it may have, None: all."""
    return {
        "query": query,
        "form": layout.form.value,
        "bom": layout.bom,
        "site": layout.site,
        "accounts": None if accounts is None else list(accounts),
    }


def layout_of(job: Job) -> Layout:
    """The layout of the file."""
    return Layout(form=Form(job.params["form"]), bom=job.params["bom"], site=job.params["site"])


def check_right(job: Job, person: Person) -> None:
    """Require the right to export every account whose decisions the export may have.

    Raises:
        ExportRefused: the person has lost the right.
    """
    now, then = accounts_with(person, Right.EXPORT), job.params["accounts"]
    if now is None or (then is not None and set(then) <= set(now)):
        return
    raise ExportRefused(
        "You no longer have the right to export every account of this export. Request a new export."
    )


async def write_step(site: Site, connection: Connection, job: Job, person: Person) -> JobStep:
    """Write the next piece."""
    check_right(job, person)
    accounts = None if job.params["accounts"] is None else tuple(job.params["accounts"])
    context = ParseContext(now=job.created_at, login=person.login)
    query = parse_stored_query(job.params["query"], context, accounts)
    filters = await queue_items.with_hidden_reviews(connection, query.filters, person.person_id)
    before = Written.read(job.position)
    page = await site.store.read_lists(
        lambda replica: decision_list.load_page(replica, filters, limit=ROWS, cursor=before.cursor or None)
    )
    hidden = await queue_items.hidden_decisions(connection, person.person_id)
    rows = await export_rows.with_people(connection, page.rows, hidden=hidden)
    text = await asyncio.to_thread(_text, layout_of(job), rows, first=before.parts == 0)
    after = before.followed_by(text, cursor=page.older or "")
    await jobs.add_part(
        connection, job.job_id, after.parts, await asyncio.to_thread(export_file.packed, text)
    )
    return JobStep(done=job.done + len(page.rows), position=str(after), finished=page.older is None)


async def length(store: Store, job: Job, *, packed: bool) -> int:
    """Bytes of the file as ``pieces`` gives it: a client that gets fewer knows that the file is not whole."""
    written = Written.read(job.position)
    if not packed:
        return written.size_bytes
    async with store.reading() as connection:
        return await jobs.stored_size(connection, job.job_id) + export_file.GZIP_EXTRA


async def read_pieces(store: Store, job: Job, *, packed: bool) -> AsyncIterator[bytes]:
    """The file, piece by piece; ``packed``: as one gzip stream.

    Raises:
        ExportGone: it was deleted meanwhile; breaking off is how a browser learns that the file is not whole.
    """
    written = Written.read(job.position)
    if packed:
        yield GZIP_HEAD
    for number in range(1, written.parts + 1):
        async with store.reading() as connection:
            data = await jobs.get_part(connection, job.job_id, number)
        if data is None:
            raise ExportGone(f"part {number} of {written.parts}")
        yield data if packed else await asyncio.to_thread(export_file.unpacked, data)
    if packed:
        yield written.gzip_end


def _text(layout: Layout, rows: Sequence[SearchRow], *, first: bool) -> bytes:
    return ((layout.head() if first else "") + layout.lines(rows)).encode()
