"""The composition root: settings in, a worker's parts out."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from redis.asyncio import Redis

from db.account_settings import accounts
from db.account_settings.compiled_rules import CompiledSets
from db.health.database_clock import DatabaseClock
from db.health.probe import probe
from db.model_servers.stored import load_servers
from db.outbox import WaitingReply
from db.outgoing.events import OutgoingEvent
from db.pool import Pool, create_pool
from db.reviews.retractions import Retraction
from features.feature import hook_values
from tasks.entries.deciding import Decider
from tasks.entries.handler import EntryHandler
from tasks.entries.outcomes import OutcomeHooks
from tasks.entries.rulebooks import Rulebooks
from tasks.entries.storage import Storage
from tasks.fairness.admission import Admission
from tasks.fairness.overload import Overload, load_backlog
from tasks.lanes.arrivals import LaneArrivals
from tasks.lanes.engine import Engine
from tasks.lanes.stream import Lanes
from tasks.lanes.takeovers import EarlyTakeovers
from tasks.lanes.upkeep import EngineLimits
from tasks.late_moderation import LateModeration
from tasks.limits.fleet_limits import FleetLimits
from tasks.limits.guards import Guards
from tasks.limits.spending import Spending
from tasks.limits.upstream_reports import UpstreamReporter
from tasks.metrics import names
from tasks.model_connections import ModelConnection, ModelConnections
from tasks.process import logs
from tasks.process.heartbeat_file import keep_files
from tasks.sending.escalations import escalation_rows
from tasks.sending.relay import Relay, RelayedRows, Row
from tasks.sending.replies import REPLY_ROWS
from tasks.sending.retractions import RETRACTION_ROWS
from tasks.shards.clients import connect, is_cluster
from tasks.shards.engines import ShardEngines
from tasks.shards.lanes import ShardedLanes
from tasks.tracing.start import Traces
from tasks.upstreams import build_ports, compile_patterns, open_endpoints, policy_defaults
from tasks.webhooks.poller import WebhookPoller
from worker.adapters.system_clock import SystemClock, machine_now, seconds_since_boot
from worker.adapters.webhook_sender import WebhookSender
from worker.moderation_holds import Holds
from worker.payload import PAYLOAD_BYTES
from worker.places import Places
from worker.rules.build_id import build_id
from worker.settings import Settings
from worker.settings.prices import price_table
from worker.settings.retention import key_bytes
from worker.supervisor import Supervisor

if TYPE_CHECKING:  # a worker without metrics does without their library
    from tasks.metrics.process import WorkerMetrics

HELD_BY_ACCOUNT: Final = 4
"""One account may have a fourth of the held events."""


def worker_id() -> str:
    """Unique per process start: host, process id and a random tail."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"


