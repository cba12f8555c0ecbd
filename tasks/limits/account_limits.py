"""The limits that an account sets for itself: its calls of models, and its events at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Final

from tasks.limits.rates import CallRates, FleetRates, SharedRate
from tasks.limits.slots import Slot, Slots
from worker import scope
from worker.adapters.call_guard import WaitsUntil, seconds_left
from worker.adapters.model_judge import ModelJudge
from worker.cancellation import cancel_all
from worker.errors import ModelUnavailable
from worker.generation import estimated_tokens
from worker.model import Account, AttemptOutcome, Completion, Event, EventType, Prompt
from worker.moderation_holds import Holds
from worker.ports import Clock, LanguageModel, Ports
from worker.recent import Recent
from worker.settings.calls import Resource

NOT_SENT: Final = frozenset({AttemptOutcome.CIRCUIT_OPEN, AttemptOutcome.BUSY, AttemptOutcome.LIMITED})
"""Outcomes of calls that no server got."""
MOST_ACCOUNTS: Final = 10_000
ANY_NUMBER: Final = 2**31
AtOnce = Callable[[], Awaitable[int | None]]
IN_PLACE_S: Final = 0.1
"""A wait that is over by then is a round trip to Redis, and the event keeps its place in flight."""


@dataclass(slots=True, kw_only=True)
class LimitWaits:
    """The waits of one event for limits of its account: it leaves its place in flight to other events.

    Attributes:
        has_called: a call of a model was let through. From then on the event is not put back into its lane,
            since its calls would be paid twice; without room it keeps its place.
    """

    event: Event
    holds: Holds
    clock: Clock
    has_called: bool = False

    async def wait(self, wait: Coroutine[Any, Any, None]) -> None:
        """Return when ``wait`` does.

        Raises:
            asyncio.CancelledError: there is no room for a further held event; it goes back into its lane.
        """
        waiting = asyncio.ensure_future(wait)
        try:
            if not (await asyncio.wait({waiting}, timeout=IN_PLACE_S))[0]:
                stays = self.has_called and not self.holds.has_room(self.event)
                away = nullcontext() if stays else self.holds.away(self.event, now_s=self.clock.monotonic())
                with away:
                    await asyncio.wait({waiting})
            waiting.result()
        finally:
            await cancel_all([waiting])


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedModel:
    """A language model that waits for its account's limits, until the event is too late."""

    model: LanguageModel
    rates: CallRates
    waits: LimitWaits

    async def complete(self, prompt: Prompt, timeout_s: float) -> Completion:
        """Call the model once the account's limits allow it.

        Raises:
            ModelUnavailable: as the model; of kind ``LIMITED`` when the event became too late.
        """
        estimate = estimated_tokens(prompt)
        try:
            async with asyncio.timeout(seconds_left()):
                await self.waits.wait(self.rates.acquire(estimate))
        except TimeoutError as error:
            raise ModelUnavailable(
                "waited for the account's limit of calls until the message was too old for a reply",
                kind=AttemptOutcome.LIMITED,
                retry_after_s=float("inf"),
            ) from error
        self.waits.has_called = True
        try:
            completion = await self.model.complete(prompt, timeout_s)
        except ModelUnavailable as error:
            if error.kind in NOT_SENT:
                self.rates.give_back(estimate)
            raise
        self.rates.spent(estimate, completion.tokens.prompt + completion.tokens.completion)
        return completion


class AccountLimits:
    """The limits of all accounts in this process."""

    def __init__(self, rates: FleetRates, slots: Slots, clock: Clock) -> None:
        self._rates = rates
        self._slots = slots
        self._clock = clock
        self._accounts: Recent[tuple[str, int | None, int | None], CallRates] = Recent(MOST_ACCOUNTS)

    def limited_ports(
        self, event: Event, account: Account, ports: Ports, at_once: AtOnce | None = None
    ) -> AbstractAsyncContextManager[Ports]:
        """The ports for one event: its calls wait for limits, at most until it is too late for a reply.

        ``at_once`` reads how many events of the account its budgets allow at once; None: any number.
        """
        left_s = (scope.last_moment(event, account) - self._clock.now()).total_seconds()
        waiting = WaitsUntil(self._clock.monotonic() + max(0.0, left_s))
        rates, waits = self.of(account), LimitWaits(event=event, holds=ports.holds, clock=self._clock)
        limited = PortsUntil(_limited(ports, rates, waits) if rates else ports, waiting)
        own = account.concurrent_events
        if (own is None and at_once is None) or event.type is not EventType.MESSAGE:
            return limited

        async def limit() -> int:
            most = None if at_once is None else await at_once()
            return min((each for each in (own, most) if each is not None), default=ANY_NUMBER)

        slot = self._slots.slot(account.user_id, limit, left_s, waits.wait)
        return _with_slot(event, slot, limited)

    def of(self, account: Account) -> CallRates:
        """The rates of an account; a changed limit has new ones, which take from the same place."""
        key = (account.user_id, account.requests_per_min, account.tokens_per_min)
        found = self._accounts.get(key)
        if found is not None:
            return found
        limits = {Resource.REQUESTS: account.requests_per_min, Resource.TOKENS: account.tokens_per_min}
        rates = CallRates()
        for resource, per_minute in limits.items():
            if per_minute is not None:
                name = account_rate(account.user_id, resource)
                rates[resource] = SharedRate(self._rates, name, per_minute, sleep=self._clock.sleep)
        return self._accounts.keep(key, rates)


@dataclass(slots=True)
class PortsUntil:
    """The ports of one event; a generator held 0.5 kB while the event waited."""

    ports: Ports
    waiting: WaitsUntil

    async def __aenter__(self) -> Ports:
        self.waiting.__enter__()
        return self.ports

    async def __aexit__(self, *_: object) -> None:
        self.waiting.__exit__()


@asynccontextmanager
async def _with_slot(
    event: Event, slot: AbstractAsyncContextManager[Slot], limited: PortsUntil
) -> AsyncIterator[Ports]:
    """The ports of an event that has a slot of its account, or is too late."""
    async with limited as ports, slot as taken:
        with ports.holds.with_slot(event, taken):
            yield ports


def account_rate(user_id: str, resource: Resource) -> str:
    """The name of an account's rate."""
    return f"account:{resource}:{user_id}"


def _limited(ports: Ports, rates: CallRates, waits: LimitWaits) -> Ports:
    def limited(model: LanguageModel) -> LanguageModel:
        return LimitedModel(model=model, rates=rates, waits=waits)

    judge = ports.judge
    if isinstance(judge, ModelJudge):
        judge = judge.asking(limited)
    models = {name: limited(model) for name, model in ports.models.items()}
    return replace(ports, model=limited(ports.model), models=models, judge=judge)
