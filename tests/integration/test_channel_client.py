"""One request of the channel examples, against servers that answer badly or slowly."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from examples.channels import client
from examples.channels.hushgate import Away, Hushgate, Refused
from examples.channels.recipe import Gone, PayloadError, Request, SendRefused, TryLater
from tests.support.running import PATIENCE_S

OK: Final = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
POST: Final = Request(method="POST", path="/messages", body={"text": "Hi"})


@contextmanager
def answering(*pieces: bytes, every_s: float = 0) -> Iterator[tuple[str, list[bytes]]]:
    """A server that answers one request in pieces; its address, and what it was sent."""
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE_S)

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(PATIENCE_S)
                while not b"".join(received).endswith(b"}"):
                    if not (data := connection.recv(65_536)):
                        return
                    received.append(data)
                try:
                    for piece in pieces:
                        connection.sendall(piece)
                        time.sleep(every_s)
                except OSError:  # the client is gone
                    return

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", received
        thread.join(PATIENCE_S)


def asked(url: str, request: Request = POST) -> object:
    """The answer to a request."""
    return client.call(url, request, headers={"Authorization": "Bearer t"}, key="shop/e1")


@pytest.mark.parametrize(
    "answer",
    [
        OK + b'Content-Length: 100\r\n\r\n{"ok": ',
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 banana\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"",
    ],
    ids=["incomplete", "not_http", "bad_status", "bad_chunk", "nothing"],
)
def test_a_broken_answer_is_no_answer(answer: bytes) -> None:
    """The outcome is unknown: the request is tried again, and the process goes on."""
    with answering(answer) as (url, _), pytest.raises(TryLater, match="no answer"):
        asked(url)


def test_a_request_takes_no_longer_than_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even when each byte comes in time."""
    monkeypatch.setattr(client, "TIMEOUT_S", 0.2)
    pieces = (OK, b"Content-Length: 20\r\n\r\n", *[b" "] * 20)
    with answering(*pieces, every_s=0.05) as (url, _), pytest.raises(TryLater, match="no answer"):
        asked(url)


