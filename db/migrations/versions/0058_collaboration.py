"""Notes, tags, comments, mentions, assignments, presence and digests, with their retention and erasure.

Law: as 0001. The previous release ignores the tables. Functions keep their names and what they did before.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0058"
down_revision: str | Sequence[str] | None = "0057"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)
TEXT = sa.Text()
TABLES = (
    "subject_notes", "subject_tags", "decision_comments", "comment_mentions", "decision_assignments",
    "decision_presence", "digests",
)  # fmt: skip
GRANTS = (
    "GRANT SELECT, INSERT ON subject_notes TO hushgate_reviewer",
    "GRANT SELECT, INSERT, DELETE ON subject_tags TO hushgate_reviewer",
    "GRANT SELECT, INSERT, UPDATE (text, withdrawn_at) ON decision_comments TO hushgate_reviewer",
    "GRANT SELECT, INSERT, DELETE, UPDATE (seen_at) ON comment_mentions TO hushgate_reviewer",
    "GRANT SELECT, INSERT, UPDATE ON decision_assignments, digests TO hushgate_reviewer",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON decision_presence TO hushgate_reviewer",
)
HELD_SUBJECT = """hushgate_is_held(t.user_id, NULL, CASE t.kind WHEN 'conversation' THEN t.subject END,
            CASE t.kind WHEN 'author' THEN t.subject END)"""
SWEEP_BEFORE = "    ('jobs', 'id', 'uuid',"
SWEPT = f"""    ('decision_comments', 'id', 'uuid', 'decision_at', '28 days', 'true',
        'hushgate_is_held(t.user_id, t.decision_id, NULL, NULL)'),
    ('decision_assignments', 'decision_id', 'uuid', 'decision_at', '28 days', 'true',
        'hushgate_is_held(t.user_id, t.decision_id, NULL, NULL)'),
    ('subject_notes', 'id', 'uuid', 'created_at', '28 days', 'true',
        '{HELD_SUBJECT.replace("'", "''")}'),
    ('subject_tags', 'id', 'bigint', 'added_at', '28 days', 'true',
        '{HELD_SUBJECT.replace("'", "''")}'),
"""
OF_SUBJECT = """t.user_id = e.user_id AND (e.kind = 'account'
                OR t.kind = 'author' AND e.kind = 'author' AND t.subject = e.subject
                OR t.kind = 'conversation' AND t.subject = ANY({places}))
"""
PREVIEW_TABLES = "'quarantine', 'held_drafts',"
PREVIEW_BEFORE = "        SELECT counts || jsonb_build_object('conversations', count(*)) INTO counts"
PREVIEW = "".join(
    f"        SELECT counts || jsonb_build_object('{name}', count(*)) INTO counts FROM {name} t\n"
    f"        WHERE {OF_SUBJECT.format(places='conversations')}            AND NOT {HELD_SUBJECT};\n"
    for name in ("subject_notes", "subject_tags")
)
COPIES_BEFORE = "        DELETE FROM quarantine t WHERE t.decision_id = ANY(ids);\n"
COPIES = """        DELETE FROM decision_comments t WHERE t.decision_id = ANY(ids);
        GET DIAGNOSTICS gone = ROW_COUNT;
        counts := counts || jsonb_build_object('decision_comments', gone);
        UPDATE decision_assignments t SET done_at = now() WHERE t.decision_id = ANY(ids) AND t.done_at IS NULL;
        DELETE FROM decision_presence t WHERE t.decision_id = ANY(ids);
"""
ROWS_BEFORE = "        -- relays wait from here on\n"
ROWS = "".join(
    f"        DELETE FROM {name} t\n"
    f"        WHERE {OF_SUBJECT.format(places='places')}            AND NOT {HELD_SUBJECT};\n"
    "        GET DIAGNOSTICS gone = ROW_COUNT;\n"
    f"        counts := counts || jsonb_build_object('{name}', gone);\n"
    for name in ("subject_notes", "subject_tags")
)
FUNCTIONS = (
    ("hushgate_sweep_rows", SWEEP_BEFORE, SWEPT + SWEEP_BEFORE),
    ("hushgate_retention_due", SWEEP_BEFORE, SWEPT + SWEEP_BEFORE),
    ("hushgate_preview_erasure", PREVIEW_TABLES, f"{PREVIEW_TABLES} 'decision_comments',"),
    ("hushgate_preview_erasure", PREVIEW_BEFORE, PREVIEW + PREVIEW_BEFORE),
    ("hushgate_erase_copies", COPIES_BEFORE, COPIES + COPIES_BEFORE),
    ("hushgate_erase_rows", ROWS_BEFORE, ROWS + ROWS_BEFORE),
)
"""Function, a part of its text, and what stands there instead."""


def upgrade() -> None:
    """Add the tables, and their places in sweep and erasure."""
    _create_subjects()
    _create_comments()
    _create_assignments()
    _create_digests()
    for statement in GRANTS:
        op.execute(statement)
    for name, before, after in FUNCTIONS:
        _change_function(name, before, after)


def downgrade() -> None:
    """Take them back."""
    for name, before, after in reversed(FUNCTIONS):
        _change_function(name, after, before)
    for name in reversed(TABLES):
        op.drop_table(name)


def _change_function(name: str, before: str, after: str) -> None:
    """Replace one part of a function's text; its rights stay."""
    connection = op.get_bind()
    query = sa.text("SELECT pg_get_functiondef(to_regproc(:name))")
    found = connection.execute(query, {"name": name}).scalar_one()
    if found.count(before) != 1:
        raise RuntimeError(f"{name}: expected one place with {before.strip()!r}, got {found.count(before)}")
    connection.exec_driver_sql(found.replace(before, after).replace("%", "%%"))


def _column(name: str, kind: object, comment: str | None = None, **options: object) -> sa.Column[object]:
    return sa.Column(name, kind, nullable=False, comment=comment, **options)  # type: ignore[arg-type]


def _now(name: str) -> sa.Column[object]:
    return _column(name, TIME, server_default=sa.text("now()"))


def _index(name: str, *columns: str, where: str = "") -> None:
    table = name.removeprefix("ix_")
    table = next(each for each in TABLES if table.startswith(each))
    condition = sa.text(where) if where else None
    op.create_index(name, table, list(columns), unique=False, postgresql_where=condition)


def _person(table: str, name: str = "person_id") -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([name], ["people.id"], name=op.f(f"fk_{table}_{name}_people"))


def _create_subjects() -> None:
    known = "kind IN ('author', 'conversation')"
    of_subject = (
        ("user_id", "the account"),
        ("kind", "author or conversation"),
        ("subject", "the id of the author or conversation"),
    )
    op.create_table(
        "subject_notes",
        _column("id", sa.Uuid(), "UUIDv7"),
        *(_column(name, TEXT, comment) for name, comment in of_subject),
        _column("text", TEXT),
        _column("person", TEXT, "login at that time"),
        _now("created_at"),
        sa.CheckConstraint(known, name=op.f("ck_subject_notes_kind_known")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_subject_notes")),
        comment="notes of reviewers about an author or a conversation: append-only",
    )
    _index("ix_subject_notes_subject", "user_id", "kind", "subject", "id")
    op.create_table(
        "subject_tags",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        *(_column(name, TEXT, comment) for name, comment in of_subject),
        _column("tag", TEXT),
        _column("added_by", TEXT, "login at that time"),
        _now("added_at"),
        sa.CheckConstraint(known, name=op.f("ck_subject_tags_kind_known")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_subject_tags")),
        sa.UniqueConstraint(
            "user_id", "kind", "subject", "tag", name=op.f("uq_subject_tags_user_id_kind_subject_tag")
        ),
        comment="tags of an author or a conversation",
    )


def _create_comments() -> None:
    op.create_table(
        "decision_comments",
        _column("id", sa.Uuid(), "UUIDv7"),
        _column("decision_id", sa.Uuid()),
        _column("decision_at", TIME, "created_at of the decision"),
        _column("user_id", TEXT, "the account"),
        _column("person_id", sa.Uuid()),
        _column("person", TEXT, "login at that time"),
        _column("text", TEXT),
        _now("created_at"),
        sa.Column("withdrawn_at", TIME, comment="by its author"),
        _person("decision_comments"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decision_comments")),
        comment="comments of people on a decision: append-only; a withdrawn one has no text",
    )
    _index("ix_decision_comments_decision", "decision_id", "id")
    op.create_table(
        "comment_mentions",
        _column("comment_id", sa.Uuid()),
        _column("person_id", sa.Uuid()),
        _column("user_id", TEXT, "the account of the decision"),
        sa.Column("seen_at", TIME, comment="when the person opened the decision; null: unread"),
        sa.ForeignKeyConstraint(
            ["comment_id"],
            ["decision_comments.id"],
            name=op.f("fk_comment_mentions_comment_id_decision_comments"),
            ondelete="CASCADE",
        ),
        _person("comment_mentions"),
        sa.PrimaryKeyConstraint("comment_id", "person_id", name=op.f("pk_comment_mentions")),
        comment="people that a comment mentions",
    )
    _index("ix_comment_mentions_person", "person_id", "comment_id")
    _index("ix_comment_mentions_unread", "person_id", "user_id", where="seen_at IS NULL")


def _create_assignments() -> None:
    op.create_table(
        "decision_assignments",
        _column("decision_id", sa.Uuid()),
        _column("decision_at", TIME, "created_at of the decision"),
        _column("user_id", TEXT, "the account"),
        sa.Column("person_id", sa.Uuid(), comment="null: no one any more"),
        sa.Column("before", sa.Uuid(), comment="who had it before the last change"),
        _column("change", sa.Uuid(), "the last change; detects a stale undo"),
        _column("assigned_by", TEXT, "login"),
        _now("assigned_at"),
        sa.Column("done_at", TIME, comment="when it was reviewed"),
        sa.Column("review_id", sa.Uuid(), comment="the review that ended it"),
        _person("decision_assignments"),
        _person("decision_assignments", "before"),
        sa.PrimaryKeyConstraint("decision_id", name=op.f("pk_decision_assignments")),
        comment="who should review a decision: one row per decision that was assigned",
    )
    _index("ix_decision_assignments_open", "person_id", "assigned_at", where="done_at IS NULL")
    _index("ix_decision_assignments_review", "review_id", where="review_id IS NOT NULL")
    op.create_table(
        "decision_presence",
        _column("decision_id", sa.Uuid()),
        _column("person_id", sa.Uuid()),
        _column("seen_at", TIME),
        _person("decision_presence"),
        sa.PrimaryKeyConstraint("decision_id", "person_id", name=op.f("pk_decision_presence")),
        comment="who has a decision's page open; a row ends by its age and is deleted soon after",
    )
    _index("ix_decision_presence_seen_at", "seen_at")


def _create_digests() -> None:
    op.create_table(
        "digests",
        _column("person_id", sa.Uuid()),
        _column("period", TEXT, "off, daily or weekly"),
        _column("channel", TEXT, "mail or webhook"),
        _column("address", TEXT, "an e-mail address or a URL"),
        sa.Column("secret", TEXT, comment="of the webhook's signature"),
        sa.Column("due_at", TIME, comment="the next one; null with off"),
        sa.Column("claimed_until", TIME, comment="a process sends it now"),
        _column("attempts", sa.Integer(), "of the one that is due", server_default=sa.text("0")),
        sa.Column("sent_at", TIME, comment="when the last one was sent"),
        sa.Column("problem", TEXT, comment="why the last attempt failed, as a code; null: it did not"),
        _now("changed_at"),
        sa.CheckConstraint("period IN ('off', 'daily', 'weekly')", name=op.f("ck_digests_period_known")),
        sa.CheckConstraint("channel IN ('mail', 'webhook')", name=op.f("ck_digests_channel_known")),
        _person("digests"),
        sa.PrimaryKeyConstraint("person_id", name=op.f("pk_digests")),
        comment="the regular summary that a person ordered",
    )
    _index("ix_digests_due_at", "due_at", where="due_at IS NOT NULL")
