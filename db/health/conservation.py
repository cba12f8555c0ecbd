"""The conservation check: every accepted entry ended exactly once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from db.connection import Connection

ENDED: Final = sa.text("""
    SELECT (SELECT count(decision_id) FROM event_keys) AS decided,
           (SELECT count(*) FROM duplicates) AS duplicates,
           (SELECT count(*) FROM dead_letters) AS buried,
           (SELECT count(*) FROM ai_decisions) AS audited,
           (SELECT count(*) FROM checks)
               + (SELECT coalesce(sum(rows), 0)::bigint FROM purged WHERE table_name = 'checks') AS checks,
           (SELECT coalesce(sum(rows), 0)::bigint FROM purged
            WHERE table_name NOT IN ('ai_decisions', 'checks')) AS purged,
           (SELECT coalesce(sum(rows), 0)::bigint FROM purged WHERE table_name = 'event_keys') AS purged_keys,
           (SELECT coalesce(sum(rows), 0)::bigint FROM purged WHERE table_name = 'ai_decisions')
               AS purged_audit,
           (SELECT count(*) FROM outbox) AS replies
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """Accepted entries compared with their endings.

    Attributes:
        accepted: entries that Redis has ever added to the stream.
        unfinished: entries still in the stream.
        decided: events that have a decision.
        duplicates: further entries of events already decided.
        buried: dead letters.
        audited: rows of ``ai_decisions``.
        checks: checks of programs, also those that retention deleted: they have a decision and no entry.
        purged: rows that retention deleted from the three tables of endings.
        purged_keys: decided events among them.
        purged_audit: rows of ``ai_decisions`` that retention dropped with their month.
        replies: rows of the outbox.
    """

    accepted: int
    unfinished: int
    decided: int
    duplicates: int
    buried: int
    audited: int
    checks: int
    purged: int
    purged_keys: int
    purged_audit: int
    replies: int

    @property
    def missing(self) -> int:
        """Entries that left the stream without an ending; 0 when the law holds.

        Below 0, entries have both an ending and a place in the stream: a worker is between its commit and
        its FINISH, or died there and another worker will finish for it.
        """
        ended = self.decided + self.duplicates + self.buried + self.purged
        return self.accepted - self.unfinished - ended

    @property
    def imbalance(self) -> int:
        """Entries without exactly one ending; those between a commit and its FINISH do not count."""
        twice = abs(self.audited + self.purged_audit - self.decided - self.purged_keys - self.checks)
        about_to_finish = self.missing < 0 and self.unfinished >= -self.missing
        return twice + (0 if about_to_finish else abs(self.missing))

    @property
    def holds(self) -> bool:
        """True when nothing is missing, unfinished with its ending, or decided twice."""
        return self.missing == 0 and self.imbalance == 0


async def load_balance(connection: Connection, *, accepted: int, unfinished: int) -> Balance:
    """The balance of one database and one stream, whose figures the caller has read."""
    row = (await connection.execute(ENDED)).dicts()[0]
    return Balance(accepted=accepted, unfinished=unfinished, **row)
