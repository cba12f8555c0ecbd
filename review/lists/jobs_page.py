"""Exports and other jobs: request, progress, cancel, download."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.responses import Response, StreamingResponse

from db import access_log, jobs
from db.access_log import LogEntry, LoggedAction
from db.audit import decision_list
from db.connection import Connection
from db.identifiers import uuid_at
from db.jobs import Job, JobKind, JobState
from db.reviews import queue_items
from review.access import Right
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.lists import exports
from review.lists.export_file import ExportRefused, accepts_gzip
from review.lists.export_layout import Form, Layout
from review.lists.visit_query import parse_visit_query

MEDIA: Final = {Form.CSV: "text/csv; charset=utf-8", Form.NDJSON: "application/x-ndjson"}
MOST_WAITING: Final = 5
"""Jobs one person may have waiting or running."""
BULK_UNDO_WINDOW: Final = timedelta(days=7)
"""How long a bulk review may be undone; bulk reviews retract no replies, so nothing waits for the end."""


async def start_export(visit: Visit) -> Response:
    """Request an export of the filters in the form."""
    accounts = visit.accounts(Right.EXPORT)
    query = parse_visit_query(visit, parse_qsl(visit.field("query")), Right.EXPORT)
    if query.problems:
        raise Refused(400, "These filters cannot be used", "\n".join(map(str, query.problems)))
    try:
        form = Form(visit.field("format"))
    except ValueError as error:
        raise Refused(400, "Choose a format", "Choose CSV or NDJSON.") from error
    site = str(visit.site.settings.review_url).rstrip("/")
    layout = Layout(form=form, bom=visit.form.get("bom") == "1", site=site)
    async with visit.store.writing() as connection:
        own = await jobs.list_jobs(connection, visit.person.person_id)
        if sum(not each.ended for each in own) >= MOST_WAITING:
            text = _("%(most)s of your jobs are waiting or running. Cancel one first.")
            raise Refused(429, "Too many jobs", text % {"most": MOST_WAITING})
        count = await decision_list.count_decisions(
            connection,
            await queue_items.with_hidden_reviews(connection, query.filters, visit.person.person_id),
        )
        params = exports.job_params(query.encoded(), layout, accounts)
        detail = {"query": query.encoded(), "format": form.value, "about": count.number}
        entry = visit.entry(LoggedAction.EXPORT, user_id=query.filters.about(), detail=detail)
        params |= {"estimated": not count.exact}
        return await add_job(visit, connection, JobKind.EXPORT, params, total=count.number, entry=entry)


async def add_job(
    visit: Visit,
    connection: Connection,
    kind: JobKind,
    params: dict[str, Any],
    *,
    total: int,
    entry: LogEntry,
) -> Response:
    """Add a job with its line of the access log, and redirect to its page."""
    job_id = uuid_at(visit.now)
    await jobs.add_job(
        connection, job_id, person_id=visit.person.person_id, kind=kind, params=params, total=total
    )
    await access_log.append_entry(connection, replace(entry, detail={"job": str(job_id), **entry.detail}))
    return visit.redirect("job", job_id=job_id)


async def list_jobs(visit: Visit) -> Response:
    """The person's jobs."""
    async with visit.store.reading() as connection:
        own = await jobs.list_jobs(connection, visit.person.person_id)
    return visit.render("jobs.html", jobs=own)


async def show_job(visit: Visit) -> Response:
    """The progress of a job."""
    job = await own_job(visit)
    async with visit.store.reading() as connection:
        size = await jobs.stored_size(connection, job.job_id) if job.ended else 0
        undone_by = await jobs.undo_of(connection, job) if job.kind is JobKind.BULK_REVIEW else None
    undoable = undone_by is None and visit.may(Right.LEAD) and is_undoable(job, visit.now)
    return visit.render("job.html", job=job, size=size, undone_by=undone_by, undoable=undoable)


def is_undoable(job: Job, now: datetime) -> bool:
    """Whether a job is a bulk review that has ended and is not too old to be undone."""
    ended = job.finished_at
    return job.kind is JobKind.BULK_REVIEW and ended is not None and now <= ended + BULK_UNDO_WINDOW


async def cancel_job(visit: Visit) -> Response:
    """Cancel a job; its changes so far stay."""
    job = await own_job(visit)
    async with visit.store.writing() as connection:
        await jobs.cancel_job(connection, job.job_id)
    return visit.redirect("job", job_id=job.job_id)


async def download_export(visit: Visit) -> Response:
    """The file of an export, as a stream."""
    job = await own_job(visit)
    if job.kind is not JobKind.EXPORT or job.state is not JobState.DONE:
        raise Refused(404, "There is no file", "The export is not finished, failed, or was cancelled.")
    packed = accepts_gzip(visit.request.headers.get("Accept-Encoding", ""))
    try:
        exports.check_right(job, visit.person)
        length = await exports.length(visit.store, job, packed=packed)
    except ExportRefused as refused:
        raise Refused(403, "No longer allowed", str(refused)) from refused
    await visit.log(LoggedAction.DOWNLOAD, detail={"job": str(job.job_id), "rows": job.done})
    form = exports.layout_of(job).form
    name = f"decisions-{job.created_at:%Y-%m-%d-%H%M}.{form.value}"
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Length": str(length),  # over HTTP/1.0 nothing else says that a file is cut
        "Accept-Ranges": "none",
        "Vary": "Accept-Encoding",
    }
    if packed:
        headers["Content-Encoding"] = "gzip"
    body = exports.read_pieces(visit.store, job, packed=packed)
    return StreamingResponse(body, headers=headers, media_type=MEDIA[form])


async def own_job(visit: Visit) -> Job:
    """The job in the page's address, when it is the person's own."""
    not_found = Refused(404, "Not found", "There is no such job of yours; exports are deleted after a week.")
    job_id = visit.path_id("job_id", not_found)
    async with visit.store.reading() as connection:
        job = await jobs.get_job(connection, job_id)
    if job is None or job.person_id != visit.person.person_id:
        raise not_found
    return job
