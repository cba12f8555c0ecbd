"""The transparency log on a real database: what is changed afterwards is found, what is erased is not."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from db.pool import create_pool
from db.review_store import REVIEWER_ROLE
from db.transparency import appending
from db.transparency.appending import Appended, LogBroken, append_new
from db.transparency.checkpoints import new_key, signer_of
from db.transparency.verifying import Verification, verify
from tests.conftest import create_database, database_at
from tests.support.auditing import ago, decided, store
from tests.support.terminal import Shell
from worker.model import Decision

SIGNER = signer_of("test", new_key())
KEYS = frozenset({SIGNER.verifier_key()})
SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "verify_audit_log.py"
NAMES = iter(range(1000))


@pytest.fixture
def url(stack: Any, template: str) -> str:
    """A migrated database of this test's own."""
    name = f"hushgate_log_{next(NAMES)}"
    create_database(stack.database_url, name, template)
    return database_at(stack.database_url, name)


def append(
    url: str, *, at: datetime | None = None, signer: Any = SIGNER, since: datetime | None = None
) -> Appended:
    """One run with the rights of the review pages."""

    async def run() -> Appended | None:
        async with create_pool(url, size=1, application="test", role=REVIEWER_ROLE) as source:
            return await append_new(source, signer, at or datetime.now(UTC), since)

    appended = asyncio.run(run())
    assert appended is not None
    return appended


def verified(
    url: str, *, now: datetime | None = None, witness: str | None = None, keys: frozenset[str] = KEYS
) -> Verification:
    """The whole log compared."""

    async def run() -> Verification:
        async with create_pool(url, size=1, application="test", role=REVIEWER_ROLE) as source:
            kept = (witness, SIGNER.verifier_key()) if witness else None
            return await verify(source, keys, now or datetime.now(UTC), kept)

    return asyncio.run(run())


def change(url: str, statement: str, *values: object) -> None:
    """A change by the owner of the database, with its guards switched off."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(statement.encode(), values)


def problems(result: Verification) -> list[tuple[str, str]]:
    """Problem and subject of each discrepancy."""
    return [(each.problem.value, each.subject) for each in result.problems]


def logged(url: str, decisions: int = 3) -> list[Decision]:
    """Decisions, a second old, in the database and in the log."""
    made = [decided(at=ago(seconds=1 + number)) for number in range(decisions)]
    store(url, made)
    append(url)
    return made


def review(url: str, decision: Decision) -> UUID:
    """A ruling on a decision."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "INSERT INTO decision_reviews (id, decision_id, decision_at, user_id, person, ruling, source)"
            " VALUES (gen_random_uuid(), %s, %s, 'acme', 'kim', 'agree', 'cli') RETURNING id",
            (decision.decision_id, decision.decided_at),
        ).fetchone()
    assert row is not None
    return UUID(str(row[0]))


def test_decisions_and_reviews_are_appended_once(url: str) -> None:
    """A second run adds nothing; a review is a leaf of its own."""
    made = logged(url)
    assert append(url).leaves == 0

    review(url, made[0])
    appended = append(url)
    result = verified(url)

    assert (appended.leaves, appended.size) == (1, 4)
    assert (result.leaves, result.compared, problems(result)) == (4, 4, [])


def changed_row(decision: Decision) -> tuple[str, object]:
    return "UPDATE ai_decisions SET reason = 'another' WHERE id = %s", decision.decision_id


def changed_snapshot(decision: Decision) -> tuple[str, object]:
    return (
        "UPDATE ai_decisions SET snapshot_json = snapshot_json || '{\"tokens\": 1}' WHERE id = %s",
        decision.decision_id,
    )


def deleted_row(decision: Decision) -> tuple[str, object]:
    return "DELETE FROM ai_decisions WHERE id = %s", decision.decision_id


def deleted_salt(decision: Decision) -> tuple[str, object]:
    return "UPDATE audit_log_leaves SET salt = NULL WHERE subject_id = %s", decision.decision_id


@pytest.mark.parametrize(
    ("act", "problem"),
    [
        (changed_row, "row changed"),
        (changed_snapshot, "row changed"),
        (deleted_row, "row missing"),
        (deleted_salt, "salt missing"),
    ],
)
def test_a_changed_row_is_found(
    url: str, act: Callable[[Decision], tuple[str, object]], problem: str
) -> None:
    """By its id, and only it."""
    made = logged(url)

    change(url, *act(made[1]))

    assert problems(verified(url)) == [(problem, str(made[1].decision_id))]


