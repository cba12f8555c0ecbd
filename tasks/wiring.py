"""The composition root: settings in, a worker's parts out."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from pydantic import SecretStr
from redis.asyncio import Redis

from db import accounts
from db.candidates.rollouts import running_rollouts
from db.compiled_rules import CompiledSets
from db.conversations import PostgresConversations
from db.database_clock import DatabaseClock
from db.documents.retrieval import PostgresRetriever
from db.pool import Pool, create_pool
from db.probe import probe
from tasks import telemetry
from tasks.accounts import Rulebooks
from tasks.arrivals import LaneArrivals
from tasks.engine import Engine
from tasks.escalations.relay import EscalationRelay
from tasks.fairness.admission import Admission
from tasks.fairness.brake import Brake, busy_s
from tasks.fairness.overload import Overload, load_backlog
from tasks.gate import Gate
from tasks.handler import EntryHandler
from tasks.lane_upkeep import EngineLimits
from tasks.limits.board import Board
from tasks.limits.fleet_limits import FleetLimits
from tasks.limits.guards import Guards, connections
from tasks.limits.spending import Spending
from tasks.metrics import names
from tasks.metrics.process import WorkerMetrics
from tasks.places import Places
from tasks.relay import Relay, fleet_relay
from tasks.retractor import Retractor, fleet_retractor
from tasks.shards.clients import is_cluster
from tasks.shards.engines import ShardEngines
from tasks.shards.lanes import ShardedLanes
from tasks.stream import Lanes, connect
from tasks.takeovers import EarlyTakeovers
from tasks.tracing.start import Traces
from tasks.webhooks.poller import WebhookPoller, fleet_poller
from worker.adapters import openai_client
from worker.adapters.boot_clock import seconds_since_boot
from worker.adapters.chat_classifier import ChatClassifier
from worker.adapters.model_judge import ModelJudge
from worker.adapters.openai_chat import OpenAIChat
from worker.adapters.openai_client import Watch
from worker.adapters.openai_embeddings import OpenAIEmbedder
from worker.adapters.openai_http import ApiClient
from worker.adapters.openai_moderation import OpenAIModerator
from worker.adapters.system_clock import SystemClock, machine_now
from worker.assessment import non_answers, promises
from worker.assessment.policies.designs import DESIGNS
from worker.assessment.reading import facts
from worker.holds import Holds
from worker.injections import find_injection
from worker.model import Json
from worker.ports import Clock, ModelLimits, Ports, RetryPolicy
from worker.rules.build_id import build_id
from worker.settings import Settings, embedding_endpoint
from worker.settings.calls import UpstreamKind
from worker.settings.prices import price_table
from worker.settings.retention import key_bytes

HELD_BY_ACCOUNT: Final = 4
"""One account may have a fourth of the held events."""
SPARE_CONNECTIONS: Final = 50
JUDGE_TOKENS: Final = 2048
"""Longest reading: 20 sentences of about 100 tokens, each with its verdict and quotes."""


def worker_id() -> str:
    """Unique per process start: host, process id and a random tail."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerParts:
    """The parts of one worker inside its event loop."""

    engine: ShardEngines
    handler: EntryHandler
    relay: Relay
    retractor: Retractor
    webhooks: WebhookPoller
    escalation_relay: EscalationRelay
    rulebooks: Rulebooks
    gate: Gate
    board: Board
    limits: FleetLimits
    pool: Pool
    redis: Redis
    endpoints: Endpoints
    clock: SystemClock
    fleet_clock: DatabaseClock


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
        embedder = OpenAIEmbedder(
            endpoints.embedding, timeout_s=settings.embedding_timeout_s, watch=watch, guard=guard
        )

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
    judge = chat("judge", settings.judge_model or settings.llm_model, JUDGE_TOKENS)
    return Ports(
        clock=clock,
        moderator=moderator,
        classifiers=classifiers,
        model=chat("model", settings.llm_model, settings.llm_max_tokens),
        models={
            name: chat(f"model {name}", model, settings.llm_max_tokens)
            for name, model in settings.llm_models.items()
        },
        judge=ModelJudge(judge, timeout_s=settings.llm_timeout_s) if settings.judge_enabled else None,
        retriever=PostgresRetriever(pool, embedder),
        conversations=PostgresConversations(pool),
        retry=RetryPolicy(
            attempts=settings.llm_attempts,
            first_wait_s=settings.llm_first_wait_s,
            longest_wait_s=settings.llm_longest_wait_s,
        ),
        limits=ModelLimits(
            timeout_s=settings.llm_timeout_s,
            tool_rounds=settings.llm_tool_rounds,
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


async def build_worker(
    settings: Settings, worker: str, metrics: WorkerMetrics | None = None, traces: Traces | None = None
) -> WorkerParts:
    """Build one worker; only the pool connects yet."""
    await asyncio.to_thread(compile_patterns)
    url = settings.database_url.get_secret_value()

    pool = create_pool(
        url, size=settings.db_pool, application=worker, lost=lambda: gate.doubt("ConnectionFailed")
    )
    fleet_clock = DatabaseClock(pool, seconds=seconds_since_boot, unread=machine_now)
    clock = SystemClock(fleet_clock.now)

    def ahead_s() -> float:
        return (machine_now() - fleet_clock.now()).total_seconds()

    gate = Gate(probe=lambda: probe(url, clock.now()), reopened=pool.check)
    await pool.open()
    redis_url = settings.redis_url.get_secret_value()
    redis = connect(redis_url)
    endpoints = open_endpoints(settings, metrics)
    endpoints.prepare()
    fleet_limits = FleetLimits(redis, settings, worker=worker, clock=clock)
    guards = Guards(settings, metrics, fleet_limits.of)
    rulebooks = Rulebooks(
        lambda user_id: accounts.current_account(pool, user_id),
        lambda ids: accounts.current_versions(pool, ids),
        CompiledSets(pool, build_id()),
        policy_defaults=policy_defaults(settings),
        rollouts=lambda ids: running_rollouts(pool, ids),
    )
    delivered = None if metrics is None else metrics.delivered
    key = None if settings.stream_key is None else key_bytes(settings.stream_key.get_secret_value())
    relay = fleet_relay(pool, redis, stream=settings.reply_stream, delivered=delivered, signing_key=key)
    escalation_relay = EscalationRelay(
        pool,
        redis,
        stream=settings.escalation_stream,
        pages=settings.review_url,
        now=clock.now,
        signing_key=key,
    )

    lanes = ShardedLanes(
        redis,
        stream=settings.stream,
        worker=worker,
        keep_bytes=settings.payload_bytes,
        another=(lambda: connect(redis_url)) if is_cluster(redis_url) else None,
    )
    arrivals = LaneArrivals(lanes, pool, now=clock.now, payload_bytes=settings.payload_bytes)
    places = Places(settings.in_flight)
    holds = Holds(
        most=settings.in_flight,
        most_of_account=-(-settings.in_flight // HELD_BY_ACCOUNT),
        left=places.give_back,
        returned=places.take,
    )
    ports = replace(build_ports(settings, endpoints, pool, clock, guards), arrivals=arrivals, holds=holds)
    admission = Admission(
        places,
        read_ahead=settings.read_ahead,
        open_lanes=lambda: holds.open_lanes(clock.monotonic()),
        brake=Brake(settings.in_flight, busy_s=busy_s, now_s=clock.monotonic),
    )
    handler = EntryHandler(
        pool=pool,
        rulebooks=rulebooks,
        ports=ports,
        gate=gate,
        replied=relay.nudge,
        escalated=escalation_relay.nudge,
        max_starts=settings.max_starts,
        begin_run=lanes.begin_run,
        payload_bytes=settings.payload_bytes,
        limits=fleet_limits.accounts,
        spending=Spending(pool, clock, price_table(settings)),
        overload=Overload(clock, lambda user_id: load_backlog(redis, lanes.layout, user_id)),
        metrics=metrics,
        traces=traces,
        refresh_clock=fleet_clock.refresh,
    )
    limits = EngineLimits(
        in_flight=settings.in_flight, heartbeat_ttl_s=settings.heartbeat_ttl_s, drain_s=settings.drain_s
    )
    takeovers = EarlyTakeovers(
        pool,
        rulebooks,
        now=clock.now,
        refresh_clock=fleet_clock.refresh,
        payload_bytes=settings.payload_bytes,
    )

    def open_engine(of_shard: Lanes) -> Engine:
        return Engine(
            of_shard,
            handler,
            limits,
            lambda: gate.is_open,
            agent_wrote=takeovers.start,
            places=places,
            admission=admission,
        )

    engine = ShardEngines(lanes, places, open_engine, shards=settings.shards)
    if metrics is not None:
        metrics.show(names.IN_FLIGHT, lambda: engine.in_flight - holds.events)
        metrics.show(names.IN_FLIGHT_LIMIT, lambda: settings.in_flight)
        metrics.show(names.HELD, lambda: ports.holds.count)
        metrics.show(names.STORAGE_OPEN, lambda: gate.is_open)
        metrics.show(names.CLOCK_AHEAD, ahead_s)
    return WorkerParts(
        engine=engine,
        handler=handler,
        relay=relay,
        retractor=fleet_retractor(pool, redis, stream=settings.retraction_stream, signing_key=key),
        escalation_relay=escalation_relay,
        webhooks=fleet_poller(
            pool,
            loopback=settings.webhook_loopback,
            pages=settings.review_url,
            attempted=None if metrics is None else metrics.webhook_attempted,
        ),
        rulebooks=rulebooks,
        gate=gate,
        board=Board(
            redis,
            stream=settings.stream,
            worker=worker,
            guards=guards,
            ahead_s=ahead_s,
        ),
        limits=fleet_limits,
        pool=pool,
        redis=redis,
        endpoints=endpoints,
        clock=clock,
        fleet_clock=fleet_clock,
    )
