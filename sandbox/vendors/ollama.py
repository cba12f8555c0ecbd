"""Ollama and LM Studio: models of one's own machine."""

from __future__ import annotations

from sandbox.routes import Route
from sandbox.vendors.form import (
    Meaning,
    Requirement,
    Vendor,
    VendorForm,
    answered,
    both,
    called,
    choice,
    message,
    refused,
    said,
    text,
    without,
)
from sandbox.vendors.requests import has_tools

GUIDE = "github.com/ollama/ollama docs/openai.md"
CALL = '{"name": "search_documents", "arguments": {"query": "hours"}}'

OLLAMA = Vendor(
    name="ollama",
    usual={Route.CHAT: without("usage", "system_fingerprint", "logprobs")},
    requirements=(
        Requirement(
            name="tools",
            source="ollama#6027, ollama#14795",
            is_broken_by=has_tools,
            status=400,
            body={"error": {"message": "registry.ollama.ai/library/gemma3:4b does not support tools", "type": "api_error"}},
        ),
    ),
    forms=(
        answered("think", Meaning.WHOLE, "ollama#13968", text(lambda said: f"<think>\n\n</think>\n\n{said}")),
        answered("cli_thinking", Meaning.WHOLE, GUIDE, text(lambda said: f"Thinking...\nHours.\n...done thinking.\n\n{said}")),
        answered("bare_call", Meaning.WHOLE, "hermes-agent#107125", text(lambda _: CALL)),
        answered("fenced_call", Meaning.WHOLE, "omlx#2565", text(lambda _: f"```json\n{CALL}\n```")),
        answered("unknown_call", Meaning.UNUSABLE, "hermes-agent#107125", text(lambda _: '{"name": "browse", "arguments": {"url": "x"}}')),
        answered("arguments_object", Meaning.WHOLE, GUIDE, called({"function": {"index": 0, "name": "search_documents", "arguments": {"query": "hours"}}})),
        answered("double_encoded", Meaning.WHOLE, GUIDE, called({"id": "call_1", "function": {"name": "search_documents", "arguments": '"{\\"query\\": \\"hours\\"}"'}})),
        answered("no_arguments", Meaning.WHOLE, GUIDE, called({"id": "call_1", "function": {"name": "search_documents", "arguments": ""}})),
        answered("load", Meaning.UNUSABLE, GUIDE, both(message(content=""), choice(finish_reason="load"))),
        answered("im_end", Meaning.WHOLE, "cuga-agent#558", text(lambda said: f"{said} <|im_end|>")),
        answered("eot", Meaning.WHOLE, "ollama#13968", text(lambda said: f"assistant\n\n{said}<|eot_id|>")),
        answered("hidden_error", Meaning.LATER, GUIDE, lambda _: {"error": "llama runner process has terminated"}),
        refused("model", Meaning.MODEL, GUIDE, 404, {"error": {"message": 'model "x" not found, try pulling it first', "type": "api_error"}}),
        refused("text_error", Meaning.LATER, GUIDE, 500, {"error": "llama runner process has terminated: exit status 2"}),
        refused("too_long", Meaning.TOO_LONG, GUIDE, 400, {"error": "the input length exceeds the context length"}),
        VendorForm(name="not_a_number", meaning=Meaning.UNUSABLE, source="ollama#14657", route=Route.EMBEDDINGS, status=500, body=said({"error": {"message": "failed to encode response: json: unsupported value: NaN", "type": "api_error"}})),
    ),
)  # fmt: skip
LM_STUDIO = Vendor(
    name="lm-studio",
    usual={Route.CHAT: message(tool_calls=lambda _: [])},
    forms=(
        answered("tool_request", Meaning.WHOLE, "lmstudio.ai/docs: tool use", text(lambda _: f"[TOOL_REQUEST]{CALL}[END_TOOL_REQUEST]")),
        answered("tool_request_broken", Meaning.UNUSABLE, "lmstudio.ai/docs: tool use", text(lambda _: '[TOOL_REQUEST]{"name": "search_documents"')),
        refused("too_long", Meaning.TOO_LONG, "llmfit", 400, {"error": "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens."}),
        refused("unloaded", Meaning.LATER, "lmstudio-bug-tracker#1492", 400, {"error": "Model is unloaded."}),
        refused("crashed", Meaning.LATER, "lmstudio.ai/docs", 400, {"error": "The model has crashed without additional information. (Exit code: null)"}),
        refused("load_failed", Meaning.MODEL, "continue#10150", 400, {"error": 'Failed to load model "gpt-oss-20b". Error: Error loading model.'}),
        refused("none_loaded", Meaning.MODEL, "openhuman#4181", 400, {"error": "No models loaded. Please load a model."}),
        refused("not_loaded", Meaning.LATER, "lmstudio.ai/docs", 503, {"error": "Model is unloaded."}),
    ),
)  # fmt: skip
