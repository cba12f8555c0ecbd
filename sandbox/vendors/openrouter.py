"""OpenRouter: many vendors behind one address, whose errors may come with status 200."""

from __future__ import annotations

import time

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
    without,
)
from sandbox.vendors.requests import has

GUIDE = "openrouter.ai/docs/errors"
PROVIDER = "Provider returned error"


def failed(code: object, words: str, **metadata: object) -> dict[str, object]:
    """An error object."""
    return {"error": {"message": words, "code": code} | ({"metadata": metadata} if metadata else {})}


def reset_in_30_s(_: VendorDocument) -> object:
    """A limit whose reset is a time in milliseconds, inside the body."""
    reset = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(round(1000 * (time.time() + 30)))}
    return failed(429, "Rate limit exceeded", headers=reset)


def in_choice(document: VendorDocument) -> object:
    """An error beside half of an answer."""
    cut_off = cut("error")(document)
    return choice(error={"code": 502, "message": PROVIDER})(cut_off)  # type: ignore[arg-type]  # an object


OPENROUTER = Vendor(
    name="openrouter",
    requirements=(
        Requirement(
            name="no response_format",
            source=GUIDE,
            is_broken_by=has("response_format"),
            status=404,
            body=failed(404, "No endpoints found that support the requested parameters: response_format"),
        ),
    ),
    forms=(
        answered("hidden_429", Meaning.LATER, "aider#3550", said(failed(429, "Rate limit exceeded: free-models-per-min."))),
        answered("hidden_402", Meaning.QUOTA, "dify#9249", said(failed(402, "This request requires more credits, or fewer max_tokens."))),
        answered("hidden_401", Meaning.KEY, "mini-swe-agent#902", said(failed(401, "User not found."))),
        answered("hidden_400", Meaning.INPUT, "xaibo#36", said(failed(400, "Bad input."))),
        answered("hidden_403", Meaning.INPUT, GUIDE, said(failed(403, "Your chosen model requires moderation and your input was flagged"))),
        answered("hidden_502", Meaning.LATER, GUIDE, said(failed(502, PROVIDER))),
        answered("hidden_word", Meaning.LATER, GUIDE, said(failed("rate_limit_exceeded", "Too many requests"))),
        answered("hidden_text", Meaning.LATER, GUIDE, said({"error": "upstream connect error"})),
        answered("error_in_choice", Meaning.LATER, GUIDE, in_choice),
        answered("error_reason", Meaning.UNUSABLE, "genkit#6259", cut("error")),
        answered("native_reason", Meaning.UNUSABLE, GUIDE, both(cut("stop"), choice(native_finish_reason="MAX_TOKENS"))),
        answered("native_whole", Meaning.WHOLE, GUIDE, choice(native_finish_reason="STOP")),
        answered("only_reasoning", Meaning.UNUSABLE, GUIDE, message(content="", reasoning="They ask for hours.")),
        answered("no_model", Meaning.WHOLE, "letta#1258", without("model")),
        answered("no_usage", Meaning.WHOLE, "autogen#222", without("usage", "id", "index", "created")),
        answered("null_usage", Meaning.WHOLE, GUIDE, lambda body: {**body, "usage": {"prompt_tokens": "?"}}),
        answered("orphan_think", Meaning.WHOLE, "openhuman#6184", text(lambda said: f"They ask for hours.</think>\n\n{said}")),
        answered("minimax_call", Meaning.UNUSABLE, "hermes-agent#27834", text(lambda _: '<minimax:tool_call><invoke name="x"></invoke></minimax:tool_call>')),
        answered("kimi_call", Meaning.UNUSABLE, "oh-my-pi#8495", text(lambda _: '<|open|>toolscall tool="x"<|sep|>')),
        refused("flagged", Meaning.INPUT, "litellm#9305", 403, failed(403, "Your input was flagged", reasons=["violence"], flagged_input="...")),
        VendorForm(name="reset_ms", meaning=Meaning.LATER, source=GUIDE, status=429, body=reset_in_30_s, wait_s=30.0),
        refused("raw", Meaning.KEY, GUIDE, 400, failed(400, PROVIDER, raw="Invalid API key provided", provider_name="X")),
        refused("no_endpoint", Meaning.MODEL, GUIDE, 404, failed(404, "No endpoints found for x/y.")),
        refused("no_provider", Meaning.MODEL, GUIDE, 404, failed(404, "No allowed providers are available for the selected model.")),
        refused("data_policy", Meaning.MODEL, GUIDE, 404, failed(404, "No endpoints available matching your guardrail restrictions and data policy.")),
        refused("plan", Meaning.MODEL, "openclaw#24764", 403, failed(403, "This model is not available for this subscription tier.")),
        refused("key_budget", Meaning.QUOTA, "hermes-agent#45243", 403, failed(403, "API key budget limit exceeded (daily limit)")),
        refused("region", Meaning.MODEL, "continue#10909, opencode#42736", 403, failed(403, "This model is not available in your region.")),
        refused("key_limit", Meaning.QUOTA, GUIDE, 403, failed(403, "Key limit exceeded (total limit).")),
        refused("credits", Meaning.QUOTA, GUIDE, 402, failed(402, "Insufficient credits.")),
    ),
)  # fmt: skip
