"""Servers, sandbox and workers of one machine, started and ended together."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from cli.demo import pages
from cli.stack import Stack
from db import migrate
from sandbox import server
from sandbox.server import SandboxHandle
from worker import settings

STOP_S: Final = 40.0
LAST_LINES: Final = 15
OPENAI: Final = "https://api.openai.com/v1"
KEYS: Final = ("OPENAI_API_KEY", "OPENROUTER_API_KEY")
OURS: Final = {
    "DATABASE_URL": "postgresql://localhost/embedded",
    "REDIS_URL": "redis://localhost/0",
    **dict.fromkeys(KEYS, "sandbox"),
}
"""Stands in for what we start ourselves while the caller's own variables are checked."""

SERVERS: Final = ("DATABASE_URL", "REDIS_URL", "HUSHGATE_REVIEW_URL")
ENDPOINTS: Final = ("OPENAI_BASE_URL", "OPENROUTER_BASE_URL")


@dataclass(slots=True)
class Fleet:
    """What runs.

    Attributes:
        stack: Postgres and Valkey.
        environment: what every process of the fleet reads.
        sandbox: stands in for the model and moderation endpoints, or None when a key was given.
        logs: folder with one file per process.
        workers: every process, by name.
        commands: what each was started with.
    """

    stack: Stack
    environment: dict[str, str]
    sandbox: SandboxHandle | None
    logs: Path
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    commands: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def sandboxed(self) -> bool:
        """True when no model is asked."""
        return self.sandbox is not None

    @property
    def owns_database(self) -> bool:
        """True when Postgres is ours and ends with us."""
        return self.stack.postgres_pid is not None

    @property
    def review_url(self) -> str:
        """Where the review pages are."""
        return self.environment["HUSHGATE_REVIEW_URL"].rstrip("/")

    @property
    def review_answers(self) -> bool:
        """True once the pages' server listens, whatever proxy stands before it."""
        port = urlsplit(self.review_url).port or pages.USUAL_PORT
        return pages.status(f"http://127.0.0.1:{port}/healthz") == 200

    @property
    def addresses(self) -> dict[str, str]:
        """What another shell needs to reach the same servers; no key of the caller's."""
        endpoints = (*KEYS, *ENDPOINTS) if self.sandboxed else ()
        return {name: self.environment[name] for name in (*SERVERS, *endpoints)}

    def start(self, name: str, *command: str) -> None:
        """Start a process of the fleet; its output goes to a file of its own."""
        self.commands[name] = command
        with (self.logs / f"{name}.log").open("ab") as log:
            self.workers[name] = subprocess.Popen(  # noqa: S603  # our own module
                [sys.executable, "-m", *command], env=self.environment, stdout=log, stderr=log
            )

    def start_all(self, workers: int) -> None:
        """Start the review pages and workers."""
        self.start("review", "cli", "review")
        for number in range(1, workers + 1):
            self.start_worker(f"worker-{number}")

    def start_beat(self) -> None:
        """Start beat, for a fleet that is to stay."""
        self.start("beat", "celery", "-A", "tasks.app", "beat", "--pidfile=")

    def start_worker(self, name: str) -> None:
        """Start one worker process."""
        self.start(name, "celery", "-A", "tasks.app", "worker", "-n", f"{name}@%h")

    def died(self) -> str | None:
        """The last lines of a process that ended by itself, or None while all run."""
        for name, process in self.workers.items():
            if process.poll() is not None:
                tail = (self.logs / f"{name}.log").read_text(errors="replace").splitlines()[-LAST_LINES:]
                return "\n".join((f"{name} ended with exit code {process.returncode}:", *tail))
        return None

    def mend(self) -> tuple[str, ...]:
        """Start again whatever died; the names."""
        mended = list(self.stack.mend())
        if self.sandbox is not None and self.sandbox.process.poll() is not None:
            self.sandbox.stop()
            self.sandbox = server.start(urlsplit(self.sandbox.url).port or 0)
            mended.append("sandbox")
        for name, process in list(self.workers.items()):
            if process.poll() is not None:
                self.start(name, *self.commands[name])
                mended.append(name)
        return tuple(mended)

    def stop_workers(self) -> None:
        """Ask all to drain, then wait for each; what does not end is killed by its pid."""
        for process in self.workers.values():
            process.terminate()
        for process in self.workers.values():
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def fleet(outside: Mapping[str, str] | None = None) -> Iterator[Fleet]:
    """Servers with the newest migration; embedded ones and the sandbox where ``outside`` names none.

    Args:
        outside: the environment of the caller: DATABASE_URL, REDIS_URL and the keys in it are used.

    Raises:
        ConfigurationError: a variable is not usable; nothing was started.
    """
    environment = dict(os.environ if outside is None else outside)
    settings.given(OURS | {name: value for name, value in environment.items() if value})
    with ExitStack() as stack:
        servers = stack.enter_context(
            Stack(database_url=environment.get("DATABASE_URL"), redis_url=environment.get("REDIS_URL"))
        )
        migrate.upgrade(servers.database_url)
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hushgate-logs-")))
        environment |= {
            "DATABASE_URL": servers.database_url,
            "REDIS_URL": servers.redis_url,
            "HUSHGATE_BEAT_FILE": str(logs / "beat"),
            "HUSHGATE_REVIEW_URL": environment.get("HUSHGATE_REVIEW_URL") or pages.address(),
        }
        sandbox = None
        if any(environment.get(key) for key in KEYS):
            environment = completed(environment)
        else:
            sandbox = stack.enter_context(server.start())
            environment |= dict.fromkeys(ENDPOINTS, sandbox.base_url) | dict.fromkeys(KEYS, "sandbox")
        running = Fleet(stack=servers, environment=environment, sandbox=sandbox, logs=logs)
        try:
            yield running
        finally:
            running.stop_workers()
            if running.sandbox is not None:
                running.sandbox.stop()


def completed(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with what follows from having one key only.

    OpenAI's key serves the model too; with OpenRouter's alone there is no moderation API.
    """
    known = {name: value for name, value in environment.items() if value}
    if "OPENROUTER_API_KEY" not in known and "OPENROUTER_BASE_URL" not in known:
        endpoint = known.get("OPENAI_BASE_URL", OPENAI)
        known |= {"OPENROUTER_BASE_URL": endpoint, "OPENROUTER_API_KEY": known["OPENAI_API_KEY"]}
        known.setdefault("HUSHGATE_LLM_MODEL", "gpt-4.1-mini")
    if "OPENAI_API_KEY" not in known:
        known.setdefault("OPENAI_MODERATION_ENABLED", "false")
    return known
