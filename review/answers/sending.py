"""Sending a person's answer: resolved, tested by rules and moderation, stored with what follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from db.access_log import LoggedAction
from db.account_settings import accounts
from db.answers import held, sending
from db.answers.held import HeldText
from db.answers.records import OF_THE_MODEL
from db.answers.sending import AnsweredMessage, NewAnswer
from db.audit.decision_context import DecisionRow
from db.model_servers.stored import with_stored_servers
from db.reviews import queue_items
from review.access import Right
from review.answers.answerable import AnswerRejected, GivenAnswer, ResolvedAnswer, is_answerable, resolve
from review.answers.checks import check_text
from review.http.visit import Visit
from review.languages import gettext as _
from worker.answer_check import CheckedAnswer
from worker.assessment import text_for_author
from worker.conversation_endings import idle_end
from worker.model import Account, Event, Scope
from worker.reasons import HELD
from worker.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sent:
    """What is sent, by which settings, with which result of the guards; None: nothing is sent."""

    answer: ResolvedAnswer
    account: Account
    checked: CheckedAnswer | None


async def send_answer(visit: Visit, row: DecisionRow, given: GivenAnswer) -> bool:
    """Send or dismiss; False when the same form was stored before.

    Raises:
        AnswerRejected: a field is invalid, rules or moderation stop the text, or the person holds the
            decision in a queue: a conflict would show the answers of others.
        DraftTooOld: the text of the AI is gone, or too old to be approved.
        ModerationAway: moderation gave no result.
        AnswerConflict: another person answered meanwhile.
        MessageGone: the author deleted the message.
        Refused: 403 or 404, the person has no right.
    """
    visit.require(Right.REVIEW, row["user_id"])
    if not is_answerable(row):
        text = _("This decision needs no answer of a person: %(got)s.")
        raise AnswerRejected(text % {"got": row["reason_code"]})
    pool, user_id = visit.store.pool, row["user_id"]
    async with visit.store.autocommit() as connection:
        if row["id"] in await queue_items.hidden_decisions(connection, visit.person.person_id):
            raise AnswerRejected(_("You hold this decision in a queue. Review it first, then answer."))
        texts = (await held.load_held(connection, row["id"], visit.now)).texts
    answer = resolve(given, texts, approvable=_approvable(visit, row, texts))
    account = await accounts.current_account(pool, user_id)
    checked = None
    if answer.text is not None:
        settings = await with_stored_servers(visit.site.settings, pool)
        checked = await check_text(settings, account, _event(visit, row), answer.text)
    new = _new_answer(visit, row, given, _Sent(answer=answer, account=account, checked=checked))
    detail = {"outcome": answer.outcome, "answer": str(given.answer_id), "released": given.release}
    entry = visit.entry(LoggedAction.ANSWER, user_id=user_id, decision_id=row["id"], detail=detail)
    return await sending.store_answer(pool, new, visit.site.now(), logged=entry)


def _approvable(visit: Visit, row: DecisionRow, texts: tuple[HeldText, ...]) -> tuple[HeldText, ...]:
    """An escalation waits for people however old it is; a suggestion does not."""
    if row["reason_code"] not in HELD:
        return texts
    return tuple(each for each in texts if not each.too_late(visit.now))


def _new_answer(visit: Visit, row: DecisionRow, given: GivenAnswer, sent: _Sent) -> NewAnswer:
    answer, account = sent.answer, sent.account
    return NewAnswer(
        answer_id=given.answer_id,
        message=AnsweredMessage(
            decision_id=row["id"],
            decided_at=row["created_at"],
            user_id=row["user_id"],
            conversation_id=row["conversation_id"],
            message_id=row["message_id"],
            scope=row["scope"],
        ),
        seen=given.seen,
        outcome=answer.outcome,
        text=answer.text,
        held=answer.held,
        person_id=visit.person.person_id,
        person=visit.person.login,
        release=given.release,
        people_until=idle_end(account, visit.now),
        rules_version=account.version,
        checks=_record(sent.checked) if sent.checked else {},
        disclosure=_disclosure(row, answer, account),
    )


def _disclosure(row: DecisionRow, answer: ResolvedAnswer, account: Account) -> str | None:
    """The account's AI disclosure in the author's language; None when no model wrote the text."""
    if answer.outcome not in OF_THE_MODEL or answer.held is None or answer.held.draft is None:
        return None
    return text_for_author(
        account.disclosure_texts,
        row["message_text"],
        published=Snapshot.from_json(row["snapshot_json"]).language,
        languages=account.languages,
        reply=answer.text or "",
    )


def _record(checked: CheckedAnswer) -> dict[str, Any]:
    """What the audit keeps of the check: stages with their outcome and scores, and the models."""
    stages = {
        stage.stage.value: {"outcome": stage.outcome.value, **stage.detail} for stage in checked.trace.stages
    }
    return {"stages": stages, "models": dict(checked.trace.models)}


def _event(visit: Visit, row: DecisionRow) -> Event:
    """The answered message as the guards see it; the audit has its first characters."""
    return Event(
        event_id=row["event_id"],
        entry_id="0-0",
        user_id=row["user_id"],
        scope=Scope(row["scope"]),
        conversation_id=row["conversation_id"],
        message_id=row["message_id"],
        author_id=row["author_id"],
        text=row["message_text"],
        created_at=row["created_at"],
        received_at=visit.now,
    )
