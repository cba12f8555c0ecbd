"""OpenAI, and its reasoning models."""

from __future__ import annotations

import json
from typing import Any

from sandbox.routes import Route
from sandbox.vendors.form import (
    Meaning,
    Requirement,
    Vendor,
    VendorDocument,
    VendorForm,
    answered,
    both,
    choice,
    cut,
    message,
    refused,
    said,
    text,
)
from sandbox.vendors.requests import has

GUIDE = "platform.openai.com/docs: errors, moderation, reasoning"
AGAIN = (
    "Rate limit reached for gpt-5 on tokens per min (TPM): Limit 30000, Used 29800. Please try again in {}."
)
TOO_LARGE = "Request too large for gpt-5: Limit 30000, Requested 40000. The input or output tokens"
ABSURD_DATE = "Fri, 31 Dec 99999999999999999999 23:59:59 GMT"
BLANK = {"message": "", "type": "", "param": "", "code": None}
QUOTA = "insufficient_quota"


def error(words: str, **fields: object) -> dict[str, Any]:
    """An error object."""
    whole: dict[str, object] = {
        "message": words,
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    }
    return {"error": whole | fields}


def result(**changes: object) -> Any:
    """The first moderation result with other fields."""

    def body(document: VendorDocument) -> object:
        first, *others = document["results"]
        return {**document, "results": [{**first, **changes}, *others]}

    return body


def without_flags(document: VendorDocument) -> object:
    """A flagged result whose categories are all false."""
    first = document["results"][0]
    return result(flagged=True, categories=dict.fromkeys(first["categories"], False))(document)