@dataclass(kw_only=True)
class WorkerParts:
    """The parts of one worker inside its event loop, each built where it is first used.

    Attributes:
        worker: its name.
        work: runs what happens in the background.
        metrics: None where no metrics are served.
        traces: None where no traces are sent.
    """

    settings: Settings
    worker: str
    work: Supervisor
    metrics: WorkerMetrics | None = None
    traces: Traces | None = None

    @cached_property
    def pool(self) -> Pool:
        """Connections to Postgres."""
        return create_pool(
            self.settings.database_url.get_secret_value(),
            size=self.settings.db_pool,
            application=self.worker,
            lost=lambda: self.storage.doubt("ConnectionFailed"),
        )

    @cached_property
    def redis(self) -> Redis:
        """Connections to Redis."""
        return connect(self.settings.redis_url.get_secret_value())

    @cached_property
    def fleet_clock(self) -> DatabaseClock:
        """The clock of Postgres."""
        return DatabaseClock(self.pool, seconds=seconds_since_boot, unread=machine_now)

    @cached_property
    def clock(self) -> SystemClock:
        """The clock of the engine's ports."""
        return SystemClock(self.fleet_clock.now)

    @cached_property
    def storage(self) -> Storage:
        """Whether decisions can be stored."""
        url = self.settings.database_url.get_secret_value()
        return Storage(probe=lambda: probe(url, self.clock.now()), reopened=self.pool.check, clock=self.clock)

    async def keep_clock(self) -> None:
        """Read the clock of Postgres when its last reading is old."""
        await self.storage.outlasting_outages(self.fleet_clock.refresh)

    @cached_property
    def limits(self) -> FleetLimits:
        """Limits over the whole fleet."""
        return FleetLimits(self.redis, self.settings, worker=self.worker, clock=self.clock, work=self.work)

    @cached_property
    def guards(self) -> Guards:
        """Breakers, limits and places of each upstream."""
        return Guards(self.settings, self.metrics, self.limits.of)

    @cached_property
    def lanes(self) -> ShardedLanes:
        """The queues of conversations."""
        url = self.settings.redis_url.get_secret_value()
        return ShardedLanes(
            self.redis,
            stream=self.settings.stream,
            worker=self.worker,
            keep_bytes=PAYLOAD_BYTES,
            another=(lambda: connect(url)) if is_cluster(url) else None,
            now=self.clock.now,
        )

    @cached_property
    def places(self) -> Places:
        """Events in flight."""
        return Places(self.settings.in_flight)

    @cached_property
    def holds(self) -> Holds:
        """Events that wait without a place."""
        most = self.settings.in_flight
        return Holds(
            most=most,
            most_of_account=-(-most // HELD_BY_ACCOUNT),
            left=self.places.give_back,
            returned=self.places.take,
        )

    @cached_property
    def models(self) -> ModelConnections:
        """What the pipeline calls, over the model servers in force."""
        key = self.settings.secrets_key
        return ModelConnections(self.settings, lambda: load_servers(self.pool, key), self._connect)

    def _connect(self, settings: Settings) -> ModelConnection:
        """Clients and ports of the servers of these settings."""
        self.guards.begin(settings)
        if self.traces is not None:
            self.traces.servers_changed(settings)
        logs.mask(logs.secret_values(settings))
        endpoints = open_endpoints(settings, self.metrics)
        endpoints.prepare()
        ports = build_ports(settings, endpoints, self.pool, self.clock, self.guards)
        ports = replace(
            ports,
            arrivals=LaneArrivals(self.lanes, self.pool),
            holds=self.holds,
            is_replaced=lambda: not self.models.uses(endpoints),
        )
        return ModelConnection(endpoints=endpoints, ports=ports)

    async def refresh_models(self) -> None:
        """Use the model servers that are stored now."""
        await self.storage.outlasting_outages(self.models.refresh)

    @cached_property
    def rulebooks(self) -> Rulebooks:
        """Accounts with their compiled rules."""
        rollouts = next(iter(hook_values("rollouts")), None)
        return Rulebooks(
            lambda user_id: accounts.current_account(self.pool, user_id),
            lambda ids: accounts.current_versions(self.pool, ids),
            CompiledSets(self.pool, build_id()),
            policy_defaults=policy_defaults(self.settings),
            rollouts=None if rollouts is None else lambda ids: rollouts(self.pool, ids),
        )

    @cached_property
    def stream_key(self) -> bytes | None:
        """Signs entries of the outgoing streams; None: they are not signed."""
        key = self.settings.stream_key
        return None if key is None else key_bytes(key.get_secret_value())

    def _relay(
        self, rows: RelayedRows[Row], stream: str, delivered: Callable[[int], None] | None = None
    ) -> Relay[Row]:
        """A relay on the clock of Postgres: a machine's wrong clock would send too early or too late."""
        return Relay(
            rows,
            self.pool,
            self.redis,
            stream=stream,
            now=self.fleet_clock.now,
            refresh=self.fleet_clock.refresh,
            delivered=delivered,
            signing_key=self.stream_key,
        )

    @cached_property
    def relay(self) -> Relay[WaitingReply]:
        """Sends replies."""

        def delivered(replies: int) -> None:
            if self.metrics is not None:
                self.metrics.count(names.REPLIES_DELIVERED, by=replies)

        return self._relay(REPLY_ROWS, self.settings.reply_stream, delivered)

    @cached_property
    def retractor(self) -> Relay[Retraction]:
        """Takes replies back."""
        return self._relay(RETRACTION_ROWS, self.settings.retraction_stream)

    @cached_property
    def escalation_relay(self) -> Relay[OutgoingEvent]:
        """Sends escalations."""
        return self._relay(escalation_rows(self.settings.review_url), self.settings.escalation_stream)

    @cached_property
    def webhooks(self) -> WebhookPoller:
        """Sends webhooks on the clock of Postgres: by a fast clock a failed endpoint would wait too long."""

        def attempted(state: str) -> None:
            if self.metrics is not None:
                self.metrics.count(names.WEBHOOK_ATTEMPTS, state)

        now = self.fleet_clock.now
        return WebhookPoller(
            self.pool,
            WebhookSender(loopback=self.settings.webhook_loopback, now=now),
            now=now,
            refresh=self.fleet_clock.refresh,
            pages=self.settings.review_url,
            attempted=attempted,
        )

    @cached_property
    def upstream_reporter(self) -> UpstreamReporter:
        """Reports upstreams to the fleet."""
        stream, ahead_s = self.settings.stream, self.ahead_s
        return UpstreamReporter(
            redis=self.redis,
            stream=stream,
            worker=self.worker,
            guards=self.guards,
            ahead_s=ahead_s,
            held=lambda: self.holds.events,
            storage=lambda: self.storage.trouble,
        )

    @cached_property
    def spending(self) -> Spending:
        """Costs and budgets."""
        return Spending(self.pool, self.clock, price_table(self.settings))

    @cached_property
    def decider(self) -> Decider:
        """Decides events."""
        return Decider(
            storage=self.storage,
            models=self.models,
            limits=self.limits.accounts,
            spending=self.spending,
            overload=Overload(
                self.clock, lambda user_id: load_backlog(self.redis, self.lanes.layout, user_id)
            ),
            policy_defaults=policy_defaults(self.settings),
            metrics=self.metrics,
            traces=self.traces,
        )

    @cached_property
    def late_moderation(self) -> LateModeration:
        """Moderates what passed while moderation was away."""
        return LateModeration(
            pool=self.pool,
            models=self.models,
            rulebooks=self.rulebooks,
            spending=self.spending,
            now=self.clock.now,
            retracted=self.retractor.nudge,
            metrics=self.metrics,
        )

    @cached_property
    def handler(self) -> EntryHandler:
        """Runs entries."""
        return EntryHandler(
            pool=self.pool,
            rulebooks=self.rulebooks,
            spending=self.spending,
            decider=self.decider,
            storage=self.storage,
            hooks=OutcomeHooks(
                metrics=self.metrics,
                traces=self.traces,
                replied=self.relay.nudge,
                escalated=self.escalation_relay.nudge,
            ),
            now=self.clock.now,
            max_starts=self.settings.max_starts,
            begin_run=self.lanes.begin_run,
        )

    @cached_property
    def admission(self) -> Admission:
        """Shares the places by account."""
        return Admission(self.places, open_lanes=lambda: self.holds.open_lanes(self.clock.monotonic()))

    @cached_property
    def takeovers(self) -> EarlyTakeovers:
        """Takes conversations when people write."""
        return EarlyTakeovers(pool=self.pool, rulebooks=self.rulebooks, now=self.clock.now, work=self.work)

    @cached_property
    def engine(self) -> ShardEngines:
        """Runs the lanes of all shards."""
        return ShardEngines(self.lanes, self.places, self._open_engine, shards=self.settings.shards)

    def _open_engine(self, of_shard: Lanes) -> Engine:
        settings = self.settings
        limits = EngineLimits(
            in_flight=settings.in_flight, heartbeat_ttl_s=settings.heartbeat_ttl_s, drain_s=settings.drain_s
        )
        return Engine(
            of_shard,
            self.handler,
            limits,
            lambda: self.storage.is_open and self.fleet_clock.is_read and self.models.connected,
            agent_wrote=self.takeovers.start,
            places=self.places,
            admission=self.admission,
        )

    async def keep_heartbeat_files(self) -> None:
        """Touch the files that probes read, until cancelled; without such a setting do nothing."""
        if not (file := self.settings.heartbeat_file):
            await asyncio.Event().wait()
        await keep_files(Path(file), self._is_ready)

    async def _is_ready(self) -> bool:
        """Whether decisions can be stored and Redis answers."""
        return self.storage.is_open and bool(await self.redis.ping())

    def ahead_s(self) -> float:
        """Seconds by which the clock of the machine is ahead of Postgres."""
        return (machine_now() - self.fleet_clock.now()).total_seconds()


async def build_worker(
    settings: Settings,
    worker: str,
    work: Supervisor,
    metrics: WorkerMetrics | None = None,
    traces: Traces | None = None,
) -> WorkerParts:
    """Build one worker; only the pool connects yet."""
    await asyncio.to_thread(compile_patterns)
    parts = WorkerParts(settings=settings, worker=worker, work=work, metrics=metrics, traces=traces)
    await parts.pool.open()
    await parts.models.start()
    for name, part in vars(WorkerParts).items():
        if isinstance(part, cached_property):
            getattr(parts, name)  # a part that cannot be built fails now
    if metrics is not None:
        metrics.show(names.IN_FLIGHT, lambda: parts.engine.in_flight - parts.holds.events)
        metrics.show(names.IN_FLIGHT_LIMIT, lambda: settings.in_flight)
        metrics.show(names.HELD, lambda: parts.holds.count)
        metrics.show(names.STORAGE_OPEN, lambda: parts.storage.is_open)
        metrics.show(names.CLOCK_AHEAD, parts.ahead_s)
    return parts
