"""Azure OpenAI."""

from __future__ import annotations

from sandbox.routes import Route
from sandbox.vendors.form import (
    Meaning,
    Requirement,
    Vendor,
    VendorDocument,
    answered,
    both,
    choice,
    cut,
    message,
    refused,
)
from sandbox.vendors.openai import error
from sandbox.vendors.requests import has

GUIDE = "learn.microsoft.com/azure/ai-services/openai: content filter, quotas"
FILTERED = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."

HATE = [{"prompt_index": 0, "content_filter_results": {"hate": {"filtered": True, "severity": "high"}}}]


def usual(document: VendorDocument) -> object:
    """With the results of the filter."""
    safe = {
        name: {"filtered": False, "severity": "safe"} for name in ("hate", "self_harm", "sexual", "violence")
    }
    document["prompt_filter_results"] = [{"prompt_index": 0, "content_filter_results": safe}]
    for each in document["choices"]:
        each["content_filter_results"] = safe
    return document


AZURE = Vendor(
    name="azure",
    usual={Route.CHAT: usual},
    requirements=(
        Requirement(
            name="max_completion_tokens",
            source="vercel/ai#3309",
            is_broken_by=has("max_tokens"),
            status=400,
            body=error("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", param="max_tokens", code="unsupported_parameter"),
        ),
        Requirement(
            name="api version without schemas",
            source=GUIDE,
            is_broken_by=has("response_format"),
            status=400,
            body=error("response_format value as json_schema is enabled only for api versions 2024-08-01-preview and later"),
        ),
    ),
    forms=(
        answered("half_filtered", Meaning.DECLINED, GUIDE, cut("content_filter")),
        answered("empty_filtered", Meaning.DECLINED, GUIDE, both(message(content=None), choice(finish_reason="content_filter"))),
        answered("filtered_prompt", Meaning.DECLINED, "vercel/ai#20351", lambda body: {**body, "choices": [], "prompt_filter_results": HATE}),
        answered("null_choices", Meaning.UNUSABLE, "garak#1758", lambda body: {**body, "choices": None, "prompt_filter_results": None}),
        refused("filtered", Meaning.INPUT, GUIDE, 400, error(FILTERED, type=None, param="prompt", code="content_filter", innererror={"code": "ResponsibleAIPolicyViolation"})),
        refused("rate", Meaning.LATER, GUIDE, 429, {"error": {"code": "429", "message": "Requests have exceeded call rate limit of your current tier. Please retry after 3 seconds."}}, wait_s=3.0),
        refused("deployment", Meaning.MODEL, GUIDE, 404, {"error": {"code": "DeploymentNotFound", "message": "The API deployment for this resource does not exist."}}),
        refused("key", Meaning.KEY, GUIDE, 401, {"statusCode": 401, "message": "Unauthorized. Access token is missing, invalid or expired."}),
        refused("deprecated", Meaning.MODEL, GUIDE, 410, {"error": {"code": "ModelDeprecated", "message": "The model 'x' version 0613 has been deprecated."}}),
        refused("operation", Meaning.MODEL, GUIDE, 400, {"error": {"code": "OperationNotSupported", "message": "The chatCompletion operation does not work with the specified model, x."}}),
        refused("call_volume", Meaning.LATER, "learn.microsoft.com: API Management quota", 403, {"statusCode": 403, "message": "Out of call volume quota. Quota will be replenished in 07:01:20."}, wait_s=25_280.0),
        refused("network", Meaning.KEY, GUIDE, 403, {"error": {"code": "AccessDenied", "message": "Access denied due to Virtual Network/Firewall rules."}}),
    ),
)  # fmt: skip
