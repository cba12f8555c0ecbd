"""One request to a channel, with what its answer means for the next try."""

from __future__ import annotations

import json
import math
import urllib.error
import urllib.request
from email.message import Message
from typing import Final

from .recipe import Gone, Json, PayloadError, Request, SendRefused, TryLater

TIMEOUT_S: Final = 10
WAIT_S: Final = 5
LONGEST_WAIT_S: Final = 15
"""Shorter than the lease of a consumer; when it is too short, the channel says so again."""


def call(url: str, request: Request, *, authorization: str, key: str) -> Json:
    """The channel's answer.

    ``Idempotency-Key`` helps where the channel, or a proxy of yours before it, knows the header.

    Raises:
        TryLater: no answer, 401, 408, 429 or 5xx.
        Gone: 404 or 410.
        SendRefused: another status.
        PayloadError: a success that is not a JSON object.
    """
    outgoing = urllib.request.Request(
        url + request.path,
        data=None if request.body is None else json.dumps(request.body).encode(),
        method=request.method,
        headers={
            "Content-Type": "application/json; charset=utf-8",
            "User-Agent": "hushgate-channel/1.0",
            "Authorization": authorization,
            "Idempotency-Key": key,
            **request.headers,
        },
    )
    try:
        with urllib.request.urlopen(outgoing, timeout=TIMEOUT_S) as answer:
            return _object(answer.read())
    except urllib.error.HTTPError as error:
        raise _failure(error.code, error.headers) from error
    except OSError as error:  # URLError, a reset, a timeout
        raise TryLater(f"no answer: {error}", WAIT_S) from error


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
    if not isinstance(found, dict):
        raise PayloadError("answer: expected a JSON object, got another value")
    return found
