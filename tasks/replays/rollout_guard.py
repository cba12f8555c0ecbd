"""Returns rollouts whose candidate left its bounds."""

from __future__ import annotations

from datetime import datetime

import structlog

from db.candidates.rollout_records import GUARD, REASON_CHARS, Author, RolloutRefused
from db.candidates.rollout_steps import check_rollout, return_rollout
from db.candidates.rollouts import list_running
from db.pool import Pool

log = structlog.get_logger(__name__)


async def watch_rollouts(pool: Pool, now: datetime) -> int:
    """Return every running rollout that must not go on; how many were."""
    returned = 0
    for rollout in await list_running(pool):
        if not (broken := await check_rollout(pool, rollout, now)):
            continue
        author = Author(made_by=GUARD, reason="; ".join(broken)[:REASON_CHARS], now=now)
        try:
            await return_rollout(pool, rollout.rollout_id, author)
        except RolloutRefused:
            continue  # a person ended it meanwhile
        log.warning("rollout_returned", user_id=rollout.user_id, rollout_id=str(rollout.rollout_id))
        returned += 1
    return returned
