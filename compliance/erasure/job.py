"""The job of an erasure: phase after phase, until nothing is left and the receipt is signed.

Nothing slips through while it runs. The first pass erases what is stored. Then the job waits until the stream
has no event left that was published before its start; an event leaves the stream only after its decision is
stored. The second pass erases these decisions, and what relays or people added to the first ones meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import structlog
from redis.asyncio import Redis

from compliance.erasure import steps
from compliance.erasure.records import Erasure, get_erasure
from compliance.erasure.streams import (
    count_entries,
    erase_entries,
    newest_entries,
    waiting_events,
)
from compliance.tables import ErasurePhase
from db.pool import Pool
from db.webhooks.deliveries import unblock_conversations
from tasks.shards.backlog import load_layout
from tasks.shards.layout import ShardLayout
from tasks.stream_upkeep.figures import stream_names
from worker.settings import ErasureSettings, OutgoingStreamSettings
from worker.settings.retention import key_bytes

log = structlog.get_logger(__name__)

DECISIONS: Final = 100
"""Decisions of a step, which is one transaction; relays wait for the last part of the transaction."""
LINES: Final = 1000
"""Lines of the access log of a step; relays go on meanwhile."""
PAUSE_S: Final = 0.05


def log_progress(erasure: Erasure) -> None:
    """Log the phase that an erasure enters."""
    log.info("erasure_progress", erasure_id=str(erasure.id), phase=erasure.phase)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureParts:
    """What a job needs.

    Attributes:
        key: 32 bytes of the Ed25519 key; None: receipts are signed later.
        progress: called with the erasure whenever it enters a phase.
        pause: waits so many seconds.
    """

    pool: Pool
    redis: Redis
    streams: OutgoingStreamSettings
    key: bytes | None = None
    progress: Callable[[Erasure], None] = log_progress
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep


def signing_key(settings: ErasureSettings) -> bytes | None:
    """The configured key, if there is one."""
    return None if settings.signing_key is None else key_bytes(settings.signing_key.get_secret_value())


async def run_erasures(parts: ErasureParts) -> int:
    """Advance every request that waits for a worker, as far as it goes; how many were advanced.

    Raises:
        StorageUnavailable, RedisError: safe to repeat.
    """
    if parts.key is not None:
        await _sign_receipts(parts, parts.key)
    advanced: set[UUID] = set()
    while (found := await steps.claim_erasure(parts.pool)) is not None:
        if found.id in advanced:  # it waits for events
            await steps.release_erasure(parts.pool, found.id)
            break
        await advance(parts, found)
        advanced.add(found.id)
    return len(advanced)


async def run_erasure(parts: ErasureParts, erasure_id: UUID) -> None:
    """Advance one request as far as it goes, unless another process works on it.

    Raises:
        StorageUnavailable, RedisError: safe to repeat.
    """
    if (found := await steps.claim_erasure(parts.pool, erasure_id)) is not None:
        await advance(parts, found)


async def advance(parts: ErasureParts, erasure: Erasure) -> None:
    """Run a claimed request until it is finished, or waits for a person or for events in the stream."""
    current: Erasure | None = erasure
    while current is not None and current.phase != ErasurePhase.FINISHED:
        parts.progress(current)
        phase = ErasurePhase(current.phase)
        if not await _run_phase(parts, current, phase):
            return
        current = await steps.next_phase(parts.pool, current)


async def _run_phase(parts: ErasureParts, erasure: Erasure, phase: ErasurePhase) -> bool:
    """Do the work of a phase; False when the job goes no further now."""
    match phase:
        case ErasurePhase.REQUESTED:
            await steps.store_preview(parts.pool, erasure.id, await _expected_entries(parts, erasure))
            return False
        case ErasurePhase.PREVIEWED:
            return await _begin(parts, erasure)
        case ErasurePhase.WAITING:
            if await waiting_events(parts.redis, await _layout(parts), erasure):
                await steps.release_erasure(parts.pool, erasure.id)
                return False
        case ErasurePhase.STREAMS_AGAIN:
            await _erase_entries(parts, erasure)
            await _finish(parts, erasure)
            return False
        case ErasurePhase.COPIES_AGAIN:
            await _repeat(parts, erasure, steps.AGAIN)
        case ErasurePhase.QUERIES | ErasurePhase.QUERIES_AGAIN:
            await _repeat(parts, erasure, steps.QUERIES, LINES)
        case ErasurePhase.ROWS | ErasurePhase.ROWS_AGAIN:
            await steps.erase_rows(parts.pool, erasure.id)
            await unblock_conversations(parts.pool, datetime.now(UTC))
        case ErasurePhase.STREAMS:
            await _erase_entries(parts, erasure)
        case _:
            await _repeat(parts, erasure, steps.DECISIONS)
    return True


async def _begin(parts: ErasureParts, erasure: Erasure) -> bool:
    """Start a confirmed request; the function sets its phase."""
    newest = await newest_entries(parts.redis, await _layout(parts))
    await steps.begin_erasure(parts.pool, erasure.id, newest)
    if (begun := await get_erasure(parts.pool, erasure.id)) is not None:
        await advance(parts, begun)
    return False


async def _repeat(parts: ErasureParts, erasure: Erasure, part: str, most: int = DECISIONS) -> None:
    while not await steps.erase_some(parts.pool, part, erasure.id, most):
        await parts.pause(PAUSE_S)


async def _expected_entries(parts: ErasureParts, erasure: Erasure) -> dict[str, int]:
    targets = await steps.expected_targets(parts.pool, erasure)
    waiting = await waiting_events(parts.redis, await _layout(parts), erasure)
    found = {parts.streams.stream: waiting}
    for stream in stream_names(parts.streams).values():
        found[stream] = await count_entries(parts.redis, stream, targets)
    return found


async def _erase_entries(parts: ErasureParts, erasure: Erasure) -> None:
    targets = await steps.found_targets(parts.pool, erasure)
    for stream in stream_names(parts.streams).values():
        erased = await erase_entries(parts.redis, stream, targets)
        await steps.add_counts(parts.pool, erasure.id, {stream: erased})


async def _layout(parts: ErasureParts) -> ShardLayout:
    return await load_layout(parts.redis, parts.streams.stream)


async def _finish(parts: ErasureParts, erasure: Erasure) -> None:
    await steps.finish_erasure(parts.pool, erasure.id)
    log.info("erasure_finished", erasure_id=str(erasure.id))
    if parts.key is not None:
        await _sign_receipts(parts, parts.key)


async def _sign_receipts(parts: ErasureParts, key: bytes) -> None:
    """Sign the receipts that are what their erasures say, and nothing else."""
    from compliance.erasure.receipts import ReceiptDiffers, sign_erasure  # noqa: PLC0415  # 7 MB, with a key only

    for erasure in await steps.unsigned_erasures(parts.pool):
        try:
            signature = sign_erasure(erasure, key)
        except ReceiptDiffers as error:
            log.warning("receipt_differs", erasure_id=str(erasure.id), error=str(error))
            continue
        await steps.store_signature(parts.pool, erasure.id, signature)
