"""Groq, and other fast hosts of open models."""

from __future__ import annotations

from sandbox.routes import Route
from sandbox.vendors.form import (
    Meaning,
    Requirement,
    Vendor,
    VendorForm,
    answered,
    choice,
    cut,
    refused,
    said,
    text,
)
from sandbox.vendors.openai import error
from sandbox.vendors.requests import does_not_alternate, has, has_many_inputs, has_system

GUIDE = "console.groq.com/docs: errors, rate limits"
AGAIN = "Rate limit reached for model `x` on tokens per minute (TPM): Limit 6000. Please try again in {}. Need more?"

GROQ = Vendor(
    name="groq",
    requirements=(
        Requirement(
            name="no json_schema",
            source=GUIDE,
            is_broken_by=has("response_format"),
            status=400,
            body=error("This model does not support response format `json_schema`.", param="response_format"),
        ),
    ),
    forms=(
        refused("try_again", Meaning.LATER, GUIDE, 429, error(AGAIN.format("7.66s"), type="tokens"), wait_s=7.66),
        refused("try_again_long", Meaning.LATER, GUIDE, 429, error(AGAIN.format("12m14.4s"), type="tokens"), wait_s=734.4),
        refused("header", Meaning.LATER, GUIDE, 429, error(AGAIN.format("9s")), wait_s=2.0, retry_after="2"),
        refused("too_large", Meaning.TOO_LONG, GUIDE, 413, error("Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 8123", type="tokens", code="rate_limit_exceeded")),
        refused("reduce", Meaning.TOO_LONG, GUIDE, 400, error("Please reduce the length of the messages or completion.", param="messages")),
        refused("bad_call", Meaning.UNUSABLE, GUIDE, 400, error("Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.", code="tool_use_failed", failed_generation="<function=x>")),
        refused("bad_json", Meaning.UNUSABLE, GUIDE, 400, error("Failed to generate JSON. Please adjust your prompt.", code="json_validate_failed")),
        refused("restricted", Meaning.KEY, "one-api#1764", 400, error("Organization has been restricted. Please reach out to support if you believe this was in error.", code="organization_restricted")),
        refused("terms", Meaning.MODEL, "console.groq.com/docs/errors", 400, error("The model `x` requires terms acceptance. Please have the org admin accept the terms.", code="model_terms_required")),
        refused("blocked", Meaning.MODEL, "console.groq.com/docs/model-permissions", 403, error("The model `x` is blocked at the project level.", type="permissions_error", code="model_permission_blocked_project")),
        refused("capacity", Meaning.LATER, GUIDE, 498, error("Flex tier capacity exceeded", code="capacity_exceeded")),
        refused("old_model", Meaning.MODEL, GUIDE, 400, error("The model `x` has been decommissioned and is no longer supported.", code="model_decommissioned")),
        answered("function_call", Meaning.WHOLE, GUIDE, text(lambda _: '<function=search_documents>{"query": "hours"}</function>')),
    ),
)  # fmt: skip
COHERE = Vendor(
    name="cohere",
    usual={Route.CHAT: choice(finish_reason="COMPLETE")},
    forms=(
        answered("max_tokens", Meaning.UNUSABLE, "docs.cohere.com/reference/chat", cut("MAX_TOKENS")),
        answered("toxic", Meaning.DECLINED, "docs.cohere.com/reference/chat", cut("ERROR_TOXIC")),
        answered("thinking", Meaning.WHOLE, "docs.cohere.com", text(lambda said: f"<|START_THINKING|>Hours.<|END_THINKING|><|START_RESPONSE|>{said}<|END_RESPONSE|>")),
        refused("trial", Meaning.LATER, "docs.cohere.com/reference/errors", 429, {"message": "You are using a Trial key, which is limited to 40 API calls / minute. Wait 30 seconds."}, wait_s=30.0),
        refused("key", Meaning.KEY, "docs.cohere.com/reference/errors", 401, {"message": "invalid api token"}),
    ),
    requirements=(
        Requirement(name="texts a request", source="docs.cohere.com/reference/embed", is_broken_by=has_many_inputs(96), status=400, body={"message": "invalid request: total number of texts must be at most 96"}, route=Route.EMBEDDINGS),
    ),
)  # fmt: skip
LLAMA_CPP = Vendor(
    name="llama-cpp",
    requirements=(
        Requirement(name="template", source="llama.cpp: chat templates", is_broken_by=lambda body: has_system(body) or does_not_alternate(body), status=500, body={"error": {"code": 500, "message": "Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...", "type": "server_error"}}),
        Requirement(name="tools", source="llama.cpp: function-calling.md", is_broken_by=has("tools"), status=500, body={"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}}),
        Requirement(name="schema", source="llama.cpp: grammars", is_broken_by=has("response_format"), status=400, body={"error": {"code": 400, "message": "Failed to parse grammar", "type": "invalid_request_error"}}),
    ),
    forms=(
        refused("too_long", Meaning.TOO_LONG, "llama.cpp: server", 400, {"error": {"code": 400, "message": "the request exceeds the available context size. try increasing the context size or enable context shift", "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096}}),
        refused("not_loaded", Meaning.LATER, "llama.cpp: server, several models", 400, {"error": {"code": 400, "message": "model is not loaded", "type": "invalid_request_error"}}),
        refused("loading", Meaning.LATER, "llama.cpp: server", 503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}),
        VendorForm(name="too_long_text", meaning=Meaning.TOO_LONG, status=500, source="lemonade#3591", route=Route.EMBEDDINGS, body=said({"error": {"code": 500, "message": "input (992 tokens) is too large to process. increase the physical batch size (current batch size: 512)", "type": "server_error"}})),
        VendorForm(name="nested", meaning=Meaning.WHOLE, source="llama.cpp: server", route=Route.EMBEDDINGS, body=lambda body: {**body, "data": [{**each, "embedding": [each["embedding"]]} for each in body["data"]]}),
    ),
)  # fmt: skip
TGI = Vendor(
    name="tgi",
    usual={Route.CHAT: choice(finish_reason="eos_token")},
    requirements=(
        Requirement(name="texts a request", source="text-embeddings-inference", is_broken_by=has_many_inputs(32), status=413, body={"error": "batch size 128 > maximum allowed batch size 32", "error_type": "Validation"}, route=Route.EMBEDDINGS),
    ),
    forms=(
        refused("too_long", Meaning.TOO_LONG, "text-generation-inference", 422, {"error": "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000", "error_type": "validation"}),
        answered("hidden_too_long", Meaning.TOO_LONG, "text-generation-inference#2749", said({"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 200 `max_new_tokens`", "error_type": "validation"})),
        refused("bad_call", Meaning.UNUSABLE, "text-generation-inference#2310", 422, {"error": "Tool error: invalid escape at line 3 column 15", "error_type": "tool_error"}),
        refused("overloaded", Meaning.LATER, "text-generation-inference", 429, {"error": "Model is overloaded", "error_type": "overloaded"}),
        refused("loading", Meaning.LATER, "huggingface.co/docs/api-inference", 503, {"error": "Model x is currently loading", "estimated_time": 20.0}, wait_s=20.0),
        refused("tensor", Meaning.TOO_LONG, "sentence-transformers: position embeddings", 500, {"detail": "The expanded size of the tensor (600) must match the existing size (514) at non-singleton dimension 1."}),
        VendorForm(name="too_long_text", meaning=Meaning.TOO_LONG, status=413, source="text-embeddings-inference", route=Route.EMBEDDINGS, body=said({"error": "Input validation error: `inputs` must have less than 512 tokens. Given: 1400", "error_type": "Validation"})),
        VendorForm(name="no_index", meaning=Meaning.WHOLE, source="text-embeddings-inference", route=Route.EMBEDDINGS, body=lambda body: {"data": [{"embedding": each["embedding"]} for each in body["data"]]}),
        VendorForm(name="reversed", meaning=Meaning.WHOLE, source="text-embeddings-inference", route=Route.EMBEDDINGS, body=lambda body: {**body, "data": body["data"][::-1]}),
        VendorForm(name="shared_numbers", meaning=Meaning.WHOLE, source="xorbitsai/inference#5240", route=Route.EMBEDDINGS, body=lambda body: {**body, "data": [{**each, "index": each["index"] + 3} for each in body["data"]][::-1]}),
        VendorForm(name="too_few", meaning=Meaning.UNUSABLE, source="text-embeddings-inference", route=Route.EMBEDDINGS, body=lambda body: {**body, "data": body["data"][:-1]}),
        VendorForm(name="error_in_200", meaning=Meaning.LATER, source="openrouter.ai/docs", route=Route.EMBEDDINGS, body=said({"error": {"code": 502, "message": "upstream"}})),
        VendorForm(name="not_a_number", meaning=Meaning.UNUSABLE, source="text-embeddings-inference", route=Route.EMBEDDINGS, body=lambda body: {**body, "data": [{**each, "embedding": [None]} for each in body["data"]]}),
    ),
)  # fmt: skip
XAI = Vendor(
    name="xai",
    forms=(
        refused("guidelines", Meaning.INPUT, "inspect_ai#2267", 403, {"code": "The caller does not have permission to execute the specified operation", "error": "Content violates usage guidelines. Team: 1, API key ID: 1, Model: m, Failed check: SAFETY_CHECK_TYPE_BIO"}),
        refused("subscription", Meaning.QUOTA, "openclaw#115853", 403, {"code": "personal-team-blocked", "error": "You need a Grok subscription to use this model."}),
        refused("no_credits", Meaning.QUOTA, "docs.x.ai: errors", 403, {"code": "The caller does not have permission to execute the specified operation", "error": "Your newly created teams doesn't have any credits yet."}),
        refused("spent", Meaning.QUOTA, "docs.x.ai: errors", 429, {"code": "Some resource has been exhausted", "error": "Your team 1 has either used all available credits or reached its monthly spending limit."}),
    ),
)  # fmt: skip
NIM = Vendor(
    name="nvidia-nim",
    forms=(
        refused("gone", Meaning.MODEL, "docs.api.nvidia.com", 410, {"status": 410, "title": "Gone", "detail": "The model 'm' has reached its end of life on 2026-05-01T00:00:00Z and is no longer available."}),
        refused("function", Meaning.MODEL, "docs.api.nvidia.com", 404, {"status": 404, "title": "Not Found", "detail": "Function 'a08b': Not found for account 'x'"}),
        refused("degraded", Meaning.LATER, "docs.api.nvidia.com", 400, {"status": 400, "title": "Bad Request", "detail": "Function id 'a08b': DEGRADED function cannot be invoked"}),
    ),
)  # fmt: skip
CEREBRAS = Vendor(
    name="cerebras",
    forms=(
        VendorForm(name="too_large", meaning=Meaning.TOO_LONG, source="pi: overflow.ts", status=413, body=lambda _: b""),
        refused("tokens_a_day", Meaning.LATER, "inference-docs.cerebras.ai: errors", 429, {"message": "Tokens per day limit exceeded - too many tokens processed.", "type": "too_many_tokens_error", "param": "quota", "code": "token_quota_exceeded"}),
    ),
)  # fmt: skip
WATSONX = Vendor(
    name="watsonx",
    forms=(
        refused("model", Meaning.MODEL, "cloud.ibm.com/apidocs/watsonx-ai", 404, {"errors": [{"code": "model_not_supported", "message": "Model 'x' is not supported for this environment."}], "status_code": 404}),
        refused("tokens", Meaning.QUOTA, "cloud.ibm.com/apidocs/watsonx-ai", 403, {"errors": [{"code": "token_quota_reached", "message": "You have reached your monthly quota"}], "status_code": 403}),
    ),
)  # fmt: skip
TABBY = Vendor(
    name="tabby",
    forms=(
        refused("none_loaded", Meaning.MODEL, "tabbyAPI: endpoints", 400, {"detail": "No models are currently loaded."}),
        refused("too_long", Meaning.TOO_LONG, "tabbyAPI: exllamav2", 400, {"detail": "Prompt length 9000 is greater than max_seq_len 4096"}),
    ),
)  # fmt: skip
HUGGING_FACE = Vendor(
    name="hugging-face",
    forms=(refused("paused", Meaning.MODEL, "huggingface.co/docs/inference-endpoints", 400, {"error": "Bad Request: The endpoint is paused, ask a maintainer to restart it"}),),
)  # fmt: skip
