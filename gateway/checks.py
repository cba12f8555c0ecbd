"""Checks of a program's own messages and drafts: the worker's pipeline in the process of the gateway."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID, uuid4

import structlog

from db.access_log import LoggedAction
from db.commits.checks import KnownCheck, look_up_check
from db.commits.record import record_check
from db.commits.stored_event import Recorded
from db.health.start import require_database
from db.pool import WORKER_ROLE
from features.jobs import Process, jobs_of
from review.access import Right
from review.http.field_problems import FieldProblem
from review.http.visit import Refused, Visit
from tasks.entries.outcome_log import log_decision
from tasks.entries.rulebooks import Rulebook
from tasks.process.garbage import spare_the_collector
from tasks.shards.clients import close
from tasks.upstreams import compile_patterns
from tasks.wiring import WorkerParts, worker_id
from worker.checks.given import check_event, check_ports, request_hash
from worker.checks.verdict import late_decision, stored_check, verdict_of
from worker.errors import ConfigurationError, StorageUnavailable
from worker.model import AI_ONLY, CheckVerdict, ConversationState, Decision, Event
from worker.payload.check_schema import CheckRequest
from worker.settings import Settings
from worker.supervisor import Supervisor

log = structlog.get_logger(__name__)

DEADLINE_S: Final = 30.0
"""Seconds that a check without a deadline may take."""
STORE_S: Final = 5.0
"""Seconds that each statement beside the check may take; then the program asks again by the same id."""
JOBS: Final = frozenset({"rulebooks", "models", "clock", "storage", "pauses", "garbage"})
"""The jobs of a worker that checks need too."""
RETRY_S: Final = 2


class Checks:
    """Makes checks: one decision each, stored with its verdict before the program gets the verdict.

    Args:
        settings: of a worker; None: this gateway makes no checks.
    """

    def __init__(self, settings: Settings | None) -> None:
        self._settings = settings
        self._parts: WorkerParts | None = None
        self._problem = "This gateway makes no checks."
        self._started = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Connect in the background, for which publishing does not wait, and keep the parts up to date."""
        if self._settings is None:
            yield
            return
        work = Supervisor()
        parts = WorkerParts(settings=self._settings, worker=worker_id(), work=work)
        self._problem = "Checks are starting."
        self._started.clear()
        if self._settings.models_problem is None:
            await asyncio.to_thread(compile_patterns)
        work.once("checks", partial(self._start, parts))
        try:
            yield
        finally:
            self._parts = None
            await work.close()
            await parts.pool.close(timeout=STORE_S)
            await close(parts.redis)
            await parts.models.close()

    async def _start(self, parts: WorkerParts) -> None:
        """Open the connections; a login without a worker's rights makes no checks."""
        url = parts.settings.database_url.get_secret_value()
        try:
            await asyncio.to_thread(require_database, url, role=WORKER_ROLE)
        except ConfigurationError:
            self._problem = f"This gateway makes no checks: its login lacks the role {WORKER_ROLE}."
            log.warning("checks_off", fix="run hushgate migrate --gateway-checks as the owner")
            self._started.set()
            return
        await parts.pool.open()
        await parts.models.start()
        for job in jobs_of(Process.WORKER):
            if job.name in JOBS:
                parts.work.loop(job.name, job.of(parts))
        await parts.keep_clock()
        spare_the_collector()
        self._parts = parts
        self._started.set()
        log.info("checks_started", connected=parts.models.connected)

    async def check(
        self, visit: Visit, request: CheckRequest, *, deadline_s: float = DEADLINE_S
    ) -> CheckVerdict:
        """The verdict on one check, which is stored; of a repeated one the stored verdict.

        The API token of the visit says who asks; its person must have the right to publish for the account.

        Raises:
            Refused: 403, 409 (the id has other content), or 503 (safe to repeat).
            StorageUnavailable: safe to repeat.
        """
        _require_right(visit, request.user_id)
        parts = await self._running_parts()
        check_id = request.id or str(uuid4())
        event = check_event(request, check_id=check_id, at=parts.clock.now())
        digest = request_hash(request)
        try:
            async with asyncio.timeout(STORE_S):
                live = await parts.rulebooks.get(event.user_id)
                known = await _known(parts, request, event, counts_author=live.counts_authors)
        except TimeoutError:
            raise _away("Postgres does not answer.") from None
        if known.request_hash is not None:
            return _repeated(known, digest)
        book = live.for_event(event, known.conversation)
        new = _NewCheck(event=event, request=request, conversation=known.conversation, book=book)
        decision = await _decided(parts, new, deadline_s)
        fail_open = visit.api_token is not None and visit.api_token.fail_open
        verdict = verdict_of(decision, shadow=request.shadow, fail_open=fail_open)
        decision = stored_check(decision, verdict)
        try:
            async with asyncio.timeout(STORE_S):
                is_new = await record_check(parts.pool, decision, digest)
                if not is_new:
                    return _repeated(await look_up_check(parts.pool, event), digest)
        except TimeoutError:
            raise _away("Postgres does not answer.") from None
        log_decision(decision, Recorded.NEW, 1)
        if verdict.failed_open:
            detail = {"check": check_id, "reason_code": verdict.reason_code}
            decided = UUID(verdict.decision_id)
            await visit.log(
                LoggedAction.FAILED_OPEN, user_id=event.user_id, decision_id=decided, detail=detail
            )
        await parts.spending.decided(book.account, decision)
        return verdict

    async def _running_parts(self) -> WorkerParts:
        """The parts, as soon as they are connected.

        Raises:
            Refused: 503.
        """
        if self._settings is not None and not self._started.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._started.wait(), STORE_S)
        parts = self._parts
        if parts is None:
            raise _away(self._problem)
        if not parts.models.connected:
            raise _away("No model servers are connected.")
        if not parts.storage.is_open:
            raise _away("Postgres does not answer.")
        return parts


