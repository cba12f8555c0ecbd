"""Statements of reasons as lines of a file: NDJSON for programs, CSV without formulas for spreadsheets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import orjson

from compliance.statements.restrictions import RestrictedPage, StatementPeriod
from compliance.statements.statement import FIELDS, statement
from review.languages import gettext as _
from review.lists.export_layout import Form, csv_text
from worker.errors import RejectedError
from worker.model import Account
from worker.reasons import Reason
from worker.statement_grounds import StatementGround, parse_grounds

LONGEST: Final = timedelta(days=366)


class StatementsRefused(RejectedError):
    """Statements of an account cannot be exported; the message names the setting or the period."""


LoadPage = Callable[[tuple[datetime, UUID] | None], Awaitable[RestrictedPage]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementFile:
    """What one file has, and how it is written."""

    period: StatementPeriod
    grounds: Mapping[Reason, StatementGround]
    countries: tuple[str, ...]
    form: Form

    def head(self) -> str:
        """The text before the first statement."""
        return csv_text([FIELDS]) if self.form is Form.CSV else ""

    def lines(self, page: RestrictedPage) -> str:
        """The statements of one page; lists stand in a CSV cell as JSON, as the database exports them."""
        made = [statement(each, self.grounds[each.reason], self.countries) for each in page.messages]
        if self.form is Form.NDJSON:
            return "".join(orjson.dumps(each).decode() + "\n" for each in made)
        return csv_text([_cell(each[name]) for name in FIELDS] for each in made)


def statement_file(account: Account, since: datetime, until: datetime, form: Form) -> StatementFile:
    """The file of an account and a period.

    Raises:
        StatementsRefused: statements are off, grounds or countries are missing, or the period is unusable.
    """
    if not account.statements_enabled:
        text = _("statements_enabled: expected it on for %(account)s, got off")
        raise StatementsRefused(text % {"account": account.user_id})
    if not account.statement_grounds:
        raise StatementsRefused(_("statement_grounds: expected a ground for at least one reason, got none"))
    if not account.statement_countries:
        raise StatementsRefused(_("statement_countries: expected at least one country, got none"))
    if not timedelta(0) < until - since <= LONGEST:
        text = _(
            "period: expected an end after its start and at most %(most)s days, got %(since)s to %(until)s"
        )
        raise StatementsRefused(text % {"most": LONGEST.days, "since": since, "until": until})
    return StatementFile(
        period=StatementPeriod(user_id=account.user_id, since=since, until=until),
        grounds=parse_grounds(account.statement_grounds),
        countries=account.statement_countries,
        form=form,
    )


async def read_texts(file: StatementFile, load: LoadPage) -> AsyncIterator[tuple[str, int]]:
    """The file, page by page: text and number of statements in it."""
    yield file.head(), 0
    page = await load(None)
    while True:
        yield file.lines(page), len(page.messages)
        if page.after is None:
            return
        page = await load(page.after)


def without_ground(file: StatementFile, found: Mapping[str, int]) -> dict[str, int]:
    """The numbers of decisions, by reason, that get no statement."""
    known = {each.value for each in file.grounds}
    return {code: number for code, number in found.items() if code not in known}


def _cell(value: object) -> object:
    return orjson.dumps(value).decode() if isinstance(value, list) else value
