"""One entry, from its grant to its row in Postgres."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import structlog

from db import dead_letters, decisions
from db.commits.known import Recorded, load_event
from db.dead_letters import DeadLetter
from db.pool import Pool
from tasks import telemetry
from tasks.accounts import Rulebooks
from tasks.events import lines
from tasks.fairness.overload import Overload
from tasks.gate import Gate
from tasks.limits.account_limits import AccountLimits
from tasks.limits.spending import Spending
from tasks.metrics.process import WorkerMetrics
from tasks.replays.recording import recorder_of, with_recording
from tasks.shards.lanes import require_place
from tasks.stream import EntryGrant
from tasks.tracing.start import Traces
from worker import contract
from worker.errors import PayloadRejected, StorageUnavailable
from worker.model import Decision, Event, EventType
from worker.payload import arrival_of, parse
from worker.pipeline import decide
from worker.ports import Ports
from worker.steps.run import EventCase

log = structlog.get_logger(__name__)

FAILURES_BEFORE_POISON: Final = 3
LAST_RUNS: Final = 2
"""Runs of an entry that was granted more than ``max_starts`` times, begun while decisions can be stored."""
LONGEST_PAUSE_S: Final = 5.0
FIRST_PAUSE_S: Final = 0.25
LONGEST_OWN_FAILURE_S: Final = 3600.0
"""How long an entry is retried while only its own calls fail; the default of ``hold_max_s``."""

LONGEST_STORAGE_PAUSE_S: Final = 30.0

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why an entry could not be decided: a stable word for logs and the sentence of the dead letter."""

    kind: str
    what: str


