"""The home of a shop owner: what was answered, what was held, what waits, and what it cost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from starlette.responses import Response

from db.access_log import LoggedAction
from db.account_settings import accounts
from db.answers import waiting
from db.answers.answering import load_several
from db.answers.sending import AnswerConflict, MessageGone
from db.answers.waiting import WaitingItem
from db.audit import decision_context
from db.audit.decision_context import DecisionRow
from db.audit.search import TooSlow
from db.audit.suggestions import Suggestion
from db.connection import Connection
from db.costs.report import Spender, load_spenders
from db.figures import dashboard
from db.figures.dashboard import DashboardFigures
from db.figures.reach import FigureFilter, FigureRow
from db.people.records import EVERY_ACCOUNT, Person, Role
from db.reviews import queue_items
from db.rows import Row
from review.access import Right
from review.accounts.stored_versions import account_of_path
from review.accounts.suggestions_page import load_visible_suggestions, parse_suggestion_range
from review.answers.answerable import AnswerAction, AnswerRejected, DraftTooOld
from review.answers.checks import ModerationAway
from review.answers.panel import AnswerPanel, answer_panel
from review.answers.sending import send_answer
from review.content_covers import cover_reason
from review.decision import page
from review.escalations.pages import parse_answer_form
from review.first_run.checklist import FirstStep, load_account_checklist
from review.http.visit import Visit
from review.languages import gettext as _
from review.languages.reader import midnight
from review.owner.answered_page import DAYS, visible_replies, with_covers
from review.owner.held_reasons import held_groups, replies_counted
from worker.cancellation import cancel_all
from worker.snapshot import Snapshot

DAY: Final = timedelta(days=1)
SHOWN_REPLIES: Final = 5
SHOWN_WAITING: Final = 6
MOST_WAITING: Final = 100
"""Items that wait are counted up to this number."""
SHOWN_TOPICS: Final = 5
TOPIC_DECISIONS: Final = 300
"""Newest decisions whose topics are counted; the page of suggestions counts more."""
PATIENCE_S: Final = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingCard:
    """A message that waits, with the AI's text to approve.

    Attributes:
        covered: categories that the person chose to have covered; then no text is shown.
        problem: why the answer that the person just gave was not sent.
    """

    item: WaitingItem
    row: DecisionRow
    panel: AnswerPanel
    covered: tuple[str, ...]
    problem: str = ""


def owned_account(person: Person) -> str | None:
    """The account of a person whose only role is to own one."""
    grants = person.grants
    only = grants[0] if len(grants) == 1 else None
    if only is None or only.role is not Role.OWNER or only.user_id == EVERY_ACCOUNT:
        return None
    return only.user_id


async def open_account(visit: Visit) -> Response:
    """The address of an account without a page of it leads to its home."""
    return visit.redirect("owner_home", account=account_of_path(visit))


async def show_owner_home(visit: Visit) -> Response:
    """The page."""
    return await _page(visit, account_of_path(visit))


async def answer_from_home(visit: Visit) -> Response:
    """Approve, edit, write or dismiss, then show the home again."""
    user_id, row = account_of_path(visit), await page.load_row(visit)
    if row["user_id"] != user_id:
        raise page.NOT_FOUND
    visit.require(Right.REVIEW, user_id)
    problem, status = "", 200
    try:
        await send_answer(visit, row, parse_answer_form(visit))
    except AnswerConflict:
        problem, status = _("Another person answered meanwhile. Nothing was sent."), 409
    except MessageGone as gone:
        problem, status = str(gone), 410
    except DraftTooOld as old:
        problem, status = str(old), 409
    except ModerationAway as away:
        problem, status = str(away), 503
    except AnswerRejected as rejected:
        problem, status = str(rejected), 400
    if not problem:
        closed = "&closed=1" if visit.field("action") == AnswerAction.DISMISS else ""
        return visit.redirect("owner_home", f"answered={row['id']}{closed}#waiting", account=user_id)
    return await _page(visit, user_id, problem=problem, problem_of=row["id"], status=status)


async def _page(visit: Visit, user_id: str, *, status: int = 200, **problem: Any) -> Response:
    figures = asyncio.create_task(_figures(visit, user_id))
    suggested = asyncio.create_task(_topics(visit, user_id))
    sent = asyncio.create_task(_replies(visit, user_id))
    waits = asyncio.create_task(_waiting(visit, user_id))
    steps = asyncio.create_task(_steps(visit, user_id))
    settings = asyncio.create_task(accounts.current_account(visit.store.pool, user_id))
    cost = asyncio.create_task(_cost(visit, user_id))
    reads = (figures, suggested, sent, waits, steps, settings, cost)
    try:
        await asyncio.gather(*reads)
    finally:
        await cancel_all(reads)
    counted, replies, (waiting_cards, number) = figures.result(), sent.result(), waits.result()
    today = _today(visit.now)
    cards = [_with_problem(visit, each, **problem) for each in waiting_cards]
    shown = [str(row["id"]) for row in (*(replies or ()), *(each.row for each in cards))]
    drafts = sum(len(each.panel.held.texts) for each in cards)
    detail = {"page": "home", "decisions": shown, "drafts": drafts}
    await visit.log(LoggedAction.READ, user_id=user_id, detail=detail)
    return visit.render(
        "owner/home.html",
        status=status,
        account=user_id,
        tab="owner_home",
        steps=steps.result(),
        samples=None,
        settings=settings.result(),
        today=replies_counted(_since(counted.counts, today), _since(counted.answered, today)),
        week=replies_counted(counted.counts, counted.answered),
        decided=sum(row["events"] for row in counted.counts),
        groups=held_groups(counted.counts, counted.answered),
        replies=with_covers(visit, replies),
        cards=cards,
        waits=number,
        most_waiting=MOST_WAITING,
        topics=suggested.result(),
        cost=cost.result(),
        answered=visit.query_id("answered"),
        closed="closed" in visit.request.query_params,
        **{"problem": "", "problem_of": None} | problem,
    )


async def _replies(visit: Visit, user_id: str) -> tuple[Row, ...] | None:
    """The newest that were sent; None: they could not be read in time."""
    async with visit.store.reading() as connection:
        return await visible_replies(visit, connection, user_id, SHOWN_REPLIES)


async def _steps(visit: Visit, user_id: str) -> tuple[FirstStep, ...]:
    """The first steps of the account; empty when all are done, or hidden."""
    async with visit.store.reading() as connection:
        return await load_account_checklist(visit, connection, user_id)


async def _topics(visit: Visit, user_id: str) -> tuple[Suggestion, ...] | None:
    """Topics of the newest questions without an answer; None: they could not be read in time."""
    try:
        chosen = parse_suggestion_range(visit, {})
        found = await load_visible_suggestions(
            visit, user_id, chosen, examples=0, most=TOPIC_DECISIONS, patience_s=PATIENCE_S
        )
    except TooSlow:
        return None
    return tuple(each for each in found.topics if each.unanswered)[:SHOWN_TOPICS]


async def _figures(visit: Visit, user_id: str) -> DashboardFigures:
    """Counted decisions of seven days in the reader's time zone."""
    filters = FigureFilter(
        accounts=visit.accounts(Right.VIEW),
        account=user_id,
        scope=None,
        since=_today(visit.now) - (DAYS - 1) * DAY,
        until=visit.now,
        step=DAY,
        back=timedelta(),
    )
    return await visit.store.read_lists(
        lambda replica: dashboard.load_totals(replica, filters, now=visit.now)
    )


