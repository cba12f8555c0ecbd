"""The composition root: settings in, a running worker's parts out."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import structlog
import uvloop
from openai import AsyncOpenAI
from redis.asyncio import Redis

from db import accounts
from db.compiled_rules import CompiledSets
from db.conversations import PostgresConversations
from db.documents.retrieval import PostgresRetriever
from db.pool import Pool, create_pool
from db.probe import probe
from tasks import telemetry
from tasks.accounts import Rulebooks
from tasks.engine import Engine, EngineLimits
from tasks.gate import Gate
from tasks.handler import EntryHandler
from tasks.relay import Relay
from tasks.retractor import Retractor
from tasks.rights import warn_of_excess
from tasks.stream import Lanes, connect
from worker.adapters import openai_client
from worker.adapters.model_judge import ModelJudge
from worker.adapters.openai_chat import OpenAIChat
from worker.adapters.openai_client import Watch
from worker.adapters.openai_embeddings import OpenAIEmbedder
from worker.adapters.openai_moderation import OpenAIModerator
from worker.adapters.system_clock import SystemClock
from worker.cancellation import cancel_all
from worker.injections import find_injection
from worker.ports import Clock, ModelLimits, Ports, RetryPolicy
from worker.rules.build_id import build_id
from worker.settings import Settings, embedding_endpoint

log = structlog.get_logger(__name__)

Value = TypeVar("Value")
SPARE_CONNECTIONS: Final = 50
RESTART_S: Final = 1.0
LAST_REPLIES_S: Final = 5.0
JUDGE_TOKENS: Final = 64  # the answer is a number, or a short JSON object with one


def worker_id() -> str:
    """Unique per process start: host, process id and a random tail."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerParts:
    """The parts of one worker inside its event loop."""

    engine: Engine
    relay: Relay
    retractor: Retractor
    rulebooks: Rulebooks
    gate: Gate
    pool: Pool
    redis: Redis
    endpoints: Endpoints
    clock: SystemClock


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Clients of the configured model servers; None for one that is switched off."""

    moderation: AsyncOpenAI | None
    model: AsyncOpenAI
    embedding: AsyncOpenAI | None

    async def close(self) -> None:
        """Close their connections."""
        for client in (self.moderation, self.model, self.embedding):
            if client is not None:
                await client.close()


def open_endpoints(settings: Settings) -> Endpoints:
    """The clients of the configured servers."""
    connections = settings.in_flight + SPARE_CONNECTIONS
    moderation = None
    if settings.openai_moderation_enabled:
        key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else None
        moderation = openai_client.client(settings.openai_base_url, key, connections=connections)
    key = settings.openrouter_api_key.get_secret_value() if settings.openrouter_api_key else None
    model = openai_client.client(settings.openrouter_base_url, key, connections=connections)
    embedding = None
    if settings.embedding_model:
        url, key = embedding_endpoint(settings)
        embedding = openai_client.client(url, key, connections=connections)
    return Endpoints(moderation=moderation, model=model, embedding=embedding)


def build_ports(settings: Settings, asked: Endpoints, source: Pool, clock: Clock) -> Ports:
    """The configured adapters."""
    moderator = None
    if asked.moderation is not None:
        moderator = OpenAIModerator(
            asked.moderation,
            model=settings.moderation_model,
            timeout_s=settings.moderation_timeout_s,
            watch=Watch("moderation", telemetry.report),
        )
    embedder = None
    if asked.embedding is not None:
        embedder = OpenAIEmbedder(
            asked.embedding,
            timeout_s=settings.embedding_timeout_s,
            watch=Watch("embedding", telemetry.report),
        )
    judging = OpenAIChat(
        asked.model,
        model=settings.judge_model or settings.llm_model,
        max_tokens=JUDGE_TOKENS,
        watch=Watch("judge", telemetry.report),
    )
    return Ports(
        clock=clock,
        moderator=moderator,
        model=OpenAIChat(
            asked.model,
            model=settings.llm_model,
            max_tokens=settings.llm_max_tokens,
            watch=Watch("model", telemetry.report),
        ),
        judge=ModelJudge(judging, timeout_s=settings.llm_timeout_s) if settings.judge_enabled else None,
        retriever=PostgresRetriever(source, embedder),
        conversations=PostgresConversations(source),
        retry=retry_policy(settings),
        limits=ModelLimits(timeout_s=settings.llm_timeout_s, tool_rounds=settings.llm_tool_rounds),
    )


def retry_policy(settings: Settings) -> RetryPolicy:
    """When model calls are repeated in this deployment."""
    return RetryPolicy(
        attempts=settings.llm_attempts,
        first_wait_s=settings.llm_first_wait_s,
        longest_wait_s=settings.llm_longest_wait_s,
    )


async def build_worker(settings: Settings, worker: str) -> WorkerParts:
    """Build one worker; only the pool connects yet."""
    clock = SystemClock()
    await asyncio.to_thread(find_injection, "")  # its patterns take 0.3 s to compile: not at the first event
    url = settings.database_url.get_secret_value()

    async def reopened() -> None:
        await source.check()

    gate = Gate(probe=lambda: probe(url, clock.now()), reopened=reopened)
    source = create_pool(
        url, size=settings.db_pool, application=worker, lost=lambda: gate.doubt("ConnectionFailed")
    )
    await source.open()
    redis = connect(settings.redis_url.get_secret_value())
    asked = open_endpoints(settings)
    rulebooks = Rulebooks(
        lambda user_id: accounts.current_account(source, user_id),
        lambda ids: accounts.current_versions(source, ids),
        CompiledSets(source, build_id()),
    )
    relay = Relay(source, redis, stream=settings.reply_stream, now=clock.now)
    handler = EntryHandler(
        pool=source,
        rulebooks=rulebooks,
        ports=build_ports(settings, asked, source, clock),
        gate=gate,
        replied=relay.nudge,
        max_starts=settings.max_starts,
        payload_bytes=settings.payload_bytes,
    )
    engine = Engine(
        Lanes(redis, stream=settings.stream, worker=worker, keep_bytes=settings.payload_bytes),
        handler,
        EngineLimits(
            in_flight=settings.in_flight, heartbeat_ttl_s=settings.heartbeat_ttl_s, drain_s=settings.drain_s
        ),
        may_admit=lambda: gate.is_open,
    )
    return WorkerParts(
        engine=engine,
        relay=relay,
        retractor=Retractor(source, redis, stream=settings.retraction_stream, now=clock.now),
        rulebooks=rulebooks,
        gate=gate,
        pool=source,
        redis=redis,
        endpoints=asked,
        clock=clock,
    )


async def _restarted(job: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a job forever; a bug is reported and the job starts again."""
    while True:
        try:
            await job()
        except Exception as error:  # a bug in one job must not end the others
            log.exception("job_failed", job=job.__qualname__, exc_info=error)
            telemetry.report(error)
        await asyncio.sleep(RESTART_S)


