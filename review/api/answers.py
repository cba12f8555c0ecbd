"""What waits for people, held drafts, and answers, as JSON."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from starlette.responses import Response
from uuid_utils.compat import uuid7

from db.access_log import LoggedAction
from db.answers import held, records, waiting
from db.answers.answering import load_answering
from db.answers.records import Answer
from db.answers.sending import AnswerConflict, MessageGone
from db.answers.waiting import WaitingItem
from db.audit.decision_context import DecisionRow
from db.escalations.listing import EscalationFilters, EscalationState, list_escalations
from db.reviews import queue_items
from review.access import Right
from review.answers.answerable import DraftTooOld, GivenAnswer, is_answerable
from review.answers.checks import AnswerBlocked, ModerationAway
from review.answers.sending import send_answer
from review.api.answer_shapes import AnswerBody
from review.api.body import json_answer, read_body
from review.api.decisions import read_place
from review.content_covers import cover_reason
from review.decision import page
from review.http.parameters import ACCOUNT, Parameter
from review.http.visit import Refused, Visit
from review.typed.kinds import one_of
from worker.errors import RejectedError
from worker.snapshot import Snapshot

RETRY_S: Final = 10


async def list_waiting(visit: Visit) -> Response:
    """``{"waiting": [...], "next": cursor}``: the oldest first.

    Parameters are ``account``, ``cursor`` and ``limit``.
    """
    place = read_place(visit, Right.REVIEW)
    accounts, limit, after = place.accounts, place.limit, _parse_cursor(visit.query["cursor"])
    async with visit.store.autocommit() as connection:
        found = await waiting.list_waiting(connection, accounts, now=visit.now, limit=limit + 1, after=after)
    shown = found[:limit]
    detail = {"waiting": len(shown), "api": True}
    await visit.log(LoggedAction.LIST, user_id=place.account, detail=detail)
    following = _cursor(shown[-1]) if len(found) > limit else None
    return json_answer({"waiting": shown, "next": following})


async def list_drafts(visit: Visit) -> Response:
    """The texts of the AI that a decision did not send, with passages; and what people answered."""
    async with visit.store.autocommit() as connection:
        decision = await page.visible_decision_of_path(visit, connection)
        row = decision.row
        visit.require(Right.REVIEW, row["user_id"])
        stored = await load_answering(connection, row, visit.now, may_read=True)
    found = stored.held
    answers, since = ((), None) if decision.blind else (stored.answers, stored.since)
    detail = {"drafts": found.count, "api": True}
    await visit.log(LoggedAction.READ, user_id=row["user_id"], decision_id=row["id"], detail=detail)
    drafts = [asdict(each) for each in found.texts]
    return json_answer(
        {
            "decision_id": row["id"],
            "answerable": is_answerable(row),
            "covered": cover_reason(visit.person.covered, row, Snapshot.from_json(row["snapshot_json"])),
            "since": since,
            "drafts": [{"id": each.pop("held_id")} | each for each in drafts],
            "answers": [_answer_dict(each) for each in answers],
        }
    )


async def add_answer(visit: Visit) -> Response:
    """Send a person's answer: 201 with it, 200 when the same request was stored before.

    Raises:
        Refused: 409 a newer answer or a draft that is too old, 410 the message was deleted, 422 a field, a
            rule or moderation stops it, or the person holds the decision in a queue, 503 moderation gave no
            result.
    """
    row = await page.load_row(visit)
    visit.require(Right.REVIEW, row["user_id"])
    body = await read_body(visit, AnswerBody)
    given = GivenAnswer(
        action=body.action,
        answer_id=body.answer_id or uuid7(),
        held_id=body.draft or await _first_draft(visit, row["id"]),
        text=body.text,
        seen=body.seen,
        release=body.release,
    )
    try:
        is_new = await _sent(visit, row, given)
    except AnswerConflict as conflict:
        return _conflict(conflict, body)
    async with visit.store.autocommit() as connection:
        stored = await records.list_answers(connection, row["id"])
    answer = next(each for each in stored if each.answer_id == given.answer_id)
    return json_answer({"answer": _answer_dict(answer)}, status=201 if is_new else 200)


async def _sent(visit: Visit, row: DecisionRow, given: GivenAnswer) -> bool:
    """Send the answer; False when it was sent before. Errors but a conflict become ``Refused``."""
    try:
        return await send_answer(visit, row, given)
    except AnswerConflict:
        raise
    except DraftTooOld as old:
        raise Refused(409, "The draft cannot be sent", str(old)) from old
    except MessageGone as gone:
        raise Refused(410, "The message was deleted", str(gone)) from gone
    except ModerationAway as away:
        raise Refused(503, "Moderation gave no result", str(away), retry_after_s=RETRY_S) from away
    except RejectedError as rejected:
        title = "A rule or moderation stops it" if isinstance(rejected, AnswerBlocked) else "Cannot be used"
        raise Refused(422, title, str(rejected)) from rejected


async def _first_draft(visit: Visit, decision_id: UUID) -> int | None:
    async with visit.store.autocommit() as connection:
        found = await held.load_held(connection, decision_id, visit.now)
    return found.texts[0].held_id if found.texts else None


def _conflict(conflict: AnswerConflict, body: AnswerBody) -> Response:
    """Both versions: what is stored, and what was not sent."""
    problem = {
        "title": "Another answer was stored first",
        "status": 409,
        "detail": str(conflict),
        "answers": [_answer_dict(each) for each in conflict.answers],
        "yours": asdict(body),
    }
    return json_answer(problem, status=409, media_type="application/problem+json")


def _answer_dict(answer: Answer) -> dict[str, Any]:
    found = asdict(answer)
    del found["person_id"], found["checks"]
    return {"id": found.pop("answer_id")} | found


def _cursor(item: WaitingItem) -> str:
    return f"{item.since.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}~{item.decision_id}"


def _parse_cursor(text: str | None) -> tuple[datetime, UUID] | None:
    if text is None:
        return None
    at, _tilde, decision_id = text.partition("~")
    return datetime.fromisoformat(at), UUID(decision_id)


ALL: Final = "all"
FILTERS: Final = (
    ACCOUNT,
    Parameter(
        name="state", text="State", kind=one_of(*EscalationState, ALL), default=EscalationState.OPEN.value
    ),
    Parameter(name="queue", text="One queue; empty for escalations without one"),
    Parameter(name="reason", text="One reason code"),
    Parameter(name="conversation", text="One conversation"),
)


async def list_open(visit: Visit) -> Response:
    """``{"escalations": [...], "next": cursor}``, oldest first; parameters are ``FILTERS``, cursor and limit.

    A closed escalation of a decision that the person reads blind is left out: its end may be a ruling.
    """
    query = visit.query
    place = read_place(visit, Right.VIEW)
    filters = EscalationFilters(
        accounts=place.accounts,
        state=None if query["state"] == ALL else EscalationState(query["state"]),
        queue=query["queue"],
        reason_code=query["reason"],
        conversation_id=query["conversation"],
    )
    found = await list_escalations(visit.store.pool, filters, limit=place.limit, after=place.after)
    async with visit.store.reading() as connection:
        hidden = await queue_items.hidden_decisions(connection, visit.person.person_id)
    shown = [each for each in found if each.closed_at is None or each.decision_id not in hidden]
    detail = {"escalations": len(shown), "api": True}
    await visit.log(LoggedAction.LIST, user_id=place.account, detail=detail)
    body: dict[str, Any] = {
        "escalations": [asdict(each) | {"state": each.state.value} for each in shown],
        "next": found[-1].decision_id if len(found) == place.limit else None,
    }
    return json_answer(body)
