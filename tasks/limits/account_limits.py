"""The limits that an account sets for itself: its calls of models, and its events at once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from tasks.limits.buckets import Bucket, FleetBuckets
from tasks.limits.slots import Slots
from worker import scope
from worker.adapters.call_guard import seconds_left, until
from worker.adapters.model_judge import ModelJudge
from worker.errors import ModelUnavailable
from worker.generation import estimated_tokens
from worker.model import Account, AttemptOutcome, Completion, Event, EventType, Prompt
from worker.ports import Clock, LanguageModel, Ports
from worker.settings.calls import Resource

MOST_ACCOUNTS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountBuckets:
    """The buckets of one account; None for one that it does not limit."""

    requests: Bucket | None
    tokens: Bucket | None

    @property
    def limited(self) -> bool:
        """Whether there is one."""
        return self.requests is not None or self.tokens is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedModel:
    """A language model that waits for its account's limits, until the event is too late."""

    model: LanguageModel
    buckets: AccountBuckets

    async def complete(self, prompt: Prompt, timeout_s: float) -> Completion:
        """As the model.

        Raises:
            ModelUnavailable: as the model; of kind ``LIMITED`` when the event became too late.
        """
        estimate = estimated_tokens(prompt)
        try:
            async with asyncio.timeout(seconds_left()):
                if self.buckets.requests is not None:
                    await self.buckets.requests.acquire(1)
                if self.buckets.tokens is not None:
                    await self.buckets.tokens.acquire(estimate)
        except TimeoutError as error:
            raise ModelUnavailable(
                "waited for the account's limit of calls until the message was too old for a reply",
                kind=AttemptOutcome.LIMITED,
                retry_after_s=float("inf"),
            ) from error
        completion = await self.model.complete(prompt, timeout_s)
        if self.buckets.tokens is not None:
            self.buckets.tokens.correct(estimate, completion.tokens.prompt + completion.tokens.completion)
        return completion


class AccountLimits:
    """The limits of all accounts in this process."""

    def __init__(self, buckets: FleetBuckets, slots: Slots, clock: Clock) -> None:
        self._buckets = buckets
        self._slots = slots
        self._clock = clock
        self._accounts: OrderedDict[tuple[str, int | None, int | None], AccountBuckets] = OrderedDict()

    @asynccontextmanager
    async def ports(self, event: Event, account: Account, ports: Ports) -> AsyncIterator[Ports]:
        """The ports for one event: its calls wait for limits, at most until it is too late for a reply."""
        left_s = (scope.last_moment(event, account) - self._clock.now()).total_seconds()
        with until(self._clock.monotonic() + max(0.0, left_s)):
            buckets = self.of(account)
            limited = _limited(ports, buckets) if buckets.limited else ports
            if account.concurrent_events is None or event.type is not EventType.MESSAGE:
                yield limited
                return
            async with self._slots.slot(account.user_id, account.concurrent_events, left_s):
                yield limited

    def of(self, account: Account) -> AccountBuckets:
        """The buckets of an account; a changed limit has new ones, which take from the same place."""
        key = (account.user_id, account.requests_per_min, account.tokens_per_min)
        found = self._accounts.get(key)
        if found is None:
            found = self._accounts[key] = AccountBuckets(
                requests=self._bucket(account.user_id, Resource.REQUESTS, account.requests_per_min),
                tokens=self._bucket(account.user_id, Resource.TOKENS, account.tokens_per_min),
            )
        self._accounts.move_to_end(key)
        while len(self._accounts) > MOST_ACCOUNTS:
            self._accounts.popitem(last=False)
        return found

    def _bucket(self, user_id: str, resource: Resource, per_minute: int | None) -> Bucket | None:
        if per_minute is None:
            return None
        return Bucket(self._buckets, account_bucket(user_id, resource), per_minute, sleep=self._clock.sleep)


def account_bucket(user_id: str, resource: Resource) -> str:
    """The name of an account's bucket."""
    return f"account:{resource}:{user_id}"


def _limited(ports: Ports, buckets: AccountBuckets) -> Ports:
    def limited(model: LanguageModel) -> LanguageModel:
        return LimitedModel(model=model, buckets=buckets)

    judge = ports.judge
    if isinstance(judge, ModelJudge):
        judge = judge.asking(limited)
    models = {name: limited(model) for name, model in ports.models.items()}
    return replace(ports, model=limited(ports.model), models=models, judge=judge)
