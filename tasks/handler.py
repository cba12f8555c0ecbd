"""One entry, from its grant to the row that says how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final, TypeVar

import structlog

from db import dead_letters, decisions
from db.dead_letters import DeadLetter
from db.decisions import Recorded
from db.pool import Pool
from tasks import telemetry
from tasks.accounts import Rulebooks
from tasks.stream import Grant
from worker.errors import PayloadRejected, StorageUnavailable
from worker.generation import RetryPolicy
from worker.model import Decision, Event, StageOutcome
from worker.payload import EARLIEST, Arrival, parse, received_at
from worker.pipeline import decide
from worker.policy import ERROR_CLASS, Reason
from worker.ports import Ports
from worker.steps.run import Case

log = structlog.get_logger(__name__)

FAILURES_BEFORE_POISON: Final = 3
LONGEST_PAUSE_S: Final = 5.0
CLOCK_SKEW: Final = timedelta(minutes=1)

Value = TypeVar("Value")


class Gate:
    """Closed while Postgres does not answer, so that nothing is admitted that cannot be recorded."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()

    @property
    def is_open(self) -> bool:
        """False while Postgres does not answer."""
        return self._open.is_set()

    async def opened(self) -> None:
        """Return once Postgres answers."""
        await self._open.wait()

    def failed(self, error: StorageUnavailable) -> None:
        """Close, and say so once."""
        if self.is_open:
            log.error("storage_unavailable", error=error.kind)
        self._open.clear()

    def worked(self) -> None:
        """Open again."""
        if not self.is_open:
            log.info("storage_available")
        self._open.set()


class Handler:
    """Runs entries; returns only when the outcome is stored.

    Args:
        pool: the hot path's connections.
        rulebooks: accounts with their rules.
        ports: what the engine needs from outside.
        retry: when model calls are repeated.
        gate: told whether Postgres answers.
        replied: called when a reply may wait in the outbox.
        max_starts: hand-outs after which an entry is poison.
        payload_bytes: largest payload that may become an event.
    """

    def __init__(
        self,
        *,
        pool: Pool,
        rulebooks: Rulebooks,
        ports: Ports,
        retry: RetryPolicy,
        gate: Gate,
        replied: Callable[[], None],
        max_starts: int,
        payload_bytes: int,
    ) -> None:
        self._pool = pool
        self._rulebooks = rulebooks
        self._ports = ports
        self._retry = retry
        self._gate = gate
        self._replied = replied
        self._max_starts = max_starts
        self._payload_bytes = payload_bytes

    async def __call__(self, grant: Grant) -> None:
        """Decide one entry, or bury it; a bug is tried again and then buried as poison."""
        if grant.starts > self._max_starts:
            await self._bury_poison(grant, f"handed out {grant.starts} times without an outcome")
            return
        for failures in range(1, FAILURES_BEFORE_POISON + 1):
            try:
                await self._run(grant)
            except Exception as error:  # a bug must not stop the lane
                log.exception("handler_failed", entry_id=grant.entry_id, failures=failures, exc_info=error)
                telemetry.report(error)
                await self._ports.clock.sleep(min(LONGEST_PAUSE_S, 0.5 * 2**failures))
                last = type(error).__name__
            else:
                return
        await self._bury_poison(grant, f"{last} in each of {FAILURES_BEFORE_POISON} runs")

    async def _run(self, grant: Grant) -> None:
        try:
            event = self._event(grant)
        except PayloadRejected as error:
            await self._bury(grant, error)
            return
        if await self._is_decided(event):
            return
        book = await self._stored(lambda: self._rulebooks.get(event.user_id))
        case = Case(
            event=event, account=book.account, rules=book.rules, policy=book.policy, retry=self._retry
        )
        decision = await self._stored(lambda: decide(case, self._ports))
        recorded = await self._stored(lambda: decisions.record(self._pool, decision))
        _say(decision, recorded, grant.starts)
        if recorded is not Recorded.DUPLICATE and decision.reply is not None:
            self._replied()

    def _event(self, grant: Grant) -> Event:
        received, now = received_at(grant.entry_id), self._ports.clock.now()
        if not EARLIEST <= received <= now + CLOCK_SKEW:  # a publisher chose an id that is no time
            received = now
        arrival = Arrival(entry_id=grant.entry_id, size_bytes=grant.size_bytes, received_at=received)
        return parse(grant.payload, arrival, most_bytes=self._payload_bytes)

    async def _is_decided(self, event: Event) -> bool:
        """True when an earlier run or an earlier entry ended this event; its reply may still wait."""
        seen = await self._stored(lambda: decisions.already(self._pool, event))
        if seen is None:
            return False
        log.info("event_seen_before", entry_id=event.entry_id, event_id=event.event_id, outcome=seen)
        if seen is Recorded.ALREADY:
            self._replied()
        return True

    async def _stored(self, call: Callable[[], Awaitable[Value]]) -> Value:
        """The value of a call that needs Postgres; waits, as long as it takes, while Postgres is away."""
        pause_s = 0.25
        while True:
            try:
                value = await call()
            except StorageUnavailable as error:
                self._gate.failed(error)
                await self._ports.clock.sleep(pause_s)
                await self._gate.opened()
                pause_s = min(LONGEST_PAUSE_S, pause_s * 2)
            else:
                self._gate.worked()
                return value

    async def _bury(self, grant: Grant, why: PayloadRejected) -> None:
        letter = DeadLetter(
            entry_id=grant.entry_id,
            payload=grant.payload,
            size_bytes=max(grant.size_bytes, 0),
            why=why,
            at=self._ports.clock.now(),
        )
        await self._stored(lambda: dead_letters.bury(self._pool, letter))
        field = why.field.partition(".")[0]  # deeper parts of the path may be a publisher's own words
        log.warning("payload_buried", entry_id=grant.entry_id, reason_code=why.code, field=field)

    async def _bury_poison(self, grant: Grant, what_happened: str) -> None:
        """Bury an entry that never ended, unless it did: an entry has one end."""
        try:
            event = self._event(grant)
        except Exception:  # noqa: BLE001  # whatever parsing makes of it, it was never decided
            event = None
        if event is not None and await self._is_decided(event):
            return
        why = PayloadRejected(code="poison", field="data", expected="an outcome", got=what_happened)
        await self._bury(grant, why)


