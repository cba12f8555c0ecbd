"""Concurrent moderation checks in shared requests, equal texts asked about once, recent results reused.

::

    scores(text) ── recent result ──► answered without a request
         │
         ├── equal text under way ──► shares its result
         └── collected ──► one request ──► each check gets the result at its place
                               │
                               └── failed: each text alone, where a single text can be the cause
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, TypeAlias

import structlog

from worker.errors import EndpointMisconfigured, ModerationRejected, ModerationUnavailable
from worker.model import AttemptOutcome, ModerationScores
from worker.recent import Recent

log = structlog.get_logger(__name__)

MOST_TEXTS: Final = 32
"""Texts a request."""
MOST_CHARS: Final = 50_000
"""Characters of a request with several texts: about 15,000 tokens."""
WAIT_S: Final = 0.01
"""Longest wait for further checks."""
SMALLER_S: Final = 600.0
"""How long smaller batches are sent after the server refused a batch whose texts it took one by one."""
MOST_SUSPECTS: Final = 10_000
MOST_RESULTS: Final = 5_000
"""About 8 MB."""
NO_RESULT: Final = (ModerationUnavailable, ModerationRejected, EndpointMisconfigured)
OF_ONE_TEXT: Final = frozenset(
    {AttemptOutcome.SERVER_ERROR, AttemptOutcome.CONNECTION, AttemptOutcome.MALFORMED}
)
"""Failures of a batch that one of its texts may have caused; each text is then asked about alone."""

Result: TypeAlias = "ModerationScores | ModerationUnavailable"
Ask: TypeAlias = "Callable[[Sequence[str]], Awaitable[Sequence[Result]]]"


class RecentScores:
    """Results of the last ``reuse_s`` seconds; all are dropped when the server answers with another model."""

    def __init__(self, reuse_s: float) -> None:
        self._reuse_s = reuse_s
        self._model = ""
        self._results: Recent[bytes, tuple[float, ModerationScores]] = Recent(MOST_RESULTS)

    def get(self, key: bytes, now_s: float) -> ModerationScores | None:
        """The result for a text, or None."""
        found = self._results.get(key)
        return found[1] if found is not None and now_s < found[0] + self._reuse_s else None

    def put(self, key: bytes, scores: ModerationScores, now_s: float) -> None:
        """Keep a result in place of those that were not used for longest."""
        if scores.model != self._model:
            self._results.clear()
            self._model = scores.model
        self._results.keep(key, (now_s, scores))


@dataclass(slots=True, eq=False, kw_only=True)
class _Check:
    """A text under way.

    Attributes:
        waiters: callers that share the result; without any the check is dropped.
    """

    key: bytes
    text: str
    result: asyncio.Future[ModerationScores]
    waiters: int = 0


class BatchedChecks:
    """Collects checks for ``WAIT_S`` while others are under way; a check on an idle endpoint is sent at once.

    Args:
        ask: one request; a result per text in their order. Raises what a moderator raises.
        most_texts: of a request; 1 sends each text in a request of its own.
        reuse_s: how long a result is reused for an equal text; 0 asks about every text.
    """

    def __init__(self, ask: Ask, *, most_texts: int = MOST_TEXTS, reuse_s: float = 0.0) -> None:
        self._ask = ask
        self._most_texts = most_texts
        self._recent = RecentScores(reuse_s) if reuse_s else None
        self._under_way: dict[bytes, _Check] = {}
        self._collected: deque[_Check] = deque()
        self._requests: dict[asyncio.Task[None], list[_Check]] = {}
        self._timer: asyncio.Handle | None = None
        self._last_check_s = float("-inf")
        self._limit, self._limited_until_s = most_texts, float("-inf")
        self._suspects: Recent[bytes, None] = Recent(MOST_SUSPECTS)

    async def scores(self, text: str) -> ModerationScores:
        """The scores of a text.

        Raises:
            ModerationUnavailable, ModerationRejected, EndpointMisconfigured: as ``ask``, for this text.
        """
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if self._recent and (known := self._recent.get(key, _now_s())) is not None:
            return known
        check = self._under_way.get(key) or self._new_check(key, text)
        check.waiters += 1
        try:
            return await asyncio.shield(check.result)
        finally:
            check.waiters -= 1
            if not check.waiters and not check.result.done():
                self._abandon(check)

    def _new_check(self, key: bytes, text: str) -> _Check:
        check = _Check(key=key, text=text, result=asyncio.get_running_loop().create_future())
        if self._recent:
            self._under_way[key] = check
        self._collect(check)
        return check

    def _collect(self, check: _Check) -> None:
        """Send the check at once alone, or together with the checks of the next ``WAIT_S``."""
        now_s, since_last_s = _now_s(), _now_s() - self._last_check_s
        self._last_check_s = now_s
        if check.key in self._suspects:
            self._send([check])
            return
        self._collected.append(check)
        if len(self._collected) >= self._most_at(now_s):
            self._flush()
        elif self._timer is None:
            is_idle = not self._requests or since_last_s > WAIT_S
            loop = asyncio.get_running_loop()
            self._timer = loop.call_soon(self._flush) if is_idle else loop.call_later(WAIT_S, self._flush)

    def _most_at(self, now_s: float) -> int:
        return self._limit if now_s < self._limited_until_s else self._most_texts

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for batch in _batches(self._collected, self._most_at(_now_s())):
            self._send(batch)
        self._collected.clear()

    def _send(self, batch: list[_Check]) -> None:
        task = asyncio.get_running_loop().create_task(self._request(batch))
        self._requests[task] = batch
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Send what was collected meanwhile as soon as nothing is under way."""
        for check in self._requests.pop(task):
            self._end(check, None)
        if self._collected and not self._requests:
            self._flush()

    async def _request(self, batch: list[_Check]) -> None:
        """One request; afterwards each check of the batch has its result."""
        try:
            results = await self._ask([check.text for check in batch])
            answered = tuple(zip(batch, results, strict=True))
        except NO_RESULT as error:
            if len(batch) > 1 and _may_be_of_one_text(error):
                await self._one_by_one(batch, error)
                return
            if len(batch) > 1 and getattr(error, "kind", "") == AttemptOutcome.TIMEOUT:
                self._suspect(batch)  # one text may have caused it, but asking again now would take too long
            for check in batch:
                self._end(check, error)
        except Exception as error:  # noqa: BLE001  # a bug reaches every caller instead of none
            for check in batch:
                self._end(check, error)
        else:
            for check, result in answered:
                self._end(check, result)

    async def _one_by_one(self, batch: list[_Check], error: Exception) -> None:
        """Ask about each text alone, so that a text that cannot be moderated costs the others nothing."""
        await asyncio.gather(*(self._request([check]) for check in batch if not check.result.done()))
        failed = [check for check in batch if not check.result.cancelled() and check.result.exception()]
        if failed and len(failed) < len(batch):
            self._suspect(failed)
        elif not failed and (
            isinstance(error, ModerationRejected) or getattr(error, "kind", "") == AttemptOutcome.MALFORMED
        ):
            self._limit, self._limited_until_s = max(1, len(batch) // 2), _now_s() + SMALLER_S
            log.warning("moderation_batch_refused", texts=len(batch), most_texts=self._limit)

    def _suspect(self, checks: Sequence[_Check]) -> None:
        """Ask about these texts alone next time."""
        for check in checks:
            self._suspects.keep(check.key, None)

    def _end(self, check: _Check, result: Result | Exception | None) -> None:
        """Give all callers the result; None when the request was cancelled."""
        if self._under_way.get(check.key) is check:
            del self._under_way[check.key]
        if check.result.done():
            return
        if result is None:
            check.result.cancel()
        elif isinstance(result, Exception):
            check.result.set_exception(result)
        else:
            self._suspects.drop(check.key)
            if self._recent:
                self._recent.put(check.key, result, _now_s())
            check.result.set_result(result)

    def _abandon(self, check: _Check) -> None:
        """Drop a check that no caller waits for; a request without any other check is cancelled."""
        self._end(check, None)
        if check in self._collected:
            self._collected.remove(check)
        for task, batch in self._requests.items():
            if check in batch and all(each.result.done() for each in batch):
                task.cancel()


def _may_be_of_one_text(error: Exception) -> bool:
    """Whether one text of a batch may be the cause; a server that says when to ask again is the cause."""
    if isinstance(error, ModerationUnavailable):
        return error.kind in OF_ONE_TEXT and error.retry_after_s is None
    return isinstance(error, ModerationRejected)


def _batches(checks: Sequence[_Check], most_texts: int) -> Iterator[list[_Check]]:
    batch: list[_Check] = []
    chars = 0
    for check in checks:
        if batch and (len(batch) >= most_texts or chars + len(check.text) > MOST_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(check)
        chars += len(check.text)
    if batch:
        yield batch


def _now_s() -> float:
    return asyncio.get_running_loop().time()
