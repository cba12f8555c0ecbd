"""Which server a call of a decision went to, from the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from worker.model import CallPurpose
from worker.settings import Settings

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
    """The endpoint of each purpose; a purpose with several servers is missing."""
    servers, others = settings.servers, settings.further_models
    judge = servers.judge or servers.model
    found = {
        CallPurpose.COMPLETION: _endpoint(servers.model.url, "" if others else servers.model.model),
        CallPurpose.JUDGE: _endpoint(judge.url, judge.model),
    }
    if (place := servers.embeddings) is not None:
        found[CallPurpose.EMBEDDING] = _endpoint(place.url, place.model or place.default_embedding_model)
    if not settings.classifiers and servers.moderation is not None:
        found[CallPurpose.MODERATION] = _endpoint(servers.moderation.url, servers.moderation.model)
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
