"""What waits for an answer, held drafts, and answers of people, as JSON."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import Response
from uuid_utils.compat import uuid7

from db.access_log import LoggedAction
from db.answers import held, records, waiting
from db.answers.answering import load_answering
from db.answers.records import Answer
from db.answers.sending import AnswerConflict, MessageGone
from db.answers.waiting import WaitingItem
from db.audit.decision_context import DecisionRow
from review.access import Right
from review.answers.answerable import AnswerAction, DraftTooOld, GivenAnswer, is_answerable
from review.answers.checks import AnswerBlocked, ModerationAway
from review.answers.sending import send_answer
from review.api.decisions import DEFAULT_LIMIT, parse_limit
from review.content_covers import cover_reason
from review.decision import page
from review.http.field_problems import FieldProblem
from review.http.visit import Refused, Visit
from worker.errors import RejectedError
from worker.snapshot import Snapshot

RETRY_S: Final = 10


class AnswerBody(BaseModel):
    """The answer to a decision's message."""

    model_config = ConfigDict(extra="forbid")

    action: Annotated[
        AnswerAction,
        Field(
            description="Send a held draft as it is, send a changed one, send an own text, or send nothing."
        ),
    ]
    draft: Annotated[
        int | None, Field(description="For approve and edit: `id` of the held draft; by default the first.")
    ] = None
    text: Annotated[str, Field(description="For edit and write: the text to send.")] = ""
    seen: Annotated[
        UUID | None, Field(description="The newest answer that the program knows; null: none.")
    ] = None
    answer_id: Annotated[
        UUID | None, Field(description="A new UUID; a request that is repeated with it is stored once.")
    ] = None
    release: Annotated[bool, Field(description="Give the conversation back to the AI as well.")] = False


async def list_waiting(visit: Visit) -> Response:
    """``{"waiting": [...], "next": cursor}``: the oldest first.

    Parameters are ``account``, ``cursor`` and ``limit`` (1 to 500, default 50).
    """
    parameters = visit.request.query_params
    account, limit = parameters.get("account"), parse_limit(parameters.get("limit", str(DEFAULT_LIMIT)))
    accounts = visit.accounts(Right.REVIEW)
    if account:
        visit.require(Right.REVIEW, account)
        accounts = (account,)
    after = _parse_cursor(parameters.get("cursor"))
    async with visit.store.autocommit() as connection:
        found = await waiting.list_waiting(connection, accounts, now=visit.now, limit=limit + 1, after=after)
    shown = found[:limit]
    detail = {"waiting": len(shown), "api": True}
    await visit.log(LoggedAction.LIST, user_id=account or None, detail=detail)
    following = _cursor(shown[-1]) if len(found) > limit else None
    return _json({"waiting": [asdict(each) for each in shown], "next": following})


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
    return _json(
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
    body = await _body(visit)
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
    return _json({"answer": _answer_dict(answer)}, status=201 if is_new else 200)


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


async def _body(visit: Visit) -> AnswerBody:
    """The body of the request.

    Raises:
        Refused: 415 it is not JSON, 422 a field is wrong.
    """
    kind = visit.request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(415, "Not JSON", f"Content-Type: expected application/json, got {kind[:60]!r}")
    try:
        return AnswerBody.model_validate_json(await visit.request.body())
    except ValidationError as error:
        problems = [
            FieldProblem(
                field=".".join(map(str, each["loc"])) or "data",
                expected=each["msg"],
                got=repr(each["input"])[:80],
            )
            for each in error.errors(include_url=False)
        ]
        text = "; ".join(map(str, problems))
        raise Refused(422, "A field cannot be used", text, problems=problems) from error


def _conflict(conflict: AnswerConflict, body: AnswerBody) -> Response:
    """Both versions: what is stored, and what was not sent."""
    problem = {
        "title": "Another answer was stored first",
        "status": 409,
        "detail": str(conflict),
        "answers": [_answer_dict(each) for each in conflict.answers],
        "yours": body.model_dump(mode="json"),
    }
    return _json(problem, status=409, media_type="application/problem+json")


def _answer_dict(answer: Answer) -> dict[str, Any]:
    found = asdict(answer)
    del found["person_id"], found["checks"]
    return {"id": found.pop("answer_id")} | found


def _cursor(item: WaitingItem) -> str:
    text = f"{item.since.isoformat()} {item.decision_id}"
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _parse_cursor(text: str | None) -> tuple[datetime, UUID] | None:
    if not text:
        return None
    try:
        moment, _, decision_id = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode().partition(" ")
        return datetime.fromisoformat(moment), UUID(decision_id)
    except (ValueError, binascii.Error) as error:
        raise Refused(400, "The cursor cannot be used", "cursor: expected one of an earlier page") from error


def _json(body: Mapping[str, Any], *, status: int = 200, media_type: str = "application/json") -> Response:
    return Response(orjson.dumps(body, option=orjson.OPT_UTC_Z), status_code=status, media_type=media_type)