def _today(now: datetime) -> datetime:
    """The reader's midnight; decisions are counted by whole hours, UTC."""
    return midnight(now).replace(minute=0)


def _since(rows: tuple[FigureRow, ...], step: datetime) -> list[FigureRow]:
    return [row for row in rows if row["step"] >= step]


async def _waiting(visit: Visit, user_id: str) -> tuple[list[WaitingCard], int]:
    """The oldest messages that wait, and the number of all; none for people who may not answer."""
    if not visit.may(Right.REVIEW, user_id):
        return [], 0
    async with visit.store.reading() as connection:
        hidden = await queue_items.hidden_decisions(connection, visit.person.person_id)
        found = await waiting.list_waiting(connection, (user_id,), now=visit.now, limit=MOST_WAITING)
        shown = [each for each in found if each.decision_id not in hidden][:SHOWN_WAITING]
        return await _cards(visit, connection, shown), len(found)


async def _cards(visit: Visit, connection: Connection, shown: Sequence[WaitingItem]) -> list[WaitingCard]:
    items = {each.decision_id: each for each in shown}
    rows = await decision_context.get_decisions(connection, tuple(items))
    covers = [
        cover_reason(visit.person.covered, row, Snapshot.from_json(row["snapshot_json"])) for row in rows
    ]
    asked = [(row, not covered) for row, covered in zip(rows, covers, strict=True)]
    texts = await load_several(connection, asked, visit.now)
    return [
        WaitingCard(item=items[row["id"]], row=row, panel=answer_panel(visit, row, found), covered=covered)
        for row, found, covered in zip(rows, texts, covers, strict=True)
    ]


def _with_problem(visit: Visit, card: WaitingCard, **problem: Any) -> WaitingCard:
    """The card whose answer was not sent, with the reason and the typed text."""
    if not problem or card.row["id"] != problem["problem_of"]:
        return card
    typed = replace(card.panel, typed=visit.field("text"))
    return replace(card, problem=problem["problem"], panel=typed)


async def _cost(visit: Visit, user_id: str) -> Spender | None:
    """What the account spent; None when it spent nothing this month."""
    day = visit.now.astimezone(UTC).date()
    found = await load_spenders(visit.store.pool, (user_id,), day, limit=1)
    return found[0] if found else None
