"""Gateways whose errors have forms of their own."""

from __future__ import annotations

from sandbox.vendors.form import (
    Meaning,
    Vendor,
    VendorForm,
    answered,
    choice,
    refused,
    said,
    text,
)

WORKERS_AI = "developers.cloudflare.com/workers-ai: errors"
PORTKEY_CODES = "portkey.ai/docs: error codes"
CODES = "cloud.baidu.com/doc/WENXINWORKSHOP: error codes"
GUARDRAILS = "developers.cloudflare.com/ai-gateway: guardrails"
TAGS = "docs.openwebui.com: reasoning tags"


def listed(code: int, words: str) -> dict[str, object]:
    """An error in a list beside an empty result."""
    return {"success": False, "errors": [{"code": code, "message": words}], "messages": [], "result": None}


def guarded(code: int, words: str) -> dict[str, object]:
    """A text that a guardrail blocked."""
    return {"success": False, "result": [], "messages": [], "error": [{"code": code, "message": words}]}


def flat(code: int, words: str) -> dict[str, object]:
    """An error with fields of its own, also in a success."""
    return {"error_code": code, "error_msg": words, "id": "as-1"}


CLOUDFLARE = Vendor(
    name="cloudflare",
    forms=(
        refused("wait_beside", Meaning.LATER, "@fastify/rate-limit", 429, {"statusCode": 429, "error": "Too Many Requests", "message": "Rate limit exceeded, retry in 1 minute"}, wait_s=60.0),
        refused("wait_beside_error", Meaning.LATER, "gateways of Node", 429, {"error": {"message": "Rate limit exceeded"}, "retry_after": 7}, wait_s=7.0),
        refused("key", Meaning.KEY, WORKERS_AI, 401, listed(10000, "Authentication error")),
        refused("capacity", Meaning.LATER, WORKERS_AI, 429, listed(3040, "Capacity temporarily exceeded, please try again.")),
        refused("prompt_blocked", Meaning.INPUT, GUARDRAILS, 424, guarded(2016, "Prompt blocked due to security configurations")),
        refused("reply_blocked", Meaning.INPUT, GUARDRAILS, 424, guarded(2017, "Response blocked due to security configurations")),
        refused("no_gateway", Meaning.KEY, WORKERS_AI, 400, guarded(2001, "Please configure AI Gateway in the Cloudflare dashboard")),
        refused("no_model", Meaning.MODEL, WORKERS_AI, 400, listed(5007, "AiError: No such model @cf/x or task")),
        answered("hidden_capacity", Meaning.LATER, WORKERS_AI, said(listed(3040, "Capacity temporarily exceeded: at capacity"))),
    ),
)  # fmt: skip
QIANFAN = Vendor(
    name="qianfan",
    forms=(
        answered("normal", Meaning.WHOLE, CODES, choice(finish_reason="normal")),
        answered("hidden_rate", Meaning.LATER, CODES, said(flat(18, "Open api qps request limit reached: rate limit"))),
        answered("hidden_key", Meaning.KEY, CODES, said(flat(110, "Access token invalid or no longer valid"))),
    ),
)  # fmt: skip
OPEN_WEBUI = Vendor(
    name="open-webui",
    forms=(
        answered("reasoning_details", Meaning.WHOLE, TAGS, text(lambda said: f'<details type="reasoning" done="true" duration="3">\n<summary>Thought for 3 seconds</summary>\n> Hours.\n</details>\n{said}')),
        answered("escaped_thoughts", Meaning.WHOLE, TAGS, text(lambda said: f"&lt;think&gt;Hours.&lt;/think&gt;\n{said}")),
        refused("key", Meaning.KEY, TAGS, 401, {"detail": "401 Unauthorized"}),
    ),
)  # fmt: skip
PORTKEY = Vendor(
    name="portkey",
    forms=(
        VendorForm(name="passed_on", meaning=Meaning.WHOLE, source=PORTKEY_CODES, status=246),
        refused("blocked", Meaning.INPUT, PORTKEY_CODES, 446, {"error": {"message": "The guardrail checks defined in the config failed.", "type": "hooks_failed", "param": None, "code": None}}),
        refused("assessed", Meaning.INPUT, "apim.docs.wso2.com: guardrail errors", 446, {"code": "900514", "type": "REGEX_GUARDRAIL", "message": {"interveningGuardrail": "Regex", "action": "GUARDRAIL_INTERVENED", "actionReason": "Violation of the regular expression."}}),
        refused("pattern", Meaning.INPUT, "docs.konghq.com: ai-prompt-guard", 403, {"error": {"message": "prompt pattern is blocked"}}),
        refused("budget", Meaning.QUOTA, PORTKEY_CODES, 412, {"status": "failure", "message": "Usage limit exceeded for this api key"}),
        refused("serverless", Meaning.MODEL, "truefoundry/models#919", 400, {"status": "failure", "error": {"message": "together-ai error: Unable to access non-serverless model m. Please visit https://x to create a dedicated endpoint.", "code": "400"}}),
    ),
)  # fmt: skip
