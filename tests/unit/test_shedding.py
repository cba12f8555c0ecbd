"""Which messages are left out while more wait than can be answered in time."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisUnreachable

from tasks.fairness.overload import LEAST_SAMPLES, LOOK_S, AccountBacklog, BegunCase, Overload
from tests.support.decided import reply_to
from tests.support.fakes import FakeClock
from tests.support.samples import NOW, account, event
from worker.assessment import parse_policy
from worker.model import Attempt, AttemptOutcome, Decision, EventType, Scope, Shedding, Stage
from worker.reasons import Reason
from worker.rules import compile_rules
from worker.shedding import IDLE, Load, shed_ending
from worker.steps.run import EventCase

MAX_AGE_S = 60.0
OVERLOADED = Load(waiting=130, running=1, decision_s=0.5)
"""65 s of work."""
BUSY = Load(waiting=110, running=1, decision_s=0.5)
"""55 s of work."""


@pytest.mark.parametrize(
    ("shedding", "scope", "load", "expected"),
    [
        (Shedding.OLDEST_FIRST, Scope.CHAT, OVERLOADED, None),
        (Shedding.OLDEST_FIRST, Scope.COMMENT, OVERLOADED, None),
        (Shedding.NEWEST_FIRST, Scope.CHAT, OVERLOADED, Reason.SHED),
        (Shedding.NEWEST_FIRST, Scope.CHAT, BUSY, None),
        (Shedding.NEWEST_FIRST, Scope.CHAT, IDLE, None),
        (Shedding.CHATS_FIRST, Scope.CHAT, OVERLOADED, None),
        (Shedding.CHATS_FIRST, Scope.COMMENT, OVERLOADED, Reason.SHED),
        (Shedding.CHATS_FIRST, Scope.COMMENT, BUSY, None),
    ],
)
def test_the_account_says_what_is_left_out(
    shedding: Shedding, scope: Scope, load: Load, expected: Reason | None
) -> None:
    """Only while the work that waits takes longer than a message may be old."""
    owner = account(shedding=shedding, reply_max_age_s=MAX_AGE_S)

    ending = shed_ending(event(scope=scope), owner, load, NOW)

    assert (ending and ending.reason_code) == expected


@pytest.mark.parametrize("type", [each for each in EventType if each is not EventType.MESSAGE])
def test_only_messages_are_left_out(type: EventType) -> None:  # noqa: A002  # the field's name
    """Edits, deletions and messages of people change the history."""
    owner = account(shedding=Shedding.NEWEST_FIRST, reply_max_age_s=MAX_AGE_S)

    assert shed_ending(event(type=type), owner, replace(OVERLOADED, answer_s=70.0), NOW) is None


@pytest.mark.parametrize(
    ("age_s", "answer_s", "expected"),
    [
        (50.0, 5.0, None),
        (56.0, 5.0, Reason.TOO_LATE),
        (56.0, 0.0, None),
        (56.0, 40.0, None),
    ],
    ids=["in time", "too late", "answers not measured", "a limit that was changed"],
)
def test_an_answer_that_would_come_too_late_is_not_begun(
    age_s: float, answer_s: float, expected: Reason | None
) -> None:
    """Whatever the account sheds; the shortest of the last answers counts."""
    owner = account(reply_max_age_s=MAX_AGE_S)

    ending = shed_ending(event(), owner, Load(answer_s=answer_s), NOW + timedelta(seconds=age_s))

    assert (ending and ending.reason_code) == expected


# --- what a worker measures


async def begun_case(overload: Overload, shedding: Shedding = Shedding.NEWEST_FIRST) -> BegunCase:
    """A turn of a chat message that has just arrived."""
    owner = account(shedding=shedding, reply_max_age_s=MAX_AGE_S, burst_window_s=0.0)
    rules = compile_rules((), (), version=owner.version)
    return await overload.begin(EventCase(event=event(), account=owner, rules=rules, policy=parse_policy({})))


def decision(**changes: Any) -> Decision:
    """A decision with a reply."""
    return reply_to(event(), NOW, **changes)


class Looks:
    """What Redis holds, and how often it was asked."""

    def __init__(self, *found: AccountBacklog | Exception) -> None:
        self.found = list(found)
        self.count = 0

    async def __call__(self, user_id: str) -> AccountBacklog:
        """The next answer; the last one stays."""
        assert user_id == "acme"
        self.count += 1
        answer = self.found.pop(0) if len(self.found) > 1 else self.found[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


async def measured(overload: Overload, clock: FakeClock, took_s: float, **changes: Any) -> None:
    """Enough decisions that took so long."""
    for _ in range(LEAST_SAMPLES):
        turn = await begun_case(overload)
        clock.slept.append(took_s)
        overload.ended(turn, decision(**changes))


def backlog(waiting: float, running: int = 1, workers: int = 1) -> AccountBacklog:
    return AccountBacklog(waiting=waiting, running=running, workers=workers)


async def test_messages_are_left_out_until_the_rest_can_be_decided_in_time() -> None:
    """62 s of work wait: one worker leaves out four messages of half a second, two of them two each."""
    for workers, expected in ((1, 4), (2, 2)):
        clock, looks = FakeClock(), Looks(backlog(124, workers=workers))
        overload = Overload(clock, looks)
        await measured(overload, clock, 0.5)
        looks.count = 0
        clock.slept.append(LOOK_S)
        shed = [(await begun_case(overload)).case.shed is not None for _ in range(10)]

        assert shed == [True] * expected + [False] * (10 - expected)
        assert looks.count == 1


async def test_nothing_is_left_out_before_decisions_were_measured() -> None:
    """A worker that has just started asks nothing of Redis."""
    looks = Looks(backlog(1e6))

    assert (await begun_case(Overload(FakeClock(), looks))).case.shed is None
    assert looks.count == 0


async def test_decisions_that_waited_for_an_outage_do_not_count() -> None:
    """After it, the backlog is decided at the usual speed."""
    clock = FakeClock()
    overload = Overload(clock, Looks(backlog(10)))
    await measured(overload, clock, 1.0)
    failed = Attempt(number=1, stage=Stage.MODERATION, outcome=AttemptOutcome.SERVER_ERROR, duration_ms=1.0)
    await measured(overload, clock, 600.0, attempts=(failed,))

    assert (await begun_case(overload)).case.shed is None


async def test_nothing_is_left_out_while_redis_does_not_answer() -> None:
    """The backlog is not known then."""
    clock = FakeClock()
    overload = Overload(clock, Looks(backlog(200), RedisUnreachable("away")))
    await measured(overload, clock, 1.0)
    known = (await begun_case(overload)).case.shed
    clock.slept.append(LOOK_S)
    unknown = (await begun_case(overload)).case.shed

    assert known is not None
    assert unknown is None


async def test_an_account_that_leaves_nothing_out_costs_no_look() -> None:
    """Which is the default."""
    clock, looks = FakeClock(), Looks(backlog(1e6))
    overload = Overload(clock, looks)
    await measured(overload, clock, 1.0)
    looks.count = 0
    clock.slept.append(LOOK_S)
    found = await begun_case(overload, Shedding.OLDEST_FIRST)

    assert (found.case.shed, looks.count) == (None, 0)
