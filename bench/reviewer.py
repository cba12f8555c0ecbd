"""Keys and seconds of a reviewer who works through 100 mixed items of a queue by keyboard."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import mean, quantiles
from typing import Final

import structlog

from cli.stack import Stack
from db import migrate
from sandbox import server
from tests.support.browser.chromium import chromium
from tests.support.browser.desk import Desk
from tests.support.browser.reviewer import Reviewer, Ruled, queue_of
from tests.support.browser.serving import serving
from tests.support.browser.world import World, world

ITEMS: Final = 100
OUT: Final = Path("out/bench-reviewer.json")
MIXED: Final = """
    SELECT id, created_at FROM (
        SELECT id, created_at, row_number() OVER (PARTITION BY reason_code ORDER BY created_at DESC) AS number
        FROM ai_decisions
    ) AS of_reason ORDER BY number, created_at LIMIT %s
"""
"""The newest decisions of every reason, alternating."""


def main() -> None:
    """Print the figures as JSON and write them to ``out/``."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("critical"))
    with ExitStack() as stack:
        servers = stack.enter_context(Stack())
        migrate.upgrade(servers.database_url)
        sandbox = stack.enter_context(server.start())
        seeded = stack.enter_context(world(servers.database_url, servers.redis_url, sandbox))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        origin = stack.enter_context(serving(seeded.url, servers.redis_url, folder / "review.log"))
        browser = stack.enter_context(chromium())
        desk = Desk(browser=browser, origin=origin, world=seeded, log=folder / "review.log")
        figures = _figures(_ruled(desk, seeded))
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(figures, indent=2))
    print(json.dumps(figures, indent=2))
    sys.exit(0)


def _ruled(desk: Desk, seeded: World) -> list[Ruled]:
    picked = {row["id"]: row["created_at"] for row in seeded.running.rows(MIXED, ITEMS)}
    queue_of(seeded.url, "Mixed", picked)
    page = desk.sit("second reviewer", viewport={"width": 1440, "height": 900})
    page.goto("/queues")
    page.get_by_role("button", name="Next in Mixed").click()
    page.wait_for_url("**/decisions/*")
    reviewer = Reviewer(page=page)
    reviewer.work(len(picked))
    return reviewer.ruled


def _figures(ruled: list[Ruled]) -> dict[str, object]:
    total = [each.server_s + each.browser_s for each in ruled]
    keys = {name: max(each.keys for each in ruled if each.ruling == name) for name in ("agree", "overturn")}
    return {
        "items": len(ruled),
        "most_keys": keys,
        "seconds_an_item": {
            "mean": round(mean(total), 3),
            "p95": round(quantiles(total, n=20)[18], 3),
            "server_mean": round(mean(each.server_s for each in ruled), 3),
            "browser_mean": round(mean(each.browser_s for each in ruled), 3),
        },
        "load": round(os.getloadavg()[0], 2),
    }


if __name__ == "__main__":
    main()
