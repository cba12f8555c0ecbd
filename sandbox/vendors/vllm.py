"""vLLM: the templates of its models decide what it takes, and its parsers what they leave in the text."""

from __future__ import annotations

from sandbox.routes import Route
from sandbox.vendors.form import (
    Meaning,
    Requirement,
    Vendor,
    answered,
    called,
    choice,
    cut,
    message,
    refused,
    text,
)
from sandbox.vendors.requests import does_not_alternate, has_list_of_inputs, has_system, has_tools, over

GUIDE = "docs.vllm.ai: openai_compatible_server, tool_calling, reasoning_outputs"
TURNS = "Conversation roles must alternate user/assistant/user/assistant/..."


def bad(words: str) -> dict[str, object]:
    """An error of newer versions."""
    return {"error": {"message": words, "type": "BadRequestError", "param": None, "code": 400}}


VLLM = Vendor(
    name="vllm",
    requirements=(
        Requirement(
            name="tools",
            source=GUIDE,
            is_broken_by=has_tools,
            status=400,
            body=bad('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        ),
        Requirement(
            name="turns", source="vllm#6862", is_broken_by=does_not_alternate, status=400, body=bad(f"{TURNS} {TURNS}")
        ),
        Requirement(
            name="context",
            source="instructlab#559",
            is_broken_by=over(24_000),
            status=400,
            body=bad("This model's maximum context length is 4096 tokens. However, you requested 9000 tokens."),
        ),
    ),
    forms=(
        answered("think", Meaning.WHOLE, "openclaw#69843", text(lambda said: f"<think>Hours.</think>\n\n{said}")),
        answered("text_after_arguments", Meaning.WHOLE, "vllm#48975", called({"id": "a", "function": {"name": "search_documents", "arguments": '{"query": "hours"}Looking it up...'}})),
        answered("two_braces", Meaning.WHOLE, "vllm-ascend#16001", called({"id": "a", "function": {"name": "search_documents", "arguments": '{"query": "hours"}}'}})),
        answered("arguments_twice", Meaning.WHOLE, "llm#1130", called({"id": "a", "function": {"name": "search_documents", "arguments": '{"query": "hours"}{"query": "hours"}'}})),
        answered("unclosed_think", Meaning.UNUSABLE, "1Cat-vLLM#47", text(lambda _: "<think>They ask for hours, so")),
        answered("only_reasoning", Meaning.UNUSABLE, GUIDE, message(content=None, reasoning_content="Hours.")),
        answered("hermes_call", Meaning.WHOLE, "qwen-code#8207", text(lambda _: '<tool_call>\n{"name": "search_documents", "arguments": {"query": "hours"}}\n</tool_call>')),
        answered("text_and_call", Meaning.UNUSABLE, "hermes-agent#12361", text(lambda _: 'Let me look. <tool_call>{"name": "search_documents"}</tool_call>')),
        answered("qwen_call", Meaning.UNUSABLE, "vllm#22975", text(lambda _: "<function=search_documents>\n<parameter=query>\nhours\n</parameter>\n</function>")),
        answered("harmony", Meaning.WHOLE, "vllm#32633", text(lambda said: f"<|channel|>analysis<|message|>Hours.<|end|><|start|>assistant<|channel|>final<|message|>{said}<|return|>")),
        answered("harmony_call", Meaning.UNUSABLE, "TensorRT-LLM#9256", text(lambda _: '<|channel|>commentary to=functions.x <|constrain|>json<|message|>{"a": 1}<|end|>')),
        answered("gemma_call", Meaning.UNUSABLE, "hermes-agent#7449", text(lambda _: '<|tool_call>call:search_documents{query: "x"}<tool_call|>')),
        answered("granite", Meaning.WHOLE, "vllm#14202", text(lambda said: f"Here is my thought process: Hours.\n\nHere is my response: {said}")),
        answered("granite_end", Meaning.WHOLE, "frontend-crates#75", text(lambda said: f"Here is my response: {said}")),
        answered("exaone_end", Meaning.WHOLE, "LG EXAONE: chat template", text(lambda said: f"[|assistant|]{said}[|endofturn|]")),
        answered("scratch_pad", Meaning.WHOLE, "NousResearch Hermes 3: prompt format", text(lambda said: f"<scratch_pad>Hours.</scratch_pad>\n{said}")),
        answered("unknown_element", Meaning.UNUSABLE, GUIDE, text(lambda _: "Let me search.\n<search>hours on Saturday</search>")),
        answered("padding", Meaning.WHOLE, GUIDE, text(lambda said: f"<pad>{said}<unk><unk>")),
        answered("tokens_as_text", Meaning.UNUSABLE, "mlx-lm#1041", text(lambda _: "Hello!ĠHowĠcanĠIĠassistĠyouĠtoday?")),
        answered("text_turns", Meaning.WHOLE, "chat templates without end tokens", text(lambda said: f"{said}\n\nHuman: And on Sunday?\n\nAssistant: No.")),
        answered("pangu", Meaning.WHOLE, "openPangu: chat template", text(lambda said: f"[unused16]Hours.[unused17]{said}[unused10]")),
        answered("pangu_call", Meaning.UNUSABLE, "openPangu: chat template", text(lambda _: 'Let me look. [unused11][{"name": "x"}][unused12]')),
        answered("apriel", Meaning.WHOLE, "ServiceNow Apriel: chat template", text(lambda said: f"Here are my reasoning steps:\nHours.\n[BEGIN FINAL RESPONSE]\n{said}\n[END FINAL RESPONSE]")),
        answered("empty_think", Meaning.WHOLE, GUIDE, text(lambda said: f"<think/>\n{said}")),
        answered("byte_tokens", Meaning.UNUSABLE, "sentencepiece: byte fallback", text(lambda _: "We are open<0x0A>from nine to six.")),
        answered("kimi_name", Meaning.WHOLE, "Kimi-K2: tool_call_guidance.md", called({"id": "a", "function": {"name": "functions.search_documents:0", "arguments": "{}"}})),
        answered("react", Meaning.WHOLE, "langchain: ReAct prompt", text(lambda said: f"Thought: I know the answer.\nFinal Answer: {said}")),
        answered("stop_words", Meaning.WHOLE, "TensorRT-LLM: finish reasons", choice(finish_reason="STOP_WORDS")),
        answered("abort", Meaning.UNUSABLE, GUIDE, cut("abort")),
        answered("next_turn", Meaning.WHOLE, "cuga-agent#558", text(lambda said: f"{said}<|im_end|>\n<|im_start|>user\nAnd on Sunday?")),
        refused("old_error", Meaning.TOO_LONG, GUIDE, 400, {"object": "error", "message": "This model's maximum context length is 4096 tokens.", "type": "BadRequestError", "code": 400}),
        refused("no_room", Meaning.TOO_LONG, "finetunelab", 400, bad("'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096 tokens and your request has 2104 input tokens.")),
        refused("decoder", Meaning.TOO_LONG, "vllm: input validation", 400, bad("The decoder prompt (length 5000) is longer than the maximum model length of 4096.")),
        refused("max_model_len", Meaning.TOO_LONG, "hermes-agent: error classifier", 400, bad("engine prompt length 131074 exceeds the max_model_len 131072")),
        refused("model", Meaning.MODEL, GUIDE, 404, {"object": "error", "message": "The model `x` does not exist.", "type": "NotFoundError", "code": 404}),
    ),
)  # fmt: skip
GEMMA = Vendor(
    name="vllm-gemma",
    requirements=(
        Requirement(
            name="no system role", source="vllm#2080", is_broken_by=has_system, status=400, body=bad("System role not supported")
        ),
        *VLLM.requirements,
    ),
    forms=(
        answered("end_of_turn", Meaning.WHOLE, "ollama#13968", text(lambda said: f"{said}<end_of_turn>")),
        answered("thought_channel", Meaning.WHOLE, "hermes-agent#6626", text(lambda said: f"<|channel>thought\nHours.<channel|>{said}")),
    ),
)  # fmt: skip
OLD_MISTRAL = Vendor(
    name="vllm-mistral-v1",
    requirements=(
        Requirement(name="no system role", source="autogen#1037", is_broken_by=has_system, status=400, body={"object": "error", "message": TURNS, "type": "invalid_request_error", "param": None, "code": None}),
        *VLLM.requirements,
    ),
    forms=(
        answered("inst", Meaning.WHOLE, "cuga-agent#558", text(lambda said: f"{said} [/INST]")),
        answered("eos", Meaning.WHOLE, "cuga-agent#558", text(lambda said: f"{said}</s>")),
    ),
)  # fmt: skip
FAST_CHAT = Vendor(
    name="fastchat",
    requirements=(
        Requirement(name="one text, no list", source="FastChat#1300, toshsan/embedding-server#1", is_broken_by=has_list_of_inputs, status=400, body={"object": "error", "message": "1 validation error for Request\nbody -> input\n  str type expected (type=type_error.str)", "code": 40001}, route=Route.EMBEDDINGS),
    ),
)  # fmt: skip