def test_a_body_is_not_sent_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection came too late: the channel gets no complete request."""
    monkeypatch.setattr(client, "TIMEOUT_S", 30.0)
    monkeypatch.setattr(client, "_before", lambda _deadline, body: BEFORE(0.0, body))
    with answering(OK) as (url, received), pytest.raises(TryLater, match="the deadline passed"):
        asked(url)

    assert b"Hi" not in b"".join(received)


BEFORE: Final = client._before


@pytest.mark.parametrize(
    ("body", "expected"), [(b'{"id": 1}', {"id": 1}), (b"[1]", {"items": [1]}), (b" ", {})]
)
def test_an_answer_is_an_object(body: bytes, expected: object) -> None:
    """A list is its field `items`; the request has the body and its length."""
    with answering(OK + b"\r\n" + body) as (url, received):
        assert asked(url) == expected

    sent = b"".join(received)
    assert b"Content-Length: 14\r\n" in sent
    assert sent.endswith(b'\r\n\r\n{"text": "Hi"}')


def test_another_answer_is_an_error() -> None:
    """Of a proxy, say."""
    with answering(OK + b"\r\n<html>") as (url, _), pytest.raises(PayloadError, match="another text"):
        asked(url)


ERRORS: Final[dict[str, tuple[dict[str, object], ...]]] = {
    "limits": (
        {
            "status": 403,
            "error": {"code": 403, "errors": [{"domain": "youtube.quota", "reason": "quotaExceeded"}]},
        },
        {"status": 403, "error": {"errors": [{"domain": "usageLimits", "reason": "rateLimitExceeded"}]}},
        {"status": 403, "error": {"errors": [{"domain": "usageLimits", "reason": "userRateLimitExceeded"}]}},
        {"status": 403, "error": {"code": 403, "details": [{"reason": "RATE_LIMIT_EXCEEDED"}]}},
        {"status": 400, "error": {"status": "RESOURCE_EXHAUSTED"}},
        {"status": 429, "type": "error.list", "errors": [{"code": "rate_limit_exceeded"}]},
        {"status": 403, "message": "slow mode", "code": 20016},
        {"status": 403, "message": "Channel write rate limit", "code": 20028},
    ),
    "passing": (
        {"status": 401},
        {"status": 408},
        {"status": 409, "error": "UpdateConflict"},
        {"status": 409, "type": "error.list", "errors": [{"code": "conflict"}]},
        {"status": 423, "error": "locked"},
        {"status": 425},
        {"status": 500},
        {"status": 503, "error": {"errors": [{"reason": "backendError"}]}},
        {"status": 400, "error": {"errors": [{"reason": "processingFailure"}]}},
        {"status": 400, "message": "overloaded", "code": 130000},
        {"status": 422, "error": "DatabaseConflict"},
    ),
    "refused": (
        {"status": 400, "error": {"errors": [{"reason": "commentTextTooLong"}]}},
        {"status": 403, "error": {"errors": [{"reason": "commentsDisabled"}]}},
        {"status": 403, "message": "Missing Permissions", "code": 50013},
        {"status": 422, "error": "RecordInvalid"},
        {"status": 413},
        {
            "status": 403,
            "ok": False,
            "error_code": 403,
            "description": "Forbidden: bot was blocked by the user",
        },
        {"status": 400, "ok": False, "error_code": 400, "description": "Bad Request: chat not found"},
    ),
    "gone": (
        {"status": 400, "error_code": 400, "description": "Bad Request: message to delete not found"},
        {"status": 404, "error": {"errors": [{"reason": "commentNotFound"}]}},
        {"status": 410},
    ),
}
"""Bodies of errors as YouTube, Intercom, Zendesk, Discord and Telegram write them."""


@pytest.mark.parametrize(
    ("meaning", "body"), [(meaning, body) for meaning, bodies in ERRORS.items() for body in bodies], ids=str
)
def test_an_error_means_what_its_status_and_its_reason_say(meaning: str, body: dict[str, object]) -> None:
    """A quota passes, a conflict is tried again, a refusal is kept aside at once."""
    text = json.dumps(body).encode()
    head = f"HTTP/1.1 {body['status']} X\r\nConnection: close\r\n\r\n"
    with answering(head.encode() + text) as (url, _), pytest.raises((TryLater, SendRefused)) as caught:
        asked(url)
    error = caught.value

    assert isinstance(error, TryLater) is (meaning in {"limits", "passing"})
    assert isinstance(error, Gone) is (meaning == "gone")
    assert getattr(error, "is_limit", False) is (meaning == "limits")


@pytest.mark.parametrize(
    ("header", "body", "expected"),
    [
        ("", {"parameters": {"retry_after": 31}}, 31),
        ("", {"message": "You are being rate limited.", "retry_after": 1.5}, 1.5),
        ("Retry-After: 7\r\n", {"parameters": {"retry_after": 31}}, 7),
        ("", {"parameters": {"retry_after": 4000}}, client.LONGEST_WAIT_S),
        ("", {"parameters": {"retry_after": [1]}}, client.WAIT_S),
    ],
    ids=["telegram", "discord", "header", "long", "nonsense"],
)
def test_the_next_try_waits_as_long_as_the_channel_says(
    header: str, body: dict[str, object], expected: float
) -> None:
    """By the header, or where the body says so."""
    head = f"HTTP/1.1 429 X\r\nConnection: close\r\n{header}\r\n".encode()
    with answering(head + json.dumps(body).encode()) as (url, _), pytest.raises(TryLater) as caught:
        asked(url)

    assert caught.value.after_s == expected


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_refused(status: int) -> None:
    """Another address would get the token, and a POST would become a GET without its text."""
    with answering(OK + b"\r\n{}") as (elsewhere, received):
        head = f"HTTP/1.1 {status} X\r\nConnection: close\r\nLocation: {elsewhere}/messages\r\n\r\n"
        with answering(head.encode()) as (url, _), pytest.raises(SendRefused, match=f"^status {status}$"):
            asked(url)
        assert received == []
        assert asked(elsewhere) == {}


HUSHGATE: Final[list[tuple[bytes, str]]] = [
    (b"HTTP/1.1 503 X\r\nConnection: close\r\n\r\n<html>", "Away: status 503"),
    (b"HTTP/1.1 429 X\r\nConnection: close\r\n\r\n{}", "Away: status 429"),
    (b"SSH-2.0-OpenSSH_9.6\r\n", "Away: BadStatusLine"),
    (
        b'HTTP/1.1 422 X\r\nConnection: close\r\n\r\n{"detail": "text: too long"}',
        "Refused: status 422: text: too long",
    ),
    (b"HTTP/1.1 401 X\r\nConnection: close\r\n\r\n<html>", "Refused: status 401: no reason"),
    (b"HTTP/1.1 302 X\r\nConnection: close\r\nLocation: /sign-in\r\n\r\n", "Refused: status 302: no reason"),
]


@pytest.mark.parametrize(("answer", "expected"), HUSHGATE, ids=str)
def test_hushgate_is_away_or_refuses(answer: bytes, expected: str) -> None:
    """What passes is tried again, a refusal says why; no error names the token."""
    with answering(answer) as (url, received), pytest.raises((Away, Refused)) as caught:
        Hushgate(f"{url}/", "hg_secret").call("POST", "decisions/1/answers", {"action": "approve"})

    assert f"{type(caught.value).__name__}: {caught.value}" == expected
    assert b"POST /api/v1/decisions/1/answers HTTP/1.1" in b"".join(received)
