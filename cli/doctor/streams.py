"""``hushgate doctor``: whether consumers read the outgoing streams, and whether these stay short."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from cli.doctor.check import DoctorCheck, passed, warned
from tasks.shards.clients import connect
from tasks.stream_upkeep.figures import StreamFigures, load_figures, stream_names, stream_problems
from worker.settings import Settings

REACH_S = 10.0


def stream_checks(settings: Settings) -> Iterator[DoctorCheck]:
    """One check of each outgoing stream."""
    for found in asyncio.run(_figures(settings)):
        check, problems = f"stream {found.stream}", list(stream_problems(found))
        if not problems:
            yield passed(check, _shown(found))
            continue
        yield warned(
            check, "; ".join(each.found for each in problems), "; ".join(each.fix for each in problems)
        )


async def _figures(settings: Settings) -> list[StreamFigures]:
    async with connect(settings.redis_url.get_secret_value(), timeout_s=REACH_S) as redis:
        return [await load_figures(redis, *named) for named in stream_names(settings).items()]


def _shown(found: StreamFigures) -> str:
    groups = f"groups: {', '.join(each.name for each in found.groups)}" if found.groups else "no groups"
    return f"{found.entries} entries, {groups}"