class Runtime:
    """A worker's event loop on a thread of its own, so that Celery's threads can hand it coroutines.

    Args:
        settings: of this process.
        crashed: called from the loop when a bug ended the engine, so that the process can restart.
    """

    def __init__(self, settings: Settings, crashed: Callable[[], None] = lambda: None) -> None:
        self._settings = settings
        self._crashed = crashed
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hushgate", daemon=True)
        self._parts: WorkerParts | None = None
        self._keepers: list[asyncio.Task[None]] = []
        self._calls: set[asyncio.Task[Any]] = set()
        self._engine_run: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the loop and connect; with the engine when the settings say so."""
        self._thread.start()
        self.call(self._start())

    def call(self, work: Coroutine[Any, Any, Value]) -> Value:
        """The value of a coroutine, run on the worker's loop; called from any other thread.

        Raises:
            concurrent.futures.CancelledError: the worker stopped meanwhile.
        """
        return asyncio.run_coroutine_threadsafe(self._noted(work), self._loop).result()

    async def _noted(self, work: Coroutine[Any, Any, Value]) -> Value:
        task = asyncio.current_task()
        assert task is not None  # we are inside one
        self._calls.add(task)
        try:
            return await work
        finally:
            self._calls.discard(task)

    def nudge(self) -> None:
        """Wake the relay; callable from any thread."""
        self._loop.call_soon_threadsafe(self.parts.relay.nudge)

    @property
    def parts(self) -> WorkerParts:
        """The parts inside the loop."""
        if self._parts is None:
            raise RuntimeError("the runtime is not started")
        return self._parts

    def stop(self) -> None:
        """Drain the engine, deliver waiting replies, close connections, end the thread."""
        self.call(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)

    async def _start(self) -> None:
        name = worker_id()
        self._parts = await build_worker(self._settings, name)
        jobs = (
            self._parts.relay.run,
            self._parts.retractor.run,
            self._parts.rulebooks.refresh_forever,
            self._parts.gate.watch,
        )
        self._keepers = [asyncio.create_task(_restarted(job)) for job in jobs]
        self._keepers.append(asyncio.create_task(warn_of_excess(self._parts.pool)))
        self._parts.relay.nudge()
        if self._settings.engine_enabled:
            self._engine_run = asyncio.create_task(self._parts.engine.run())
            self._engine_run.add_done_callback(self._engine_ended)
            log.info("engine_started", worker=name, stream=self._settings.stream)

    def _engine_ended(self, run: asyncio.Task[None]) -> None:
        if not run.cancelled() and (error := run.exception()) is not None:
            log.critical("engine_crashed", exc_info=error)
            telemetry.report(error)
            self._crashed()

    async def _stop(self) -> None:
        if self._engine_run is not None:
            self.parts.engine.drain()
            self.parts.clock.interrupt()
            await asyncio.gather(self._engine_run, return_exceptions=True)
            log.info("engine_stopped")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_REPLIES_S):
                await self.parts.relay.drain()
        await cancel_all({*self._keepers, *self._calls} - {asyncio.current_task()})
        await self.parts.pool.close(timeout=5)
        await self.parts.redis.aclose()
        await self.parts.endpoints.close()
