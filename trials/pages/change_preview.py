"""What changed settings would have done to the newest decisions, shown before they are stored."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from db.access_log import LoggedAction
from review.http.visit import Visit
from trials.pure.replay.difference import DifferenceKind
from trials.pure.replay.groups import ReplayState
from trials.store.progress import newest_decisions
from trials.store.recordings import load_decisions
from trials.store.replaying import Replayer
from worker.model import Account

SPAN: Final = timedelta(days=7)
MOST: Final = 500
"""Decisions of a preview; ``hushgate trials backtest`` takes all."""
BATCH: Final = 50
PATIENCE_S: Final = 1.0
"""After this long no further decision is made again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePreview:
    """The newest decisions made again with changed settings; nothing is asked and nothing is sent.

    Attributes:
        decisions: decisions that were looked at: the newest ``MOST`` of ``SPAN`` or fewer when time was up.
        groups: a ``DifferenceKind``, or a ``ReplayState`` of those that were not made again -> decisions.
    """

    decisions: int
    groups: Mapping[str, int]

    @property
    def stopped(self) -> int:
        """Replies that went out and would not."""
        return self.groups.get(DifferenceKind.NEWLY_STOPPED, 0)

    @property
    def released(self) -> int:
        """Replies that did not go out and would."""
        return self.groups.get(DifferenceKind.NEWLY_RELEASED, 0)

    @property
    def others(self) -> int:
        """Decisions with another reply, or another silent ending."""
        kinds = (DifferenceKind.OTHER_REPLY, DifferenceKind.OTHER_ENDING)
        return sum(self.groups.get(each, 0) for each in kinds)

    @property
    def needing_answers(self) -> int:
        """Decisions for which a model or the documents would have to be asked again."""
        return self.groups.get(ReplayState.NEEDS_ANSWERS, 0)

    @property
    def unknown(self) -> int:
        """Decisions that cannot be made again, such as those without a recording."""
        known = {*DifferenceKind, ReplayState.NEEDS_ANSWERS}
        return sum(number for group, number in self.groups.items() if group not in known)


async def preview_change(visit: Visit, account: Account) -> ChangePreview:
    """Make the newest decisions of an account again with these settings, and log that they were read."""
    source, began = visit.store.pool, time.monotonic()
    ids = await newest_decisions(source, account.user_id, since=visit.now - SPAN, until=visit.now, most=MOST)
    replayer = Replayer(source=source, candidates={account.user_id: account})
    groups: Counter[str] = Counter()
    for start in range(0, len(ids), BATCH):
        if time.monotonic() - began > PATIENCE_S:
            break
        for stored in await load_decisions(source, ids[start : start + BATCH], light=True):
            if time.monotonic() - began > PATIENCE_S:
                break
            group, _ = await replayer.group_of(stored)
            groups[group] += 1
            await asyncio.sleep(0)  # other pages are served between two decisions
    if groups:
        detail = {"page": "preview", "decisions": groups.total()}
        await visit.log(LoggedAction.READ, user_id=account.user_id, detail=detail)
    return ChangePreview(decisions=groups.total(), groups=groups)
