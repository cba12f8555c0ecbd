"""The clients of the configured model servers, and the ports over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import SecretStr

from db.documents.retrieval import QUERY_TIMEOUT_S, PostgresRetriever
from db.history.conversations import PostgresConversations
from db.pool import Pool
from tasks.limits.guards import Guards, connections
from tasks.process import telemetry
from worker.adapters import openai_client
from worker.adapters.chat_classifier import ChatClassifier
from worker.adapters.model_judge import ModelJudge
from worker.adapters.openai_chat import OpenAIChat
from worker.adapters.openai_client import Watch
from worker.adapters.openai_embeddings import OpenAIEmbedder
from worker.adapters.openai_http import ApiClient
from worker.adapters.openai_moderation import OpenAIModerator
from worker.assessment import non_answers, promises
from worker.assessment.policies.designs import DESIGNS
from worker.assessment.reading import facts
from worker.injections import find_injection
from worker.model import Json
from worker.ports import Clock, ModelLimits, Ports, RetryPolicy
from worker.settings import Settings, embedding_endpoint
from worker.settings.calls import UpstreamKind

if TYPE_CHECKING:  # a worker without metrics does without their library
    from tasks.metrics.process import WorkerMetrics

SPARE_CONNECTIONS: Final = 50
JUDGE_TOKENS: Final = 2048
"""Longest reading: 20 sentences of about 100 tokens, each with its verdict and quotes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Clients of the configured model servers; None for one that is switched off."""

    moderation: ApiClient | None
    model: ApiClient
    embedding: ApiClient | None
    classifiers: Mapping[str, ApiClient]

    def prepare(self) -> None:
        """Read certificates now: they take 0.1 s a client, which the first call would have to wait."""
        for client in self._clients():
            client.opened()

    async def close(self) -> None:
        """Close their connections."""
        for client in self._clients():
            await client.close()

    def _clients(self) -> tuple[ApiClient, ...]:
        every = (self.moderation, self.model, self.embedding, *self.classifiers.values())
        return tuple(client for client in every if client is not None)


def open_endpoints(settings: Settings, metrics: WorkerMetrics | None = None) -> Endpoints:
    """The clients of the configured servers."""

    def client(upstream: str, url: str, key: SecretStr | str | None) -> ApiClient:
        def observe(outcome: str, duration_s: float) -> None:
            if metrics is not None:
                metrics.requested(upstream, outcome, duration_s)

        secret, most = key.get_secret_value() if isinstance(key, SecretStr) else key, connections(settings)
        return openai_client.client(url, secret, connections=most + SPARE_CONNECTIONS, observe=observe)

    moderated, embedded = settings.openai_moderation_enabled, embedding_endpoint(settings)
    return Endpoints(
        moderation=client("moderation", settings.openai_base_url, settings.openai_api_key)
        if moderated
        else None,
        model=client("model", settings.openrouter_base_url, settings.openrouter_api_key),
        embedding=client("embedding", embedded.url, embedded.key) if embedded else None,
        classifiers={
            name: client(f"classifier {name}", each.base_url, settings.classifier_keys.get(name))
            for name, each in settings.classifiers.items()
        },
    )


def build_ports(settings: Settings, endpoints: Endpoints, pool: Pool, clock: Clock, guards: Guards) -> Ports:
    """The configured adapters, each with its guard."""
    moderator = embedder = None
    guarded = guards.guard
    if endpoints.moderation is not None:
        moderator = OpenAIModerator(
            endpoints.moderation,
            model=settings.moderation_model,
            timeout_s=settings.moderation_timeout_s,
            watch=Watch("moderation", telemetry.report),
            most_texts=settings.moderation_batch,
            reuse_s=settings.moderation_reuse_s,
            guard=guarded(UpstreamKind.MODERATION, "moderation", settings.moderation_model),
        )
    if endpoints.embedding is not None:
        watch = Watch("embedding", telemetry.report)
        place = embedding_endpoint(settings)
        model = place.model or place.default_model if place else ""
        guard = guarded(UpstreamKind.EMBEDDING, "embedding", model)
        embedder = OpenAIEmbedder(endpoints.embedding, timeout_s=QUERY_TIMEOUT_S, watch=watch, guard=guard)

    def chat(name: str, model: str, max_tokens: int) -> OpenAIChat:
        watch = Watch(name, telemetry.report)
        kind = UpstreamKind.JUDGE if name == "judge" else UpstreamKind.MODEL
        guard = guarded(kind, name, model)
        return OpenAIChat(endpoints.model, model=model, max_tokens=max_tokens, watch=watch, guard=guard)

    classifiers = {
        name: ChatClassifier(
            client,
            name=name,
            endpoint=settings.classifiers[name],
            watch=Watch(f"classifier {name}", telemetry.report),
            guard=guarded(UpstreamKind.CLASSIFIER, f"classifier {name}", settings.classifiers[name].model),
        )
        for name, client in endpoints.classifiers.items()
    }
    judge = chat("judge", settings.reading_model, JUDGE_TOKENS) if settings.reading_model else None
    return Ports(
        clock=clock,
        moderator=moderator,
        classifiers=classifiers,
        model=chat("model", settings.llm_model, settings.llm_max_tokens),
        models={
            name: chat(f"model {name}", model, settings.llm_max_tokens)
            for name, model in settings.llm_models.items()
        },
        judge=ModelJudge(judge, timeout_s=settings.llm_timeout_s) if judge else None,
        retriever=PostgresRetriever(pool, embedder),
        conversations=PostgresConversations(pool),
        retry=RetryPolicy(
            attempts=settings.llm_attempts,
            first_wait_s=settings.llm_first_wait_s,
        ),
        limits=ModelLimits(
            timeout_s=settings.llm_timeout_s,
            context_tokens=settings.llm_context_tokens,
            answer_tokens=settings.llm_max_tokens,
        ),
    )


def policy_defaults(settings: Settings) -> dict[str, dict[str, Json]]:
    """The deployment's defaults of confidence policies, by policy and field."""
    return {
        name: {field: getattr(settings, setting) for setting, field in design.environment.items()}
        for name, design in DESIGNS.items()
        if design.environment
    }


def compile_patterns() -> None:
    """Compile now what takes about a second: the first event must not wait for it, nor the event loop."""
    find_injection("")
    non_answers.prepare()
    promises.prepare()
    facts.prepare()
