"""Which messages get no reply while an account gets more of them than can be answered in time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from worker import endings
from worker.endings import Ending
from worker.model import Account, Event, EventType, Scope, Shedding
from worker.reasons import Reason
from worker.scope import last_moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What waits for an account, and how fast it is decided.

    Attributes:
        waiting: conversations that wait for a place, over the whole fleet; one with several messages counts
            once.
        running: conversations of the account that have a place.
        decision_s: how long a decision took lately, on average; 0: not known.
        answer_s: the shortest of the last answers; 0: not known.
    """

    waiting: float = 0.0
    running: int = 0
    decision_s: float = 0.0
    answer_s: float = 0.0

    @property
    def needed_s(self) -> float:
        """Seconds until all waiting messages are decided; 0 when unknown."""
        return self.waiting * self.decision_s / self.running if self.running else 0.0


IDLE: Final = Load()


def shed_ending(event: Event, account: Account, load: Load, now: datetime) -> Ending | None:
    """The ending of a message that is left out because of the load, else None; no model is asked about it.

    It is decided at its turn like any other, so the order of its conversation holds. Edits, deletions and
    messages of people are never left out.
    """
    if event.type is not EventType.MESSAGE:
        return None
    left_s = (last_moment(event, account) - now) / timedelta(seconds=1)
    if 0 <= left_s < load.answer_s <= account.reply_max_age_s / 2:
        return endings.silent_ending(
            Reason.TOO_LATE,
            f"{left_s:.1f} s were left for a reply, an answer takes {load.answer_s:.1f} s or more",
        )
    if load.needed_s <= account.reply_max_age_s or not _may_shed(event, account):
        return None
    return endings.silent_ending(
        Reason.SHED,
        f"{load.waiting:.0f} conversations waited, for {load.needed_s:.0f} s of work; reply_max_age_s is"
        f" {account.reply_max_age_s:.0f}, shedding is {account.shedding.value}",
    )


def _may_shed(event: Event, account: Account) -> bool:
    match account.shedding:
        case Shedding.OLDEST_FIRST:
            return False
        case Shedding.NEWEST_FIRST:
            return True
        case Shedding.CHATS_FIRST:
            return event.scope is Scope.COMMENT
