"""Everything that learns from decisions, on one generated log: commands, the beat's jobs, and pages.

``python -m bench.learn [DECISIONS]``; a million unless given; servers of its own, the sandbox as model.
Commands are timed as a person starts them, with the interpreter's start.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import structlog

from bench.audit_rows import figures_counted
from bench.audit_server import figures, serving
from bench.backtest_rows import say
from bench.learn_rows import USER, LearnLog, fill_log
from cli.stack import Stack
from db import migrate
from db.people.records import Role
from db.pool import Pool, create_pool, fetch_value
from sandbox.server import SandboxHandle, start
from trials.jobs.child import ShadowProcess
from trials.jobs.shadow_run import ShadowLimits, ShadowRunner
from trials.jobs.tasks import watch_rollouts
from trials.store.candidates import Author
from trials.store.rollouts import get_rollout
from trials.store.shadows import Shadow, get_shadow, start_shadow

SHADOWED: Final = 20_000
"""Newest decisions that the shadow makes again, at most."""
REPLAYED: Final = 2_000
REPEAT: Final = 20
"""Requests of each page, after as many that warm it."""
PAGES: Final = (
    *("learn", "learn/errors", "learn/calibration", "learn/suggestions", "learn/rollouts/{rollout}"),
    *("learn/backtests/{backtest}", "learn/golden/{golden}"),
)
SHADOW_FROM: Final = """
    SELECT min(created_at) FROM (
        SELECT created_at FROM ai_decisions WHERE user_id = %s ORDER BY created_at DESC LIMIT %s) AS newest
