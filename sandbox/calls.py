"""One call of an OpenAI route, from body to outcome: parse, plan, wait, then answer or fail."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import orjson
from starlette.types import Receive, Send

from sandbox.connection import client_is_gone, reset_connection
from sandbox.faults import CallPlan, FaultKind, SandboxFault
from sandbox.forwarding import forwarded_embeddings
from sandbox.ledger import ABANDONED, BUG
from sandbox.replies.answers import chat_answer
from sandbox.replies.chat_request import parse_chat
from sandbox.replies.completions import completion_body, completion_events
from sandbox.replies.embeddings import embedding_texts, embeddings_body
from sandbox.replies.known_conversations import KnownConversations
from sandbox.replies.moderation import moderation_body, moderation_inputs
from sandbox.routes import BadRequest, Route
from sandbox.state import Sandbox
from sandbox.vendors.form import Requirement, Vendor, path_of

MOST_BODY_BYTES = 20 * 1024 * 1024
HANG_S = 3600.0
"""A hanging call ends after this time, or when the client disconnects."""

LOG = logging.getLogger("sandbox")
JSON = b"application/json"
EVENTS = b"text/event-stream; charset=utf-8"
UNFINISHED = b'{"id": "sandbox-malformed", "object": "chat.completion", "choices": [{"index": 0, "mess'
ERROR_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallReply:
    """The reply to an answered call: one body, or the pieces of a stream."""

    outcome: str
    pieces: Iterable[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxCall:
    """A parsed call: its route, the texts it is about, and the function that answers it."""

    route: Route
    document: dict[str, Any]
    texts: tuple[str, ...]
    reply: Callable[[CallPlan, int], CallReply]
    content_type: bytes = JSON


async def serve_call(sandbox: Sandbox, route: Route, receive: Receive, send: Send) -> None:
    """Answer one call and count it; a body that the real API would not accept is counted as 400."""
    body = await _read_body(receive)
    if body is not None and route is Route.EMBEDDINGS and sandbox.embeddings_url:
        await _forward(sandbox, body, send)
        return
    if body is None:
        error = BadRequest(f"body: expected at most {MOST_BODY_BYTES} bytes")
        await _refuse(sandbox, route, b"", error, send)
        return
    try:
        call = _parsed_call(sandbox, route, body)
    except BadRequest as error:
        await _refuse(sandbox, route, body, error, send)
        return
    if (broken := sandbox.vendor.refusal(call.route, call.document)) is not None:
        await _refuse_as_vendor(sandbox, call, body, broken, send)
        return
    record = sandbox.ledger.begin(call.route, "\n".join(call.texts), body)
    outcome = ABANDONED
    try:
        planned = sandbox.plan_call(call.route, call.texts)
        if planned.delay_s > 0:
            await asyncio.sleep(planned.delay_s)
        if not client_is_gone(send):
            outcome = await _perform(call, planned, record.number, receive, send, vendor=sandbox.vendor)
    except BadRequest as error:
        outcome = "400"
        await _send_error(send, 400, str(error), param=error.param)
    except Exception:
        outcome = BUG
        LOG.exception("the sandbox itself failed")
        raise
    finally:
        sandbox.ledger.end(record, outcome)


async def _forward(sandbox: Sandbox, body: bytes, send: Send) -> None:
    """Pass an embedding call on to the other server and count it."""
    record = sandbox.ledger.begin(Route.EMBEDDINGS, "", body)
    status, answer = await forwarded_embeddings(sandbox.embeddings_url, body)
    sandbox.ledger.end(record, "forwarded" if status == 200 else str(status))
    await _send_whole(send, status, JSON, answer)


async def _perform(
    call: SandboxCall, planned: CallPlan, number: int, receive: Receive, send: Send, *, vendor: Vendor
) -> str:
    """Execute the plan; return the counted outcome."""
    match fault := planned.fault:
        case SandboxFault(kind=FaultKind.STATUS):
            await _send_error(
                send, fault.status, f"sandbox fault: {fault.status}", retry_after_s=fault.retry_after_s
            )
        case SandboxFault(kind=FaultKind.HANG):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HANG_S):
                    while (await receive())["type"] != "http.disconnect":
                        pass
        case SandboxFault(kind=FaultKind.RESET):
            await _send_start(send, 200, call.content_type, length=10 * len(UNFINISHED))
            await send({"type": "http.response.body", "body": UNFINISHED, "more_body": True})
            await reset_connection(send)
        case SandboxFault(kind=FaultKind.MALFORMED):
            body = b"data: " + UNFINISHED + b"\n\n" if call.content_type is EVENTS else UNFINISHED
            await _send_whole(send, 200, call.content_type, body)
        case SandboxFault(kind=FaultKind.FORM):
            await _send_form(vendor, call, fault.value, number, send)
        case _:
            reply = _as_vendor(vendor, call, call.reply(planned, number))
            await _send_reply(send, call.content_type, reply)
            return reply.outcome
    return fault.outcome


def _parsed_call(sandbox: Sandbox, route: Route, body: bytes) -> SandboxCall:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"We could not parse the JSON body of your request: {error}") from error
    if not isinstance(document, dict):
        raise BadRequest("body: expected a JSON object")
    match route:
        case Route.CHAT | Route.JUDGE | Route.CLASSIFIER:
            return _chat_call(document, sandbox.known)
        case Route.MODERATIONS:
            inputs = moderation_inputs(document)
            return SandboxCall(
                route=route,
                document=document,
                texts=tuple(item.about for item in inputs),
                reply=lambda planned, number: _json_reply(
                    moderation_body(inputs, planned, number), planned.fault
                ),
            )
        case Route.EMBEDDINGS:
            texts = embedding_texts(document)
            return SandboxCall(
                route=route,
                document=document,
                texts=("\n".join(texts),),
                reply=lambda planned, _: _json_reply(
                    embeddings_body(document, texts, planned.fault), planned.fault
                ),
            )


def _chat_call(document: dict[str, Any], known: KnownConversations | None) -> SandboxCall:
    request = parse_chat(document)

    def reply(planned: CallPlan, number: int) -> CallReply:
        found = chat_answer(request, planned.fault, known)
        if request.stream:
            events = completion_events(request, found, number)
            return CallReply(outcome=found.outcome, pieces=events)
        body = orjson.dumps(completion_body(request, found, number))
        return CallReply(outcome=found.outcome, pieces=(body,))

    content_type = EVENTS if request.stream else JSON
    return SandboxCall(
        route=request.route, document=document, texts=(request.about,), reply=reply, content_type=content_type
    )


def _json_reply(document: dict[str, object], fault: SandboxFault | None) -> CallReply:
    outcome = "answered" if fault is None else fault.outcome
    return CallReply(outcome=outcome, pieces=(orjson.dumps(document),))


def _as_vendor(vendor: Vendor, call: SandboxCall, reply: CallReply) -> CallReply:
    """A whole answer in the vendor's usual form; streams are sent as they are."""
    usual = vendor.usual.get(path_of(call.route))
    if usual is None or call.content_type is not JSON:
        return reply
    return replace(reply, pieces=(orjson.dumps(usual(orjson.loads(b"".join(reply.pieces)))),))


