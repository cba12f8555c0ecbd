"""Limits on attempts that cost money: counted in the access log, so that all servers count together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection

PERIOD: Final = timedelta(minutes=1)
LOCK: Final = sa.text("SELECT pg_advisory_xact_lock(hashtextextended('attempts ' || :kind, 0))")
WAIT: Final = sa.text("""
    SELECT extract(epoch FROM at + :period - now()) FROM access_log
    WHERE at > now() - CAST(:period AS interval) AND action = 'settings' AND jsonb_exists(detail, :kind)
        AND (person_id = :person OR user_id IS NOT DISTINCT FROM :account)
    ORDER BY at DESC OFFSET :allowed LIMIT 1
""")


class AttemptKind(StrEnum):
    """What is limited; its name is in the detail of the attempt's line of the access log."""

    MODEL_TEST = "model_test"
    TEST_MESSAGE = "test_message"


MOST_A_MINUTE: Final = {AttemptKind.MODEL_TEST: 3, AttemptKind.TEST_MESSAGE: 10}
"""Numbers of attempts: of a person, and on an account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidAttempt:
    """An attempt of a person; without an account, on the whole installation."""

    kind: AttemptKind
    person_id: UUID
    user_id: str | None = None


async def attempt_wait_s(connection: Connection, attempt: PaidAttempt) -> int:
    """Seconds until the attempt is allowed; 0: now.

    Other attempts of the kind wait for this transaction, which appends the line of an allowed attempt.
    """
    await connection.execute(LOCK, {"kind": attempt.kind})
    values = {
        "kind": attempt.kind,
        "period": PERIOD,
        "person": attempt.person_id,
        "account": attempt.user_id,
        "allowed": MOST_A_MINUTE[attempt.kind] - 1,
    }
    left = (await connection.execute(WAIT, values)).scalar()
    return 0 if left is None else max(1, math.ceil(left))
