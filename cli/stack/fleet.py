"""Servers, sandbox and workers of one machine, started and ended together."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from cli.deployment import loopback
from cli.stack import data_folder
from cli.stack import environment as variables
from cli.stack.leftovers import STOP_S
from cli.stack.servers import Stack
from db.retention.limits import store_limits
from db.schema import logins, migrate
from db.schema.logins import Service
from sandbox import server
from sandbox.server import SandboxHandle
from worker.errors import ConfigurationError
from worker.settings import RetentionSettings, Settings, load, require_models

LAST_LINES: Final = 15
MOST_FAILED_STARTS: Final = 3
START_S: Final = 300.0
"""A process that ends with an error code this soon after its start has failed to start; a start took 55 s
on a machine that eight busy programs shared."""
REVIEW: Final = "review"
GATEWAY: Final = "gateway"
BEAT: Final = "beat"
AUDIT_LOG: Final = "audit-log"
SERVICES: Final = {
    REVIEW: Service.REVIEW,
    BEAT: Service.REVIEW,
    AUDIT_LOG: Service.AUDIT,
    GATEWAY: Service.GATEWAY,
}
"""The service whose login a process uses; the others are workers."""
ALERTS: Final = "HUSHGATE_ALERTS_EVERY_S"
ALERTS_EVERY_S: Final = "60"
LOG_EVERY_S: Final = "60"


@dataclass(slots=True)
class Fleet:
    """The running processes.

    Attributes:
        stack: Postgres and Valkey.
        environment: what every process of the fleet reads; its DATABASE_URL is the owner's.
        sandbox: replaces the model and moderation endpoints; None when the caller names a server of models.
        outside: the environment of the caller.
        logs: folder with one file per process.
        sandbox_options: further words of the sandbox's command line.
        data: the folder that keeps the data of the servers; None: the data end with the fleet.
        gateway_url: where the gateway answers once it is started.
        service_urls: DATABASE_URL of each service; empty where the caller's own DATABASE_URL serves all.
        workers: every process, by name.
        commands: the command of each process.
        started: when each process was last started, on the monotonic clock.
        failed_starts: how often each process failed to start, in a row.
    """

    stack: Stack
    environment: dict[str, str]
    sandbox: SandboxHandle | None
    logs: Path
    outside: Mapping[str, str] = field(default_factory=dict)
    sandbox_options: tuple[str, ...] = ()
    data: Path | None = None
    gateway_url: str = ""
    service_urls: Mapping[Service, str] = field(default_factory=dict)
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    commands: dict[str, tuple[str, ...]] = field(default_factory=dict)
    started: dict[str, float] = field(default_factory=dict)
    failed_starts: Counter[str] = field(default_factory=Counter)

    @property
    def sandboxed(self) -> bool:
        """True when the sandbox replaces the models."""
        return self.sandbox is not None

    @property
    def owns_database(self) -> bool:
        """True when Postgres was started here and ends with the fleet."""
        return self.stack.postgres_pid is not None

    @property
    def review_url(self) -> str:
        """The address of the review pages."""
        return self.environment["HUSHGATE_REVIEW_URL"].rstrip("/")

    @property
    def review_answers(self) -> bool:
        """True once the server of the pages answers, also behind a proxy."""
        return loopback.status(f"http://127.0.0.1:{self.review_port}/healthz") == 200

    @property
    def review_port(self) -> int:
        """The port of the pages on loopback."""
        return urlsplit(self.review_url).port or loopback.USUAL_PORT

    def require_review_port(self) -> None:
        """Return when the pages can be served at their port.

        Raises:
            ConfigurationError: the port is in use.
        """
        loopback.require_free("127.0.0.1", self.review_port)

    @property
    def exports(self) -> dict[str, str]:
        """The variables that another shell needs to reach the same servers, as words of a shell."""
        return variables.exports(self.environment, self.outside)

    @property
    def inherited_keys(self) -> tuple[str, ...]:
        """Names of the caller's keys that another shell needs too."""
        return variables.inherited_keys(self.environment, self.outside)

    def start(self, name: str, *command: str) -> None:
        """Start a process of the fleet; its output goes to a file of its own."""
        self.commands[name], self.started[name] = command, time.monotonic()
        service = SERVICES.get(name, Service.WORKER)
        known = {"DATABASE_URL": self.service_urls.get(service, self.environment["DATABASE_URL"])}
        if name == BEAT:
            known[ALERTS] = self.environment.get(ALERTS) or ALERTS_EVERY_S
        with (self.logs / f"{name}.log").open("ab") as log:
            self.workers[name] = subprocess.Popen(  # noqa: S603  # our own module
                [sys.executable, "-P", "-m", *command],
                env=self.environment | known,
                stdout=log,
                stderr=log,
                start_new_session=True,  # a closed terminal sends SIGHUP, by which Celery starts again
            )
        self.stack.watch(self.workers[name].pid)

    def start_all(self, workers: int) -> None:
        """Start the review pages and workers."""
        self.start(REVIEW, "cli", "review")
        for number in range(1, workers + 1):
            self.start_worker(f"worker-{number}")

    def start_gateway(self) -> None:
        """Start a gateway, whose login makes checks too."""
        self.start(GATEWAY, "cli", GATEWAY, "--port", str(urlsplit(self.gateway_url).port))

    def start_beat(self) -> None:
        """Start beat, which also judges the alerts, for a fleet that is to stay."""
        self.start(BEAT, "tasks", "beat", "--pidfile=")

    def start_audit_log(self) -> None:
        """Start the transparency log, with a key that is kept where the data are kept."""
        key = (self.data or self.logs) / "audit-log.key"
        self.start(AUDIT_LOG, "cli", AUDIT_LOG, "append", "--every", LOG_EVERY_S, "--key-file", str(key))

    def start_worker(self, name: str) -> None:
        """Start one worker process."""
        self.start(name, "tasks", "worker", "-n", f"{name}@%h")

    def ended_output(self) -> str | None:
        """The last log lines of a process that ended; None while all processes run."""
        for name, process in self.workers.items():
            if process.poll() is not None:
                return self._last_lines(name)
        return None

    def _last_lines(self, name: str) -> str:
        tail = (self.logs / f"{name}.log").read_text(errors="replace").splitlines()[-LAST_LINES:]
        return "\n".join((f"{name} ended with exit code {self.workers[name].returncode}:", *tail))

    def restart_ended(self) -> tuple[str, ...]:
        """Start each process again that has ended; the names of those processes.

        Raises:
            ConfigurationError: a process failed to start several times in a row; see its last lines.
        """
        restarted = list(self.stack.restart_ended())
        if self.sandbox is not None and self.sandbox.process.poll() is not None:
            self.sandbox.stop()
            port = urlsplit(self.sandbox.url).port or 0
            self.sandbox = server.start(port, options=self.sandbox_options)
            restarted.append("sandbox")
        for name, process in list(self.workers.items()):
            if process.poll() is not None:
                self._count_failed_start(name)
                self.start(name, *self.commands[name])
                restarted.append(name)
        return tuple(restarted)

    def _count_failed_start(self, name: str) -> None:
        """Count an end with an error code; an end by a signal is not a failed start."""
        failed = self.workers[name].returncode > 0 and time.monotonic() - self.started[name] < START_S
        self.failed_starts[name] = self.failed_starts[name] + 1 if failed else 0
        if self.failed_starts[name] >= MOST_FAILED_STARTS:
            raise ConfigurationError(
                f"{name} failed to start {MOST_FAILED_STARTS} times in a row\n{self._last_lines(name)}"
            )

    def stop_workers(self) -> None:
        """Ask every process to drain, and wait for its end; kill a process that does not end by its id."""
        for process in self.workers.values():
            process.terminate()
        for process in self.workers.values():
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def fleet(
    outside: Mapping[str, str] | None = None,
    *,
    sandbox: bool = True,
    sandbox_options: tuple[str, ...] = (),
    data: Path | None = None,
) -> Iterator[Fleet]:
    """Servers with the newest migration; embedded servers and the sandbox where ``outside`` names no server.

    Args:
        outside: the environment of the caller: DATABASE_URL, REDIS_URL, and the addresses and keys of models.
        sandbox: False: where ``outside`` names no model, the workers wait until one is connected.
        sandbox_options: further words of the sandbox's command line.
        data: the folder that keeps the data of the servers; None: the data end with the fleet.

    Raises:
        ConfigurationError: a variable is not usable; nothing was started.
    """
    outside = dict(os.environ if outside is None else outside)
    uses_sandbox = sandbox and not variables.names_models(outside)
    _require_usable(outside, uses_sandbox=uses_sandbox)
    with ExitStack() as stack:
        database_url, redis_url = outside.get("DATABASE_URL"), outside.get("REDIS_URL")
        servers = stack.enter_context(Stack(database_url=database_url, redis_url=redis_url, data=data))
        if data is not None and not uses_sandbox:
            data_folder.note_model(data)
        _migrate(servers, outside)
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hushgate-logs-")))
        environment = outside | {
            "DATABASE_URL": servers.database_url,
            "REDIS_URL": servers.redis_url,
            variables.BEAT_FILE: str(logs / "beat"),
            **data_folder.own_keys(data, outside),
            "HUSHGATE_REVIEW_URL": outside.get("HUSHGATE_REVIEW_URL")
            or stack.enter_context(loopback.usual_address(loopback.USUAL_PORT)),
        }
        handle = stack.enter_context(server.start(options=sandbox_options)) if uses_sandbox else None
        environment = _with_models(environment, handle.base_url if handle else None)
        running = Fleet(
            stack=servers,
            environment=environment,
            sandbox=handle,
            outside=outside,
            sandbox_options=sandbox_options,
            data=data,
            logs=logs,
            gateway_url=stack.enter_context(loopback.usual_address(loopback.GATEWAY_PORT)),
            service_urls=_service_urls(servers),
        )
        try:
            yield running
        finally:
            running.stop_workers()
            if running.sandbox is not None:
                running.sandbox.stop()


