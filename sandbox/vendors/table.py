"""All vendors by name."""

from __future__ import annotations

from collections.abc import Mapping

from sandbox.vendors.anthropic_gateway import ANTHROPIC_GATEWAY
from sandbox.vendors.azure import AZURE
from sandbox.vendors.deepseek import (
    DASHSCOPE,
    DEEPSEEK,
    MINIMAX,
    MOONSHOT,
    QWQ,
    SILICONFLOW,
    VOLCENGINE,
    ZHIPU,
)
from sandbox.vendors.form import Vendor
from sandbox.vendors.gateways import CLOUDFLARE, OPEN_WEBUI, PORTKEY, QIANFAN
from sandbox.vendors.gemini import GEMINI
from sandbox.vendors.groq import (
    CEREBRAS,
    COHERE,
    GROQ,
    HUGGING_FACE,
    LLAMA_CPP,
    NIM,
    TABBY,
    TGI,
    WATSONX,
    XAI,
)
from sandbox.vendors.litellm import LITELLM
from sandbox.vendors.mistral import MISTRAL
from sandbox.vendors.ollama import LM_STUDIO, OLLAMA
from sandbox.vendors.openai import OPENAI, REASONING, REASONING_BESIDE_TOOLS
from sandbox.vendors.openrouter import OPENROUTER
from sandbox.vendors.streaming_gateways import NINE_ROUTER
from sandbox.vendors.vllm import FAST_CHAT, GEMMA, OLD_MISTRAL, VLLM

VENDORS: Mapping[str, Vendor] = {
    vendor.name: vendor
    for vendor in (
        OPENAI,
        REASONING,
        REASONING_BESIDE_TOOLS,
        AZURE,
        GEMINI,
        ANTHROPIC_GATEWAY,
        MISTRAL,
        OPENROUTER,
        LITELLM,
        GROQ,
        COHERE,
        DEEPSEEK,
        ZHIPU,
        MINIMAX,
        MOONSHOT,
        DASHSCOPE,
        QWQ,
        VOLCENGINE,
        SILICONFLOW,
        XAI,
        NIM,
        CEREBRAS,
        HUGGING_FACE,
        WATSONX,
        TABBY,
        VLLM,
        GEMMA,
        OLD_MISTRAL,
        FAST_CHAT,
        LLAMA_CPP,
        TGI,
        OLLAMA,
        LM_STUDIO,
        CLOUDFLARE,
        QIANFAN,
        OPEN_WEBUI,
        PORTKEY,
        NINE_ROUTER,
    )
}