async def _send_form(vendor: Vendor, call: SandboxCall, name: str, number: int, send: Send) -> None:
    """Send a form of the vendor, made from the answer that the call would get."""
    try:
        form = vendor.form(call.route, name)
    except ValueError as error:
        raise BadRequest(str(error)) from error
    whole = orjson.loads(b"".join(call.reply(CallPlan(), number).pieces))
    headers = tuple((key.encode(), value.encode()) for key, value in form.headers.items())
    body = form.body(whole)
    kind, content = (EVENTS, body) if isinstance(body, bytes) else (JSON, orjson.dumps(body))
    await _send_whole(send, form.status, kind, content, headers)


async def _refuse_as_vendor(
    sandbox: Sandbox, call: SandboxCall, body: bytes, broken: Requirement, send: Send
) -> None:
    record = sandbox.ledger.begin(call.route, "", body)
    sandbox.ledger.count_text(call.route, "")
    sandbox.ledger.end(record, str(broken.status))
    await _send_whole(send, broken.status, JSON, orjson.dumps(broken.body))


async def _refuse(sandbox: Sandbox, route: Route, body: bytes, error: BadRequest, send: Send) -> None:
    record = sandbox.ledger.begin(route, "", body)
    sandbox.ledger.count_text(route, "")
    sandbox.ledger.end(record, "400")
    await _send_error(send, 400, str(error), param=error.param)


async def _read_body(receive: Receive) -> bytes | None:
    """The whole body, or None when it is over ``MOST_BODY_BYTES``; the rest is read and dropped."""
    pieces: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        piece = message.get("body", b"")
        size += len(piece)
        if size <= MOST_BODY_BYTES:
            pieces.append(piece)
        more = message.get("more_body", False)
    return b"".join(pieces) if size <= MOST_BODY_BYTES else None


async def _send_reply(send: Send, content_type: bytes, reply: CallReply) -> None:
    if isinstance(reply.pieces, tuple):
        await _send_whole(send, 200, content_type, b"".join(reply.pieces))
        return
    await _send_start(send, 200, content_type)
    for piece in reply.pieces:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _send_error(
    send: Send, status: int, message: str, *, param: str | None = None, retry_after_s: float | None = None
) -> None:
    """Send an error object in the format of the OpenAI API."""
    kind = ERROR_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    error = {"message": message, "type": kind, "param": param, "code": None}
    headers = () if retry_after_s is None else ((b"retry-after", f"{retry_after_s:g}".encode()),)
    await _send_whole(send, status, JSON, orjson.dumps({"error": error}), headers)


async def _send_whole(
    send: Send, status: int, content_type: bytes, body: bytes, headers: tuple[tuple[bytes, bytes], ...] = ()
) -> None:
    await _send_start(send, status, content_type, length=len(body), headers=headers)
    await send({"type": "http.response.body", "body": body})


async def _send_start(
    send: Send,
    status: int,
    content_type: bytes,
    *,
    length: int | None = None,
    headers: tuple[tuple[bytes, bytes], ...] = (),
) -> None:
    sent = [(b"content-type", content_type), *headers]
    if length is not None:
        sent.append((b"content-length", b"%d" % length))
    await send({"type": "http.response.start", "status": status, "headers": sent})
