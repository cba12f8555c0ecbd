"""Runs a sandbox as a child process and calls its control routes, for demo and tests."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import orjson

START_S = 120.0
"""Start timeout; a start takes about half a second on an idle machine. An early exit is noticed at once."""

STOP_S = 5.0
"""Time after SIGTERM until a sandbox is killed."""

PROJECT = Path(__file__).resolve().parent.parent


class SandboxError(RuntimeError):
    """The sandbox did not start, or refused a control request; the message is the sandbox's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxHandle:
    """A running sandbox. Use it in a ``with`` block, or call ``stop``.

    Attributes:
        url: ``http://127.0.0.1:PORT``, for ``/control`` and ``/healthz``.
        pid: of the server process, a child of this one.
    """

    url: str
    pid: int
    process: subprocess.Popen[bytes]

    @property
    def base_url(self) -> str:
        """The ``base_url`` of an OpenAI client: with ``/v1``."""
        return f"{self.url}/v1"

    def stop(self) -> None:
        """Terminate the process by its pid and wait for it; does nothing if it has ended."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.terminate()
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def add_rule(self, route: str, fault: str, **more: object) -> str:
        """Make calls fail from now on; return the rule's id.

        ``more``: ``times``, ``probability``, ``contains``, ``value``, ``retry_after_s``.
        """
        rules = self.control("POST", "rules", {"route": route, "fault": fault, **more})["rules"]
        return str(rules[0]["rule_id"])  # type: ignore[index]  # one rule in, one rule out

    def rules(self) -> list[Mapping[str, object]]:
        """The rules in force; ``times`` is how often each still applies, None without a limit."""
        return self.control("GET", "rules")["rules"]  # type: ignore[return-value]  # a list of objects

    @contextmanager
    def faulty(self, rules: Sequence[Mapping[str, object]]) -> Iterator[None]:
        """Keep these rules in force until the block ends."""
        added = self.control("POST", "rules", {"rules": list(rules)})["rules"]
        try:
            yield
        finally:
            for rule in added if isinstance(added, list) else ():
                self.drop_rules(rule["rule_id"])

    def drop_rules(self, name: str | None = None) -> None:
        """Remove a rule by its id, all rules of a route, or all rules."""
        self.control("DELETE", f"rules/{name}" if name else "rules")

    def set_latency(self, **latency: object) -> None:
        """Latency per route from now on: ``chat=1.0`` or ``chat={"median_s": 1, "p95_s": 2.5}``."""
        self.control("POST", "latency", latency)

    def set_conversations(self, *, writes: str, judge: str) -> None:
        """What the model writes and how the judge judges from now on; needs ``--conversations``."""
        self.control("POST", "conversations", {"writes": writes, "judge": judge})

    def speak_as(self, vendor: str) -> None:
        """Speak a vendor's forms from now on, until a reset."""
        self.control("POST", "vendor", {"name": vendor})

    def stats(self) -> Mapping[str, object]:
        """Calls, outcomes and calls in flight per route, and calls per text key."""
        return self.control("GET", "stats")

    def calls(self, route: str) -> int:
        """How many calls of a route were made since the start or the last reset."""
        counts = self.stats()["calls"]
        return int(counts[route]) if isinstance(counts, dict) else 0

    def calls_about(self, text: str) -> Mapping[str, object]:
        """Calls per route whose text was exactly this one; a route that had none is absent."""
        return self.control("GET", f"stats?{urllib.parse.urlencode({'text': text})}")

    def requests(self, *, last: int = 100, route: str = "", contains: str = "") -> list[Mapping[str, object]]:
        """The newest requests, newest first, each with ``number, route, text_key, outcome, body``."""
        query = {"last": last, "contains": contains} | ({"route": route} if route else {})
        found = self.control("GET", f"requests?{urllib.parse.urlencode(query)}")["requests"]
        return found if isinstance(found, list) else []

    def reset(self) -> None:
        """Restore the scenario and clear all counts."""
        self.control("POST", "reset", {})

    def control(self, method: str, path: str, body: object = None) -> Mapping[str, object]:
        """One call of ``/control/<path>``; SandboxError with the sandbox's message if it refuses the call."""
        data = None if body is None else orjson.dumps(body)
        request = urllib.request.Request(f"{self.url}/control/{path}", data=data, method=method)  # noqa: S310  # our own http address
        try:
            with DIRECT.open(request, timeout=10) as response:
                document: Mapping[str, object] = orjson.loads(response.read())
        except urllib.error.HTTPError as error:
            with error:
                raise SandboxError(f"{method} /control/{path}: {error.read().decode()}") from error
        return document

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Without a proxy: the sandbox is on this machine."""


def start(
    port: int = 0, scenario: Mapping[str, object] | Path | None = None, *, options: tuple[str, ...] = ()
) -> SandboxHandle:
    """Start a sandbox as a child process and return when it listens.

    The child ends with this process in all cases, because its standard input is a pipe held here.

    Args:
        port: 0 takes a free one.
        scenario: a JSON object as described in ``python -m sandbox --help``, or its file.
        options: further words of the command line, such as ``("--chat-latency", "0.5")``.

    Raises:
        SandboxError: the sandbox did not start; the message is the sandbox's.
    """
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-P", "-m", "sandbox", "--port", str(port), "--stop-with-stdin", *options]
        if scenario is not None:
            words += ["--scenario", str(_scenario_file(scenario, Path(folder)))]
        read_end, write_end = os.pipe()
        with os.fdopen(read_end, "rb") as ready:
            process = subprocess.Popen(  # noqa: S603  # our own interpreter and module
                [*words, "--ready-fd", str(write_end)],
                cwd=PROJECT,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                pass_fds=(write_end,),
            )
            os.close(write_end)
            first = select.poll()  # select() refuses file descriptors from 1024 on
            first.register(ready, select.POLLIN)
            line = ready.readline() if first.poll(START_S * 1000) else b""
    started = orjson.loads(line or b"{}")
    handle = SandboxHandle(url=started.get("url", ""), pid=process.pid, process=process)
    if not handle.url:
        handle.stop()
        raise SandboxError(
            f"sandbox did not start: {started.get('error', 'its reason is on standard error')}"
        )
    return handle


def _scenario_file(scenario: Mapping[str, object] | Path, folder: Path) -> Path:
    if isinstance(scenario, Path):
        return scenario.resolve()
    path = folder / "scenario.json"
    path.write_bytes(orjson.dumps(dict(scenario)))
    return path