def _require_usable(outside: Mapping[str, str], *, uses_sandbox: bool) -> None:
    """Return when a worker can start with these variables; a server of models may be missing."""
    stand_in = variables.STAND_IN_URL if uses_sandbox else None
    checked = load(Settings, variables.STAND_INS | _with_models(outside, stand_in))
    if variables.names_models(outside):
        require_models(checked)


def _migrate(servers: Stack, outside: Mapping[str, str]) -> None:
    """Make the tables, and store the limits of retention; a caller's database keeps those of its owner."""
    migrate.upgrade(servers.database_url)
    if servers.postgres_pid is not None:
        known = load(RetentionSettings, {**outside, "DATABASE_URL": servers.database_url})
        store_limits(servers.database_url, known)


def _with_models(environment: Mapping[str, str], sandbox_url: str | None) -> dict[str, str]:
    """The environment with all variables of the models; None without the sandbox."""
    if sandbox_url is None:
        return variables.completed(environment) if variables.names_models(environment) else dict(environment)
    return variables.with_sandbox(environment, sandbox_url)


def _service_urls(servers: Stack) -> dict[Service, str]:
    """Logins of their own for the services, where Postgres is ours; a caller's gets no login unasked.

    The embedded server takes no password: it answers on a socket that only its user reaches.
    """
    if servers.postgres_pid is None:
        return {}
    return {
        login.service: logins.url_of(servers.database_url, login.name, login.password or "")
        for login in logins.ensure(servers.database_url, {}, gateway_checks=True)
    }
