"""Calls of OpenAI-compatible endpoints, and the translation of their errors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Final

import aiohttp
import httpx2
import openai
import orjson
import structlog

from worker.adapters.call_guard import UNGUARDED, Guard, NotCalled
from worker.adapters.openai_http import ApiClient, ObserveRequest, open_client
from worker.errors import EndpointMisconfigured
from worker.model import AttemptOutcome

log = structlog.get_logger(__name__)

REJECTING: Final = frozenset({400, 413, 422})
"""The server refuses this one input."""
PASSING: Final = frozenset({408, 409, 425, 429})
"""The same call may succeed later; so may any status from 500."""
KEY: Final = frozenset({401, 403, 407})
QUOTA: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
MODEL: Final = frozenset({"model_not_found", "invalid_model"})
UNSTORABLE: Final = re.compile(r"[\x00\ud800-\udfff]")
NO_KEY: Final = "no-key"  # the SDK insists on one; servers such as Ollama ignore it


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorFailure:
    """A vendor error, translated.

    Attributes:
        kind: ``REJECTED`` is one input's fault; ``MISCONFIGURED`` lasts until the deployment is corrected.
        status: HTTP status, or None when there was no answer.
        retry_after_s: as the server asked, in seconds, or None.
        message: for the audit, at most 300 characters.
        cause: of ``MISCONFIGURED``: ``key``, ``quota``, ``model`` or ``address``; else empty.
    """

    kind: AttemptOutcome
    status: int | None
    retry_after_s: float | None
    message: str
    cause: str = ""

    @property
    def may_succeed_later(self) -> bool:
        """True when the same call may succeed later."""
        return self.kind not in {AttemptOutcome.REJECTED, AttemptOutcome.MISCONFIGURED}


class NotTheApi(ValueError):
    """A whole answer with status 200 that no OpenAI-compatible server gives: the address is wrong."""


class Watch:
    """Logs and reports once that an endpoint is misconfigured, and logs once that it is usable again.

    Args:
        endpoint: ``moderation``, ``model``, ``judge`` or ``embedding``.
        report: called with the error, such as ``telemetry.report``.
    """

    def __init__(self, endpoint: str, report: Callable[[BaseException], None] = lambda _: None) -> None:
        self._endpoint = endpoint
        self._report = report
        self._usable = True

    def failed(self, known: VendorFailure) -> None:
        """Note a failed call."""
        if known.kind is not AttemptOutcome.MISCONFIGURED or not self._usable:
            return
        self._usable = False
        log.error("endpoint_misconfigured", endpoint=self._endpoint, cause=known.cause, status=known.status)
        self._report(misconfigured(known))

    def worked(self) -> None:
        """Note a call that the endpoint answered."""
        if not self._usable:
            log.info("endpoint_usable", endpoint=self._endpoint)
        self._usable = True


def misconfigured(known: VendorFailure) -> EndpointMisconfigured:
    """The error of a failure whose kind is ``MISCONFIGURED``."""
    return EndpointMisconfigured(known.message, cause=known.cause, status=known.status or 0)


def client(
    base_url: str, api_key: str | None, *, connections: int, observe: ObserveRequest = lambda *_: None
) -> ApiClient:
    """A client of an endpoint, with or without a key."""
    return open_client(base_url, api_key or NO_KEY, connections=connections, observe=observe)


def storable(text: str) -> str:
    """A vendor's text without NUL and lone surrogates, which Postgres cannot store."""
    return UNSTORABLE.sub("", text)


