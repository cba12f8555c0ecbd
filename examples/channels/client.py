"""One request to a channel, with what its answer means for the next try."""

from __future__ import annotations

import http.client
import json
import math
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future
from email.message import Message
from typing import Final

from .recipe import Gone, Json, PayloadError, Request, SendRefused, TryLater

TIMEOUT_S: Final = 10
"""The longest that a request may take in all. Shorter than the lease of a consumer."""
WAIT_S: Final = 5
LONGEST_WAIT_S: Final = 15
"""When it is too short, the channel says so again."""


def call(url: str, request: Request, *, authorization: str, key: str) -> Json:
    """The channel's answer; a list is the field ``items``.

    ``Idempotency-Key`` helps where the channel, or a proxy of yours before it, knows the header.

    Raises:
        TryLater: no answer in ``TIMEOUT_S``, 401, 408, 429 or 5xx.
        Gone: 404 or 410.
        SendRefused: another status.
        PayloadError: a success that is not a JSON object or list.
    """
    body = None if request.body is None else json.dumps(request.body).encode()
    outgoing = urllib.request.Request(
        url + request.path,
        data=None if body is None else _before(time.monotonic() + TIMEOUT_S, body),
        method=request.method,
        headers={
            "Content-Type": "application/json; charset=utf-8",
            "User-Agent": "hushgate-channel/1.0",
            "Authorization": authorization,
            "Idempotency-Key": key,
            **({} if body is None else {"Content-Length": str(len(body))}),
            **request.headers,
        },
    )
    answer: Future[bytes] = Future()
    threading.Thread(target=_ask, args=(outgoing, answer), daemon=True).start()
    try:
        return _object(answer.result(TIMEOUT_S))
    except urllib.error.HTTPError as error:
        error.close()
        raise _failure(error.code, error.headers) from error
    except (OSError, http.client.HTTPException) as error:  # URLError, a reset, a timeout, half an answer
        raise TryLater(f"no answer: {error!r}", WAIT_S) from error


def _before(deadline: float, body: bytes) -> Iterator[bytes]:
    """The body, unless the deadline passed while the connection was made."""
    if time.monotonic() >= deadline:
        raise TimeoutError("the deadline passed before the request was sent")
    yield body


def _ask(request: urllib.request.Request, answer: Future[bytes]) -> None:
    """Read an answer. In a thread: the timeout of a socket is one of each step, and steps have no limit."""
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as found:
            answer.set_result(found.read())
    except BaseException as error:  # noqa: BLE001  # raised where the answer is expected
        answer.set_exception(error)


def _failure(status: int, headers: Message) -> Exception:
    if status in (401, 408, 429) or status >= 500:
        return TryLater(f"status {status}", _wait(headers.get("Retry-After", "")))
    return (Gone if status in (404, 410) else SendRefused)(f"status {status}")


def _wait(retry_after: str) -> float:
    """Seconds to wait by the header; ours when it names a date or nonsense."""
    try:
        wait = float(retry_after)
    except ValueError:
        return WAIT_S
    return min(wait, LONGEST_WAIT_S) if math.isfinite(wait) and wait >= 0 else WAIT_S


def _object(body: bytes) -> Json:
    try:
        found = json.loads(body) if body.strip() else {}
    except (ValueError, RecursionError) as error:
        raise PayloadError("answer: expected a JSON object, got another text") from error
    if isinstance(found, list):
        return {"items": found}
    if not isinstance(found, dict):
        raise PayloadError("answer: expected a JSON object, got another value")
    return found
