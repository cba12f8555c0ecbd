"""The page of one backtest: what was changed and counted, and its examples side by side."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from starlette.responses import Response

from db.access_log import LoggedAction
from db.audit.suggestions import shown_decisions
from db.identifiers import uuid_time_bounds
from db.reviews import queue_items
from db.rows import Row
from review.access import Right
from review.accounts.account_changes import AccountDifference, difference
from review.accounts.stored_versions import account_of_path
from review.content_covers import cover_reason
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from trials.pages.wording import MEANINGS, NOT_MADE, TITLES, setting_titles, shown_counts
from trials.store.backtest_examples import BacktestExample, examples_with
from trials.store.backtests import Backtest, get_backtest
from trials.store.candidates import base_account, checked_account
from worker.account_settings import AccountRejected
from worker.model import Account

PATIENCE_S: Final = 1.0
"""After this long no further example is made again, as in ``trials.pages.change_preview``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedSettings:
    """What a backtest tried.

    Attributes:
        account: None: this release cannot use the settings, or not in time; ``problem`` says why.
        change: from the version that the changes were made from; None when it is not known.
    """

    account: Account | None = None
    change: AccountDifference | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownExample:
    """An example as one person sees it.

    Attributes:
        decided_at: by its id, to some milliseconds.
        before, after: reason codes; ``after`` is empty where there is no decision.
        texts: None for people who may not read them, and when the decision is no longer stored.
        message: as recorded, else the first characters that the audit has; None when both are gone.
        cover: categories that cover the texts; empty: nothing does.
    """

    decision_id: UUID
    decided_at: datetime
    group: str
    before: str
    after: str
    texts: BacktestExample | None = None
    message: str | None = None
    cover: tuple[str, ...] = ()


async def show_backtest(visit: Visit) -> Response:
    """The page; without texts for people who may not read them."""
    return await _page(visit, await _backtest_of_path(visit))


async def reveal_example(visit: Visit) -> Response:
    """The texts of one covered example; htmx gets that example, others the page."""
    found = await _backtest_of_path(visit)
    missing = Refused(404, _("No such example"), _("Choose an example of this backtest."))
    decision_id = visit.path_id("decision_id", missing)
    chosen = [each for each in found.examples if each["decision_id"] == str(decision_id)]
    if not chosen:
        raise missing
    if not visit.partial:
        return await _page(visit, found, revealed=decision_id)
    began = time.monotonic()
    tried = await tried_settings(visit, found)
    left = began + PATIENCE_S - time.monotonic()
    only = replace(found, examples=chosen)
    shown, _hidden = await _examples(visit, only, tried, left, revealed=decision_id)
    await _log(visit, found, shown, revealed=decision_id)
    return visit.render(
        "learn/_backtest_example.html",
        account=found.user_id,
        backtest=found,
        shown=next(iter(shown), None),
        tried=tried,
        may_read=True,
        not_made=NOT_MADE,
        titles=TITLES,
    )


async def _page(visit: Visit, found: Backtest, *, revealed: UUID | None = None) -> Response:
    began, may_read = time.monotonic(), visit.may(Right.REVIEW, found.user_id)
    tried = await tried_settings(visit, found)
    left = began + PATIENCE_S - time.monotonic()
    shown, hidden = await _examples(visit, found, tried, left, revealed=revealed)
    await _log(visit, found, shown, revealed=revealed)
    return visit.render(
        "learn/backtest.html",
        account=found.user_id,
        tab="learn",
        backtest=found,
        settings=tuple(zip(setting_titles(found.changes), found.changes.values(), strict=True)),
        groups=shown_counts(found),
        meanings=MEANINGS,
        waits=int(found.counts.get("waits", 0)),
        usd=float(found.counts.get("usd", 0.0)),
        tried=tried,
        may_read=may_read,
        sections=[
            (title, [each for each in shown if each.group == group])
            for group, title in TITLES.items()
            if any(each.group == group for each in shown)
        ],
        hidden=hidden,
        not_made=NOT_MADE,
        titles=TITLES,
    )


