"""Sends webhooks from Postgres: makes deliveries of events, and attempts of deliveries that are due."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Final

import orjson
import structlog

from db.pool import Pool
from db.webhooks import endings, queue
from db.webhooks.queue import ClaimedDelivery, QueueLimits
from tasks.process import telemetry
from tasks.webhooks.bodies import event_data
from worker.adapters.system_clock import seconds_since_boot
from worker.adapters.webhook_sender import WebhookSender
from worker.errors import StorageUnavailable
from worker.model import trace_headers
from worker.supervisor import Supervisor
from worker.webhooks.schedule import AttemptError, AttemptResult, next_attempt
from worker.webhooks.signing import message_id, signed_headers

log = structlog.get_logger(__name__)

BATCH: Final = 200
LOOK_S: Final = 0.5
"""Pause between two looks; without events and due deliveries each is two index look-ups."""
GATHER_S: Final = 0.005
"""Attempts that end within this time are followed by one look."""
AFTER_OUTAGE_S: Final = 2.0
BEGIN_WITHIN_S: Final = 2.0
"""A later attempt does not begin: the process was stopped since the claim, and people may have taken the
conversation meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PollerLimits:
    """Limits of one poller.

    Attributes:
        attempts: at the same time, of all endpoints; while more than half run, each endpoint may have one, so
            that no account with many endpoints that hang takes all.
    """

    attempts: int = 500
    queue: QueueLimits = field(default_factory=QueueLimits)

    def of_look(self, running: int) -> tuple[int, QueueLimits]:
        """How many attempts a look may begin while so many run, and the limits of each endpoint."""
        if (free := self.attempts // 2 - running) > 0:
            return free, self.queue
        return self.attempts - running, replace(self.queue, per_endpoint=1)


class WebhookPoller:
    """Run any number of pollers. When one is killed, others send its deliveries after the lease expires.

    Args:
        refresh: awaited before each look, for a ``now`` that must be read first.
        pages: URL of the review pages, for links; None without.
        draw: a random number from 0 to 1 for the jitter.
        seconds: a clock that counts while the process is stopped.
    """

    def __init__(
        self,
        pool: Pool,
        sender: WebhookSender,
        *,
        now: Callable[[], datetime],
        refresh: Callable[[], Awaitable[None]] | None = None,
        pages: str | None = None,
        draw: Callable[[], float] = random.random,
        limits: PollerLimits = PollerLimits(),
        attempted: Callable[[str], None] | None = None,
        seconds: Callable[[], float] = seconds_since_boot,
    ) -> None:
        self._pool = pool
        self._sender = sender
        self._now = now
        self._refresh = refresh
        self._draw = draw
        self._pages = pages
        self._limits = limits
        self._attempted = attempted
        self._seconds = seconds
        self._attempts = Supervisor(lambda _, error: telemetry.report(error))

    async def run(self) -> None:
        """Look every ``LOOK_S``, and whenever an attempt ended, until cancelled."""
        async with self._sender:
            try:
                while True:
                    pause = LOOK_S
                    try:
                        while await self.look():
                            pass
                    except (StorageUnavailable, OSError) as error:
                        log.warning("webhooks_postponed", error=type(error).__name__)
                        pause = AFTER_OUTAGE_S
                    await self._pause(pause)
            finally:
                await self._attempts.close()

    async def look(self) -> int:
        """Make deliveries of new events and begin attempts; how many deliveries began or were cancelled."""
        if self._refresh is not None:
            await self._refresh()
        while await queue.fan_out(self._pool, BATCH, self._now()) == BATCH:
            pass
        free, limits = self._limits.of_look(len(self._attempts.running))
        if free <= 0:
            return 0
        claimed = await queue.claim_due(
            self._pool, min(free, BATCH), self._now(), limits, seconds=self._seconds
        )
        for each in claimed.deliveries:
            work = partial(self._deliver, each, begin_by=claimed.looked_s + BEGIN_WITHIN_S)
            self._attempts.start("webhook_attempt", work, delivery=each.row_id)
        return len(claimed.deliveries) + claimed.cancelled

    async def _pause(self, seconds: float) -> None:
        """Wait until the pause is over, or an attempt has ended, which may make another attempt due."""
        if running := self._attempts.running:
            await asyncio.wait(running, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(GATHER_S)
        else:
            await asyncio.sleep(seconds)

    async def _deliver(self, claimed: ClaimedDelivery, *, begin_by: float) -> None:
        try:
            result = await self._attempt(claimed, begin_by)
        except Exception as error:  # a bug is a failed attempt: a claim that no one ends is repeated for ever
            log.exception("webhook_attempt_failed", exc_info=error)
            telemetry.report(error)
            result = AttemptResult(error=AttemptError.INTERNAL)
        if result is None:
            await self._give_back(claimed)
            return
        now = self._now()
        retry_at = next_attempt(claimed.attempts, result, now=now, draw=self._draw())
        try:
            ending = await endings.end_attempt(self._pool, claimed, result, retry_at=retry_at, now=now)
        except StorageUnavailable as error:  # sent again after the lease, with the same id
            log.warning("webhook_result_lost", delivery=claimed.row_id, error=error.kind)
            return
        if self._attempted is not None:
            self._attempted(ending.state or "lost")
        _log(claimed, result, ending)

    async def _attempt(self, claimed: ClaimedDelivery, begin_by: float) -> AttemptResult | None:
        """The result of one attempt; None for an attempt that did not begin in time."""
        body = request_body(claimed, self._pages)
        secrets = [claimed.secret, *([claimed.old_secret] if claimed.old_secret else [])]
        identifier = message_id(claimed.user_id, claimed.type, claimed.key)
        headers = signed_headers(body, identifier=identifier, secrets=secrets, now=self._now())
        headers |= trace_headers(claimed.body)
        if self._seconds() > begin_by:
            return None
        return await self._sender.send(claimed.url, body, headers)

    async def _give_back(self, claimed: ClaimedDelivery) -> None:
        """Give a claim back that is too old: the next look decides again whether the delivery may be sent."""
        log.warning("webhook_claim_too_old", delivery=claimed.row_id)
        try:
            await endings.return_claim(self._pool, claimed, self._now())
        except StorageUnavailable as error:  # claimed again after the lease
            log.warning("webhooks_postponed", error=error.kind)


def request_body(claimed: ClaimedDelivery, pages: str | None = None) -> bytes:
    """The body as Standard Webhooks recommends it; the same bytes in every attempt."""
    at = claimed.created_at.isoformat()
    return orjson.dumps({"type": claimed.type, "timestamp": at, "data": event_data(claimed, pages)})


def _log(claimed: ClaimedDelivery, result: AttemptResult, ending: endings.AttemptEnding) -> None:
    log.info(
        "webhook_attempt",
        delivery=claimed.row_id,
        endpoint=str(claimed.endpoint_id),
        attempt=claimed.attempts,
        error=result.error,
        status=result.status,
        state=ending.state,
    )
    if ending.disabled is not None:
        log.warning("webhook_endpoint_disabled", endpoint=str(claimed.endpoint_id), reason=ending.disabled)