def _say(decision: Decision, recorded: Recorded, starts: int) -> None:
    """The one canonical line of an event, and a named one for each silent failure, block and retry."""
    event = decision.event
    ids = {
        "user_id": event.user_id,
        "event_id": event.event_id,
        "entry_id": event.entry_id,
        "decision_id": str(decision.decision_id),
    }
    for attempt in decision.attempts:
        if attempt.outcome != "completed":
            log.warning(
                "attempt_failed", stage=attempt.stage, number=attempt.number, kind=attempt.outcome, **ids
            )
    if decision.matched_rule is not None:
        log.info("event_blocked", matched_rule=decision.matched_rule, reason_code=decision.reason_code, **ids)
    error_class = ERROR_CLASS.get(Reason(decision.reason_code))
    if error_class is not None:
        log.info("silent_failure", error_class=error_class, reason_code=decision.reason_code, **ids)
    log.info(
        "event_decided",
        decision=decision.verdict,
        reason_code=decision.reason_code,
        matched_rule=decision.matched_rule,
        confidence=round(decision.confidence, 4),
        degraded=decision.degraded,
        recorded=recorded,
        starts=starts,
        rules_version=decision.rules_version,
        attempts=len(decision.attempts),
        tokens=decision.tokens.prompt + decision.tokens.completion,
        stages={stage.stage: stage.duration_ms for stage in decision.stages},
        failed_stages=[stage.stage for stage in decision.stages if stage.outcome is StageOutcome.FAILED],
        waited_ms=round((decision.decided_at - event.received_at).total_seconds() * 1000),
        **ids,
    )
