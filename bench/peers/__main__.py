"""The same messages through Hushgate and through other libraries, in one run: ``make bench-peers``.

Each peer answers through the same stub server without latency: keywords and moderation of the message,
completion, keywords and moderation of the reply; where named, a judge reads the reply too. CPU is that of the
measured process: of a library, the process that calls it; of Hushgate, the worker. Stub server, Redis,
Postgres and publisher are other processes and not counted. What each peer does and does not do is in
``bench/results/peers.md``. Compare ratios within one run only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import psutil
import typer
from redis import Redis
from rich.console import Console
from rich.table import Table

from bench.load import WatchedWorker, require_replies
from bench.peers import hushgate
from bench.peers.client import Task
from bench.peers.messages import INSTRUCTIONS, KEYWORDS, messages
from cli.stack import Stack
from sandbox.server import SandboxHandle, start

ROOT = Path(__file__).parent.parent.parent
WARM_UP = 50
OUT = Path("out/bench-peers.ndjson")
NO_REPORTS = {"DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1"}
"""NeMo Guardrails would report its use to its vendor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A library: the module that calls it, and the virtual environment it runs in, whose lock file pins it.

    Attributes:
        package: its distribution.
        engine: which of its engines is called, and whether with a judge.
    """

    package: str
    engine: str
    module: str
    environment: str
    judged: bool = False

    @property
    def name(self) -> str:
        """Package, version and engine."""
        lock = Path(__file__).with_name(f"{self.environment}.lock").read_text()
        version = lock.partition(f"\n{self.package}==")[2].split()[0]
        return f"{self.package} {version}, {self.engine}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerResult:
    """One peer at one concurrency.

    Attributes:
        answered: messages that got a reply.
        per_s: messages a second of time, with the other processes on the same cores.
        moderation_requests, completion_requests, judge_requests: per message, as the stub server counted.
        load: of the machine over the last minute, at the end.
    """

    name: str
    concurrency: int
    answered: int
    cpu_ms: float
    per_s: float
    moderation_requests: float
    completion_requests: float
    judge_requests: float
    load: float


BY_HAND = Peer(
    package="openai", engine="by hand", module="bench.peers.openai_by_hand", environment="openai_guardrails"
)
PEERS = (
    BY_HAND,
    replace(BY_HAND, engine="by hand with a judge", judged=True),
    Peer(
        package="openai-guardrails",
        engine="GuardrailsAsyncOpenAI",
        module="bench.peers.openai_guardrails",
        environment="openai_guardrails",
    ),
    Peer(package="litellm", engine="proxy", module="bench.peers.litellm_proxy", environment="litellm"),
    Peer(package="nemoguardrails", engine="LLMRails", module="bench.peers.nemo", environment="nemo"),
    Peer(package="nemoguardrails", engine="IORails", module="bench.peers.nemo_iorails", environment="nemo"),
)
OURS = "Hushgate"


def measured(
    name: str, concurrency: int, sandbox: SandboxHandle, watch: WatchedWorker, work: Callable[[], int]
) -> PeerResult:
    """The cost of ``work``, which returns how many messages were answered."""
    sandbox.reset()
    cpu_s, begun = watch.cpu_s(), time.monotonic()
    answered = work()
    elapsed_s, cpu_s = time.monotonic() - begun, watch.cpu_s() - cpu_s
    return PeerResult(
        name=name,
        concurrency=concurrency,
        answered=answered,
        cpu_ms=round(cpu_s / answered * 1000, 2),
        per_s=round(answered / elapsed_s, 1),
        moderation_requests=round(sandbox.calls("moderations") / answered, 3),
        completion_requests=round(sandbox.calls("chat") / answered, 3),
        judge_requests=round(sandbox.calls("judge") / answered, 3),
        load=round(os.getloadavg()[0], 1),
    )


def of_peer(peer: Peer, environments: Path, texts: list[str], concurrency: int) -> PeerResult:
    """A library in its own process."""
    with start() as sandbox:
        task = Task(
            base_url=sandbox.base_url,
            instructions=INSTRUCTIONS,
            keywords=list(KEYWORDS),
            warm_up=messages(WARM_UP),
            messages=texts,
            concurrency=concurrency,
            judged=peer.judged,
        )
        with _client(environments / peer.environment / "bin" / "python", peer.module) as client:
            _say(client, json.dumps(asdict(task)))
            _expect(client, "ready")
            watch = WatchedWorker(psutil.Process(client.pid))

            def work() -> int:
                _say(client, "go")
                return int(json.loads(_line(client))["answered"])

            return measured(peer.name, concurrency, sandbox, watch, work)


def of_hushgate(stack: Stack, texts: list[str], concurrency: int) -> PeerResult:
    """A whole worker, from publishing to the reply stream."""
    with (
        start() as sandbox,
        hushgate.running(stack, sandbox) as watch,
        Redis.from_url(stack.redis_url) as redis,
    ):
        publisher = hushgate.Publisher(redis=redis, concurrency=concurrency, run=f"{concurrency}")
        publisher.answered(messages(WARM_UP))
        result = measured(OURS, concurrency, sandbox, watch, lambda: publisher.answered(texts))
    require_replies(stack.database_url)
    return result


@contextmanager
def _client(python: Path, module: str) -> Iterator[subprocess.Popen[str]]:
    with OUT.with_name("bench-peers.log").open("a") as log:
        process = subprocess.Popen(
            [python, "-m", module],
            cwd=ROOT,
            env={**os.environ, **NO_REPORTS, "OPENAI_API_KEY": "none"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        with process:
            try:
                yield process
            finally:
                process.terminate()


def _say(client: subprocess.Popen[str], line: str) -> None:
    assert client.stdin
    client.stdin.write(f"{line}\n")
    client.stdin.flush()


def _line(client: subprocess.Popen[str]) -> str:
    assert client.stdout
    if not (line := client.stdout.readline()):
        raise RuntimeError(f"the client ended early; see {OUT.with_name('bench-peers.log')}")
    return line.strip()


def _expect(client: subprocess.Popen[str], wanted: str) -> None:
    if (line := _line(client)) != wanted:
        raise RuntimeError(f"client: expected {wanted!r}, got {line!r}")


def table(results: list[PeerResult]) -> Table:
    """The results for people; the last column is Hushgate's CPU divided by the line's."""
    ours = {each.concurrency: each.cpu_ms for each in results if each.name == OURS}
    shown = Table("", "at once", "CPU ms/message", "per s", "moderation, model, judge", "Hushgate/this")
    for each in results:
        shown.add_row(
            each.name,
            f"{each.concurrency}",
            f"{each.cpu_ms}",
            f"{each.per_s}",
            f"{each.moderation_requests} + {each.completion_requests} + {each.judge_requests}",
            f"{ours[each.concurrency] / each.cpu_ms:.2f}",
        )
    return shown


def main(
    environments: Annotated[Path, typer.Option(help="Folder of the peers' virtual environments.")],
    count: Annotated[int, typer.Option("--messages", min=1)] = 2000,
    concurrency: Annotated[list[int] | None, typer.Option(min=1)] = None,
) -> None:
    """Run everything: progress on stderr, a table on a terminal, NDJSON in a pipe and in out/ always."""
    texts, results = messages(count), []
    OUT.parent.mkdir(exist_ok=True)
    OUT.unlink(missing_ok=True)
    with Stack() as stack:
        hushgate.seed(stack)
        for at_once in concurrency or [1, 16]:
            for peer in PEERS:
                print(f"{peer.name}: {count} messages, {at_once} at once ...", file=sys.stderr)
                results.append(_written(of_peer(peer, environments, texts, at_once)))
            print(f"{OURS}: {count} messages, {at_once} at once ...", file=sys.stderr)
            results.append(_written(of_hushgate(stack, texts, at_once)))
    if sys.stdout.isatty():
        Console().print(table(results))


def _written(result: PeerResult) -> PeerResult:
    """The result, which is now in the file, so that a run that is ended early keeps what it measured."""
    line = json.dumps(asdict(result))
    with OUT.open("a") as file:
        print(line, file=file)
    if not sys.stdout.isatty():
        print(line)
    return result


if __name__ == "__main__":
    typer.run(main)