@dataclass(frozen=True, slots=True, kw_only=True)
class _NewCheck:
    """A check that has no verdict yet."""

    event: Event
    request: CheckRequest
    conversation: ConversationState
    book: Rulebook


async def _known(
    parts: WorkerParts, request: CheckRequest, event: Event, *, counts_author: bool
) -> KnownCheck:
    """What is stored of a check; of one without any id, with an unknown author, nothing can be."""
    if request.id or request.conversation_id or (counts_author and request.author_id):
        return await look_up_check(parts.pool, event, counts_author=counts_author)
    return KnownCheck(request_hash=None, verdict=None, conversation=AI_ONLY)


async def _decided(parts: WorkerParts, new: _NewCheck, deadline_s: float) -> Decision:
    """The decision of a new check; at the deadline the decision that there is none."""
    given = partial(check_ports, new.request)
    try:
        async with asyncio.timeout(deadline_s):
            return await parts.decider.check(new.event, new.conversation, new.book, given)
    except TimeoutError:
        case = new.book.settings.case(new.event, new.conversation)
        return late_decision(case, new.request, parts.clock, deadline_s=deadline_s)
    except StorageUnavailable as error:
        parts.storage.doubt(error.kind)
        raise


def _require_right(visit: Visit, user_id: str) -> None:
    if visit.may(Right.PUBLISH, user_id):
        return
    expected = "an account for which the token's owner may publish"
    problem = FieldProblem(field="user_id", expected=expected, got=user_id)
    raise Refused(403, "Not allowed", f"Nothing was checked. {problem}.", problems=(problem,))


def _repeated(known: KnownCheck, digest: str) -> CheckVerdict:
    """The stored verdict of a repeated check."""
    if known.request_hash == digest and known.verdict is not None:
        return known.verdict
    expected, got = "the content that was checked by this id before, or a new id", "other content"
    if known.request_hash == digest:
        expected, got = "a new id", "the id of a check that was erased"
    problem = FieldProblem(field="id", expected=expected, got=got)
    raise Refused(409, "Checked before", f"Nothing was checked. {problem}.", problems=(problem,))


def _away(problem: str) -> Refused:
    text = f"{problem} No verdict was made. Ask again by the same id: each id is decided once."
    return Refused(503, "No checks now", text, retry_after_s=RETRY_S)
