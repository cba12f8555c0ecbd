"""The reply of a decision that was made again, sent once, if its message still waits for one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID, uuid5

from db.access_log import LogEntry
from db.account_settings.accounts import current_account
from db.answers.held import HeldText
from db.answers.records import AnswerOutcome
from db.answers.sending import (
    AnswerConflict,
    AnsweredMessage,
    ConversationMovedOn,
    MessageFlagged,
    MessageGone,
    NewAnswer,
    store_answer,
)
from db.pool import Pool
from trials.pure.replay.difference import DifferenceKind
from trials.store.candidates import checked_account
from trials.store.replaying import ReplayedDecision
from worker.assessment.policies.reply_metadata import text_metadata
from worker.model import Account, Decision, HeldKind
from worker.reasons import Reason
from worker.reply_sentences import supported_sentences
from worker.rules import CompiledRules, compile_account_rules
from worker.scope import closed_ending

NAMESPACE: Final = UUID("6f2c5a6e-3c8f-5d0f-9a2e-5b1c0d7e4a11")
"""Namespace of the ids of answers that replays send: one for each decision."""


class SendResult(StrEnum):
    """What became of the reply of a replay.

    Attributes:
        SENT: the reply is in the outbox.
        SENT_BEFORE: an earlier run sent it.
        NOT_RELEASED: the decision had a reply, or still has none.
        TOO_LATE: the message is older than the account answers.
        STOPPED: the settings in force, with the changes of the replay, let no AI answer or stop this text.
        ANSWERED: a person answered.
        MOVED_ON: people own the conversation, or it has newer messages.
        DELETED: the author deleted the message.
        FLAGGED: the author's edit was flagged.
    """

    SENT = "sent"
    SENT_BEFORE = "sent_before"
    NOT_RELEASED = "not_released"
    TOO_LATE = "too_late"
    STOPPED = "stopped"
    ANSWERED = "answered"
    MOVED_ON = "moved_on"
    DELETED = "deleted"
    FLAGGED = "flagged"


REFUSED: Final[Mapping[type[Exception], SendResult]] = {
    AnswerConflict: SendResult.ANSWERED,
    ConversationMovedOn: SendResult.MOVED_ON,
    MessageGone: SendResult.DELETED,
    MessageFlagged: SendResult.FLAGGED,
}


def is_released(made: ReplayedDecision) -> bool:
    """Whether a reply would go out that did not; that of a check is sent by its program alone."""
    if made.decision is not None and made.decision.event.check is not None:
        return False
    return made.difference is not None and made.difference.kind is DifferenceKind.NEWLY_RELEASED


@dataclass(slots=True, kw_only=True)
class ReplayDelivery:
    """Sends replies of decisions that were made again.

    The settings in force may be newer than those that decided: an account that switched the AI off, or added
    a rule, is obeyed. The changes that the replay tries count, or a removed rule would still stop its reply.

    Attributes:
        changes: settings that the replay changes, by name.
    """

    source: Pool
    changes: Mapping[str, Any] = field(default_factory=dict)
    _rules: dict[str, tuple[int, CompiledRules]] = field(default_factory=dict)

    async def send(
        self, made: ReplayedDecision, now: datetime, *, sent_by: str, logged: LogEntry
    ) -> SendResult:
        """Store the reply as an answer that a person approved unchanged; safe to repeat.

        Raises:
            StorageUnavailable: the outcome is unknown.
        """
        decision = made.decision
        if not is_released(made) or decision is None or decision.reply is None:
            return SendResult.NOT_RELEASED
        if decision.send_before is not None and decision.send_before < now:
            return SendResult.TOO_LATE
        if stopped := await self._stopped(decision, now):
            return stopped
        try:
            stored = await store_answer(
                self.source, _answer(made, decision, now, sent_by), now, logged=logged
            )
        except tuple(REFUSED) as refused:
            return REFUSED[type(refused)]
        return SendResult.SENT if stored else SendResult.SENT_BEFORE

    async def _stopped(self, decision: Decision, now: datetime) -> SendResult | None:
        event = decision.event
        account = checked_account(await current_account(self.source, event.user_id), self.changes)
        if ending := closed_ending(event, account, now):
            return SendResult.TOO_LATE if ending.reason_code is Reason.TOO_LATE else SendResult.STOPPED
        rules = await self._compiled(account)
        hit = any(rules.match(text) for text in (event.text, decision.reply or ""))
        return SendResult.STOPPED if hit else None

    async def _compiled(self, account: Account) -> CompiledRules:
        version, rules = self._rules.get(account.user_id, (None, None))
        if rules is None or version != account.version:
            rules = await asyncio.to_thread(compile_account_rules, account)
            self._rules[account.user_id] = (account.version, rules)
        return rules


def _answer(made: ReplayedDecision, decision: Decision, now: datetime, sent_by: str) -> NewAnswer:
    event = decision.event
    return NewAnswer(
        answer_id=uuid5(NAMESPACE, str(made.stored.decision_id)),
        message=AnsweredMessage(
            decision_id=made.stored.decision_id,
            decided_at=made.stored.created_at,
            user_id=event.user_id,
            conversation_id=event.conversation_id,
            message_id=event.message_id,
            scope=event.scope.value,
        ),
        seen=None,
        outcome=AnswerOutcome.UNCHANGED,
        text=decision.reply,
        held=_held(decision, now),
        person_id=None,
        person=sent_by,
        release=False,
        people_until=now,
        rules_version=decision.rules_version,
        checks=_checks(made),
        disclosure=decision.disclosure,
        only_if_last=True,
    )


def _held(decision: Decision, now: datetime) -> HeldText:
    model = decision.models.get("completion") if decision.draft is not None else None
    sentences = supported_sentences(
        decision.assessment, draft=decision.draft, sent=decision.reply or "", passages=decision.passages
    )
    return HeldText(
        held_id=None,
        kind=HeldKind.REPLY,
        text=decision.reply or "",
        draft=decision.draft,
        sources=[each.shape() for each in decision.sources],
        passages=[],
        confidence=decision.confidence,
        tier=None,
        metadata=text_metadata(decision.assessment, model) | {"sentences": sentences},
        send_before=decision.send_before,
        created_at=now,
        expires_at=now,
    )


def _checks(made: ReplayedDecision) -> dict[str, Any]:
    return {"replayed": True, "why": made.difference.why if made.difference else ""}
