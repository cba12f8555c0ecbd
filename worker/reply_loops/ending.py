"""The ending of a message from an automatic replier."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Final

from worker.endings import Ending, silent_ending
from worker.model import Account, Event, Message, MessageRole, WriterSign
from worker.reasons import Reason
from worker.reply_loops.automatic import is_automatic, is_declared

WINDOW: Final = timedelta(hours=1)
MOST_UNSURE: Final = 10
"""Replies to messages without a sign of a person: as many as the history holds."""


def loop_ending(
    event: Event, sign: WriterSign | None, history: Sequence[Message], account: Account, now: datetime
) -> Ending | None:
    """The ending of a message that the AI leaves unanswered because a machine wrote it, else None.

    The first one of an exchange is handed to people.
    """
    if not account.loop_replies or sign is WriterSign.HUMAN:
        return None
    since = [*takewhile(lambda line: line.sign is not WriterSign.HUMAN, reversed(history))]
    answered = sum(line.role is MessageRole.ASSISTANT and _is_recent(line, now) for line in since)
    if any(line.sign is WriterSign.LOOP for line in since):
        return silent_ending(Reason.AUTO_REPLY_LOOP, "the exchange with an automatic replier has ended")
    declared = sign is WriterSign.MACHINE and (is_declared(event.metadata) or is_automatic(event.text))
    most = account.loop_replies if sign is WriterSign.MACHINE else max(account.loop_replies, MOST_UNSURE)
    if not declared and answered < most:
        return None
    why = (
        "it is an automatic reply"
        if declared
        else f"{answered} replies in an hour without a sign of a person"
    )
    return silent_ending(Reason.AUTO_REPLY_LOOP_ESCALATED, f"an automatic replier seems to answer: {why}")


def _is_recent(line: Message, now: datetime) -> bool:
    return line.at is not None and now - line.at <= WINDOW