MODERATION = (
    ("flagged_all_false", Meaning.FLAGGED, without_flags, "opensuperapp#56"),
    (
        "flagged_null",
        Meaning.FLAGGED,
        result(flagged=True, categories=None, category_scores=None),
        "litellm#30727",
    ),
    (
        "flagged_empty",
        Meaning.FLAGGED,
        result(flagged=True, categories={}, category_scores={}),
        "litellm#30727",
    ),
    (
        "flagged_no_scores",
        Meaning.FLAGGED,
        result(flagged=True, categories={"hate": True}, category_scores={}),
        GUIDE,
    ),
    (
        "flagged_as_text",
        Meaning.FLAGGED,
        result(flagged="true", categories={"hate": "true"}, category_scores={"hate": "0.9"}),
        GUIDE,
    ),
    (
        "null_categories",
        Meaning.UNUSABLE,
        result(flagged=False, categories=None, category_scores=None),
        "openai-python#1786",
    ),
    (
        "words_for_scores",
        Meaning.WHOLE,
        result(flagged=False, categories={"hate": False}, category_scores={"hate": "LOW", "self-harm": "3%"}),
        "ai.google.dev: HarmProbability",
    ),
    (
        "unknown_words_for_scores",
        Meaning.UNUSABLE,
        result(flagged=False, categories={"hate": False}, category_scores={"hate": "perhaps"}),
        "ai.google.dev: HarmProbability",
    ),
    ("no_categories", Meaning.UNUSABLE, result(flagged=False, categories={}), "litellm#30727"),
    (
        "all_null_scores",
        Meaning.UNUSABLE,
        result(flagged=False, category_scores={"hate": None}),
        "openai-python#1786",
    ),
    ("no_result", Meaning.UNUSABLE, said({"id": "m", "model": "omni", "results": []}), GUIDE),
    ("no_model", Meaning.WHOLE, lambda document: {"results": document["results"]}, GUIDE),
    (
        "legacy_nulls",
        Meaning.WHOLE,
        result(categories={"hate": False, "illicit": None}, category_scores={"hate": 0.01, "illicit": None}),
        "openai-python#1786",
    ),
)
RATE = "rate_limit_exceeded"
CHAT = (
    answered("length", Meaning.UNUSABLE, "chat-ui#2385", cut("length")),
    answered(
        "length_empty", Meaning.UNUSABLE, GUIDE, both(message(content=""), choice(finish_reason="length"))
    ),
    answered("blank_error", Meaning.WHOLE, "one-api: text responses", lambda body: {**body, "error": BLANK}),
    answered("filtered", Meaning.DECLINED, GUIDE, cut("content_filter")),
    answered("refusal", Meaning.DECLINED, GUIDE, message(content=None, refusal="I cannot help.")),
    answered(
        "refusal_part", Meaning.DECLINED, GUIDE, message(content=[{"type": "refusal", "refusal": "No."}])
    ),
    answered("no_reason_half", Meaning.UNUSABLE, "agent-zero#1836", cut(None)),
    answered("no_reason_whole", Meaning.WHOLE, GUIDE, choice(finish_reason=None)),
    answered(
        "channel_names",
        Meaning.WHOLE,
        "macprovider#743",
        text(lambda said: f"analysisWe need to answer.assistantfinal{said}"),
    ),
    answered(
        "role_and_channel_names",
        Meaning.WHOLE,
        "macprovider#743",
        text(lambda said: f"assistantanalysisWe need to answer.assistantfinal{said}"),
    ),
    answered(
        "to_functions",
        Meaning.UNUSABLE,
        "agents-js#1632",
        text(lambda _: 'to=functions.search_documents\n{"query": "x"}'),
    ),
    answered(
        "own_citation",
        Meaning.WHOLE,
        "opencodex#3150",
        text(lambda said: f"{said} \ue200cite\ue202turn1view0\ue202turn1view1\ue201 【4:0†hours.pdf】"),
    ),
    answered("json_text", Meaning.WHOLE, GUIDE, text(lambda said: json.dumps({"response": said}))),
    refused("try_again_s", Meaning.LATER, GUIDE, 429, error(AGAIN.format("7.3s"), code=RATE), wait_s=7.3),
    refused("try_again_m", Meaning.LATER, GUIDE, 429, error(AGAIN.format("1m12s"), code=RATE), wait_s=72.0),
    refused("try_again_ms", Meaning.LATER, GUIDE, 429, error(AGAIN.format("20ms"), code=RATE), wait_s=0.02),
    refused(
        "reset_header",
        Meaning.LATER,
        GUIDE,
        429,
        error("Rate limit reached.", code=RATE),
        wait_s=360.0,
        x_ratelimit_remaining_tokens="0",
        x_ratelimit_reset_tokens="6m0s",
    ),
    refused("absurd_date", Meaning.LATER, GUIDE, 503, error("Overloaded."), retry_after=ABSURD_DATE),
    refused("absurd_seconds", Meaning.LATER, GUIDE, 429, error("Slow down."), retry_after="1e400"),
    refused("quota", Meaning.QUOTA, GUIDE, 429, error("You exceeded your quota.", type=QUOTA, code=QUOTA)),
    refused("key", Meaning.KEY, GUIDE, 401, error("Incorrect API key provided.", code="invalid_api_key")),
    refused(
        "project", Meaning.MODEL, GUIDE, 403, error("Project `x` has no access.", code="model_not_found")
    ),
    refused("country", Meaning.KEY, GUIDE, 403, error("Country, region, or territory not supported")),
    refused(
        "model", Meaning.MODEL, GUIDE, 404, error("The model `x` does not exist.", code="model_not_found")
    ),
    refused(
        "invalid_prompt", Meaning.INPUT, GUIDE, 400, error("Your prompt was flagged.", code="invalid_prompt")
    ),
    refused(
        "too_long",
        Meaning.TOO_LONG,
        "ScottLogic#646",
        400,
        error("This model's maximum context length is 8192 tokens.", code="context_length_exceeded"),
    ),
    refused("too_large_429", Meaning.TOO_LONG, GUIDE, 429, error(f"{TOO_LARGE} must be reduced.", code=RATE)),
)
OPENAI = Vendor(
    name="openai",
    forms=(
        *CHAT,
        *(
            VendorForm(name=name, meaning=meaning, body=body, source=source, route=Route.MODERATIONS)
            for name, meaning, body, source in MODERATION
        ),
    ),
)
NOT_SUPPORTED = "Unsupported parameter: '{}' is not supported with this model."
REASONING = Vendor(
    name="openai-reasoning",
    requirements=(
        Requirement(
            name="max_completion_tokens",
            source="gollm#33, opencode#37964",
            is_broken_by=has("max_tokens"),
            status=400,
            body=error(
                f"{NOT_SUPPORTED.format('max_tokens')} Use 'max_completion_tokens' instead.",
                param="max_tokens",
                code="unsupported_parameter",
            ),
        ),
        Requirement(
            name="temperature",
            source="LightRAG#1536",
            is_broken_by=has("temperature"),
            status=400,
            body=error(
                NOT_SUPPORTED.format("temperature"), param="temperature", code="unsupported_parameter"
            ),
        ),
        Requirement(
            name="logprobs",
            source="LightRAG#1536",
            is_broken_by=has("logprobs", "top_logprobs"),
            status=400,
            body=error("logprobs are not supported with reasoning models.", param="logprobs"),
        ),
    ),
)
REASONING_BESIDE_TOOLS = Vendor(
    name="openai-reasoning-without-tools",
    requirements=(
        Requirement(
            name="no reasoning beside tools",
            source="joplin#16451, LibreChat#14231",
            is_broken_by=lambda body: "tools" in body and body.get("reasoning_effort") != "none",
            status=400,
            body=error(
                "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. To use"
                " function tools, use /v1/responses or set reasoning_effort to 'none'.",
                param="reasoning_effort",
            ),
        ),
        *REASONING.requirements,
    ),
)
