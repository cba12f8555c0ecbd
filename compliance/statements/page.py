"""Statements of reasons of an account: the caution, the grounds, numbers on request, and the file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import Response, StreamingResponse

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
from db.access_log import LoggedAction
from review.accounts.stored_versions import version_in_force
from review.http.visit import Visit
from review.languages import gettext as _
from review.lists.export_layout import Form
from worker.model import Account
from worker.statement_grounds import parse_grounds

MEDIA: Final = {Form.CSV: "text/csv; charset=utf-8", Form.NDJSON: "application/x-ndjson"}


async def show_statements(visit: Visit) -> Response:
    """The grounds and the form; with a period, how many decisions get a statement and how many do not."""
    account = (await version_in_force(visit)).account
    query, problem, numbers = visit.request.query_params, "", None
    since, until = query.get("since", f"{visit.now:%Y-%m}-01"), query.get("until", f"{visit.now:%Y-%m-%d}")
    if "since" in query:
        try:
            file = _file(account, since, until, Form.NDJSON)
            async with visit.store.reading() as connection:
                numbers = await restrictions.count_silent(connection, file.period)
            detail = {"statements": "counted", "since": since, "until": until}
            await visit.log(LoggedAction.FIGURES, user_id=account.user_id, detail=detail)
        except StatementsRefused as refused:
            problem = str(refused)
    grounds = parse_grounds(account.statement_grounds)
    return visit.render(
        "statements/page.html",
        account=account.user_id,
        settings=account,
        grounds=grounds,
        numbers=numbers,
        due=sum(number for code, number in (numbers or {}).items() if code in grounds),
        left_out=without_ground(file, numbers) if numbers is not None else {},
        caution=_(CAUTION),
        since=since,
        until=until,
        problem=problem,
        tab="statements",
    )


async def download_statements(visit: Visit) -> Response:
    """The file, as a stream; or the page with the problem."""
    account, query = (await version_in_force(visit)).account, visit.request.query_params
    form = Form.NDJSON if query.get("format") == Form.NDJSON else Form.CSV
    try:
        file = _file(account, query.get("since", ""), query.get("until", ""), form)
    except StatementsRefused:
        dates = {name: query.get(name, "") for name in ("since", "until")}
        return visit.redirect("statements", urlencode(dates), account=account.user_id)
    detail = {"statements": form, "since": query.get("since", ""), "until": query.get("until", "")}
    await visit.log(LoggedAction.EXPORT, user_id=account.user_id, detail=detail)
    name = f"statements-{file.period.since:%Y-%m-%d}-{file.period.until:%Y-%m-%d}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(_pieces(visit, file), headers=headers, media_type=MEDIA[form])


async def _pieces(visit: Visit, file: StatementFile) -> AsyncIterator[bytes]:
    async def load(after: tuple[datetime, UUID] | None) -> RestrictedPage:
        async with visit.store.reading() as connection:
            return await restrictions.load_restricted(connection, file.period, file.grounds, after)

    async for text, _number in read_texts(file, load):
        yield text.encode()


def _file(account: Account, since: str, until: str, form: Form) -> StatementFile:
    """The file of a period of whole days, UTC; the last day is in it."""
    return statement_file(account, _day(since), _day(until) + timedelta(days=1), form)


def _day(text: str) -> datetime:
    try:
        return datetime.combine(date.fromisoformat(text), time(), UTC)
    except ValueError:
        expected = _("period: expected dates such as 2026-12-31, got “%(got)s”")
        raise StatementsRefused(expected % {"got": text[:20]}) from None
