"""One OpenAI-compatible client per endpoint, and what its errors mean to us."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Final

import httpx2
import openai
import orjson
from openai import AsyncOpenAI, DefaultAioHttpClient

CONNECT_S: Final = 5.0
REJECTING: Final = frozenset({400, 401, 403, 404, 405, 413, 415, 422})
UNSTORABLE: Final = re.compile(r"[\x00\ud800-\udfff]")
NO_KEY: Final = "no-key"  # the SDK insists on one; servers such as Ollama ignore it


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A vendor error in our words.

    Attributes:
        kind: ``timeout``, ``connection``, ``rate_limited``, ``server_error``, ``malformed`` or ``rejected``.
        status: HTTP status, or None when there was no answer.
        retry_after_s: as the server asked, in seconds, or None.
        message: for the audit, at most 300 characters.
    """

    kind: str
    status: int | None
    retry_after_s: float | None
    message: str

    @property
    def passes_by_itself(self) -> bool:
        """True when the same call may succeed later."""
        return self.kind != "rejected"


def client(base_url: str, api_key: str | None, *, connections: int) -> AsyncOpenAI:
    """A client that never retries by itself: retries are decided, counted and audited by the pipeline."""
    limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
    return AsyncOpenAI(
        base_url=base_url,
        api_key=api_key or NO_KEY,
        max_retries=0,
        http_client=DefaultAioHttpClient(limits=limits),
    )


def storable(text: str) -> str:
    """A vendor's text without NUL and half characters, which Postgres cannot keep."""
    return UNSTORABLE.sub("", text)


async def answer(client: AsyncOpenAI, path: str, body: Mapping[str, object], timeout_s: float) -> Any:  # noqa: ANN401  # any JSON value
    """The JSON document that a POST gives back, within ``timeout_s``.

    By the SDK's own door for any path: its typed methods walk every field of body and answer along their
    type hints, a quarter of a worker's CPU (py-spy on the pipeline of ``make bench``).

    Raises:
        OpenAIError, TimeoutError, ValueError: what ``failure`` sorts.
    """
    async with asyncio.timeout(timeout_s):
        response = await client.post(
            path, cast_to=httpx2.Response, body=dict(body), options={"timeout": timeout_s}
        )
    return orjson.loads(response.content)


def failure(error: Exception) -> Failure | None:
    """What a vendor error means, or None when it is no vendor error but a bug."""
    message = storable(f"{type(error).__name__}: {error}"[:300])
    match error:
        case TimeoutError() | openai.APITimeoutError():
            return Failure(kind="timeout", status=None, retry_after_s=None, message=message)
        case openai.APIConnectionError():
            return Failure(kind="connection", status=None, retry_after_s=None, message=message)
        case openai.APIStatusError():
            return _status_failure(error, message)
        case openai.APIResponseValidationError() | ValueError():
            return Failure(kind="malformed", status=None, retry_after_s=None, message=message)
        case _:
            return None


def _status_failure(error: openai.APIStatusError, message: str) -> Failure:
    status = error.status_code
    kind = "rejected" if status in REJECTING else "rate_limited" if status == 429 else "server_error"
    return Failure(kind=kind, status=status, retry_after_s=_retry_after_s(error), message=message)


def _retry_after_s(error: openai.APIStatusError) -> float | None:
    """Seconds from ``retry-after-ms`` or ``retry-after``; a date counts from the server's own."""
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
