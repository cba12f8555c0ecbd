"""What a replay of stored decisions does not repeat."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import UUID

from db.pool import create_pool
from tests.support.running import Running
from trials.store.recordings import load_decisions
from trials.store.replaying import Replayer


def replay_differs(engine: Running, decisions: Sequence[UUID]) -> dict[UUID, tuple[str, ...]]:
    """The fields that are not as they were stored, bit for bit, of each decision that has any."""

    async def run() -> dict[UUID, tuple[str, ...]]:
        different = {}
        async with create_pool(engine.url, size=1, application="test", role=None) as source:
            for stored in await load_decisions(source, decisions):
                made = await Replayer(source=source).replay(stored)
                assert made.difference is not None, made
                different[stored.decision_id] = made.difference.unequal
        assert len(different) == len(decisions)
        return {key: fields for key, fields in different.items() if fields}

    return asyncio.run(run())
