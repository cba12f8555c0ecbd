"""One request to a channel, with what its answer means for the next try."""

from __future__ import annotations

import http.client
import json
import math
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from email.message import Message
from typing import Final

from .recipe import Gone, Json, PayloadError, Request, SendRefused, TryLater

TIMEOUT_S: Final = 10
"""The longest that a request may take in all. Shorter than the lease of a consumer."""
WAIT_S: Final = 5
ERROR_BYTES: Final = 65_536
ERROR_BODY_S: Final = 2
PASSING_STATUS: Final = frozenset({401, 408, 409, 421, 423, 425, 429})
"""A token that is renewed, a conflict, a lock, a limit: the same request may succeed later."""
CODES: Final = frozenset(
    {"code", "description", "error", "errorCode", "error_code", "reason", "status", "type"}
)
"""Fields of error bodies that name the reason."""
LIMITS: Final[tuple[str, ...]] = (
    *("quotaexceeded", "dailylimitexceeded", "dailylimitexceededunreg", "uploadratelimitexceeded"),
    *("ratelimitexceeded", "userratelimitexceeded", "servinglimitexceeded", "concurrentlimitexceeded"),
    *(
        "limitexceeded",
        "ratelimited",
        "ratelimiterror",
        "toomanyrequests",
        "resourceexhausted",
        "accountlimitexceeded",
    ),
    *("20016", "20022", "20028", "40062"),
)
"""Limits of Google, Intercom, Zendesk and, by number, of Discord: slow mode, writes, a busy resource."""
PASSING: Final[tuple[str, ...]] = (
    *(
        "backenderror",
        "internalerror",
        "internalservererror",
        "serviceunavailable",
        "unavailable",
        "servertimeout",
    ),
    *("processingfailure", "conflict", "updateconflict", "databaseconflict", "resourcelocked", "locked"),
    *("40004", "110001", "130000"),
)
"""Failures that pass."""
GONE: Final = "badrequestmessagetodeletenotfound"
"""Of Telegram, with status 400."""
LONGEST_WAIT_S: Final = 60
"""When it is too short, the channel says so again."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token to another address, and turn a POST into a GET."""

    def redirect_request(self, *_args: object, **_kwargs: object) -> None:
        """No request: the status is an error."""


OPENER: Final = urllib.request.build_opener(_NoRedirects)


def call(url: str, request: Request, *, headers: Mapping[str, str], key: str) -> Json:
    """The channel's answer; a list is the field ``items``.

    ``headers`` holds the credentials. ``Idempotency-Key`` helps where the channel, or a proxy of yours before
    it, knows the header. No error names the address: Telegram's holds the token.

    Raises:
        TryLater: no answer in ``TIMEOUT_S``, a status of ``PASSING_STATUS`` or 5xx, or another one whose body
            names a reason of ``LIMITS`` or ``PASSING``.
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
            "Idempotency-Key": key,
            **headers,
            **({} if body is None else {"Content-Length": str(len(body))}),
            **request.headers,
        },
    )
    answer: Future[bytes] = Future()
    threading.Thread(target=_ask, args=(outgoing, answer), daemon=True).start()
    try:
        return _object(answer.result(TIMEOUT_S))
    except urllib.error.HTTPError as error:
        raise _failure(error.code, error.headers, _error_body(error)) from error
    except (OSError, http.client.HTTPException) as error:  # URLError, a reset, a timeout, half an answer
        reason = getattr(error, "reason", "")
        raise TryLater(f"no answer: {type(error).__name__} {reason}".strip(), WAIT_S) from error


def _before(deadline: float, body: bytes) -> Iterator[bytes]:
    """The body, unless the deadline passed while the connection was made."""
    if time.monotonic() >= deadline:
        raise TimeoutError("the deadline passed before the request was sent")
    yield body


def _ask(request: urllib.request.Request, answer: Future[bytes]) -> None:
    """Read an answer. In a thread: the timeout of a socket is one of each step, and steps have no limit."""
    try:
        with OPENER.open(request, timeout=TIMEOUT_S) as found:
            answer.set_result(found.read())
    except BaseException as error:  # noqa: BLE001  # raised where the answer is expected
        answer.set_exception(error)


def _error_body(error: urllib.error.HTTPError) -> bytes:
    """The start of an error's body; empty when it cannot be read in time."""
    answer: Future[bytes] = Future()

    def read() -> None:
        try:
            answer.set_result(error.read(ERROR_BYTES))
        except BaseException as cause:  # noqa: BLE001  # raised where the answer is expected
            answer.set_exception(cause)

    threading.Thread(target=read, daemon=True).start()
    try:
        return answer.result(ERROR_BODY_S)
    except (OSError, http.client.HTTPException, TimeoutError):
        return b""
    finally:
        error.close()


def _failure(status: int, headers: Message, body: bytes = b"") -> Exception:
    """What a status means, with the reason in its body: a 403 may be a quota, a 400 a moment's trouble."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    found, wait = _reasons(answer)
    limit = next((each for each in LIMITS if each in found), None)
    passing = limit or next((each for each in PASSING if each in found), None)
    wait_s = _wait(headers.get("Retry-After") or wait)
    if passing or status in PASSING_STATUS or status >= 500:
        is_limit = bool(limit) or status == 429
        return TryLater(f"status {status} {passing or ''}".strip(), wait_s, is_limit=is_limit)
    return (Gone if status in (404, 410) or GONE in found else SendRefused)(f"status {status}", answer)


def _reasons(answer: object) -> tuple[frozenset[str], str]:
    """What an error's body says, wherever it stands.

    Codes and reasons, in lower case and without signs; and how many seconds to wait, of Telegram and Discord.
    """
    found: set[str] = set()
    wait = ""
    nodes = [answer]
    while nodes:
        node = nodes.pop()
        if isinstance(node, list):
            nodes += node
        elif isinstance(node, dict):
            nodes += node.values()
            found |= {_plain(node[name]) for name in CODES & node.keys() if isinstance(node[name], str | int)}
            wait = str(node.get("retry_after") or wait)
    return frozenset(found), wait


def _plain(code: str | int) -> str:
    return "".join(filter(str.isalnum, str(code).lower()))


def _wait(retry_after: str) -> float:
    """Seconds to wait as the channel says; ours when it names a date or nonsense."""
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
