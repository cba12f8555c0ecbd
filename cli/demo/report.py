"""Checks the invariants of one demo run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from redis.asyncio import Redis

from cli.demo.answers import AnswerFigures
from db.audit import run_figures
from db.audit.run_figures import RunFigures
from db.connection import Connection
from db.health import conservation
from db.health.conservation import Balance
from tasks.shards.backlog import backlog


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The outcome of a run.

    Attributes:
        run: what the ids of its events start with.
        figures: what Postgres says of it.
        balance: the conservation law, over every event of this deployment.
        delivered: entries of the run on the reply stream.
        delivered_keys: distinct idempotency keys among them.
        answers: how right and wrong answers ended; None without the sandbox.
    """

    run: str
    figures: RunFigures
    balance: Balance
    delivered: int
    delivered_keys: int
    answers: AnswerFigures | None

    def laws(self) -> tuple[tuple[str, bool, str], ...]:
        """Each law with whether it held and the figures."""
        kept, ran = self.balance, self.figures
        return (
            (
                "conservation",
                kept.holds and kept.unfinished == 0,
                f"{kept.accepted} accepted = {kept.decided} decided + {kept.duplicates} duplicates"
                f" + {kept.buried} dead letters + {kept.unfinished} unfinished",
            ),
            ("order", ran.out_of_order == 0, f"{ran.out_of_order} decisions out of order in a conversation"),
            (
                "silence",
                self.delivered == self.delivered_keys == ran.approved - ran.cancelled
                and ran.approved == ran.totals["replies"],
                f"{ran.approved} approved replies, {self.delivered} on the reply stream,"
                f" {ran.cancelled} cancelled before, {self.delivered - self.delivered_keys} twice",
            ),
        )


async def report(
    connection: Connection,
    redis: Redis,
    *,
    run: str,
    streams: tuple[str, str],
    answers: AnswerFigures | None,
) -> Report:
    """Gather everything about the events whose ids start with ``run``."""
    events, replies = streams
    seen = await backlog(redis, events)
    entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", await redis.xrange(replies))
    keys = [key for _, fields in entries if f"/{run}-".encode() in (key := fields[b"key"])]
    return Report(
        run=run,
        figures=await run_figures.run_figures(connection, run),
        balance=await conservation.load_balance(
            connection, accepted=seen["accepted"], unfinished=seen["unfinished"]
        ),
        delivered=len(keys),
        delivered_keys=len(set(keys)),
        answers=answers,
    )
