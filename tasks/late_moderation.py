"""The job that moderates texts which passed while moderation was away."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import structlog

from db.late_moderation import settling
from db.late_moderation.settling import Unmoderated
from db.pool import Pool
from tasks.entries.rulebooks import Rulebook, Rulebooks
from tasks.limits.spending import Spending
from tasks.metrics import names
from tasks.model_connections import ModelConnections
from worker.answer_check import AnswerPorts
from worker.errors import StorageUnavailable
from worker.late_moderation import LateCheck, LateResult, check_late
from worker.model import Event, MessageRole, Scope

if TYPE_CHECKING:  # a worker without metrics does without their library
    from tasks.metrics.process import WorkerMetrics

log = structlog.get_logger(__name__)

BATCH: Final = 20
"""Exchanges of one run, one after the other: at most four a second and worker, beside the live events."""
AWAY_PAUSE: Final = timedelta(minutes=1)
BUDGET_PAUSE: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class LateModeration:
    """Checks exchanges that passed without moderation, the newest first.

    A killed worker leaves its claims, which end after a minute; each exchange is settled once.

    Attributes:
        spending: an account whose budget is spent waits.
        retracted: called when a retraction may wait.
    """

    pool: Pool
    models: ModelConnections
    rulebooks: Rulebooks
    spending: Spending
    now: Callable[[], datetime]
    retracted: Callable[[], None]
    metrics: WorkerMetrics | None = None

    async def run_once(self) -> None:
        """Check a batch; an account without a result, or without a budget, holds up no other."""
        if not self.models.connected:
            return
        paused: set[str] = set()
        for each in await settling.claim_unmoderated(self.pool, self.now(), BATCH):
            if each.user_id not in paused and (pause := await self._pause_after(each)):
                paused.add(each.user_id)
                await settling.pause_account(self.pool, each.user_id, self.now() + pause)

    async def _pause_after(self, exchange: Unmoderated) -> timedelta | None:
        """Check one exchange; how long its account waits when there is no result. A bug stops no other."""
        try:
            return await self._check(exchange)
        except StorageUnavailable:
            raise
        except Exception as error:
            log.exception("late_check_failed", decision_id=str(exchange.decision_id), exc_info=error)
            return None

    async def _check(self, exchange: Unmoderated) -> timedelta | None:
        """Check one exchange; how long its account waits, None when the exchange is settled."""
        book = await self.rulebooks.get(exchange.user_id)
        if await self.spending.budget(book.account) is not None:
            return BUDGET_PAUSE
        texts = await settling.load_texts(self.pool, exchange)
        found = await self._moderated(exchange, book, texts) if texts else LateCheck(result=LateResult.GONE)
        if found is None:
            return AWAY_PAUSE
        if await settling.settle(self.pool, exchange, found, book.account, self.now()):
            self._settled(exchange, found)
        return None

    async def _moderated(
        self, exchange: Unmoderated, book: Rulebook, texts: Mapping[MessageRole, str]
    ) -> LateCheck | None:
        event = _event(exchange, texts.get(MessageRole.USER, ""), self.now())
        async with self.models.in_use() as ports:
            asked = AnswerPorts(clock=ports.clock, moderator=ports.moderator, classifiers=ports.classifiers)
            return await check_late(texts, book.settings.case(event), asked)

    def _settled(self, exchange: Unmoderated, check: LateCheck) -> None:
        if self.metrics is not None:
            self.metrics.count(names.LATE_MODERATION, check.result)
        level = log.warning if check.result is LateResult.FLAGGED else log.info
        level("moderated_late", decision_id=str(exchange.decision_id), user_id=exchange.user_id,
              result=check.result.value)  # fmt: skip
        if check.result is LateResult.FLAGGED:
            self.retracted()


def _event(exchange: Unmoderated, text: str, now: datetime) -> Event:
    """The event as far as moderators need it; its time is now, so that nothing counts as too late."""
    return Event(
        event_id=exchange.event_id,
        entry_id=f"late {exchange.decision_id}",
        user_id=exchange.user_id,
        scope=Scope(exchange.scope),
        conversation_id=exchange.conversation_id,
        message_id=exchange.message_id,
        author_id=exchange.author_id,
        text=text,
        created_at=now,
        received_at=now,
    )
