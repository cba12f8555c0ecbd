"""Calls of OpenAI-compatible endpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

import structlog

from worker.adapters.answer_bodies import answer_value
from worker.adapters.api_errors import ApiStatusError
from worker.adapters.call_guard import UNGUARDED, Guard
from worker.adapters.error_bodies import code_of, error_in_success, inner_error, message_of
from worker.adapters.openai_http import ApiAnswer, ApiClient, ObserveRequest, status_error
from worker.adapters.vendor_failures import (
    NotTheApi,
    VendorFailure,
    misconfigured,
    remedy,
    status_of_words,
)
from worker.model import AttemptOutcome

log = structlog.get_logger(__name__)

STATUS_DIGITS: Final = 3
NO_KEY: Final = "no-key"  # servers such as Ollama ignore it


class Watch:
    """Logs and reports once that an endpoint is misconfigured, and logs once that it is usable again.

    After a doubtful 403 of an endpoint that worked the next call decides.

    Args:
        endpoint: ``moderation``, ``model``, ``judge`` or ``embedding``.
        report: called with the error, such as ``telemetry.report``.
    """

    def __init__(self, endpoint: str, report: Callable[[BaseException], None] = lambda _: None) -> None:
        self._endpoint = endpoint
        self._report = report
        self._usable = True
        self._worked = self._doubted = False

    def failed(self, known: VendorFailure) -> None:
        """Note a failed call."""
        if known.kind is not AttemptOutcome.MISCONFIGURED or not self._usable:
            return
        if known.is_doubtful and self._worked and not self._doubted:
            self._doubted = True
            return
        self._usable = False
        log.error(
            "endpoint_misconfigured",
            endpoint=self._endpoint,
            cause=known.cause,
            status=known.status,
            fix=known.message if known.cause == "proxy" else remedy(self._endpoint, known.cause),
        )
        self._report(misconfigured(known))

    def worked(self) -> None:
        """Note a call that the endpoint answered."""
        if not self._usable:
            log.info("endpoint_usable", endpoint=self._endpoint)
        self._usable = self._worked = True
        self._doubted = False


def client(
    base_url: str, api_key: str | None, *, connections: int, observe: ObserveRequest = lambda *_: None
) -> ApiClient:
    """A client of an endpoint, with or without a key."""
    return ApiClient(base_url, api_key or NO_KEY, connections=connections, observe=observe)


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
    """The JSON object with the field ``holding`` that a POST gives back, within ``timeout_s``.

    The time begins when the guard lets the call pass; ``tokens`` is the guard's estimate of its cost.

    Raises:
        ApiError, TimeoutError, ValueError: what ``failure`` sorts.
    """
    async with guard.call(tokens):
        async with asyncio.timeout(timeout_s):
            response = await client.post(path, body)
        document = _document(response, path)  # inside: a server with the wrong answers has failed
        if (hidden := _hidden_error(document, holding)) is not None:
            raise _status_error(response, client.mask.json(hidden))
        if not isinstance(document, dict) or holding not in document:
            raise NotTheApi(f"{path}: expected a JSON object with {holding}")
    guard.learned(response.headers)
    return document


def _hidden_error(document: Any, holding: str) -> Any:
    try:
        return error_in_success(document, holding)
    except RecursionError as error:
        raise ValueError("answer: expected JSON with less nesting") from error


def _document(response: ApiAnswer, path: str) -> Any:
    """The JSON value of an answer.

    Raises:
        NotTheApi: it is a web page.
        ValueError: it is no JSON.
    """
    try:
        return answer_value(response.content)
    except ValueError as error:
        if "html" in response.headers.get("content-type", ""):
            raise NotTheApi(f"{path}: expected JSON, got HTML") from error
        raise


def _status_error(response: ApiAnswer, hidden: Any) -> ApiStatusError:
    """The error that an answer of success holds, with the status that its code or its words stand for."""
    code = code_of(hidden)
    digits = str(code)
    is_status = digits.isdecimal() and len(digits) == STATUS_DIGITS and digits[0] in "45"
    words = f"{message_of(hidden)}\n{code}\n{hidden.get('type') if isinstance(hidden, Mapping) else ''}"
    status = int(digits) if is_status else status_of_words(words)
    return status_error(status, response.headers, hidden, message_of(inner_error(hidden)))