class EntryHandler:
    """Runs entries; returns only when the outcome is stored.

    Args:
        replied: called when a new reply may wait for delivery.
        escalated: called when a new outgoing event may wait.
        max_starts: grants after which an entry has ``LAST_RUNS`` left; then it is poison.
        begin_run: counts such a run; from ``tasks.stream.Lanes``.
        payload_bytes: largest payload that may become an event.
        limits: of accounts.
        spending: prices decisions and watches budgets.
        overload: leaves messages out under overload.
        metrics: counts outcomes; None where no metrics are served.
        traces: receives new decisions; None where no traces are sent.
        refresh_clock: reads the clock of Postgres, by which messages are too old and replies too late.
    """

    def __init__(
        self,
        *,
        pool: Pool,
        rulebooks: Rulebooks,
        ports: Ports,
        gate: Gate,
        replied: Callable[[], None],
        escalated: Callable[[], None] = lambda: None,
        max_starts: int,
        begin_run: Callable[[str], Awaitable[int]],
        payload_bytes: int,
        limits: AccountLimits,
        spending: Spending,
        overload: Overload,
        metrics: WorkerMetrics | None = None,
        traces: Traces | None = None,
        refresh_clock: Callable[[], Awaitable[None]],
    ) -> None:
        self._pool = pool
        self._rulebooks = rulebooks
        self._ports = ports
        self._gate = gate
        self._replied = replied
        self._escalated = escalated
        self._max_starts = max_starts
        self._begin_run = begin_run
        self._payload_bytes = payload_bytes
        self._limits = limits
        self._spending = spending
        self._overload = overload
        self._metrics = metrics
        self._traces = traces
        self._refresh_clock = refresh_clock

    async def __call__(self, grant: EntryGrant) -> None:
        """Decide one entry, or store it as poison when only this entry cannot be decided."""
        if grant.starts > self._max_starts and not await self._has_last_run(grant):
            await self._bury_poison(grant, f"handed out {grant.starts} times without an outcome")
            return
        while (failure := await self._failure(grant)) is not None:
            if not await self._gate.outlast(failure.kind):
                await self._bury_poison(grant, failure.what)
                return

    async def _has_last_run(self, grant: EntryGrant) -> bool:
        """Whether an entry granted too often may run: its workers may have died without running it."""
        await self._gate.outlast("granted_too_often")
        return await self._begin_run(grant.entry_id) <= LAST_RUNS

    async def _failure(self, grant: EntryGrant) -> Failure | None:
        """Why an entry could not be decided, or None when it was; a bug is retried before it counts."""
        for failures in range(1, FAILURES_BEFORE_POISON + 1):
            try:
                await self._run(grant)
            except StorageUnavailable as error:
                return Failure(
                    kind=error.kind,
                    what=f"{error.kind} for {LONGEST_OWN_FAILURE_S:.0f} s, for this entry only",
                )
            except Exception as error:  # a bug must not stop the lane
                log.exception("handler_failed", entry_id=grant.entry_id, failures=failures, exc_info=error)
                telemetry.report(error)
                await self._ports.clock.sleep(min(LONGEST_PAUSE_S, 0.5 * 2**failures))
                kind = type(error).__name__
            else:
                return None
        return Failure(kind=kind, what=f"{kind} in each of {FAILURES_BEFORE_POISON} runs")

    async def _run(self, grant: EntryGrant) -> None:
        await self._stored(self._refresh_clock)
        try:
            event = self._event(grant)
        except PayloadRejected as error:
            await self._bury(grant, error)
            return
        stored = await self._stored(lambda: load_event(self._pool, event, self._ports.clock.now()))
        if stored.outcome is not None:  # an earlier run or entry ended it; its reply may wait for delivery
            self._log_seen(event, stored.outcome)
            return
        if stored.edited_text is not None and event.type is EventType.MESSAGE:
            event = replace(event, text=stored.edited_text, edited_first=True)
        live = await self._stored(lambda: self._rulebooks.get(event.user_id))
        book = live.for_event(event, stored.conversation)
        case = EventCase(
            event=event,
            account=book.account,
            rules=book.rules,
            policy=book.policy,
            delivery=book.delivery,
            conversation=stored.conversation,
            budget=await self._stored(lambda: self._spending.budget(book.account)),
        )
        decision = replace(await self._stored(lambda: self._decide(case)), candidate_id=book.candidate_id)
        recorded = await self._stored(lambda: decisions.record_decision(self._pool, decision))
        if recorded is Recorded.OVERTAKEN:
            decision = contract.without_reply(decision)
            recorded = await self._stored(lambda: decisions.record_decision(self._pool, decision))
        if recorded is Recorded.BURIED:  # by another run of this entry, so this run has no outcome
            self._log_seen(event, recorded)
            return
        self._decided(decision, recorded, grant.starts)
        if recorded is not Recorded.DUPLICATE:
            self._wake_relays(decision)
        await self._spending.decided(book.account, decision)

    async def _decide(self, case: EventCase) -> Decision:
        """The decision; no model is called while decisions cannot be stored."""
        await self._gate.opened()
        turn = await self._overload.turn(case)
        async with self._limits.ports(case.event, case.account, self._ports) as ports:
            recorder = recorder_of(turn.case, ports, self._rulebooks.policy_defaults)
            made = await decide(turn.case, recorder.ports if recorder else ports)
        decision = with_recording(self._spending.priced(made), recorder, self._metrics)
        self._overload.ended(turn, decision)
        return decision if self._traces is None else replace(decision, trace=self._traces.context(decision))

    def _event(self, grant: EntryGrant) -> Event:
        arrival = arrival_of(grant.entry_id, grant.size_bytes, self._ports.clock.now())
        event = parse(grant.payload, arrival, most_bytes=self._payload_bytes)
        require_place(event)
        return event

    def _log_seen(self, event: Event, outcome: Recorded) -> None:
        if self._metrics is not None:
            self._metrics.repeated(outcome)
        log.info("event_seen_before", entry_id=event.entry_id, event_id=event.event_id, outcome=outcome)
        if outcome is Recorded.ALREADY:
            self._replied()
            self._escalated()

    def _wake_relays(self, decision: Decision) -> None:
        """Wake the relays for which the commit may have stored something."""
        if decision.reply is not None or decision.people_until is not None:
            self._replied()
        if decision.escalation is not None or decision.people_until is not None:
            self._escalated()

    async def _stored(self, call: Callable[[], Awaitable[Value]]) -> Value:
        """The value of a call that needs Postgres; waits without limit while Postgres is down.

        Raises:
            StorageUnavailable: this call failed for ``LONGEST_OWN_FAILURE_S`` while others succeeded, and its
                values may be the cause.
        """
        clock, failing_since, pause_s = self._ports.clock, None, FIRST_PAUSE_S
        while True:
            try:
                return await call()
            except StorageUnavailable as error:
                if await self._gate.outlast(error.kind):
                    failing_since, pause_s = None, FIRST_PAUSE_S
                    continue
                failing_since = clock.monotonic() if failing_since is None else failing_since
                if error.may_be_input and clock.monotonic() - failing_since >= LONGEST_OWN_FAILURE_S:
                    raise
            await clock.sleep(pause_s)
            pause_s = min(LONGEST_STORAGE_PAUSE_S, pause_s * 2)

    async def _bury(self, grant: EntryGrant, why: PayloadRejected) -> None:
        letter = self._dead_letter(grant, why)
        await self._stored(lambda: dead_letters.store_letter(self._pool, letter))
        self._buried(letter)

    def _dead_letter(self, grant: EntryGrant, why: PayloadRejected) -> DeadLetter:
        entry_id, payload, size = grant.entry_id, grant.payload, max(grant.size_bytes, 0)
        at = self._ports.clock.now()
        return DeadLetter(entry_id=entry_id, payload=payload, size_bytes=size, why=why, at=at)

    async def _bury_poison(self, grant: EntryGrant, what_happened: str) -> None:
        """Store an entry without an outcome as poison, unless another run ended it meanwhile."""
        why = PayloadRejected(code="poison", field="data", expected="an outcome", got=what_happened)
        try:
            event = self._event(grant)
        except Exception:  # noqa: BLE001  # any parse error means the entry was never decided
            await self._bury(grant, why)
            return
        letter = self._dead_letter(grant, why)
        ended = await self._stored(lambda: dead_letters.bury_event(self._pool, letter, event))
        if ended is Recorded.BURIED:
            self._buried(letter)
        else:
            self._log_seen(event, ended)

    def _decided(self, decision: Decision, recorded: Recorded, starts: int) -> None:
        if self._metrics is not None and recorded is Recorded.NEW:
            self._metrics.decided(decision)
        if self._traces is not None and recorded is Recorded.NEW:
            self._traces.decided(decision)
        lines.log_decision(decision, recorded, starts)

    def _buried(self, letter: DeadLetter) -> None:
        if self._metrics is not None:
            self._metrics.buried(letter.why.code)
        lines.log_dead_letter(letter)
