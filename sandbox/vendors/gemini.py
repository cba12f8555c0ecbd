"""Gemini behind its OpenAI-compatible address."""

from __future__ import annotations

from sandbox.routes import Route
from sandbox.vendors.form import (
    Meaning,
    Requirement,
    Vendor,
    VendorDocument,
    answered,
    both,
    called,
    choice,
    cut,
    message,
    refused,
    text,
)
from sandbox.vendors.requests import has_empty_content, lacks_signatures

GUIDE = "ai.google.dev/gemini-api/docs: openai, troubleshooting"
RETRY = "type.googleapis.com/google.rpc.RetryInfo"
PLAN = "You exceeded your current quota, please check your plan and billing details."


def failed(code: int, words: str, status: str, *details: dict[str, object]) -> list[object]:
    """An error in a list, as this address sends it."""
    return [{"error": {"code": code, "message": words, "status": status, "details": list(details)}}]


def usual(document: VendorDocument) -> object:
    """Calls of tools without an id."""
    for each in document["choices"]:
        for call in each["message"].get("tool_calls") or ():
            call["id"] = ""
    return document


GEMINI = Vendor(
    name="gemini",
    usual={Route.CHAT: usual},
    requirements=(
        Requirement(
            name="no empty parts",
            source=GUIDE,
            is_broken_by=has_empty_content,
            status=400,
            body=failed(400, "Unable to submit request: must include at least one parts field", "INVALID_ARGUMENT"),
        ),
        Requirement(
            name="signatures of calls",
            source="koog#1148, req_llm#427",
            is_broken_by=lacks_signatures,
            status=400,
            body=failed(400, "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.", "INVALID_ARGUMENT"),
        ),
    ),
    forms=(
        refused(
            "retry_delay",
            Meaning.LATER,
            "vercel/ai#18627, aider#3694",
            429,
            failed(429, PLAN, "RESOURCE_EXHAUSTED", {"@type": RETRY, "retryDelay": "37s"}),
            wait_s=37.0,
        ),
        refused(
            "retry_delay_fraction",
            Meaning.LATER,
            "jp#1061",
            429,
            failed(429, PLAN, "RESOURCE_EXHAUSTED", {"@type": RETRY, "retryDelay": "45.837906927s"}),
            wait_s=45.837906927,
        ),
        refused(
            "retry_text",
            Meaning.LATER,
            "OmniRoute#7961",
            429,
            failed(429, f"{PLAN} Please retry in 26.5s.", "RESOURCE_EXHAUSTED"),
            wait_s=26.5,
        ),
        refused(
            "key",
            Meaning.KEY,
            "atomic-agent#106",
            400,
            failed(400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT", {"reason": "API_KEY_INVALID"}),
        ),
        refused("location", Meaning.KEY, "OpenManus#803", 400, failed(400, "User location is not supported for the API use.", "FAILED_PRECONDITION")),
        refused("overloaded", Meaning.LATER, GUIDE, 503, failed(503, "The model is overloaded.", "UNAVAILABLE")),
        refused("denied", Meaning.KEY, GUIDE, 403, failed(403, "Permission denied.", "PERMISSION_DENIED")),
        refused(
            "too_long",
            Meaning.TOO_LONG,
            GUIDE,
            400,
            failed(400, "The input token count (1200000) exceeds the maximum number of tokens allowed", "INVALID_ARGUMENT"),
        ),
        refused("model_name", Meaning.MODEL, GUIDE, 400, failed(400, "* GenerateContentRequest.model: unexpected model name format", "INVALID_ARGUMENT")),
        refused("payload", Meaning.TOO_LONG, "private-gpt#2009, quarkus-langchain4j#1705", 400, failed(400, "Request payload size exceeds the limit: 36000 bytes.", "INVALID_ARGUMENT")),
        answered("image_recitation", Meaning.DECLINED, GUIDE, cut("IMAGE_RECITATION")),
        refused("model", Meaning.MODEL, GUIDE, 404, failed(404, "models/x is not found for API version v1main: model not found", "NOT_FOUND")),
        refused("old_model", Meaning.MODEL, GUIDE, 404, [failed(404, "models/x is not found for API version v1main, or is not supported for generateContent.", "NOT_FOUND")]),
        refused("publisher_model", Meaning.MODEL, GUIDE, 404, failed(404, f"Publisher Model `projects/{'a' * 30}/locations/us-central1/publishers/google/models/x` was not found or your project does not have access to it.", "NOT_FOUND")),
        refused("prepaid", Meaning.QUOTA, GUIDE, 429, failed(429, "Your prepayment credits are depleted.", "RESOURCE_EXHAUSTED")),
        answered("max_tokens", Meaning.UNUSABLE, GUIDE, cut("MAX_TOKENS")),
        answered("thinking_took_all", Meaning.UNUSABLE, "write-assist-ai#32", both(message(content=None), choice(finish_reason="length"))),
        answered("safety", Meaning.DECLINED, GUIDE, both(message(content=None), choice(finish_reason="SAFETY"))),
        answered("prohibited", Meaning.DECLINED, GUIDE, cut("content_filter: PROHIBITED_CONTENT")),
        answered("recitation", Meaning.DECLINED, GUIDE, cut("RECITATION")),
        answered("bad_call", Meaning.UNUSABLE, GUIDE, both(message(content=None), choice(finish_reason="MALFORMED_FUNCTION_CALL"))),
        answered("bad_call_text", Meaning.UNUSABLE, GUIDE, text(lambda _: 'print(default_api.search_documents(query="x"))')),
        answered("no_message_text", Meaning.UNUSABLE, GUIDE, lambda body: {**body, "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant"}}]}),
        answered("thought", Meaning.WHOLE, "openclaw#69843", text(lambda said: f"<thought>They ask for hours.</thought>{said}")),
        answered("thought_line", Meaning.UNUSABLE, GUIDE, text(lambda said: f"thought\nThey ask for hours.\n\n{said}")),
        answered("control_marks", Meaning.WHOLE, GUIDE, text(lambda said: f"<ctrl94>They ask for hours.<ctrl95>{said}")),
        answered("parts", Meaning.WHOLE, GUIDE, message(content=lambda said: {"parts": [{"text": said}]})),
        answered("tool_code", Meaning.UNUSABLE, GUIDE, text(lambda _: "```tool_code\nsearch_documents('x')\n```")),
        answered("prefixed_call", Meaning.WHOLE, GUIDE, called({"id": "", "type": "function", "function": {"name": "default_api.search_documents", "arguments": '{"query": "hours"}'}})),
        answered("empty_choices", Meaning.UNUSABLE, GUIDE, lambda body: {**body, "choices": []}),
    ),
)  # fmt: skip
