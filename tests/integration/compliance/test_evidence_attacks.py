"""Attacks on the evidence: with the logins of worker, review pages and gateway, and by the database's owner.

Each attack says what an intruder would say to Postgres; what it is refused does not matter. Afterwards the
evidence must still tell what happened.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb
from structlog.testing import capture_logs

from compliance.audit_log.appending import LogBroken
from compliance.audit_log.checkpoints import Checkpoint, new_key, read_checkpoint, signer_of
from compliance.erasure import receipts
from compliance.erasure.records import Erasure, ErasureKind
from compliance.tables import ErasurePhase
from db.pool import create_pool
from db.schema import logins
from db.schema.logins import LOGINS, Service
from tasks.retention.sweep import sweep
from tests.support import erasing
from tests.support.audit_log import (
    KEYS,
    RECEIPT_KEYS,
    SIGNER,
    append,
    change,
    log_database,
    logged,
    problems,
    review,
    verified,
)
from tests.support.auditing import ago, decided, store
from tests.support.retention import keeping

SERVICES = tuple(Service)
"""The gateway and beat have the login of the review pages."""
FORGED = {"version": 1, "erased": {"ai_decisions": 999}, "confirmed_by": "a person who was never asked"}
NEW_ID = "00000000-0000-4000-8000-000000000001"
Attack = tuple[str, tuple[object, ...]]


@pytest.fixture
def url(stack: Any, template: str) -> str:
    """A database with a log, retention limits, and the logins of all services."""
    found = log_database(stack.database_url, template)
    logins.ensure(found, {})
    return found


def attack(url: str, service: Service, *statements: Attack) -> None:
    """Say all of it with the login of a service."""
    with psycopg.connect(logins.url_of(url, LOGINS[service], "unused"), autocommit=True) as intruder:
        for statement, values in statements:
            try:
                intruder.execute(statement.encode(), values)
            except psycopg.Error:
                continue


def ask(url: str, query: str, *values: object) -> Any:
    """One row, as the owner."""
    with psycopg.connect(url) as owner:
        return owner.execute(query.encode(), values).fetchone()


BLINDING: tuple[Attack, ...] = (
    (
        "INSERT INTO audit_log_removals (id, kind, reason, before)"
        " VALUES (%s, 'decision', 'retention', '2999-01-01')",
        (NEW_ID,),
    ),
    (
        "INSERT INTO audit_log_removals (id, kind, reason, since, before) VALUES"
        " (gen_random_uuid(), 'decision', 'retention', '1999-01-01', '2999-01-01')",
        (),
    ),
    (
        "INSERT INTO audit_log_removals (id, kind, reason, before, subjects) SELECT gen_random_uuid(), kind,"
        " 'retention', '2999-01-01', jsonb_agg(subject_id) FROM audit_log_leaves GROUP BY kind",
        (),
    ),
    ("UPDATE audit_log_leaves SET salt = NULL", ()),
    ("UPDATE audit_log_leaves SET salt = NULL, kept_salt = NULL", ()),
    ("UPDATE audit_log_checkpoints SET through = '2999-01-01'", ()),
    ("INSERT INTO retention_limits (id, table_name, keep_days) VALUES (%s, 'ai_decisions', 0)", (NEW_ID,)),
    ("SELECT hushgate_forget_dropped(1000)", ()),
    ("SET hushgate.erasing = on", ()),
    ("SET hushgate.sweeping = on", ()),
    ("SELECT set_config('hushgate.swept_before', '2999-01-01', false)", ()),
    ("UPDATE decision_reviews SET note = ''", ()),
    ("UPDATE decision_reviews SET sealed_until = now()", ()),
    ("DELETE FROM ai_decisions", ()),
)


@pytest.mark.parametrize("service", SERVICES)
def test_no_login_can_blind_the_log_to_a_later_change(url: str, service: Service) -> None:
    """After the attack and an honest append, changes by the owner are still found, row by row."""
    made = logged(url, authors=("amy", "bob", "cleo"))
    ruling = review(url, made[2], note="a note")
    append(url)

    attack(url, service, *BLINDING)
    store(url, [late := decided(at=ago(seconds=1), user_id="acme")])
    append(url, at=datetime.now(UTC) + timedelta(seconds=1))
    change(url, "UPDATE ai_decisions SET decision = 'respond' WHERE id = %s", made[0].decision_id)
    change(url, "DELETE FROM ai_decisions WHERE id = %s", made[1].decision_id)
    change(url, "UPDATE decision_reviews SET ruling = 'overturn' WHERE id = %s", ruling)
    change(url, "UPDATE ai_decisions SET decision = 'respond' WHERE id = %s", late.decision_id)

    found = problems(verified(url, now=datetime.now(UTC) + timedelta(days=2)))
    expected = {
        ("row changed", str(made[0].decision_id)),
        ("row missing", str(made[1].decision_id)),
        ("row changed", str(ruling)),
    }
    assert expected <= set(found)
    assert str(late.decision_id) in {subject for _, subject in found}


@pytest.mark.parametrize(
    ("columns", "values"),
    [
        ("reason, before", "'retention', '2999-01-01'"),
        ("reason, before", "'retention', now() - interval '28 days'"),
        ("reason, erasure_id", "'erasure', gen_random_uuid()"),
    ],
)
@pytest.mark.parametrize("salts", ["salt = NULL", "salt = NULL, kept_salt = NULL"])
def test_the_owner_cannot_explain_a_changed_row_by_a_removal(
    url: str, columns: str, values: str, salts: str
) -> None:
    """A row that is there is no removed one, and its removal needs a limit or a receipt."""
    made = logged(url)
    subject = made[0].decision_id
    change(url, "UPDATE ai_decisions SET decision = 'respond' WHERE id = %s", subject)
    change(
        url,
        f"INSERT INTO audit_log_removals (id, kind, subjects, {columns})"
        f" VALUES (gen_random_uuid(), 'decision', jsonb_build_array(%s::text), {values})",
        str(subject),
    )
    change(url, f"UPDATE audit_log_leaves SET {salts} WHERE subject_id = %s", subject)
    append(url)

    found = {name for name, about in problems(verified(url)) if about == str(subject)}
    assert found in ({"row changed"}, {"salt missing"})
    assert verified(url).recent == ()


def test_the_owner_cannot_make_a_young_row_old(url: str) -> None:
    """Its times are in its leaf."""
    made = logged(url)
    subject = made[0].decision_id
    past = ago(days=1000)
    change(url, "DELETE FROM ai_decisions WHERE id = %s", subject)
    change(
        url,
        "INSERT INTO audit_log_removals (id, kind, reason, before, subjects)"
        " VALUES (gen_random_uuid(), 'decision', 'retention', %s, jsonb_build_array(%s::text))",
        ago(days=800),
        str(subject),
    )
    still_young = problems(verified(url))
    change(url, "UPDATE audit_log_leaves SET due_from = %s WHERE subject_id = %s", past, subject)
    aged = problems(verified(url))

    assert still_young == [("row missing", str(subject))]
    assert aged == [("leaf changed", str(subject))]


def test_a_limit_of_later_does_not_allow_an_earlier_removal(url: str) -> None:
    """Even if the owner gives it an older time: its leaf comes after that of the removal."""
    logged(url)
    old = decided(at=ago(days=40))
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("SELECT hushgate_ensure_partitions(%s, 1)", (old.decided_at.date(),))
    store(url, [old])
    append(url, since=ago(days=60))
    change(url, "DELETE FROM ai_decisions WHERE id = %s", old.decision_id)
    change(
        url,
        "INSERT INTO audit_log_removals (id, kind, reason, before, subjects) VALUES"
        " (gen_random_uuid(), 'decision', 'retention', now() - interval '35 days',"
        " jsonb_build_array(%s::text))",
        str(old.decision_id),
    )
    append(url)
    change(
        url,
        "INSERT INTO retention_limits (id, table_name, keep_days, created_at)"
        " VALUES (gen_random_uuid(), 'ai_decisions', 30, now() - interval '1 minute')",
    )
    append(url)

    assert {name for name, _ in problems(verified(url))} == {"removal not proven", "row missing"}


def test_the_settings_that_decided_are_in_the_leaf(url: str) -> None:
    """Which candidate decided cannot be changed afterwards."""
    made = logged(url)
    change(url, "UPDATE ai_decisions SET candidate_id = gen_random_uuid() WHERE id = %s", made[0].decision_id)

    assert problems(verified(url)) == [("row changed", str(made[0].decision_id))]


def test_a_root_signed_by_another_key_is_not_built_on(url: str) -> None:
    """The database names the key of a checkpoint, and an intruder can write there."""
    logged(url)
    (stored,) = ask(url, "SELECT signed FROM audit_log_checkpoints ORDER BY size DESC LIMIT 1")
    genuine = read_checkpoint(stored, SIGNER.verifier_key())
    intruder = signer_of("test", new_key())
    signed = intruder.sign(Checkpoint(origin="test", size=genuine.size, root=genuine.root))
    change(
        url,
        "UPDATE audit_log_checkpoints SET signed = %s, verifier_key = %s",
        signed,
        intruder.verifier_key(),
    )

    with pytest.raises(LogBroken, match="HUSHGATE_AUDIT_LOG_VERIFIERS"):
        append(url)
    assert "checkpoint wrong" in {name for name, _ in problems(verified(url, keys=KEYS))}


def skipping(erasure: UUID) -> tuple[Attack, ...]:
    """What would end an erasure that has erased nothing."""
    phases = [phase.value for phase in ErasurePhase]
    statements: list[Attack] = [
        ("UPDATE erasures SET confirmed_at = now(), confirmed_by = 'nobody' WHERE id = %s", (erasure,)),
        ("SELECT hushgate_confirm_erasure(%s, 'nobody')", (erasure,)),
        ("UPDATE erasures SET started_at = now() WHERE id = %s", (erasure,)),
        ("SELECT hushgate_begin_erasure(%s, '0-0')", (erasure,)),
        ("UPDATE erasures SET position_at = 'infinity' WHERE id = %s", (erasure,)),
        ("UPDATE erasures SET erased = '{\"ai_decisions\": 999}' WHERE id = %s", (erasure,)),
        ("SELECT hushgate_add_stream_counts(%s, '{\"ai_decisions\": 999}')", (erasure,)),
        ("UPDATE erasures SET phase_done = true WHERE id = %s", (erasure,)),
    ]
    for phase in phases:
        statements += [
            ("SELECT hushgate_next_erasure_phase(%s, %s)", (erasure, phase)),
            ("SELECT hushgate_erase_decisions(%s, 0)", (erasure,)),
        ]
    return (
        *statements,
        ("UPDATE erasures SET phase = 'streams_again' WHERE id = %s", (erasure,)),
        ("SELECT hushgate_finish_erasure(%s, %s, NULL)", (erasure, Jsonb(FORGED))),
        ("SELECT hushgate_finish_erasure(%s)", (erasure,)),
        ("UPDATE erasures SET phase = 'finished', finished_at = now(), receipt = %s WHERE id = %s",
         (Jsonb(FORGED), erasure)),
        ("UPDATE erasures SET subject = 'amy' WHERE id = %s", (erasure,)),
    )  # fmt: skip


def signed_receipts(url: str) -> list[Erasure]:
    """Erasures with a receipt that a public key verifies."""
    with psycopg.connect(url) as owner:
        ids = [row[0] for row in owner.execute("SELECT id FROM erasures").fetchall()]
    found = [asyncio.run(erasing.load(url, each)) for each in ids]
    return [
        each
        for each in found
        if each.receipt and each.signature
        and receipts.is_signed_by(each.receipt, each.signature, RECEIPT_KEYS)
    ]  # fmt: skip


@pytest.mark.parametrize("confirmed", [False, True], ids=["unconfirmed", "confirmed"])
@pytest.mark.parametrize("service", SERVICES)
def test_no_login_gets_a_receipt_without_the_erasure(
    url: str, redis_url: str, service: Service, confirmed: bool
) -> None:
    """An honest worker comes by after the attack; what it signs was erased, and it is what was asked for."""
    made = logged(url, authors=("amy", "bob"))
    erasure = asyncio.run(erasing.request(url, "acme", ErasureKind.AUTHOR, "bob"))
    asyncio.run(erasing.advance(url, redis_url))
    if confirmed:
        asyncio.run(erasing.confirm(url, erasure))

    attack(url, service, *skipping(erasure))
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("UPDATE erasures SET alive_at = NULL")
    asyncio.run(erasing.advance(url, redis_url))

    with psycopg.connect(url) as owner:
        rows = owner.execute("SELECT id, message_text = '' FROM ai_decisions").fetchall()
    texts: dict[UUID, bool] = dict(rows)
    assert not texts[made[0].decision_id], "the message of another author was erased"
    for each in signed_receipts(url):
        assert texts[made[1].decision_id], "a receipt without the erasure"
        assert each.receipt is not None
        assert each.receipt["confirmed_by"] in {"lee", "nobody"}
        assert each.receipt["erased"].get("ai_decisions") == 1
    if service is Service.WORKER and not confirmed:
        assert signed_receipts(url) == []


@pytest.mark.parametrize("service", SERVICES)
def test_no_login_lets_a_worker_sign_what_it_made_up(url: str, redis_url: str, service: Service) -> None:
    """Neither a request that comes with its receipt, nor one about another id than it names."""
    columns = "id, user_id, kind, subject, salt, subject_hash, reason, requested_by"
    forged = (
        f"INSERT INTO erasures ({columns},"
        " confirmed_at, confirmed_by, started_at, finished_at, phase, receipt)"
        " VALUES (%s, 'acme', 'author', NULL, '', '', '', 'kim', now(), 'lee', now(), now(), 'finished', %s)"
    )
    another = (
        f"INSERT INTO erasures ({columns}, phase, confirmed_at, confirmed_by) VALUES (gen_random_uuid(),"
        " 'acme', 'author', 'amy', '', encode(sha256('bob'), 'hex'), '', 'kim', 'previewed', now(), 'lee')"
    )
    logged(url, authors=("amy", "bob"))

    attack(url, service, (forged, (NEW_ID, Jsonb(FORGED))), (another, ()))
    asyncio.run(erasing.advance(url, redis_url))

    assert signed_receipts(url) == []
    assert ask(url, "SELECT count(*) FROM ai_decisions WHERE message_text = ''") == (0,)


def test_a_receipt_that_differs_from_its_erasure_is_not_signed(url: str, redis_url: str) -> None:
    """Not even one that the owner of the database changed before it was signed."""
    asyncio.run(erasing.erase_rows_only(url, ErasureKind.AUTHOR, "bob", key=None))
    change(url, "UPDATE erasures SET receipt = jsonb_set(receipt, '{erased}', '{\"ai_decisions\": 9}')")
    asyncio.run(erasing.advance(url, redis_url))

    assert ask(url, "SELECT signature FROM erasures") == (None,)


@pytest.mark.parametrize("service", [Service.WORKER, Service.REVIEW])
def test_no_login_keeps_the_log_from_growing(url: str, service: Service) -> None:
    """Neither by locks that it may take, nor by a session that stays open."""
    logged(url)
    key = "hashtextextended('hushgate transparency log', 0)"
    with psycopg.connect(logins.url_of(url, LOGINS[service], "unused")) as intruder:
        intruder.execute(f"SELECT pg_advisory_lock({key}), pg_advisory_xact_lock({key})".encode())
        for mode in ("ACCESS SHARE", "ROW SHARE", "ROW EXCLUSIVE", "EXCLUSIVE"):
            with suppress(psycopg.Error), intruder.transaction():
                intruder.execute(f"LOCK TABLE audit_log_checkpoints IN {mode} MODE".encode())
        store(url, [decided(at=ago(seconds=1), user_id="acme")])

        assert append(url).leaves == 1


@pytest.mark.parametrize("service", SERVICES)
def test_no_login_shortens_the_retention_that_the_owner_stored(url: str, service: Service) -> None:
    """Decisions of sixty days ago stay for 24 months, whatever a login asks for."""
    old = [decided(at=ago(days=60, minutes=number)) for number in range(3)]
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("SELECT hushgate_ensure_partitions(%s, 1)", (ago(days=100).date(),))
    store(url, old)
    append(url)

    attack(
        url,
        service,
        (
            "INSERT INTO retention_limits (id, table_name, keep_days) VALUES (%s, 'ai_decisions', 1)",
            (NEW_ID,),
        ),
        ("UPDATE retention_limits SET keep_days = 1", ()),
        ("SELECT hushgate_sweep_rows('ai_decisions', now() - interval '28 days 1 minute', NULL, 100)", ()),
        ("SELECT hushgate_sweep_rows('access_log', now() - interval '28 days 1 minute', NULL, 100)", ()),
        ("SELECT hushgate_drop_partitions(current_date - 29)", ()),
    )

    assert ask(url, "SELECT count(*) FROM ai_decisions") == (3,)
    assert problems(verified(url)) == []


def test_a_worker_with_shorter_settings_keeps_what_the_owner_stored(url: str) -> None:
    """Its sweep goes on with all that the limit allows, and says that its settings are shorter."""
    made = [decided(at=ago(days=days)) for days in (60, 900)]
    with psycopg.connect(url, autocommit=True) as owner:
        for each in made:
            owner.execute("SELECT hushgate_ensure_partitions(%s, 0)", (each.decided_at.date(),))
    store(url, made)

    async def swept() -> dict[str, int]:
        settings = keeping(decisions_months=1)
        async with create_pool(url, size=1, application="test") as source:
            return await sweep(source, settings, datetime.now(UTC), only=["ai_decisions"])

    with capture_logs() as logs:
        months = asyncio.run(swept())["ai_decisions_months"]

    assert (months, ask(url, "SELECT count(*) FROM ai_decisions")) == (1, (1,))
    assert [each["table"] for each in logs if each["event"] == "retention_shorter_than_stored"] == [
        "ai_decisions"
    ]
