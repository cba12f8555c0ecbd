"""What stands before each call of an upstream: its breaker, its limits and its share of concurrent calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from hashlib import blake2b
from types import TracebackType
from typing import Final, Protocol

import structlog

from worker.adapters.api_errors import ApiError, ApiStatusError
from worker.adapters.circuit_breaker import BreakerState, CallAdmission, CircuitBreaker, CircuitOpen
from worker.adapters.server_waits import asked_wait_s
from worker.model import AttemptOutcome
from worker.places import NoPlace, Places

log = structlog.get_logger(__name__)

FAILING: Final = frozenset(
    {
        AttemptOutcome.TIMEOUT,
        AttemptOutcome.CONNECTION,
        AttemptOutcome.SERVER_ERROR,
        AttemptOutcome.MALFORMED,
    }
)
"""Outcomes that open a breaker. A limit, a refused input or a wrong key is an answer of a working server."""


LASTING: Final = FAILING | {AttemptOutcome.RATE_LIMITED, AttemptOutcome.MISCONFIGURED}
"""Outcomes that the next call of any event would have too."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why the last call of an upstream failed; ``status`` is of HTTP, None without an answer.

    ``cause`` is the wrong part of the deployment, as in ``VendorFailure``; else empty.
    """

    kind: AttemptOutcome
    status: int | None
    cause: str = ""


class NotCalled(ApiError):
    """The upstream was not called.

    Attributes:
        kind: ``CIRCUIT_OPEN``, ``BUSY`` or ``LIMITED``.
        retry_after_s: seconds until the upstream may be called again, or None.
    """

    def __init__(self, message: str, *, kind: AttemptOutcome, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after_s = retry_after_s


SHARED_WAIT_S: Final = 60.0
"""How long a request of several events waits for a limit; each event then decides whether to ask again."""
_LAST_MOMENT: ContextVar[float | None] = ContextVar("last_moment", default=None)


class WaitsUntil:
    """Calls of this task wait for limits until this monotonic time at most; their event is too late then."""

    __slots__ = ("_last_moment_s", "_token")
    _token: Token[float | None]

    def __init__(self, last_moment_s: float) -> None:
        self._last_moment_s = last_moment_s

    def __enter__(self) -> None:
        self._token = _LAST_MOMENT.set(self._last_moment_s)

    def __exit__(self, *_: object) -> None:
        _LAST_MOMENT.reset(self._token)


def seconds_left() -> float | None:
    """Seconds that a call of this task may wait; None: without limit."""
    last = _LAST_MOMENT.get()
    return None if last is None else max(0.0, last - time.monotonic())


class CallLimits(Protocol):
    """The limits of an upstream over the whole fleet."""

    async def wait(self, tokens: int) -> None:
        """Return when a call of about so many tokens may be made.

        Raises:
            NotCalled: that would take too long.
        """
        ...

    def learned(self, headers: Mapping[str, str], status: int) -> None:
        """Note what an answer says about the limits."""
        ...

    def spent(self, estimated: int, tokens: int) -> None:
        """Correct the estimate of a call by its true use."""
        ...

    def not_sent(self, tokens: int) -> None:
        """Give back what ``wait`` counted for a call that was not made."""
        ...


class Guard(Protocol):
    """Guards the calls of one upstream."""

    def call(self, tokens: int = 0) -> AbstractAsyncContextManager[None]:
        """Around one call of about so many tokens."""
        ...

    def learned(self, headers: Mapping[str, str]) -> None:
        """Note the headers of an answer."""
        ...

    def spent(self, estimated: int, tokens: int) -> None:
        """Correct an estimate of tokens."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """Which upstream, and which account of it.

    Attributes:
        name: such as ``moderation`` or ``model other``.
        url: base URL.
        key_id: fingerprint of the key; two keys of one server are two accounts of it.
        model: as the server knows it; servers count limits by model.
    """

    name: str
    url: str
    key_id: str
    model: str

    @property
    def account(self) -> str:
        """What shares limits: address, key and model."""
        return blake2b(f"{self.url}\n{self.key_id}\n{self.model}".encode(), digest_size=8).hexdigest()


def key_id(key: str | None) -> str:
    """A fingerprint that shows whether two keys are equal without disclosing them."""
    return blake2b((key or "").encode(), digest_size=8, person=b"hushgate-key").hexdigest() if key else "none"


@dataclass(eq=False, slots=True, kw_only=True)
class CallGuard:
    """The guard of one upstream in this process.

    Attributes:
        shared: a call is of several events, so none of them limits its wait.
        trouble_of: sorts an error of a call; None for a bug.
        not_called: counts a call that was not made.
        trouble: what the last call met, and the next one would; None: the last call was answered.
    """

    upstream: Upstream
    breaker: CircuitBreaker
    places: Places
    trouble_of: Callable[[Exception], Trouble | None]
    limits: CallLimits | None = None
    shared: bool = False
    not_called: Callable[[AttemptOutcome], None] = lambda _: None
    trouble: Trouble | None = None

    def call(self, tokens: int = 0) -> GuardedCall:
        """Around one call: wait for limits and for a place, then note how it ends."""
        return GuardedCall(self, tokens)

    async def begin(self, tokens: int) -> CallAdmission:
        """Wait for limits and for a place; ``end`` must follow.

        Raises:
            NotCalled: the call is not made.
        """
        try:
            self.breaker.check()  # at once, instead of after a wait
            if self.limits is not None:
                await self._limited(self.limits, tokens)
            return await self._admitted(tokens)
        except NotCalled as error:
            self.not_called(error.kind)
            raise
        except CircuitOpen as error:
            self.not_called(AttemptOutcome.CIRCUIT_OPEN)
            # without the time of the next probe: no event is to wait for it
            raise NotCalled(f"{self.upstream.name}: {error}", kind=AttemptOutcome.CIRCUIT_OPEN) from error
        except NoPlace as error:
            self.not_called(AttemptOutcome.BUSY)
            raise NotCalled(f"{self.upstream.name}: {error}", kind=AttemptOutcome.BUSY) from error

    async def _admitted(self, tokens: int) -> CallAdmission:
        """A place and the breaker's permission; without them what the limits counted is given back."""
        try:
            await self.places.enter(None if self.shared else seconds_left())
            try:
                return self.breaker.admit()
            except CircuitOpen:
                self.places.give_back()
                raise
        except BaseException:
            if self.limits is not None:
                self.limits.not_sent(tokens)
            raise

    async def _limited(self, limits: CallLimits, tokens: int) -> None:
        try:
            async with asyncio.timeout(SHARED_WAIT_S if self.shared else seconds_left()):
                await limits.wait(tokens)
        except TimeoutError as error:
            raise NotCalled(
                f"{self.upstream.name}: waited for a limit of requests or tokens",
                kind=AttemptOutcome.LIMITED,
                retry_after_s=0.0 if self.shared else float("inf"),
            ) from error

    def end(self, admission: CallAdmission, error: BaseException | None) -> None:
        """Note how a call ended, and give its place back."""
        try:
            match error:
                case None:
                    self.breaker.ended(admission, failed=False)
                    self.trouble = None
                case Exception():
                    self._failed(admission, error)
                case _:
                    self.breaker.abandoned(admission)
        finally:
            self.places.give_back()

    def _failed(self, admission: CallAdmission, error: Exception) -> None:
        failed = True  # also where the error cannot be sorted: a probe must end
        try:
            met = self.trouble_of(error)
            failed = met is not None and met.kind in FAILING
            self.trouble = met if met is not None and met.kind in LASTING else None
        finally:
            self.breaker.ended(admission, failed=failed)
        if self.limits is not None and isinstance(error, ApiStatusError):
            self.limits.learned(_with_wait(error), error.status)

    def learned(self, headers: Mapping[str, str]) -> None:
        """Note the headers of an answer."""
        if self.limits is not None:
            self.limits.learned(headers, 200)

    def spent(self, estimated: int, tokens: int) -> None:
        """Correct an estimate of tokens."""
        if self.limits is not None:
            self.limits.spent(estimated, tokens)


