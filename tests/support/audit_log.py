"""The transparency log in tests: appended and verified by the log's own login, changed by the owner."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final
from uuid import UUID

import psycopg

from compliance.audit_log.appending import Appended, append_new
from compliance.audit_log.checkpoints import new_key, signer_of
from compliance.audit_log.verifying import Keys, Verification, verify
from compliance.erasure.receipts import public_key
from db.pool import AUDIT_ROLE, create_pool
from db.retention.limits import store_limits
from tests.conftest import create_database
from tests.support.auditing import ago, decided, store
from tests.support.erasing import KEY
from tests.support.pools import in_pool
from worker.model import Decision
from worker.settings import RetentionSettings

SIGNER = signer_of("test", new_key())
KEYS = frozenset({SIGNER.verifier_key()})
RECEIPT_KEYS = (public_key(KEY),)
LIMITS: Final = 2
"""Leaves that every log begins with: how long decisions and reviews are kept."""
NUMBERS = count(1)


def log_database(server: str, template: str) -> str:
    """A migrated database with stored retention limits, as ``hushgate migrate`` leaves it."""
    url = create_database(server, f"hushgate_log_{next(NUMBERS)}", template)
    store_limits(url, RetentionSettings.model_validate({"DATABASE_URL": url}))
    return url


def append(
    url: str,
    *,
    at: datetime | None = None,
    signer: Any = SIGNER,
    since: datetime | None = None,
    former: frozenset[str] = frozenset(),
) -> Appended:
    """One run with the rights of the log."""
    appended = in_pool(
        url,
        lambda source: append_new(source, signer, at or datetime.now(UTC), since, former),
        role=AUDIT_ROLE,
    )
    assert appended is not None
    return appended


def verified(
    url: str,
    *,
    now: datetime | None = None,
    witness: str | None = None,
    keys: frozenset[str] = KEYS,
    receipt_keys: tuple[bytes, ...] = RECEIPT_KEYS,
    progress: Callable[[int], None] = lambda _: None,
) -> Verification:
    """The whole log compared."""

    async def run() -> Verification:
        async with create_pool(url, size=1, application="test", role=AUDIT_ROLE) as source:
            known = Keys(log=keys, receipts=receipt_keys)
            return await verify(source, known, now or datetime.now(UTC), witness, progress)

    return asyncio.run(run())


def change(url: str, statement: str, *values: object) -> None:
    """A change by the owner of the database, with its guards switched off."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(statement.encode(), values)


def problems(result: Verification) -> list[tuple[str, str]]:
    """Problem and subject of each discrepancy."""
    return [(each.problem.value, each.subject) for each in result.problems]


def logged(url: str, *, authors: tuple[str, ...] = ("amy", "amy", "amy")) -> list[Decision]:
    """Decisions, some seconds old, in the database and in the log: one for each author."""
    made = [
        decided(at=ago(seconds=1 + number), user_id="acme", author_id=author, conversation_id=f"c-{number}")
        for number, author in enumerate(authors)
    ]
    store(url, made)
    append(url)
    return made


def review(url: str, decision: Decision, note: str = "") -> UUID:
    """A ruling on a decision."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "INSERT INTO decision_reviews"
            " (id, decision_id, decision_at, user_id, person, ruling, source, note)"
            " VALUES (gen_random_uuid(), %s, %s, 'acme', 'kim', 'agree', 'cli', %s) RETURNING id",
            (decision.decision_id, decision.decided_at, note),
        ).fetchone()
    assert row is not None
    return UUID(str(row[0]))