async def answer(
    client: ApiClient,
    path: str,
    body: Mapping[str, object],
    timeout_s: float,
    *,
    holding: str,
    guard: Guard = UNGUARDED,
    tokens: int = 0,
) -> Any:
    """The JSON object with the field ``holding`` or ``error`` that a POST gives back, within ``timeout_s``.

    The time begins when the guard lets the call pass; ``tokens`` is the guard's estimate of its cost.

    Raises:
        OpenAIError, TimeoutError, ValueError: what ``failure`` sorts.
    """
    async with guard.call(tokens):
        async with asyncio.timeout(timeout_s):
            response = await client.post(path, body)
        check_type(response.headers, path)  # inside: a server with the wrong answers has failed
        document = orjson.loads(response.content)
        if not isinstance(document, dict) or not document.keys() & {holding, "error"}:
            raise NotTheApi(f"{path}: expected a JSON object with {holding}")
    guard.learned(response.headers)
    return document


def check_type(headers: Mapping[str, str], path: str) -> None:
    """Refuse a web page in place of an answer.

    Raises:
        NotTheApi: the content type is HTML.
    """
    if "html" in headers.get("content-type", ""):
        raise NotTheApi(f"{path}: expected JSON, got HTML")


def failure(error: Exception) -> VendorFailure | None:
    """The translation of a vendor error, or None for a bug."""
    message = storable(f"{type(error).__name__}: {error}"[:300])
    match error:
        case NotCalled():
            return VendorFailure(
                kind=error.kind, status=None, retry_after_s=error.retry_after_s, message=message
            )
        case openai.APIStatusError():
            return _status_failure(error, message)
        case TimeoutError() | openai.APITimeoutError():
            kind = AttemptOutcome.TIMEOUT
        case openai.APIConnectionError():
            looped = isinstance(error.__cause__, aiohttp.TooManyRedirects | httpx2.TooManyRedirects)
            kind = AttemptOutcome.MISCONFIGURED if looped else AttemptOutcome.CONNECTION
        case NotTheApi():
            kind = AttemptOutcome.MISCONFIGURED
        case openai.APIResponseValidationError() | ValueError():
            kind = AttemptOutcome.MALFORMED
        case _:
            return None
    cause = "address" if kind is AttemptOutcome.MISCONFIGURED else ""
    return VendorFailure(kind=kind, status=None, retry_after_s=None, message=message, cause=cause)


def kind_of(error: Exception) -> AttemptOutcome | None:
    """What kind of failure an error is; None for a bug."""
    known = failure(error)
    return known.kind if known else None


def _status_failure(error: openai.APIStatusError, message: str) -> VendorFailure:
    status, cause = error.status_code, _cause(error)
    if cause:
        return VendorFailure(
            kind=AttemptOutcome.MISCONFIGURED,
            status=status,
            retry_after_s=None,
            message=message,
            cause=cause,
        )
    kind = AttemptOutcome.RATE_LIMITED if status == 429 else AttemptOutcome.SERVER_ERROR
    if status in REJECTING:
        kind = AttemptOutcome.REJECTED
    return VendorFailure(kind=kind, status=status, retry_after_s=_retry_after_s(error), message=message)


def _cause(error: openai.APIStatusError) -> str:
    """The wrong part of the deployment; empty for an outage or one refused input."""
    status, words = error.status_code, {str(error.code), str(error.type)}
    if status == 402 or words & QUOTA:
        return "quota"
    if status in KEY:
        return "key"
    if status < 500 and (error.param == "model" or words & MODEL):
        return "model"
    return "" if status in REJECTING | PASSING or status >= 500 else "address"


def _retry_after_s(error: openai.APIStatusError) -> float | None:
    """Seconds from ``retry-after-ms`` or ``retry-after``; a date counts from the server's clock."""
    headers = error.response.headers
    for name, factor in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * factor
        except (KeyError, ValueError):
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    return _retry_after_date_s(headers.get("retry-after"), headers.get("date"))


def _retry_after_date_s(until: str | None, server_now: str | None) -> float | None:
    if until is None or server_now is None:
        return None
    try:
        return max(0.0, (parsedate_to_datetime(until) - parsedate_to_datetime(server_now)).total_seconds())
    except (ValueError, TypeError):
        return None