def test_a_changed_leaf_breaks_the_signed_root_and_nothing_more_is_signed(url: str) -> None:
    """Whoever changes the row with its leaf cannot sign the root."""
    made = logged(url)
    change(url, "UPDATE audit_log_leaves SET hash = sha256(hash) WHERE subject_id = %s", made[0].decision_id)

    with pytest.raises(LogBroken, match="does not have the root that was signed"):
        append(url)

    assert ("checkpoint wrong", "") in problems(verified(url))


def test_a_row_that_never_got_a_leaf_is_found_after_a_day(url: str) -> None:
    """Such as one that was inserted with an old time."""
    made = logged(url)
    late = decided(at=ago(days=5))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT hushgate_ensure_partitions(%s, 1)", (late.decided_at.date(),))
    store(url, [late])
    append(url)  # looks back three minutes only

    assert problems(verified(url)) == [("row without a leaf", str(late.decision_id))]
    assert len(made) == 3


def test_a_row_committed_days_late_is_found_by_the_first_run_of_a_day(url: str) -> None:
    """Postgres may be down while decisions wait to be stored."""
    logged(url)
    late = decided(at=ago(hours=30))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT hushgate_ensure_partitions(%s, 1)", (late.decided_at.date(),))
    store(url, [late])

    assert append(url, at=datetime.now(UTC) + timedelta(days=1)).leaves == 1


def test_a_log_that_was_cut_is_found_with_a_kept_checkpoint(url: str) -> None:
    """Somebody who removes the newest leaves and checkpoints leaves a log that fits; a kept one does not."""
    logged(url)
    shorter = verified(url)
    store(url, [decided(at=ago(seconds=1))])
    kept = append(url).checkpoint
    change(url, "DELETE FROM audit_log_leaves WHERE position = 3")
    change(url, "DELETE FROM audit_log_checkpoints WHERE size = 4")

    assert shorter.leaves == 3
    assert problems(verified(url)) == []
    assert problems(verified(url, witness=kept)) == [("leaf missing", "")]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ai_decisions SET message_text = '', snapshot_json = '{}' WHERE id = %s",
        "DELETE FROM ai_decisions WHERE id = %s",
    ],
)
def test_an_erased_row_stays_in_a_valid_tree(url: str, statement: str) -> None:
    """Its salt is gone, so guesses of its text cannot be tested; the erasure is a leaf itself."""
    made = logged(url)
    erased = made[1].decision_id
    with psycopg.connect(url) as owner:
        owner.execute("SET LOCAL hushgate.erasing = on")
        owner.execute(statement.encode(), (erased,))

    appended = append(url)
    result = verified(url)

    assert appended.leaves == 1
    assert (result.compared, result.removed, problems(result)) == (3, 1, [])
    with psycopg.connect(url) as connection:
        query = "SELECT salt FROM audit_log_leaves WHERE subject_id = %s"
        assert connection.execute(query, (erased,)).fetchone() == (None,)


def test_a_review_whose_note_is_erased_counts_as_removed(url: str) -> None:
    """The note of a review may name the person who was erased."""
    made = logged(url)
    noted = review(url, made[0])
    append(url)
    with psycopg.connect(url) as owner:
        owner.execute("SET LOCAL hushgate.erasing = on")
        owner.execute("UPDATE decision_reviews SET note = '' WHERE id = %s", (noted,))

    result = verified(url)

    assert (result.compared, result.removed, problems(result)) == (3, 1, [])