@dataclass(slots=True)
class GuardedCall:
    """One call of a guard; four nested generators held 2 kB while the call waited for its answer."""

    guard: CallGuard
    tokens: int
    admission: CallAdmission = CallAdmission.NORMAL

    async def __aenter__(self) -> None:
        self.admission = await self.guard.begin(self.tokens)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.guard.end(self.admission, error)


def _with_wait(error: ApiStatusError) -> Mapping[str, str]:
    """The headers of a refusal, with a wait that only the body names, or without an unusable wait."""
    plain = {name.lower(): value for name, value in error.headers.items()}
    asked_s = asked_wait_s(plain, error.body, resets=False)
    headers = {name: value for name, value in plain.items() if not name.startswith("retry-after")}
    return headers if asked_s is None else {**headers, "retry-after": f"{asked_s:.3f}"}


class Unguarded:
    """No limits, such as for a command that makes one call."""

    @asynccontextmanager
    async def call(self, tokens: int = 0) -> AsyncIterator[None]:  # noqa: ARG002  # of the protocol
        """Make the call without a guard."""
        yield

    def learned(self, headers: Mapping[str, str]) -> None:
        """Learn nothing."""

    def spent(self, estimated: int, tokens: int) -> None:
        """Correct nothing."""


UNGUARDED: Final = Unguarded()


def log_state(upstream: str) -> Callable[[BreakerState], None]:
    """Logs each change of an upstream's breaker."""

    def changed(state: BreakerState) -> None:
        if state is BreakerState.CLOSED:
            log.info("breaker_closed", upstream=upstream)
        else:
            log.warning("breaker_changed", upstream=upstream, state=state)

    return changed
