"""The clients of the configured model servers, and the ports over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

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
from worker.settings import ModelServer, Settings, classifier_key
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
    judge: ApiClient | None
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
        every = (self.moderation, self.model, self.judge, self.embedding, *self.classifiers.values())
        return tuple({id(client): client for client in every if client is not None}.values())


def open_endpoints(settings: Settings, metrics: WorkerMetrics | None = None) -> Endpoints:
    """The clients of the configured servers."""

    def client(upstream: str, url: str, key: str | None) -> ApiClient:
        def observe(outcome: str, duration_s: float) -> None:
            if metrics is not None:
                metrics.requested(upstream, outcome, duration_s)

        most = connections(settings)
        return openai_client.client(url, key, connections=most + SPARE_CONNECTIONS, observe=observe)

    def of(upstream: str, server: ModelServer | None) -> ApiClient | None:
        return client(upstream, server.url, server.key) if server else None

    servers = settings.servers
    model = client("model", servers.model.url, servers.model.key)
    own_judge = servers.judge is not None and servers.judge.place != servers.model.place
    return Endpoints(
        moderation=of("moderation", servers.moderation),
        model=model,
        judge=of("judge", servers.judge) if own_judge else model,
        embedding=of("embedding", servers.embeddings),
        classifiers={
            name: client(f"classifier {name}", each.base_url, classifier_key(settings, name))
            for name, each in settings.classifiers.items()
        },
    )


def build_ports(settings: Settings, endpoints: Endpoints, pool: Pool, clock: Clock, guards: Guards) -> Ports:
    """The configured adapters, each with its guard."""
    moderator = embedder = judge = None
    guarded, servers = guards.guard, settings.servers
    if endpoints.moderation is not None and servers.moderation is not None:
        moderator = OpenAIModerator(
            endpoints.moderation,
            model=servers.moderation.model,
            timeout_s=settings.moderation_timeout_s,
            watch=Watch("moderation", telemetry.report),
            most_texts=settings.moderation_batch,
            reuse_s=settings.moderation_reuse_s,
            guard=guarded(UpstreamKind.MODERATION, "moderation", servers.moderation.model),
        )
    if endpoints.embedding is not None and servers.embeddings is not None:
        watch = Watch("embedding", telemetry.report)
        model = servers.embeddings.model or servers.embeddings.default_embedding_model
        guard = guarded(UpstreamKind.EMBEDDING, "embedding", model)
        embedder = OpenAIEmbedder(endpoints.embedding, timeout_s=QUERY_TIMEOUT_S, watch=watch, guard=guard)

    def chat(client: ApiClient, kind: UpstreamKind, name: str, model: str, max_tokens: int) -> OpenAIChat:
        watch, guard = Watch(name, telemetry.report), guarded(kind, name, model)
        return OpenAIChat(client, model=model, max_tokens=max_tokens, watch=watch, guard=guard)

    def drafting(name: str, model: str) -> OpenAIChat:
        return chat(endpoints.model, UpstreamKind.MODEL, name, model, settings.model_max_tokens)

    if endpoints.judge is not None and servers.judge is not None:
        reading = chat(endpoints.judge, UpstreamKind.JUDGE, "judge", servers.judge.model, JUDGE_TOKENS)
        judge = ModelJudge(reading, timeout_s=settings.model_timeout_s)

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
    return Ports(
        clock=clock,
        moderator=moderator,
        classifiers=classifiers,
        model=drafting("model", servers.model.model),
        models={name: drafting(f"model {name}", model) for name, model in settings.further_models.items()},
        judge=judge,
        retriever=PostgresRetriever(pool, embedder),
        conversations=PostgresConversations(pool),
        retry=RetryPolicy(
            attempts=settings.model_attempts,
            first_wait_s=settings.model_first_wait_s,
        ),
        limits=ModelLimits(
            timeout_s=settings.model_timeout_s,
            context_tokens=settings.model_context_tokens,
            answer_tokens=settings.model_max_tokens,
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