"""


class LearnBench:
    """The log, and what was measured on it.

    Attributes:
        measured: name -> seconds and what came out.
    """

    def __init__(self, stack: Stack, sandbox: SandboxHandle, log: LearnLog) -> None:
        """After the log was filled."""
        self.url = stack.database_url
        self.log = log
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")},
            "DATABASE_URL": stack.database_url,
            "REDIS_URL": stack.redis_url,
            "OPENAI_API_KEY": "sandbox",
            "OPENAI_BASE_URL": sandbox.base_url,
            "OPENROUTER_API_KEY": "sandbox",
            "OPENROUTER_BASE_URL": sandbox.base_url,
        }
        self.measured: dict[str, Mapping[str, Any]] = {}

    def command(self, name: str, *arguments: str, ends: int = 0) -> list[dict[str, Any]]:
        """Run a command of ``hushgate`` in a pipe; its lines."""
        say(name)
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "cli", "trials", *arguments],
            env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        took_s = time.perf_counter() - started
        if done.returncode != ends:
            raise RuntimeError(f"{name}: ended with {done.returncode}: {done.stderr[-2_000:]}")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.measured[name] = {"s": round(took_s, 2), "lines": len(lines)}
        return lines

    def note(self, name: str, **figures: Any) -> None:
        """Add to what was measured."""
        self.measured[name] = {**self.measured.get(name, {}), **figures}

    def commands(self) -> None:
        """What a person runs, in the order of docs/learn.md."""
        candidate = str(self.log.candidate_id)
        for name, change in (
            ("backtest, rules", ("--candidate", candidate)),
            ("backtest, thresholds", ("--set", 'moderation_thresholds={"violence": 0.0195}')),
        ):
            (found,) = self.command(name, "backtest", "-a", USER, "--days", "2", *change)
            self.note(name, decisions=found["decisions"], groups=_groups(found["groups"]))
        name = "backtest, examples with texts"
        again = self.command(
            name, "backtest", "-a", USER, "--days", "0.001", "--candidate", candidate, "--texts"
        )
        self.note(name, decisions=again[0]["decisions"])
        chosen = ("--account", USER, "--since", "all", "--limit", str(REPLAYED))
        for name, more in (("replay, pinned", []), ("replay, candidate", ["--candidate", candidate])):
            lines = self.command(name, "replay", *chosen, *more)
            self.note(name, results=Counter(each["result"] for each in lines))
        self.command("errors", "errors", "--account", USER)
        found_lines = self.command("calibration", "calibration", USER)
        self.note("calibration", proposals=[each["proposal"] for each in found_lines if "proposal" in each])
        self.command("suggestions", "suggestions", USER)
        self.command("golden create", "golden", "create", USER, "agreed")
        self.command("golden add", "golden", "add", USER, "agreed", "--agreed")
        self.command("eval", "eval", "--account", USER, "--set", "agreed", "--at-once", "16")
        shown = self.command("rollout, figures", "rollouts", "show", USER, "--figures")
        self.note("rollout, figures", arms=shown)

    async def jobs(self) -> None:
        """What beat does."""
        async with create_pool(self.url, size=2, application="bench", role=None) as source:
            await self._shadow(source)
            await self._rollout(source)

    async def _shadow(self, source: Pool) -> None:
        say(f"shadow of {SHADOWED:,} decisions")
        since = await fetch_value(source, SHADOW_FROM, (USER, SHADOWED))
        step = Author(made_by="bench", reason="measured", now=since)
        shadow = await start_shadow(source, self.log.candidate_id, step)
        child = ShadowProcess()
        runner = ShadowRunner(
            source=source,
            url=self.url,
            role=None,
            now=lambda: datetime.now(UTC),
            child=child,
            limits=ShadowLimits(late=timedelta(days=2), decisions_a_day=10**9),
        )
        started = time.perf_counter()
        try:
            while await runner.round():
                pass
        finally:
            child.close()
        took_s = time.perf_counter() - started
        found = await get_shadow(source, shadow.shadow_id)
        self.note("shadow", **_of_shadow(found, took_s))

    async def _rollout(self, source: Pool) -> None:
        say("watch of rollouts")
        started = time.perf_counter()
        returned = await watch_rollouts(source, datetime.now(UTC))
        took_s = time.perf_counter() - started
        found = await get_rollout(source, self.log.rollout_id)
        state = found.state if found else "gone"
        self.note("rollout, watch", s=round(took_s, 2), returned=returned, state=str(state))

    async def pages(self, redis_url: str) -> None:
        """Server time of each page that learns, after the hours are counted as a running server does."""
        say("counting hours")
        started = time.perf_counter()
        await figures_counted(self.url)
        self.note("hours counted", s=round(time.perf_counter() - started, 1))
        async with create_pool(self.url, size=1, application="bench", role=None) as source:
            values = {"rollout": self.log.rollout_id} | {
                name: await fetch_value(source, f"SELECT id FROM {table} ORDER BY id DESC LIMIT 1")
                for name, table in (("backtest", "backtests"), ("golden", "golden_sets"))
            }
        async with serving(self.url, (USER,), tuple(Role), redis_url) as server:
            for page in PAGES:
                say(page)
                address = f"/accounts/{USER}/{page.format(**values)}"
                self.note(f"page {page}", **await figures(server, [address] * REPEAT))


def _groups(rows: list[dict[str, Any]]) -> dict[str, int]:
    return {each["group"]: each["decisions"] for each in rows}


def _of_shadow(found: Shadow | None, took_s: float) -> dict[str, Any]:
    if found is None:
        return {"state": "gone"}
    decided = sum(found.counts.values())
    return {
        "s": round(took_s, 1),
        "decisions": decided,
        "per_s": round(decided / took_s, 1),
        "counts": dict(found.counts),
        "state": str(found.state),
    }


async def _filled(url: str, number: int) -> LearnLog:
    async with create_pool(url, size=10, application="bench", role=None) as source:
        return await fill_log(source, url, number)


def main() -> None:
    """Fill, measure, and print JSON."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with Stack() as stack, start() as sandbox:
        migrate.upgrade(stack.database_url)
        bench = LearnBench(stack, sandbox, asyncio.run(_filled(stack.database_url, number)))
        try:
            bench.commands()
            asyncio.run(bench.jobs())
            asyncio.run(bench.pages(stack.redis_url))
        finally:  # what was measured before a failure took long
            found = {"decisions": number, "load": os.getloadavg()[0], "log": asdict(bench.log)}
            print(json.dumps(found | bench.measured, indent=2, default=str))


if __name__ == "__main__":
    main()
