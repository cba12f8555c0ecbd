"""Mistral's API, and its templates elsewhere."""

from __future__ import annotations

from sandbox.routes import Route
from sandbox.vendors.form import Meaning, Requirement, Vendor, answered, called, cut, message, refused, text
from sandbox.vendors.requests import does_not_alternate, has_long_tool_ids

GUIDE = "docs.mistral.ai/api"


def flat(words: object, kind: str, code: object) -> dict[str, object]:
    """An error without an ``error`` object."""
    return {"object": "error", "message": words, "type": kind, "param": None, "code": code}


MISTRAL = Vendor(
    name="mistral",
    usual={Route.CHAT: message(content=lambda said: [{"type": "text", "text": said}] if said else None)},
    requirements=(
        Requirement(
            name="turns",
            source="vllm#6862, autogen#1037",
            is_broken_by=does_not_alternate,
            status=400,
            body=flat("Expected last role User or Tool; conversation roles must alternate.", "invalid_request_error", "3230"),
        ),
        Requirement(
            name="ids of nine characters",
            source=GUIDE,
            is_broken_by=has_long_tool_ids,
            status=400,
            body=flat("Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9.", "invalid_function_call", "3280"),
        ),
    ),
    forms=(
        answered("thinking_parts", Meaning.WHOLE, "vercel/ai#13703", message(content=lambda said: [{"type": "thinking", "thinking": [{"type": "text", "text": "They ask for hours."}]}, {"type": "text", "text": said}])),
        answered("reference_parts", Meaning.WHOLE, "laravel/ai#866", message(content=lambda said: [{"type": "text", "text": said}, {"type": "reference", "reference_ids": [1]}])),
        answered("text_object", Meaning.WHOLE, GUIDE, message(content=lambda said: {"type": "text", "text": said})),
        answered("think_marks", Meaning.WHOLE, GUIDE, text(lambda said: f"[THINK]They ask for hours.[/THINK]{said}")),
        answered("only_thinking", Meaning.UNUSABLE, GUIDE, message(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}])),
        answered("model_length", Meaning.UNUSABLE, GUIDE, cut("model_length")),
        answered("error", Meaning.UNUSABLE, GUIDE, cut("error")),
        answered("written_call", Meaning.WHOLE, GUIDE, text(lambda _: '[TOOL_CALLS][{"name": "search_documents", "arguments": {"query": "hours"}}]')),
        answered("written_call_args", Meaning.UNUSABLE, GUIDE, text(lambda _: '[TOOL_CALLS]search_documents[ARGS]{"query": "hours"}')),
        answered("arguments_object", Meaning.WHOLE, GUIDE, called({"id": "a1B2c3D4e", "function": {"name": "search_documents", "arguments": {"query": "hours"}}})),
        refused("key", Meaning.KEY, GUIDE, 401, {"detail": "Unauthorized"}),
        refused("size_reset", Meaning.LATER, GUIDE, 429, flat("Requests rate limit exceeded", "rate_limited", "1300"), wait_s=37.0, ratelimitbysize_reset="37"),
        refused("capacity", Meaning.LATER, GUIDE, 429, flat("Service tier capacity exceeded for this model.", "service_tier_capacity_exceeded", "3505")),
        refused("invalid", Meaning.INPUT, GUIDE, 422, {"detail": [{"type": "string_type", "loc": ["body", "messages", 0, "content"], "msg": "Input should be a string"}]}),
        refused("model", Meaning.MODEL, GUIDE, 400, flat("Invalid model: x", "invalid_model", "1500")),
        refused("too_long", Meaning.TOO_LONG, GUIDE, 400, flat("Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", "invalid_request_prompt", "3051")),
    ),
)  # fmt: skip
