"""The escalation policy of an account: what is handed to people, to which queue, and with which text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from worker.assessment import text_for_author
from worker.business_hours import in_business_hours
from worker.endings import Ending
from worker.model import (
    Account,
    ConversationState,
    DecisionKind,
    Escalation,
    EscalationAction,
    Event,
    EventType,
    Owner,
    ReplyMode,
)
from worker.reasons import Reason, ReasonFamily

MAY_ESCALATE: Final = frozenset(
    {
        ReasonFamily.BLOCKED,
        ReasonFamily.MODERATION_FAILED,
        ReasonFamily.MODEL_FAILED,
        ReasonFamily.NOT_TRUSTED,
    }
)
"""Families of silent endings that an account may hand to people instead."""
LABEL: Final = "label:"
ANY: Final = "*"


def checked_actions(actions: dict[str, EscalationAction]) -> dict[str, EscalationAction]:
    """The actions; raises ``ValueError`` for a key that is no reason with a choice, and no matched rule."""
    for key in actions:
        if ":" in key:
            continue
        reason = Reason(key) if key in Reason.__members__ else None
        if reason is None or not _is_choice(reason):
            choices = ", ".join(each for each in Reason if _is_choice(each))
            raise ValueError(f"expected matched rules such as flagged_keyword:lawyer, or of {choices}")
    return actions


def checked_sent_reason(code: str) -> str:
    """The code; raises ``ValueError`` unless a reply or a handoff text may follow such an ending."""
    spoken = [each for each in Reason if each.spec.decision is DecisionKind.RESPOND or _is_choice(each)]
    if code not in spoken:
        raise ValueError(f"expected one of {', '.join(spoken)}")
    return code


def checked_queues(queues: dict[str, str]) -> dict[str, str]:
    """The queues; raises ``ValueError`` for a key that can never match."""
    for key in queues:
        if key != ANY and ":" not in key and key not in Reason.__members__:
            raise ValueError(
                "expected reason codes, matched rules such as flagged_keyword:lawyer, labels such as"
                " label:language=de, or *"
            )
    return queues


def _is_choice(reason: Reason) -> bool:
    return reason.spec.decision is DecisionKind.ESCALATE or reason.spec.family in MAY_ESCALATE


def decision_kind(
    event: Event, account: Account, conversation: ConversationState, ending: Ending
) -> DecisionKind:
    """What happens with the event: as its reason says, unless the account wants otherwise.

    While people own the conversation nothing more is handed to them.
    """
    reason = ending.reason_code
    if not _is_choice(reason):
        return reason.spec.decision
    wanted = account.escalation_actions.get(ending.matched_rule or "") or account.escalation_actions.get(
        reason
    )
    if wanted is None:
        return reason.spec.decision
    if wanted == EscalationAction.SILENCE:
        return DecisionKind.IGNORE
    if event.type is not EventType.MESSAGE or conversation.owner is Owner.PEOPLE:
        return reason.spec.decision
    return DecisionKind.ESCALATE


def escalation_for(
    event: Event, account: Account, kind: DecisionKind, ending: Ending, now: datetime
) -> Escalation | None:
    """What a decision hands to people, or None.

    A message while people own the conversation is handed to them if nothing else of it waits; the author
    had the text at the handoff before.
    """
    if kind is DecisionKind.ESCALATE:
        return escalation_of(event, account, ending, now)
    if ending.reason_code is Reason.OWNED_BY_PEOPLE:
        return Escalation(queue=_queue(event, account, ending), in_hours=in_business_hours(account, now))
    return None


def escalation_of(event: Event, account: Account, ending: Ending, now: datetime) -> Escalation:
    """The handoff of a decision that escalates.

    The author of a flagged exchange gets no text, and its draft stays sealed. Where replies wait for approval
    the text is sent only for reasons that need none.
    """
    in_hours = in_business_hours(account, now)
    sent_at_once = account.reply_mode is ReplyMode.AUTO or ending.reason_code in account.auto_reasons
    tells = sent_at_once and not ending.quarantine
    return Escalation(
        queue=_queue(event, account, ending),
        in_hours=in_hours,
        handoff_text=_handoff_text(event, account, ending, in_hours=in_hours) if tells else None,
        draft=None if ending.quarantine else ending.draft.reply or None,
    )


def _queue(event: Event, account: Account, ending: Ending) -> str:
    """The queue of the first key that the account has."""
    return next(filter(None, map(account.escalation_queues.get, _queue_keys(event, ending))), "")


def _queue_keys(event: Event, ending: Ending) -> Iterator[str]:
    """From the most to the least specific: matched rule, labels, reason, any."""
    if ending.matched_rule:
        yield ending.matched_rule
    labels = event.metadata.get("labels")
    if isinstance(labels, dict):
        yield from (f"{LABEL}{name}={value}" for name, value in labels.items())
    yield ending.reason_code
    yield ANY


def _handoff_text(event: Event, account: Account, ending: Ending, *, in_hours: bool) -> str | None:
    """The account's text in the author's language, else in English, else any; None without texts."""
    texts = account.handoff_texts if in_hours else account.handoff_texts_closed or account.handoff_texts
    known, before = account.languages, ending.draft.said_before
    return text_for_author(texts, event.text, published=event.language, languages=known, earlier=before)