def test_a_month_that_retention_dropped_is_counted_and_not_reported(url: str) -> None:
    """Its salts go in steps."""
    old = decided(at=ago(days=400))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT hushgate_ensure_partitions(%s, 1)", (old.decided_at.date(),))
    store(url, [old])
    logged(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT hushgate_drop_partitions(%s)", (ago(days=100).date(),))
    assert problems(verified(url)) == [("row missing", str(old.decision_id))]

    append(url)
    append(url)
    result = verified(url)

    assert (result.removed, problems(result)) == (1, [])
    with psycopg.connect(url) as connection:
        query = "SELECT count(*) FROM audit_log_leaves WHERE salt IS NULL"
        assert connection.execute(query).fetchone() == (1,)


def test_many_rows_are_appended_in_batches(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Complete subtrees are stored on the way; a proof needs few reads."""
    monkeypatch.setattr(appending, "BATCH", 100)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO ai_decisions (created_at, id, user_id, event_id, message_id, conversation_id,"
            " author_id, scope, decision, confidence, reason_code, reason, message_text, snapshot_json,"
            " degraded) SELECT now() - number * interval '1 ms', gen_random_uuid(), 'acme', 'e', 'm', 'c',"
            " 'a', 'chat', 'ignore', 1, 'AI_DISABLED', '', '', '{}', false"
            " FROM generate_series(1, 530) AS number"
        )

    rounds, since = 1, append(url).rest_since
    while since is not None:
        rounds, since = rounds + 1, append(url, since=since).rest_since
    result = verified(url)

    assert (rounds, result.leaves, result.checkpoints, problems(result)) == (4, 530, 4, [])
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM audit_log_nodes").fetchone() == (2,)


def test_a_new_key_continues_the_log(url: str) -> None:
    """Old checkpoints are accepted with the old key, and reported without it."""
    logged(url)
    renewed = signer_of("test", new_key())
    store(url, [decided(at=ago(seconds=1))])

    append(url, signer=renewed)

    assert problems(verified(url, keys=KEYS | {renewed.verifier_key()})) == []
    assert problems(verified(url, keys=frozenset({renewed.verifier_key()}))) == [("checkpoint wrong", "")]


def test_only_the_review_login_writes_the_log_and_no_login_changes_a_hash(url: str) -> None:
    """Workers read nothing of it."""
    logged(url)
    denied = {
        "hushgate_worker": "SELECT 1 FROM audit_log_leaves",
        "hushgate_reviewer": "UPDATE audit_log_leaves SET hash = ''",
    }
    for role, statement in denied.items():
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"SET ROLE {role}".encode())
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.encode())


@pytest.fixture
def shell(url: str, tmp_path: Path) -> Shell:
    """A shell with a key."""
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "DATABASE_URL": url,
        "HUSHGATE_AUDIT_LOG_KEY": new_key(),
    }
    return Shell(environment=environment, folder=tmp_path)


def script(shell: Shell, name: str, text: str, key: str) -> tuple[int, str]:
    """The verifier that others run, on a file with this text."""
    (shell.folder / name).write_text(text, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, str(SCRIPT), name, key],
        cwd=shell.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_others_verify_an_export_and_a_proof_with_one_script(url: str, shell: Shell) -> None:
    """Without our code; a changed word in either is found."""
    made = [decided(at=ago(seconds=2), user_id="mine"), decided(at=ago(seconds=1), user_id="theirs")]
    store(url, made)
    assert shell.run("audit-log", "append").code == 0

    exported = shell.run("audit-log", "export", "--account", "mine", "--output", "-").out
    proof = shell.run("audit-log", "prove", str(made[1].decision_id)).out
    key = json.loads(proof)["verifier_key"]

    assert script(shell, "log.ndjson", exported, key) == (0, "1 rows verified in a log of 2 leaves\n")
    assert script(shell, "proof.json", proof, key) == (0, "1 rows verified in a log of 2 leaves\n")
    assert "theirs" not in exported
    code, said = script(shell, "log.ndjson", exported.replace("mine", "ours"), key)
    assert (code, said) == (1, "not verified: position 0: the row does not fit its hash\n")
    code, said = script(shell, "cut.ndjson", "".join(exported.splitlines(keepends=True)[:-1]), key)
    assert (code, said) == (1, "not verified: expected the leaves 0 to 1, got 1\n")


def test_the_commands_say_what_is_wrong(url: str, shell: Shell) -> None:
    """No key, an id without a leaf, an empty log, a changed row."""
    unknown = "01a20038-0a4e-7283-be93-352da35370fd"
    assert shell.run("audit-log", "append", env={"HUSHGATE_AUDIT_LOG_KEY": None}).code == 3
    assert shell.run("audit-log", "prove", unknown).code == 1
    assert shell.run("audit-log", "export", "--output", "-").code == 1

    made = logged_by(shell, url)
    assert shell.run("audit-log", "verify").code == 0
    change(url, *changed_row(made))
    ended = shell.run("audit-log", "verify")

    assert ended.code == 1
    assert [row["problem"] for row in ended.rows] == ["row changed"]


def logged_by(shell: Shell, url: str) -> Decision:
    """A decision that a command appended."""
    made = decided(at=ago(seconds=1))
    store(url, [made])
    assert shell.run("audit-log", "append").rows[0]["leaves"] == 1
    return made
