"""Exports and other long work: asking for it, watching it, ending it, fetching what it wrote."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl
from uuid import UUID

from starlette.responses import Response, StreamingResponse

from db import access_log, audit, jobs
from db.access_log import Action
from db.identifiers import identifier
from db.jobs import Job, JobKind, JobState
from review.access import Right
from review.lists import exports
from review.lists.export_layout import Form, Layout
from review.lists.exports import ExportRefused
from review.lists.filters import Asker, asked
from review.web import Refused, Visit

MEDIA: Final = {Form.CSV: "text/csv; charset=utf-8", Form.NDJSON: "application/x-ndjson"}
MOST_WAITING: Final = 5
"""Jobs one person may have waiting or running."""


async def start_export(visit: Visit) -> Response:
    """Ask for an export of the filters in the form."""
    accounts = visit.accounts(Right.EXPORT)
    pairs = parse_qsl(str(visit.form.get("query", "")))
    wanted = asked(pairs, Asker(now=visit.now, login=visit.person.login), accounts)
    if wanted.problems:
        said = "\n".join(
            f"{each.title}: expected {each.expected}; got {each.got}" for each in wanted.problems
        )
        raise Refused(400, "These filters cannot be used", said)
    try:
        form = Form(str(visit.form.get("format", "")))
    except ValueError as error:
        raise Refused(400, "Choose a format", "Format: expected csv or ndjson.") from error
    site = str(visit.site.settings.review_url).rstrip("/")
    layout = Layout(form=form, bom=visit.form.get("bom") == "1", site=site)
    job_id = identifier(visit.now)
    async with visit.store.writing() as connection:
        theirs = await jobs.of_person(connection, visit.person.person_id)
        if sum(not each.ended for each in theirs) >= MOST_WAITING:
            raise Refused(
                429, "Enough at once", f"{MOST_WAITING} jobs of yours wait or run already. End one first."
            )
        count = await audit.counted(
            connection, await audit.unspoilt(connection, wanted.filters, visit.person.person_id)
        )
        params = exports.ordered(wanted.query(), layout, accounts)
        await jobs.add(
            connection,
            job_id,
            person_id=visit.person.person_id,
            kind=JobKind.EXPORT,
            params=params | {"estimated": not count.exact},
            total=count.number,
        )
        detail = {"job": str(job_id), "query": wanted.query(), "format": form.value, "about": count.number}
        entry = visit.entry(Action.EXPORT, user_id=wanted.filters.about(), detail=detail)
        await access_log.add(connection, entry)
    return visit.redirect("job", job_id=job_id)


async def listed(visit: Visit) -> Response:
    """The person's jobs."""
    async with visit.store.reading() as connection:
        theirs = await jobs.of_person(connection, visit.person.person_id)
    return visit.render("jobs.html", jobs=theirs)


async def watched(visit: Visit) -> Response:
    """How far a job is."""
    job = await _theirs(visit)
    async with visit.store.reading() as connection:
        size = await jobs.size(connection, job.job_id) if job.ended else 0
    return visit.render("job.html", job=job, size=size)


async def cancel(visit: Visit) -> Response:
    """End a job; what it did stays done."""
    job = await _theirs(visit)
    async with visit.store.writing() as connection:
        await jobs.cancel(connection, job.job_id)
    return visit.redirect("job", job_id=job.job_id)


async def file(visit: Visit) -> Response:
    """What an export wrote, as a stream: neither side ever holds it whole."""
    job = await _theirs(visit)
    if job.kind is not JobKind.EXPORT or job.state is not JobState.DONE:
        raise Refused(404, "There is no file", "The export is not finished, failed, or was ended.")
    try:
        exports.check_right(job, visit.person)
    except ExportRefused as refused:
        raise Refused(403, "Not allowed any more", str(refused)) from refused
    await visit.log(Action.DOWNLOAD, detail={"job": str(job.job_id), "rows": job.done})
    form = exports.layout_of(job).form
    packed = "gzip" in visit.request.headers.get("Accept-Encoding", "")
    name = f"decisions-{job.created_at:%Y-%m-%d-%H%M}.{form.value}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Vary": "Accept-Encoding"}
    if packed:
        headers["Content-Encoding"] = "gzip"
    body = exports.pieces(visit.store, job, packed=packed)
    return StreamingResponse(body, headers=headers, media_type=MEDIA[form])


async def _theirs(visit: Visit) -> Job:
    """The job of the address, when it is the person's own."""
    nothing = Refused(404, "Not found", "There is no such job of yours; exports are deleted after a week.")
    try:
        job_id = UUID(visit.request.path_params["job_id"])
    except ValueError as error:
        raise nothing from error
    async with visit.store.reading() as connection:
        job = await jobs.one(connection, job_id)
    if job is None or job.person_id != visit.person.person_id:
        raise nothing
    return job
