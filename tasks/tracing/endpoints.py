"""Which server a call of a decision went to, from the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from worker.model import CallPurpose
from worker.settings import Settings, embedding_endpoint

PROVIDERS: Final = {
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral_ai",
    "openrouter.ai": "openrouter",
}
"""By host; every other server speaks the API of OpenAI and counts as ``openai``, as the conventions say."""
PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEndpoint:
    """A server and the model that it is asked for; empty where calls of one purpose have several."""

    provider: str = "openai"
    host: str = ""
    port: int = 0
    model: str = ""


def call_endpoints(settings: Settings) -> Mapping[CallPurpose, CallEndpoint]:
    """By purpose; a purpose with several servers is missing."""
    model, others = settings.openrouter_base_url, settings.llm_models
    found = {
        CallPurpose.COMPLETION: _endpoint(model, "" if others else settings.llm_model),
        CallPurpose.JUDGE: _endpoint(model, settings.reading_model or settings.llm_model),
    }
    if (place := embedding_endpoint(settings)) is not None:
        found[CallPurpose.EMBEDDING] = _endpoint(place.url, place.model or place.default_model)
    if not settings.classifiers:
        moderation = _endpoint(settings.openai_base_url, settings.moderation_model)
        found[CallPurpose.MODERATION] = moderation
    return found


def _endpoint(url: str, model: str) -> CallEndpoint:
    parts = urlsplit(url)
    host = parts.hostname or ""
    return CallEndpoint(
        provider=PROVIDERS.get(host, "openai"),
        host=host,
        port=parts.port or PORTS[parts.scheme],
        model=model,
    )
