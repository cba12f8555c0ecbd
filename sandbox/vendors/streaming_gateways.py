"""Gateways that frame an answer as server-sent events without being asked for a stream."""

from __future__ import annotations

import json

from sandbox.vendors.form import Meaning, Vendor, VendorDocument, answered


def events(*documents: object) -> bytes:
    """Server-sent events."""
    return (
        b"".join(b"data: %s\n\n" % json.dumps(each).encode() for each in (*documents,)) + b"data: [DONE]\n\n"
    )


def chunk(finish_reason: str | None = None, **delta: object) -> dict[str, object]:
    """A piece of an answer."""
    choices = [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
    return {"object": "chat.completion.chunk", "model": "m", "choices": choices}


def streamed(document: VendorDocument) -> bytes:
    """The answer in pieces, as some servers send it although no stream was asked for."""
    said = document["choices"][0]["message"]["content"]
    parts = [chunk(content=each) for each in (said[:20], said[20:])]
    usage = {"usage": {"prompt_tokens": 9, "completion_tokens": 9}, "choices": []}
    return events(chunk(role="assistant", content=""), *parts, usage, chunk("stop"))


def streamed_so_far(document: VendorDocument) -> bytes:
    """Each piece repeats what was before it."""
    said = document["choices"][0]["message"]["content"]
    return events(*(chunk(content=said[:end]) for end in (9, 30, len(said))), chunk("stop"))


def streamed_parts(document: VendorDocument) -> bytes:
    """Pieces whose content is a list."""
    said = document["choices"][0]["message"]["content"]
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hours."}]}
    return events(
        chunk(content=[thought]),
        chunk(content=[{"type": "text", "text": said[:9]}]),
        chunk("stop", content=said[9:]),
    )


def streamed_with_message(document: VendorDocument) -> bytes:
    """Each piece stands beside the message until then."""
    said = document["choices"][0]["message"]["content"]
    pieces = [chunk(content=said[:20]), chunk("stop", content=said[20:])]
    for piece, so_far in zip(pieces, (said[:20], said), strict=True):
        piece["choices"][0]["message"] = {"role": "assistant", "content": so_far}  # type: ignore[index]  # a list
    return events(*pieces)


CALLED = (
    chunk(tool_calls=[{"index": 0, "id": "a", "function": {"name": "search_documents", "arguments": ""}}]),
    chunk(tool_calls=[{"index": 0, "function": {"arguments": '{"query": '}}]),
    chunk(tool_calls=[{"index": 0, "function": {"arguments": '"hours"}'}}]),
    chunk("tool_calls"),
)

NINE_ROUTER = Vendor(
    name="9router",
    forms=(
        answered("framed", Meaning.WHOLE, "9router#3492", lambda body: json.dumps(body).encode() + b"\n\ndata: [DONE]\n\n"),
        answered("commented", Meaning.WHOLE, "CLIProxyAPI#417", lambda body: b": OPENROUTER PROCESSING\n\n" * 2 + json.dumps(body).encode()),
        answered("padded", Meaning.WHOLE, "CLIProxyAPI#2690", lambda body: b"\n         \n" * 9 + json.dumps(body).encode()),
        answered("only_padding", Meaning.UNUSABLE, "atomic#230", lambda _: b"\n         \n" * 9),
        answered("streamed", Meaning.WHOLE, "open-webui/computer#193", streamed),
        answered("streamed_so_far", Meaning.WHOLE, "qwen-code#3896, freellmapi#1007", streamed_so_far),
        answered("streamed_with_message", Meaning.WHOLE, "hybridclaw#1325", streamed_with_message),
        answered("streamed_parts", Meaning.WHOLE, "docs.mistral.ai: streamed reasoning", streamed_parts),
        answered("streamed_with_mark", Meaning.WHOLE, "WHATWG: server-sent events", lambda body: b"\xef\xbb\xbf" + streamed(body)),
        answered("streamed_pings", Meaning.WHOLE, "docs.anthropic.com: streaming", lambda body: b'event: ping\ndata: {"type": "ping"}\n\n' + streamed(body)),
        answered("streamed_call", Meaning.WHOLE, "opencodex#3770", lambda _: events(*CALLED)),
        answered("streamed_error", Meaning.LATER, "nativ#195", lambda _: events({"error": "speculative decoding failed"})),
        answered("streamed_without_reason", Meaning.WHOLE, "sglang#4550", lambda body: streamed(body).replace(b'"stop"', b"null")),
        answered("stream_cut", Meaning.UNUSABLE, "atomic#230", lambda body: streamed(body).partition(b'data: {"usage"')[0]),
    ),
)  # fmt: skip