async def tried_settings(visit: Visit, found: Backtest) -> TriedSettings:
    """The settings of a backtest as this release has them."""
    try:
        base = await base_account(visit.store.pool, found.user_id, found.base_version)
    except AccountRejected:
        problem = _("Version %(version)s of the settings, which the changes were made from, is gone.")
        return TriedSettings(problem=problem % {"version": found.base_version})
    try:
        async with asyncio.timeout(PATIENCE_S):
            account = await asyncio.to_thread(checked_account, base, found.changes)
    except AccountRejected as rejected:
        return TriedSettings(problem=str(rejected)[:1000])
    except TimeoutError:
        return TriedSettings(problem=_("Checking these rules takes too long for a page."))
    return TriedSettings(account=account, change=difference(base, account))


async def _backtest_of_path(visit: Visit) -> Backtest:
    """The backtest in the page's address; 404 for one of another account."""
    missing = Refused(404, _("No such backtest"), _("Choose a backtest of this account."))
    found = await get_backtest(visit.store.pool, visit.path_id("backtest_id", missing))
    if found is None or found.user_id != account_of_path(visit):
        raise missing
    return found


async def _examples(
    visit: Visit, found: Backtest, tried: TriedSettings, most_s: float, *, revealed: UUID | None
) -> tuple[list[ShownExample], int]:
    """The examples, and how many are left out because the person reviews them without seeing the ending."""
    async with visit.store.reading() as connection:
        hidden = await queue_items.hidden_decisions(connection, visit.person.person_id)
    seen = [each for each in found.examples if UUID(each["decision_id"]) not in hidden]
    left_out = len(found.examples) - len(seen)
    if not visit.may(Right.REVIEW, found.user_id):
        return [_listed(each) for each in seen], left_out
    shown = replace(found, examples=seen)
    made = await examples_with(visit.store.pool, shown, tried.account, most_s=max(0.0, most_s))
    by_id = {each.decision_id: each for each in made}
    rows: Mapping[UUID, Row] = {}
    if made:
        times = {each.decision_id: each.decided_at for each in made}
        async with visit.store.reading() as connection:
            rows = await shown_decisions(connection, times)
    return [_read(visit, _listed(each), by_id, rows, revealed) for each in seen], left_out


def _listed(example: Mapping[str, str]) -> ShownExample:
    decision_id = UUID(example["decision_id"])
    return ShownExample(
        decision_id=decision_id,
        decided_at=uuid_time_bounds(decision_id)[0],
        group=example["group"],
        before=example["before"],
        after=example["after"],
    )


def _read(
    visit: Visit,
    listed: ShownExample,
    made: Mapping[UUID, BacktestExample],
    rows: Mapping[UUID, Row],
    revealed: UUID | None,
) -> ShownExample:
    """An example with its texts."""
    texts, row = made.get(listed.decision_id), rows.get(listed.decision_id)
    if texts is None:
        return listed
    cover: set[str] = set()
    if listed.decision_id != revealed:
        covered = visit.person.covered
        cover |= set(cover_reason(covered, row)) if row else set()
        cover |= set(cover_reason(covered, {"matched_rule": texts.rule_now}))
    return replace(
        listed,
        after=texts.after or listed.after,
        texts=texts,
        message=texts.message or (row["message_text"] if row else None) or None,
        cover=tuple(sorted(cover)),
    )


async def _log(
    visit: Visit, found: Backtest, shown: Sequence[ShownExample], *, revealed: UUID | None
) -> None:
    """Who read how many decisions of the backtest; for people who read no texts, its figures."""
    read = sum(each.texts is not None and not each.cover for each in shown)
    detail = {"backtest": str(found.backtest_id), "decisions": read}
    action = LoggedAction.REVEAL if read else LoggedAction.FIGURES
    await visit.log(action, user_id=found.user_id, decision_id=revealed, detail=detail)
