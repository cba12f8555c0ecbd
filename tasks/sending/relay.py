"""Delivery: rows in Postgres to the output streams, each row once. Nothing else sends to users."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, Protocol, TypeVar

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from db.connection import Connection
from db.outgoing.locked_batch import LockedBatch
from db.pool import Pool
from db.webhooks import subscriptions
from db.webhooks.subscriptions import WebhookEvent
from tasks.process import telemetry
from tasks.sending.once_stream import Lease, OnceStream, OutgoingEntry
from worker.errors import StorageUnavailable, StreamFull
from worker.webhooks.types import WebhookType

log = structlog.get_logger(__name__)


class RelayedRow(Protocol):
    """A stored row that waits for its stream."""

    @property
    def row_id(self) -> int:
        """The key by which the row is recorded as sent."""

    @property
    def user_id(self) -> str:
        """The account."""

    @property
    def conversation_id(self) -> str:
        """The conversation."""


Row = TypeVar("Row", bound=RelayedRow)
BATCH: Final = 200
SHORT_PAUSE_S: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayedRows(Generic[Row]):
    """The rows of one output stream, and how a relay reads and sends them.

    Attributes:
        waiting: locks up to a limit of the rows that wait at a time; None while another relay has them.
        entry: the stream entry of a row.
        log_sent: logs a row that was sent.
        log_postponed: logs the type of the error of a server that did not answer.
        look_s: pause between two looks of a relay, and after such an error.
        webhook: type and ``WebhookEvent.key`` of the event that webhooks get for each row that was sent;
            None: no event.
        is_subscribed: whether an endpoint may want the event of a row.
        withdrawn: ``WebhookEvent.withdrawn`` of a row.
    """

    waiting: Callable[[Pool, int, datetime, Lease], AbstractAsyncContextManager[LockedBatch[Row] | None]]
    entry: Callable[[Row], OutgoingEntry]
    log_sent: Callable[[Row], None]
    log_postponed: Callable[[str], None]
    look_s: float
    webhook: tuple[WebhookType, Callable[[Row], str]] | None = None
    is_subscribed: Callable[[Row], bool] = lambda _row: True
    withdrawn: Callable[[Row], str | None] = lambda _row: None


class Relay(Generic[Row]):
    """Puts waiting rows on their stream, one relay at a time over the whole fleet.

    A batch is read and sent under a lease in Redis, which ends before the lock in Postgres. A relay that was
    frozen therefore sends nothing late, and nothing is sent while a reviewer holds the lock.

    Args:
        refresh: awaited before each batch, for a ``now`` that must be read first.
        delivered: called with the number of rows of each batch.
    """

    def __init__(
        self,
        rows: RelayedRows[Row],
        pool: Pool,
        redis: Redis,
        *,
        stream: str,
        now: Callable[[], datetime],
        refresh: Callable[[], Awaitable[None]] | None = None,
        delivered: Callable[[int], None] | None = None,
        signing_key: bytes | None = None,
    ) -> None:
        self._rows = rows
        self._pool = pool
        self._delivered = delivered
        self._stream = OnceStream(redis, stream, signing_key)
        self._now = now
        self._refresh = refresh
        self._asked = asyncio.Event()
        self._aside: set[int] = set()

    def nudge(self) -> None:
        """Signal that a row waits."""
        self._asked.set()

    async def run(self) -> None:
        """Send when nudged, and every ``look_s``: a person's action nudges no worker. Until cancelled."""
        while True:
            self._asked.clear()
            await self.send_all()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._rows.look_s):
                    await self._asked.wait()

    async def send_all(self) -> None:
        """Send until nothing waits, with retries during an outage."""
        while True:
            try:
                done = await self.deliver_batch()
            except (StorageUnavailable, StreamFull, RedisError, OSError) as error:
                self._rows.log_postponed(type(error).__name__)
                await asyncio.sleep(self._rows.look_s)
                continue
            if done is None:
                await asyncio.sleep(SHORT_PAUSE_S)
            elif done < BATCH:  # a later commit nudges again
                return

    async def deliver_batch(self) -> int | None:
        """Send or settle up to ``BATCH`` rows; how many, None while another relay sends."""
        if self._refresh is not None:
            await self._refresh()

        def waiting(lease: Lease) -> AbstractAsyncContextManager[LockedBatch[Row] | None]:
            return self._rows.waiting(self._pool, BATCH + len(self._aside), self._now(), lease)

        sent, done = await send_waiting(self._stream, self._rows, waiting, self._now, self._aside)
        for row in sent:
            self._rows.log_sent(row)
        if self._delivered is not None:
            self._delivered(len(sent))
        return done


async def send_waiting(
    stream: OnceStream,
    rows: RelayedRows[Row],
    waiting: Callable[[Lease], AbstractAsyncContextManager[LockedBatch[Row] | None]],
    now: Callable[[], datetime],
    aside: set[int],
) -> tuple[Sequence[Row], int | None]:
    """Send one batch; the rows that were sent, and how many were sent, settled or newly set aside.

    None instead of the number when others are left to another relay. What was sent is stored for webhooks in
    the same transaction. ``aside`` collects the rows of which no entry can be made: they wait for a process
    that can, and stop no other row.
    """
    async with stream.lease() as lease:
        if lease is None:
            return (), None
        async with waiting(lease) as batch:
            if batch is None:
                return (), None
            known = len(aside)
            entries = _entries(rows, batch.rows, aside)
            present = await lease.put([entry for _, entry in entries]) if entries else 0
            sent = [row for row, _ in entries[:present]]
            for each in (_entries(rows, batch.sent_before, aside), entries[:present]):
                await _store_events(batch.connection, rows, each, now())
            others = [(row, lease.sent_as.get(entry.mark)) for row, entry in entries[:present]]
            await batch.sent_for_others({row.row_id: other for row, other in others if other is not None})
            if sent:
                await batch.delivered([row.row_id for row in sent], now())
    if not batch.complete or present < len(entries):
        return sent, None
    return sent, len(sent) + batch.settled + len(aside) - known


def _entries(rows: RelayedRows[Row], read: Sequence[Row], aside: set[int]) -> list[tuple[Row, OutgoingEntry]]:
    """Each row with its entry; a row without one, such as a newer release's, is set aside."""
    found, failed = [], []
    for row in read:
        if row.row_id in aside:
            continue
        try:
            found.append((row, rows.entry(row)))
        except Exception as error:  # noqa: BLE001  # a bug in one row must not stop those of other accounts
            failed.append((row, error))
    if failed:  # one line: the transaction must not be idle for ``HOLD_S``
        row, first = failed[0]
        aside.update(row.row_id for row, _ in failed)
        log.error("row_not_sent", user_id=row.user_id, row=row.row_id, rows=len(failed), exc_info=first)
        telemetry.report(first)
    return found


async def _store_events(
    connection: Connection,
    rows: RelayedRows[Row],
    sent: Sequence[tuple[Row, OutgoingEntry]],
    at: datetime,
) -> None:
    """Store what is on the stream for webhooks."""
    if rows.webhook is None:
        return
    webhook, key = rows.webhook
    events = [
        WebhookEvent(
            user_id=row.user_id,
            conversation_id=row.conversation_id,
            key=key(row),
            body=entry.body,
            created_at=at,
            withdrawn=rows.withdrawn(row),
        )
        for row, entry in sent
        if rows.is_subscribed(row)
    ]
    if events:
        await subscriptions.store_events(connection, webhook, events)
