"""Servers, sandbox, links and processes of one run, started in order and ended by process id."""

from __future__ import annotations

import asyncio
import http.client
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import psycopg
from psycopg.sql import SQL, Identifier, Literal
from redis import Redis
from redis.exceptions import RedisError

from chaos.fleet import clock, disk, seeding
from chaos.fleet.processes import Processes
from chaos.fleet.proxy import Link, Network, Target
from chaos.fleet.receiver import Receiver, receiving
from chaos.kinds import Role
from chaos.plan import Plan
from cli.deployment import loopback
from cli.stack import Stack
from db.schema import logins, migrate
from db.schema.logins import Service
from sandbox.server import SandboxHandle
from sandbox.server import start as start_sandbox
from tasks.publishing.publish import open_shards
from tasks.shards.layout import ShardLayout

Value = TypeVar("Value")
STREAM: Final = "hushgate:events"
DEFAULTS: Final = {
    "default_transaction_isolation": "repeatable read",
    "lock_timeout": "2s",
    "idle_in_transaction_session_timeout": "20s",
    "timezone": "Pacific/Apia",
}
REPLIES: Final = "hushgate:replies"
ESCALATIONS: Final = "hushgate:escalations"
KEEP_REQUESTS: Final = 4_000
SANDBOX: Final = ("--keep-requests", str(KEEP_REQUESTS))
LATENCY: Final = {"moderations": {"low_s": 0.01, "high_s": 0.1}, "chat": {"low_s": 0.05, "high_s": 0.3}}
WORKER: Final = ("-m", "tasks", "worker")
BEAT: Final = ("-m", "celery", "-A", "tasks.app", "beat", "--pidfile=")
REDIS, POSTGRES, UPSTREAM = "valkey", "postgres", "upstream"
LINKS: Final = {
    Role.WORKER: (REDIS, POSTGRES, UPSTREAM),
    Role.DELIVERER: (REDIS, POSTGRES, UPSTREAM),
    Role.BEAT: (REDIS, POSTGRES),
    Role.GATEWAY: (REDIS, POSTGRES, UPSTREAM),
    Role.REVIEW: (REDIS, POSTGRES),
}
SERVICES: Final = {Role.GATEWAY: Service.GATEWAY, Role.REVIEW: Service.REVIEW}
"""The service whose login a process uses; the others are workers."""

ANSWER_S: Final = 15.0


class Interrupted(Exception):
    """The run was asked to stop."""


