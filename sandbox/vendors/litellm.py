"""The LiteLLM proxy: errors of other vendors inside its own."""

from __future__ import annotations

from sandbox.routes import Route
from sandbox.vendors.form import (
    Meaning,
    Requirement,
    Vendor,
    VendorDocument,
    VendorForm,
    answered,
    both,
    called,
    choice,
    message,
    refused,
    without,
)
from sandbox.vendors.requests import has_undeclared_tools

GUIDE = "docs.litellm.ai: exception mapping"


def failed(words: str, kind: str | None = None, code: object = None) -> dict[str, object]:
    """An error object whose numbers are texts."""
    return {"error": {"message": words, "type": kind, "param": None, "code": code}}


def second_choice(document: VendorDocument) -> object:
    """A call of a tool beside the choice that announces it."""
    announced = both(message(content="Let me look that up."), choice(finish_reason="tool_calls"))(document)
    found = called({"id": "a", "function": {"name": "search_documents", "arguments": "{}"}})(document)
    return {**document, "choices": [each["choices"][0] for each in (announced, found)]}  # type: ignore[index]  # objects


LITELLM = Vendor(
    name="litellm",
    requirements=(
        Requirement(
            name="declared tools",
            source="litellm#31400",
            is_broken_by=has_undeclared_tools,
            status=400,
            body=failed("litellm.UnsupportedParamsError: Bedrock doesn't support tool calling without `tools=` param specified.", code="400"),
        ),
    ),
    forms=(
        refused("nested_wait", Meaning.LATER, "aider#3694", 429, failed("litellm.RateLimitError: VertexAIException - b'{\n \"error\": {\"details\": [{\"retryDelay\": \"44s\"}]}}'", "throttling_error", "429"), wait_s=44.0),
        refused("policy", Meaning.INPUT, GUIDE, 400, failed("litellm.ContentPolicyViolationError: AzureException - content management policy", None, "400")),
        refused("flagged", Meaning.INPUT, "litellm#9305", 403, failed("litellm.APIError: OpenrouterException - input was flagged by moderation", None, "403")),
        refused("key", Meaning.KEY, GUIDE, 401, failed("Authentication Error, Invalid proxy server token passed.", "auth_error", "401")),
        refused("budget", Meaning.QUOTA, GUIDE, 400, failed("Budget has been exceeded! Current cost: 10.1, Max budget: 10", "budget_exceeded", "400")),
        refused("tag_budget", Meaning.QUOTA, "litellm#41218", 429, failed("Budget has been exceeded! Tag=shop Current cost: 0.0010921, Max budget: 1e-06", "rate_limit_error", "429")),
        refused("end_user_budget", Meaning.QUOTA, "docs.litellm.ai: budgets", 400, failed("ExceededBudget: End User=shop over budget. Spend=0.0008, Budget=0.0001", "auth_error", 400)),
        refused("guardrail", Meaning.INPUT, "litellm#18261", 500, failed("Bedrock guardrail failed: I cannot respond to requests with personally identifiable information.", "None", "500")),
        refused("model", Meaning.MODEL, "litellm#4336", 400, failed("/chat/completions: Invalid model name passed in model=m. Call `/v1/models` to view available models for your key.", "invalid_request_error", "400")),
        answered("call_in_second_choice", Meaning.WHOLE, "nanobot#1555", second_choice),
        VendorForm(name="index_0", meaning=Meaning.WHOLE, source="litellm#25656", route=Route.EMBEDDINGS, body=lambda body: {**body, "data": [{**each, "index": 0} for each in body["data"]]}),
        answered("no_choices", Meaning.UNUSABLE, "litellm#40477", lambda body: {**body, "choices": []}),
        refused("too_long", Meaning.TOO_LONG, GUIDE, 400, failed("litellm.ContextWindowExceededError: input length and `max_tokens` exceed context limit: context length exceeded", None, "400")),
        refused("cooldown", Meaning.LATER, GUIDE, 429, failed("No deployments available for selected model, Try again in 5 seconds.", None, "429"), wait_s=5.0),
        answered("no_model", Meaning.WHOLE, "letta#1258", without("model", "usage")),
    ),
)  # fmt: skip
