"""The inbox of messages that wait for a person: a list, and one message after the other to answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import Response

from db.access_log import LoggedAction
from db.answers import waiting
from db.answers.waiting import WaitingItem, WaitingText
from db.audit.decision_context import DecisionRow
from db.connection import Connection
from db.reviews import queue_items
from review.access import Right
from review.accounts.stored_versions import account_of_path
from review.answers.answerable import AnswerAction
from review.content_covers import cover_reason
from review.decision import page
from review.escalations.pages import AnswerPlace, submit_at
from review.http.visit import Visit
from review.queues.review_pages import redirect_to_next

SHOWN: Final = 100
"""Rows of the list."""
COUNTED: Final = 1000
"""What waits is counted up to this number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRow:
    """One row of the list; ``text`` None: the decision was erased meanwhile.

    Attributes:
        covered: categories that the person chose to have covered; then no text is shown.
    """

    item: WaitingItem
    text: WaitingText | None
    covered: tuple[str, ...]


async def list_waiting(visit: Visit) -> Response:
    """What waits for an answer on every account of the person, the oldest first."""
    return await _list(visit, visit.accounts(Right.REVIEW))


async def list_account_waiting(visit: Visit) -> Response:
    """What waits for an answer on one account."""
    account = account_of_path(visit)
    return await _list(visit, (account,), account=account, tab="account_waiting")


async def _list(
    visit: Visit, accounts: tuple[str, ...] | None, *, account: str | None = None, tab: str = ""
) -> Response:
    async with visit.store.autocommit() as connection:
        items, count = await waiting.first_waiting(
            connection, accounts, now=visit.now, first=SHOWN, most=COUNTED
        )
        texts = await waiting.load_texts(connection, items, visit.now)
    rows = [_row(visit, each, texts.get(each.decision_id)) for each in items]
    drafts = sum(1 for each in rows if each.text and each.text.draft and not each.covered)
    detail = {"waiting": len(items), "drafts": drafts}
    await visit.log(LoggedAction.LIST, user_id=account, detail=detail)
    return visit.render(
        "answers/waiting.html",
        rows=rows,
        count=count,
        counted=COUNTED,
        answered=visit.query_id("answered"),
        closed="closed" in visit.request.query_params,
        account=account,
        tab=tab,
    )


def _row(visit: Visit, item: WaitingItem, text: WaitingText | None) -> WaitingRow:
    covered = cover_reason(visit.person.covered, text.row) if text else ()
    return WaitingRow(item=item, text=text, covered=covered)


async def show_case(visit: Visit) -> Response:
    """One message with its draft and the form, the question always in view."""
    return visit.render("answers/case.html", **await load_case(visit, LoggedAction.READ))


async def answer_case(visit: Visit) -> Response:
    """Send a person's answer, then open the next message of the inbox."""
    return await submit_at(visit, CASE)


async def load_case(visit: Visit, action: LoggedAction) -> dict[str, Any]:
    """The values of the page's template; writes a line of the access log.

    Raises:
        Refused: 403 or 404, the person may not answer the message.
    """
    values = await page.load_page(visit, action, inline_panels=False)
    row = values["row"]
    visit.require(Right.REVIEW, row["user_id"])
    async with visit.store.autocommit() as connection:
        following, number = await _following(visit, connection, row)
    return values | {
        "number": number,
        "counted": COUNTED,
        "following": following,
        "queue": visit.query_id("queue"),
        "answered": visit.query_id("answered"),
        "closed": "closed" in visit.request.query_params,
    }


async def _open_next(visit: Visit, row: DecisionRow) -> Response:
    if (queue_id := visit.query_id("queue")) is not None:
        return await redirect_to_next(visit, queue_id, ruled_on=row["id"])
    async with visit.store.autocommit() as connection:
        following, _ = await _following(visit, connection, row)
    query = f"answered={row['id']}" + ("&closed=1" if visit.field("action") == AnswerAction.DISMISS else "")
    if following is None:
        return visit.redirect("escalations", query)
    return visit.redirect("escalation", query, decision_id=following.decision_id)


async def _following(
    visit: Visit, connection: Connection, row: DecisionRow
) -> tuple[WaitingItem | None, int]:
    """What has waited longest of what came after this message, else of all; None: nothing else waits.

    Also how much waits. A decision that the person holds in a queue is left out: they review it first.
    """
    accounts, here = visit.accounts(Right.REVIEW), (row["created_at"], row["id"])
    hidden = {row["id"]} | await queue_items.hidden_decisions(connection, visit.person.person_id)
    found, number = await waiting.next_waiting(
        connection, accounts, here, hidden=hidden, now=visit.now, most=COUNTED
    )
    if number == COUNTED and found is not None and (found.since, found.decision_id) < here:
        later = await waiting.list_waiting(
            connection, accounts, now=visit.now, limit=len(hidden) + 1, after=here
        )
        found = next((each for each in later if each.decision_id not in hidden), found)
    return found, number


CASE: Final = AnswerPlace(template="answers/case.html", load=load_case, stored=_open_next)
