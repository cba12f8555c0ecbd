"""Whether an account gets more messages than can be answered in time, as one worker sees it."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tasks.fairness.shares import account_key
from tasks.lanes.stream import GROUP
from tasks.shards.layout import ShardLayout
from worker.model import AttemptOutcome, Decision, Shedding
from worker.ports import Clock
from worker.reasons import Reason
from worker.recent import Recent
from worker.shedding import Load, shed_ending
from worker.steps.run import EventCase

log = structlog.get_logger(__name__)

LOOK_S: Final = 0.5
"""How long the figures of Redis are used; meanwhile a worker counts the messages that it leaves out."""
SAMPLES: Final = 100
LEAST_SAMPLES: Final = 5
MOST_ACCOUNTS: Final = 10_000
OUTAGES: Final = frozenset(
    {
        AttemptOutcome.TIMEOUT,
        AttemptOutcome.CONNECTION,
        AttemptOutcome.SERVER_ERROR,
        AttemptOutcome.UNAVAILABLE,
        AttemptOutcome.CIRCUIT_OPEN,
    }
)
"""A decision that waited for an upstream says nothing about the others."""
LEFT_OUT: Final = frozenset({Reason.SHED, Reason.TOO_LATE})


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountBacklog:
    """What Redis holds of an account, over all shards; ``workers``: how many share it."""

    waiting: float
    running: int
    workers: int


@dataclass(slots=True)
class _Watched:
    decisions_s: deque[float] = field(default_factory=lambda: deque(maxlen=SAMPLES))
    answers_s: deque[float] = field(default_factory=lambda: deque(maxlen=SAMPLES))
    backlog: AccountBacklog | None = None
    looked_at_s: float = float("-inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunCase:
    """An event whose turn has come, and when, on the monotonic clock."""

    case: EventCase
    began_s: float


class Overload:
    """Measures decisions and backlogs; only accounts that shed cost a look at Redis.

    Args:
        look: the backlog of an account.
    """

    def __init__(self, clock: Clock, look: Callable[[str], Awaitable[AccountBacklog]]) -> None:
        self._clock = clock
        self._look = look
        self._accounts: Recent[str, _Watched] = Recent(MOST_ACCOUNTS)

    async def begin(self, case: EventCase) -> BegunCase:
        """The case, with its ending when the event is left out."""
        began_s, watched = self._clock.monotonic(), self._watched(case.account.user_id)
        if case.account.shedding is not Shedding.OLDEST_FIRST and len(watched.decisions_s) >= LEAST_SAMPLES:
            await self._refresh(case.account.user_id, watched, began_s)
        load = _load(watched, case.account.burst_window_s)
        shed = shed_ending(case.event, case.account, load, self._clock.now())
        if shed is not None and watched.backlog is not None:
            left = watched.backlog.waiting - watched.backlog.workers
            watched.backlog = replace(watched.backlog, waiting=max(0.0, left))
        return BegunCase(case=replace(case, shed=shed) if shed else case, began_s=began_s)

    def ended(self, begun: BegunCase, decision: Decision) -> None:
        """Note how long a decision took."""
        if decision.reason_code in LEFT_OUT or any(each.outcome in OUTAGES for each in decision.attempts):
            return
        watched, took_s = self._watched(begun.case.account.user_id), self._clock.monotonic() - begun.began_s
        watched.decisions_s.append(took_s)
        if decision.reply is not None:
            watched.answers_s.append(took_s)

    async def _refresh(self, user_id: str, watched: _Watched, now_s: float) -> None:
        if now_s - watched.looked_at_s < LOOK_S:
            return
        watched.looked_at_s = now_s
        try:
            watched.backlog = await self._look(user_id)
        except (RedisError, OSError) as error:
            watched.backlog = None  # nothing is left out while it is not known
            log.warning("backlog_not_read", user_id=user_id, error=type(error).__name__)

    def _watched(self, user_id: str) -> _Watched:
        return self._accounts.get(user_id) or self._accounts.keep(user_id, _Watched())


def _load(watched: _Watched, burst_window_s: float) -> Load:
    """Old messages do not wait for further ones, so that time is taken off the shortest answer."""
    backlog, answers = watched.backlog, watched.answers_s
    known = len(watched.decisions_s) >= LEAST_SAMPLES
    return Load(
        waiting=backlog.waiting if backlog else 0.0,
        running=backlog.running if backlog else 0,
        decision_s=sum(watched.decisions_s) / len(watched.decisions_s) if known else 0.0,
        answer_s=max(0.0, min(answers) - burst_window_s) if len(answers) >= LEAST_SAMPLES else 0.0,
    )


async def load_backlog(redis: Redis, layout: ShardLayout, user_id: str) -> AccountBacklog:
    """The account's backlog; entries that no worker has read count by its share of the waiting lanes.

    Raises:
        RedisError: Redis did not answer.
    """
    key, waiting, running, workers = account_key(user_id), 0.0, 0, 1
    for place in layout.streams():
        prefix = place.shard.prefix
        pipe = redis.pipeline(transaction=False)
        pipe.zlexcount(f"{prefix}queue", f"[{key}:", f"({key};")
        pipe.zcard(f"{prefix}queue")
        pipe.hget(f"{prefix}running", key)
        pipe.scard(f"{prefix}workers")
        pipe.xlen(place.key)
        pipe.xpending(place.key, GROUP)
        mine, lanes, runs, beating, entries, read = await pipe.execute(raise_on_error=False)
        if not isinstance(entries, int) or not isinstance(read, dict):  # a new shard, or one just sealed
            continue
        unread = max(0, entries - int(read["pending"]))
        waiting += mine + (unread * mine / lanes if lanes else 0.0)
        running += int(runs or 0)
        workers = max(workers, int(beating))
    return AccountBacklog(waiting=waiting, running=running, workers=workers)
