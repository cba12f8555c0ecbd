"""Moderation of texts that passed while moderation was away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from worker import moderation
from worker.answer_check import AnswerPorts, answer_run
from worker.endings import MESSAGE, REPLY, GuardedText
from worker.model import Decision, EventType, FailurePolicy, MessageRole, Stage, StageRecord
from worker.steps import guards
from worker.steps.run import EventCase

SUBJECTS: Final[Mapping[MessageRole, GuardedText]] = {MessageRole.USER: MESSAGE, MessageRole.ASSISTANT: REPLY}


class LateResult(StrEnum):
    """What became of texts that passed without moderation.

    Attributes:
        CLEAR: moderation flags none.
        FLAGGED: moderation flags a text.
        REFUSED: moderation can never read a text.
        GONE: the texts are no longer stored, or the account has no moderator any more.
    """

    CLEAR = "clear"
    FLAGGED = "flagged"
    REFUSED = "refused"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class LateCheck:
    """The result with the rule of a flagged text."""

    result: LateResult
    matched_rule: str | None = None


def unmoderated_roles(decision: Decision) -> tuple[MessageRole, ...]:
    """Whose text entered the history or was sent without the result of a moderator; mostly empty."""
    if not decision.degraded or decision.quarantine:
        return ()
    missing = {each.stage for each in decision.stages if _lacks_result(each)}
    is_kept = decision.remember or decision.event.type is EventType.MESSAGE_EDITED
    found = []
    if Stage.MODERATION in missing and is_kept:
        found.append(MessageRole.USER)
    if Stage.MODERATION_REPLY in missing and decision.reply is not None:
        found.append(MessageRole.ASSISTANT)
    return tuple(found)


def _lacks_result(stage: StageRecord) -> bool:
    """Whether no moderator answered, or one of several did not."""
    moderators = stage.detail.get("moderators")
    records = moderators if isinstance(moderators, list) else []
    return stage.detail.get("moderated") is False or any(
        isinstance(each, dict) and each.get("outcome") == "no_result" for each in records
    )


async def check_late(
    texts: Mapping[MessageRole, str], case: EventCase, ports: AnswerPorts
) -> LateCheck | None:
    """What the account's moderators say of the texts now; None: a moderator gives no result yet."""
    account = moderation.with_failure(case.account, FailurePolicy.BLOCK)  # each must give a result, at once
    run = answer_run(replace(case, account=account), ports)
    refused = False
    for role, text in texts.items():
        subject = SUBJECTS[role]
        ending = await guards.moderation_ending(run, text, subject)
        if ending is None:
            continue
        if ending.reason_code is subject.flagged:
            return LateCheck(result=LateResult.FLAGGED, matched_rule=ending.matched_rule)
        if ending.reason_code is not subject.rejected:
            return None
        refused = True
    if refused:
        return LateCheck(result=LateResult.REFUSED)
    return LateCheck(result=LateResult.CLEAR if run.trace.stages else LateResult.GONE)