@dataclass(slots=True)
class World:
    """Everything that runs.

    Attributes:
        stopping: set when no further event is published and no further fault injected.
        addresses: where gateway and review pages answer.
        under_way: requests to them without an answer yet, by path.
        clock_file: the wall clock's offset of the worker with a clock of its own.
    """

    plan: Plan
    stack: Stack
    sandbox: SandboxHandle
    network: Network
    processes: Processes
    receiver: Receiver
    access: seeding.Access
    folder: Path
    disk: disk.Disk
    clock_file: Path
    addresses: dict[Role, str] = field(default_factory=dict)
    worker_urls: dict[Service, str] = field(default_factory=dict)
    stopping: threading.Event = field(default_factory=threading.Event)
    under_way: Counter[str] = field(default_factory=Counter)

    @property
    def layout(self) -> ShardLayout:
        """The streams of events."""
        return ShardLayout(stream=STREAM, epochs=(self.plan.shards,))

    @property
    def redis(self) -> Redis:
        """A client with a direct connection, not through the proxies."""
        return Redis.from_url(self.stack.redis_url, socket_timeout=10, socket_connect_timeout=5)

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Rows of a query as the owner, on a direct connection, not through the proxies."""
        with psycopg.connect(self.stack.database_url, connect_timeout=5) as connection:
            return connection.execute(query, values).fetchall()

    def post(self, role: Role, path: str, body: bytes) -> tuple[int, bytes]:
        """Status and body of an answer of the gateway or the review pages; 0 without one."""
        place = urlsplit(self.addresses[role])
        self.under_way[path] += 1
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=ANSWER_S)
        headers = {"authorization": f"Bearer {self.access.token}", "content-type": "application/json"}
        try:
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            self.under_way[path] -= 1
            connection.close()

    def pause(self, seconds: float) -> None:
        """Wait.

        Raises:
            Interrupted: the run stops.
        """
        if self.stopping.wait(seconds):
            raise Interrupted

    def until(self, condition: Callable[[], Value], patience_s: float, every_s: float = 0.05) -> Value | None:
        """The first true value of a condition, or None; servers that do not answer count as not yet."""
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            with suppress(RedisError, psycopg.Error, OSError):
                if value := condition():
                    return value
            time.sleep(every_s)
        return None

    def link(self, process: str, server: str) -> Link:
        """The way of a process to a server."""
        return self.network.links[f"{process} {server}"]

    def start_all(self) -> None:
        """Start every process; the first worker has a clock of its own."""
        for number in range(1, self.plan.workers + 1):
            name = f"worker-{number}"
            under = ("-m", "chaos.fleet.clock", str(self.clock_file)) if number == 1 else ("-m",)
            self._add(name, Role.WORKER, (*under, *WORKER[1:], "-n", f"{name}@%h"), {})
        off = {"HUSHGATE_ENGINE_ENABLED": "false"}
        self._add("deliverer", Role.DELIVERER, (*WORKER, "-n", "deliverer@%h"), off)
        self._add("beat", Role.BEAT, BEAT, {})
        for role, command in ((Role.GATEWAY, "gateway"), (Role.REVIEW, "review")):
            self.addresses[role] = address = loopback.free_address()
            port = str(urlsplit(address).port)
            self._add(command, role, ("-m", "cli", command, "--port", port), {"HUSHGATE_REVIEW_URL": address})

    def restart_sandbox(self) -> None:
        """Start the sandbox again on its port; it ends with this process."""
        self.sandbox.stop()
        self.sandbox = start_sandbox(urlsplit(self.sandbox.url).port or 0, options=SANDBOX)

    def _add(self, name: str, role: Role, command: tuple[str, ...], more: dict[str, str]) -> None:
        for server in LINKS[role]:
            self.network.open_link(f"{name} {server}", self._target(server), to_postgres=server == POSTGRES)
        self.processes.add(name, role, command, self._environment(name, role) | more)

    def _target(self, server: str) -> Callable[[], Target]:
        def find() -> Target:
            if server == POSTGRES:
                return f"{urlsplit(self.stack.database_url).query.partition('=')[2]}/.s.PGSQL.5432"
            url = urlsplit(self.stack.redis_url if server == REDIS else self.sandbox.url)
            return "127.0.0.1", url.port or 0

        return find

    def _environment(self, name: str, role: Role) -> dict[str, str]:
        redis_port = self.link(name, REDIS).port
        redis = urlsplit(self.stack.redis_url)
        service = SERVICES.get(role, Service.WORKER)
        login = urlsplit(self.worker_urls[service])
        postgres_port = self.link(name, POSTGRES).port
        upstream = f"http://127.0.0.1:{self.link(name, UPSTREAM).port if UPSTREAM in LINKS[role] else 1}/v1"
        credentials = login.netloc.rpartition("@")[0]
        return {
            "DATABASE_URL": f"postgresql://{credentials}@127.0.0.1:{postgres_port}{login.path}"
            "?sslmode=disable&gssencmode=disable",
            "REDIS_URL": f"redis://{redis.username}:{redis.password}@127.0.0.1:{redis_port}/0",
            "HUSHGATE_MODEL_URL": upstream,
            "HUSHGATE_MODEL_KEY": "none",
            "HUSHGATE_BEAT_FILE": str(self.folder / "beat"),
            "HUSHGATE_HEARTBEAT_TTL_S": str(self.plan.ttl_s),
            "HUSHGATE_IN_FLIGHT": "60",
            "HUSHGATE_MODEL_FIRST_WAIT_S": "0.05",
            "HUSHGATE_MODEL_TIMEOUT_S": "10",
            "HUSHGATE_MODERATION_TIMEOUT_S": "5",
            "HUSHGATE_DRAIN_S": "5",
            "HUSHGATE_MAX_STARTS": "1000",
            "HUSHGATE_MODERATION_REUSE_S": "0",
            "HUSHGATE_SHARDS": str(self.plan.shards),
            "PYTHONUNBUFFERED": "1",
            "HUSHGATE_WEBHOOK_LOOPBACK": "true",
            "HUSHGATE_INGEST_RATE": "0",
        }


def keep_commit_times(servers: Stack) -> None:
    """Let Postgres store when each transaction was committed, for the oracle; that needs a restart."""
    with psycopg.connect(servers.database_url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET track_commit_timestamp = on")
        for name, value in DEFAULTS.items():  # of a server whose owner likes other ones
            connection.execute(SQL("ALTER SYSTEM SET {} = {}").format(Identifier(name), Literal(value)))
    servers.kill_postgres()
    servers.start_postgres()


@contextmanager
def world(plan: Plan, say: Callable[[str], None]) -> Iterator[World]:
    """Start everything, seed it, and end everything."""
    with ExitStack() as stack:
        volume = stack.enter_context(disk.disk(plan.disk_mb))
        say(f"servers in {volume.folder}" + (" (a disk of its own in memory)" if volume.is_own else ""))
        servers = stack.enter_context(volume.servers())
        keep_commit_times(servers)
        migrate.upgrade(servers.database_url)
        receiver = stack.enter_context(receiving())
        seeding.seed_accounts(servers.database_url)
        folder = volume.logs
        sandbox = stack.enter_context(start_sandbox(options=SANDBOX))
        sandbox.set_latency(**LATENCY)
        network = Network()
        stack.callback(network.stop)
        processes = Processes(logs=folder)
        stack.callback(processes.stop)
        found = World(
            plan=plan,
            stack=servers,
            sandbox=sandbox,
            network=network,
            processes=processes,
            receiver=receiver,
            access=asyncio.run(seeding.seed_rest(servers.database_url, receiver.url)),
            folder=folder,
            disk=volume,
            clock_file=clock.new_clock_file(folder),
        )
        found.worker_urls = {
            login.service: logins.url_of(servers.database_url, login.name, login.password or "")
            for login in logins.ensure(servers.database_url, {}, gateway_checks=True)
        }
        with found.redis as redis:
            open_shards(redis, STREAM, plan.shards)
        found.start_all()
        yield found
