"""Claude behind a gateway with the API of OpenAI, such as one over Bedrock."""

from __future__ import annotations

from sandbox.routes import Route
from sandbox.vendors.form import Meaning, Requirement, Vendor, answered, choice, cut, message, refused, text
from sandbox.vendors.requests import does_not_alternate, has, has_empty_content, has_undeclared_tools

GUIDE = "docs.anthropic.com/en/api/errors"


def failed(kind: str, words: str) -> dict[str, object]:
    """An error as Anthropic writes it."""
    return {"type": "error", "error": {"type": kind, "message": words}, "request_id": "req_1"}


def converse(kind: str, words: str) -> dict[str, object]:
    """An error of Bedrock as a gateway passes it on."""
    return {"detail": f"An error occurred ({kind}) when calling the Converse operation: {words}"}


ANTHROPIC_GATEWAY = Vendor(
    name="anthropic-gateway",
    usual={Route.CHAT: choice(finish_reason="end_turn")},
    requirements=(
        Requirement(
            name="declared tools",
            source="litellm#31400, bedrock-access-gateway#239",
            is_broken_by=has_undeclared_tools,
            status=400,
            body=failed("invalid_request_error", "The toolConfig field must be defined when using toolUse and toolResult content blocks."),
        ),
        Requirement(
            name="turns",
            source=GUIDE,
            is_broken_by=does_not_alternate,
            status=400,
            body=failed("invalid_request_error", 'messages: roles must alternate between "user" and "assistant"'),
        ),
        Requirement(
            name="no blank text",
            source=GUIDE,
            is_broken_by=has_empty_content,
            status=400,
            body=failed("invalid_request_error", "messages: text content blocks must contain non-whitespace text"),
        ),
        Requirement(
            name="no tool_choice none",
            source="bedrock-access-gateway#239",
            is_broken_by=lambda body: body.get("tool_choice") == "none",
            status=400,
            body=failed("invalid_request_error", "tool_choice: Input tag 'none' is not supported"),
        ),
        Requirement(
            name="no response_format",
            source=GUIDE,
            is_broken_by=has("response_format"),
            status=400,
            body=failed("invalid_request_error", "response_format: Extra inputs are not permitted"),
        ),
    ),
    forms=(
        answered("max_tokens", Meaning.UNUSABLE, "flink-agents#1040", cut("max_tokens")),
        answered("window", Meaning.UNUSABLE, GUIDE, cut("model_context_window_exceeded")),
        answered("pause_turn", Meaning.UNUSABLE, GUIDE, cut("pause_turn")),
        answered("refusal", Meaning.DECLINED, GUIDE, cut("refusal")),
        answered("guardrail", Meaning.DECLINED, GUIDE, cut("guardrail_intervened")),
        answered("parts", Meaning.WHOLE, GUIDE, message(content=lambda said: [{"type": "text", "text": said}])),
        answered("invoke", Meaning.UNUSABLE, "claude-code#69529", text(lambda _: 'court\n<invoke name="search_documents">\n<parameter name="query">x</parameter>\n</invoke>')),
        answered("thinking", Meaning.WHOLE, GUIDE, text(lambda said: f"<antthinking>Hours.</antthinking>{said}")),
        refused("overloaded", Meaning.LATER, GUIDE, 529, failed("overloaded_error", "Overloaded")),
        refused("throttled", Meaning.LATER, "positron#7844", 400, converse("ThrottlingException", "Too many requests, please wait before trying again.")),
        refused("tokens_throttled", Meaning.LATER, "Roo-Code#3000", 500, converse("ThrottlingException", "Too many tokens, please wait before trying again.")),
        refused("on_demand", Meaning.MODEL, "bedrock-access-gateway#73", 400, converse("ValidationException", "Invocation of model ID m with on-demand throughput isn\u2019t supported.")),
        refused("rate", Meaning.LATER, GUIDE, 429, failed("rate_limit_error", "This request would exceed your rate limit"), wait_s=41.0, retry_after="41"),
        refused("plan_limit", Meaning.LATER, "openclaw#30687", 402, failed("rate_limit_error", "usage limit reached, retry after 30s"), wait_s=30.0),
        refused("credit", Meaning.QUOTA, GUIDE, 400, failed("invalid_request_error", "Your credit balance is too low to access the Anthropic API.")),
        refused("usage_limits", Meaning.QUOTA, "claude-code#2127", 400, failed("invalid_request_error", "You have reached your specified API usage limits. You will regain access on 2025-07-01 at 00:00 UTC.")),
        refused("workspace_limits", Meaning.QUOTA, "claude-code#55998", 400, failed("invalid_request_error", "You have reached your specified workspace API usage limits. You will regain access on 2026-06-01 at 00:00 UTC.")),
        refused("legacy", Meaning.MODEL, "amazon-bedrock-workshop#386", 404, converse("ResourceNotFoundException", "Access denied. This Model is marked by provider as Legacy and you have not been actively using the model in the last 15 days.")),
        refused("max_length", Meaning.TOO_LONG, "Scrapegraph-ai#400, dify#3942", 400, converse("ValidationException", "Malformed input request: #/texts/0: expected maxLength: 2048, actual: 19882, please reformat your input and try again.")),
        refused("expired_token", Meaning.KEY, GUIDE, 400, converse("ExpiredTokenException", "The security token included in the request is expired")),
        refused("identifier", Meaning.MODEL, GUIDE, 400, converse("ValidationException", "The provided model identifier is invalid.")),
        refused("context_limit", Meaning.TOO_LONG, GUIDE, 400, failed("invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000")),
        refused("disabled", Meaning.KEY, "claude-code#8327", 400, failed("invalid_request_error", "This organization has been disabled.")),
        refused("key", Meaning.KEY, GUIDE, 401, failed("authentication_error", "invalid x-api-key")),
        refused("too_long", Meaning.TOO_LONG, GUIDE, 400, failed("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum")),
        refused("too_large", Meaning.TOO_LONG, GUIDE, 413, failed("request_too_large", "Request exceeds the maximum size")),
        refused("filtered", Meaning.INPUT, GUIDE, 400, failed("invalid_request_error", "Output blocked by content filtering policy")),
        refused("model", Meaning.MODEL, GUIDE, 404, failed("not_found_error", "model: claude-x not found")),
    ),
)  # fmt: skip
