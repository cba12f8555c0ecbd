"""``POST /v1/checks``: one check or an array of them, each read, checked and answered on its own."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import structlog
from pydantic import ValidationError
from redis.exceptions import RedisError
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from db.people.api_tokens import TokenScope
from gateway import batch
from gateway.checks import DEADLINE_S, RETRY_S, Checks
from gateway.intake import PublishRates
from review.access import Right
from review.api.body import JSON, field_problems, json_answer
from review.http.field_problems import FieldProblem
from review.http.page_routes import PageRoute
from review.http.visit import Refused, Visit
from worker.cancellation import all_of
from worker.errors import PayloadFault, PayloadRejected, StorageUnavailable
from worker.model import CheckVerdict
from worker.payload.check_schema import CheckRequest
from worker.payload.hints import usable_hints
from worker.payload.json_object import json_kind, json_object, rejected, shown

log = structlog.get_logger(__name__)

Given = TypeVar("Given")
Made = TypeVar("Made")

DEADLINE: Final = "Hushgate-Deadline-Ms"
LONGEST_MS: Final = 120_000
MOST_CHECKS: Final = 50
BODY_BYTES: Final = 4_194_304
AT_ONCE: Final = 8
"""Checks of one array that are made at the same time."""
MOST_PROBLEMS: Final = 20
"""Wrong fields of one check that are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check of an array: its verdict, or why there is none.

    Attributes:
        item: its number in the array, from 0.
        status: as of a request with this check alone.
    """

    item: int
    status: int
    verdict: CheckVerdict | None = None
    title: str = ""
    text: str = ""
    errors: tuple[FieldProblem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResults:
    """The results of an array of checks, in its order."""

    results: tuple[CheckResult, ...]


class CheckIntake:
    """Reads checks and answers with their verdicts."""

    def __init__(self, checks: Checks, rates: PublishRates) -> None:
        self._checks = checks
        self._rates = rates

    def route(self) -> PageRoute:
        """The line of the route table."""
        return PageRoute(
            path="/v1/checks",
            name="api_checks",
            handler=self.answer,
            right=Right.PUBLISH,
            methods=("POST",),
            api=True,
            summary="Check a message, a draft or both; of an array each alone",
            response=CheckVerdict,
            responses=CheckResults,
            body=CheckRequest,
            batch=True,
            also={207: "Some checks of an array have no verdict"},
            token_scope=TokenScope.CHECK,
            body_bytes=BODY_BYTES,
        )

    async def answer(self, visit: Visit) -> Response:
        """The verdict, or of an array the results in its order."""
        headers = visit.request.headers
        sent, encoding = headers.get("Content-Type", ""), headers.get("Content-Encoding", "")
        media = batch.media_type(sent, encoding, accepted=frozenset({JSON}))
        deadline_s = _deadline_s(headers)
        body = await visit.request.body()
        bodies = _split(body, media)
        if len(bodies) > MOST_CHECKS:
            text = f"Expected at most {MOST_CHECKS} checks in one request, got more; none was made."
            raise Refused(413, "Too many checks", text)
        is_array = body.lstrip()[:1] == b"["
        read = [read_check(each, item if is_array else None) for item, each in enumerate(bodies)]
        await self._require_rate(visit, [each for each in read if isinstance(each, CheckRequest)])
        if not is_array:
            return json_answer(await self._verdict(visit, read[0], deadline_s))
        results = await _some_at_once(lambda at: self._result(visit, *at, deadline_s), tuple(enumerate(read)))
        every = all(each.status == 200 for each in results)
        return json_answer(CheckResults(results=tuple(results)), 200 if every else 207)

    async def verdicts(self, visit: Visit, checks: Sequence[CheckRequest]) -> Sequence[CheckVerdict]:
        """The verdicts on checks that came in another contract, in their order.

        Raises:
            Refused: as for a single check; the refusal of one check is the refusal of all.
        """
        deadline_s = _deadline_s(visit.request.headers)
        await self._require_rate(visit, checks)
        return await _some_at_once(lambda each: self._verdict(visit, each, deadline_s), checks)

    async def _result(
        self, visit: Visit, item: int, read: CheckRequest | Refused, deadline_s: float
    ) -> CheckResult:
        """The result of one check of an array; a bug in it rises."""
        try:
            return CheckResult(item=item, status=200, verdict=await self._verdict(visit, read, deadline_s))
        except Refused as error:
            refused = error
        except StorageUnavailable:
            text = "Postgres does not answer. Ask again by the same id: each id is decided once."
            refused = Refused(503, "No checks now", text, retry_after_s=RETRY_S)
        return CheckResult(
            item=item,
            status=refused.status,
            title=refused.title,
            text=refused.text,
            errors=refused.problems,
        )

    async def _verdict(self, visit: Visit, read: CheckRequest | Refused, deadline_s: float) -> CheckVerdict:
        if isinstance(read, Refused):
            raise read
        return await self._checks.check(visit, read, deadline_s=deadline_s)

    async def _require_rate(self, visit: Visit, checks: Sequence[CheckRequest]) -> None:
        """Refuse (429) too many checks a second; without Redis there is no limit."""
        if not self._rates.limited:
            return
        assert visit.api_token is not None  # changes need one
        accounts = Counter(each.user_id for each in checks)
        try:
            token_id = str(visit.api_token.token_id)
            wait_s = await run_in_threadpool(self._rates.wait_s, token_id, accounts)
        except (RedisError, OSError) as error:
            log.warning("check_rate_not_taken", error=type(error).__name__)
            return
        if wait_s:
            text = f"Nothing was checked. Wait {wait_s:.1f} seconds, or ask for a higher limit."
            raise Refused(429, "Too many checks a second", text, retry_after_s=int(wait_s) + 1)


async def _some_at_once(make: Callable[[Given], Awaitable[Made]], given: Iterable[Given]) -> list[Made]:
    async def one(each: Given) -> Made:
        async with places:
            return await make(each)

    places = asyncio.Semaphore(AT_ONCE)
    return await all_of(map(one, given))


def _split(body: bytes, media: str) -> Sequence[bytes]:
    """The checks of a body as they were written; a refusal says that nothing was checked."""
    try:
        return batch.split(body, media, MOST_CHECKS)
    except Refused as error:
        raise _no_check(error.problems) from error


def read_check(body: bytes, item: int | None = None) -> CheckRequest | Refused:
    """The check in a body, or its refusal (422), which names each wrong field."""
    try:
        fields = usable_hints(json_object(body), _refuse_hint)
        return CheckRequest.model_validate(fields)
    except PayloadRejected as error:
        problems = [FieldProblem(item=item, field=error.field, expected=error.expected, got=error.got)]
    except ValidationError as error:
        problems = [replace(each, item=item) for each in field_problems(error)[:MOST_PROBLEMS]]
    return _no_check(problems)


def _no_check(problems: Sequence[FieldProblem]) -> Refused:
    return Refused(422, "No check", f"Nothing was checked. {problems[0]}.", problems=problems)


def _refuse_hint(path: str, expected: str, got: object) -> None:
    came = got if isinstance(got, str) else json_kind(got)
    raise rejected(PayloadFault.INVALID, expected, shown(came), field=shown(path))


def _deadline_s(headers: Mapping[str, str]) -> float:
    given = headers.get(DEADLINE)
    if given is None:
        return DEADLINE_S
    if given.isascii() and given.isdigit() and len(given) < 7 and 0 < int(given) <= LONGEST_MS:
        return int(given) / 1000
    problem = FieldProblem(
        field=DEADLINE, expected=f"whole milliseconds from 1 to {LONGEST_MS}", got=shown(given[:40])
    )
    raise Refused(422, "Deadline", f"Nothing was checked. {problem}.", problems=(problem,))
