"""Recordings of decisions, and candidates: settings that are not in force.

Law: as 0001. The previous release writes no recordings; its decisions cannot be replayed. Functions keep their
names and what they did before.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0063"
down_revision: str | Sequence[str] | None = "0062"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)
GRANTS = (
    "GRANT INSERT ON recordings TO hushgate_worker",
    "GRANT SELECT ON recordings TO hushgate_reviewer",
    "GRANT SELECT, INSERT ON candidates TO hushgate_reviewer",
    "GRANT SELECT ON candidates TO hushgate_worker",
    "GRANT UPDATE (withdrawn_at) ON candidates TO hushgate_reviewer",
)
SWEEP_BEFORE = "    ('jobs', 'id', 'uuid',"
SWEPT = """    ('recordings', 'decision_id', 'uuid', 'created_at', '23 hours', 'true',
        'hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, t.author_id)'),
"""
PREVIEW_BEFORE = "'quarantine', 'held_drafts',"
LEFT_OVER_BEFORE = """            UNION ALL SELECT user_id, decision_id, conversation_id, opened_at, author_id FROM escalations
"""
LEFT_OVER = """            UNION ALL SELECT user_id, decision_id, conversation_id, created_at, author_id FROM recordings
"""
# A recording has lines of the conversation, so those of its other authors go as well; likewise when an author
# deletes a message.
COPIES_BEFORE = "        DELETE FROM golden_items t WHERE t.decision_id = ANY(ids);\n"
COPIES = """        DELETE FROM recordings t WHERE t.decision_id = ANY(ids) OR t.decision_id IN (
            SELECT d.id FROM ai_decisions d WHERE d.user_id = account AND d.conversation_id = ANY(places)
                AND NOT hushgate_is_held(d.user_id, d.id, d.conversation_id, d.author_id));
        GET DIAGNOSTICS gone = ROW_COUNT;
        counts := counts || jsonb_build_object('recordings', gone);
"""
EXPIRE_BEFORE = "AND h.expires_at > moment"
EXPIRE = """;
        DELETE FROM recordings r USING ai_decisions d
        WHERE d.user_id = account AND d.conversation_id = conversation AND d.created_at < moment
            AND r.decision_id = d.id AND NOT hushgate_is_held(d.user_id, d.id, d.conversation_id, d.author_id)"""
FUNCTIONS = (
    ("hushgate_expire_held_drafts", EXPIRE_BEFORE, EXPIRE_BEFORE + EXPIRE),
    ("hushgate_sweep_rows", SWEEP_BEFORE, SWEPT + SWEEP_BEFORE),
    ("hushgate_retention_due", SWEEP_BEFORE, SWEPT + SWEEP_BEFORE),
    ("hushgate_preview_erasure", PREVIEW_BEFORE, f"{PREVIEW_BEFORE} 'recordings',"),
    ("hushgate_erase_rows", LEFT_OVER_BEFORE, LEFT_OVER_BEFORE + LEFT_OVER),
    ("hushgate_erase_copies", COPIES_BEFORE, COPIES + COPIES_BEFORE),
)
"""Function, a part of its text, and what stands there instead."""


def upgrade() -> None:
    """Add the tables, the setting, and the places of recordings in sweep and erasure."""
    op.add_column(
        "ai_rules",
        sa.Column(
            "record_answers",
            sa.Boolean(),
            server_default=sa.text("true"),
            nullable=False,
            comment="decisions can be replayed",
        ),
    )
    _create_recordings()
    _create_candidates()
    for statement in GRANTS:
        op.execute(statement)
    for name, before, after in FUNCTIONS:
        _change_function(name, before, after)


def downgrade() -> None:
    """Take them back."""
    for name, before, after in FUNCTIONS:
        _change_function(name, after, before)
    op.drop_table("candidates")
    op.drop_table("recordings")
    op.drop_column("ai_rules", "record_answers")


def _change_function(name: str, before: str, after: str) -> None:
    """Replace one part of a function's text; its rights stay."""
    connection = op.get_bind()
    query = sa.text("SELECT pg_get_functiondef(to_regproc(:name))")
    found = connection.execute(query, {"name": name}).scalar_one()
    if found.count(before) != 1:
        raise RuntimeError(f"{name}: expected one place with {before.strip()!r}, got {found.count(before)}")
    connection.exec_driver_sql(found.replace(before, after).replace("%", "%%"))


def _create_recordings() -> None:
    op.create_table(
        "recordings",
        sa.Column("decision_id", sa.Uuid(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("user_id", "conversation_id", "author_id")),
        sa.Column("created_at", TIME, nullable=False, comment="of the decision"),
        sa.Column(
            "overtaken",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="people took the conversation before the commit, which discarded the reply",
        ),
        sa.Column("data", sa.LargeBinary(), nullable=False, comment="see worker/replay/stored.py"),
        sa.PrimaryKeyConstraint("decision_id", name=op.f("pk_recordings")),
        comment="what the ports answered for a decision, sealed: the worker may write here and never read",
    )


def _create_candidates() -> None:
    text = sa.Text()
    op.create_table(
        "candidates",
        sa.Column("id", sa.Uuid(), nullable=False, comment="UUIDv7"),
        sa.Column("user_id", text, nullable=False, comment="the account"),
        sa.Column(
            "base_version",
            sa.Integer(),
            nullable=False,
            comment="of ai_rules, which the changes were made from",
        ),
        sa.Column(
            "changes",
            JSONB(),
            nullable=False,
            comment="setting -> value, as worker.account_settings.changed takes it",
        ),
        sa.Column("note", text, server_default="", nullable=False, comment="why, in a person's words"),
        sa.Column("source", text, nullable=False, comment="person, calibration, suggestion or adaptive"),
        sa.Column("created_by", text, nullable=False, comment="login at that time; a job: its name"),
        sa.Column("created_at", TIME, server_default=sa.text("now()"), nullable=False),
        sa.Column("withdrawn_at", TIME, comment="null: it may be tried"),
        sa.CheckConstraint(
            "source IN ('person', 'calibration', 'suggestion', 'adaptive')",
            name=op.f("ck_candidates_source_known"),
        ),
        sa.CheckConstraint(
            "jsonb_typeof(changes) = 'object' AND changes <> '{}'",
            name=op.f("ck_candidates_changes_are_some"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_candidates")),
        comment="changes of an account's settings that are not in force",
    )
    op.create_index("ix_candidates_account", "candidates", ["user_id", "id"])
