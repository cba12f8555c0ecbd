"""Deciding one item: its own history, passages and time, and the live models."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from trials.pure.evaluation.figures import ItemResult
from trials.pure.evaluation.items import GoldenItem
from trials.pure.replay.difference import outcome_of
from worker.checks.given import GivenHistory
from worker.model import Decision, Passage, Retrieved
from worker.pipeline import decide
from worker.ports import Clock, Ports
from worker.reasons import FAILURE_FAMILIES, Reason
from worker.steps.run import PinnedSettings

TIMEOUT: Final = "TIMEOUT"
"""Failure of an item that was not decided in time; not a reason, as there is no decision."""


@dataclass(slots=True)
class ItemClock:
    """A clock that shows the time of the message, and then moves as the real one does."""

    live: Clock
    started_at: datetime
    item_id: UUID
    _first: float = field(init=False)

    def __post_init__(self) -> None:
        self._first = self.live.monotonic()

    def now(self) -> datetime:
        """The wall clock, UTC."""
        return self.started_at + timedelta(seconds=self.live.monotonic() - self._first)

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return self.live.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after ``seconds``."""
        await self.live.sleep(seconds)

    def new_id(self, at: datetime) -> UUID:  # noqa: ARG002  # nothing is stored
        """The id of the item."""
        return self.item_id


@dataclass(frozen=True, slots=True)
class ItemPassages:
    """A search that finds the passages of an item."""

    passages: tuple[Passage, ...]

    async def search(
        self,
        user_id: str,  # noqa: ARG002
        query: str,  # noqa: ARG002
        limit: int,
        min_similarity: float = 0.0,
        labels: Mapping[str, str] | None = None,
        *,
        earlier: Sequence[str] = (),  # noqa: ARG002
        embedded: Sequence[str] | None = None,  # noqa: ARG002
    ) -> Retrieved:
        """Up to ``limit`` of them that are similar enough and have the labels."""
        wanted = (labels or {}).items()
        found = (
            each
            for each in self.passages
            if each.similarity >= min_similarity and wanted <= each.metadata.items()
        )
        return Retrieved(passages=tuple(found)[:limit])


def item_ports(item: GoldenItem, live: Ports) -> Ports:
    """The live ports with the item's history, time, and passages where it has any."""
    content = item.content
    return replace(
        live,
        clock=ItemClock(live.clock, content.event.created_at, item.item_id),
        conversations=GivenHistory(content.history),
        retriever=live.retriever if content.passages is None else ItemPassages(content.passages),
        arrivals=None,
    )


async def decide_item(
    item: GoldenItem, version: PinnedSettings, live: Ports, *, timeout_s: float
) -> tuple[ItemResult, Decision | None]:
    """What an item came to, and its decision; None: it was not decided within ``timeout_s``.

    Nothing is sent or stored. The conversation belongs to the AI, and no budget is spent.
    """
    event = item.content.event
    event = replace(event, user_id=version.account.user_id, received_at=event.created_at)
    begun = live.clock.monotonic()
    try:
        async with asyncio.timeout(timeout_s):
            decision = await decide(version.case(event), item_ports(item, live))
    except TimeoutError:
        return _result(item, begun, live, answered=False, reason="", failure=TIMEOUT), None
    outcome = outcome_of(decision)
    failed = Reason(decision.reason_code).spec.family in FAILURE_FAMILIES
    failure = outcome.reason_code if failed else ""
    made = _result(item, begun, live, answered=outcome.answers, reason=outcome.reason_code, failure=failure)
    return made, decision


def _result(
    item: GoldenItem, begun: float, live: Ports, *, answered: bool, reason: str, failure: str
) -> ItemResult:
    return ItemResult(
        row_id=item.row_id,
        label=item.label,
        answered=answered,
        reason=reason,
        failure=failure,
        latency_s=live.clock.monotonic() - begun,
    )
