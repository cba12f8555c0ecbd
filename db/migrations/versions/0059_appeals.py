"""Appeals against decisions, with their settings, retention and erasure.

Law: as 0001. The previous release cannot read the reviews that outcomes store, and knows no setting of appeals:
switch appeals on after the upgrade. Functions keep their names and what they did before.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0059"
down_revision: str | Sequence[str] | None = "0058"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)
SOURCES = "source IN ('page', 'queue', 'blind', 'golden', 'bulk', 'cli'{more})"
GROUNDS = (
    "jsonb_typeof(statement_grounds) = 'object' AND NOT jsonb_path_exists(statement_grounds,"
    " '$.* ? (@.type() <> \"string\")')"
)
GRANTS = (
    "GRANT SELECT, INSERT ON appeals TO hushgate_reviewer",
    "GRANT UPDATE (outcome, statement, decided_by, decided_at, review_id, effect) ON appeals"
    " TO hushgate_reviewer",
    "GRANT SELECT, UPDATE (settled_at) ON appeals TO hushgate_worker",
)
SWEEP_BEFORE = "    ('jobs', 'id', 'uuid',"
SWEPT = """    ('appeals', 'created_at', 'timestamptz', 'decided_at', '28 days', 't.outcome IS NOT NULL',
        'hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, t.author_id)'),
"""
PREVIEW_BEFORE = "'decision_reviews', 'golden_items'"
LEFT_OVER_BEFORE = """            UNION ALL SELECT user_id, decision_id, conversation_id, opened_at, author_id FROM escalations
"""
LEFT_OVER = """            UNION ALL SELECT user_id, decision_id, conversation_id, created_at, author_id FROM appeals
"""
COPIES_BEFORE = "        DELETE FROM golden_items t WHERE t.decision_id = ANY(ids);\n"
COPIES = """        DELETE FROM appeals t WHERE t.decision_id = ANY(ids);
        GET DIAGNOSTICS gone = ROW_COUNT;
        counts := counts || jsonb_build_object('appeals', gone);
"""
FUNCTIONS = (
    ("hushgate_sweep_rows", SWEEP_BEFORE, SWEPT + SWEEP_BEFORE),
    ("hushgate_retention_due", SWEEP_BEFORE, SWEPT + SWEEP_BEFORE),
    ("hushgate_preview_erasure", PREVIEW_BEFORE, f"{PREVIEW_BEFORE}, 'appeals'"),
    ("hushgate_erase_rows", LEFT_OVER_BEFORE, LEFT_OVER_BEFORE + LEFT_OVER),
    ("hushgate_erase_copies", COPIES_BEFORE, COPIES + COPIES_BEFORE),
)
"""Function, a part of its text, and what stands there instead."""


def upgrade() -> None:
    """Add the table, the settings, the source of reviews, and the table's places in sweep and erasure."""
    for column in _settings():
        op.add_column("ai_rules", column)
    op.create_check_constraint(
        op.f("ck_ai_rules_appeal_days_positive"), "ai_rules", "appeal_within_days > 0 AND appeal_due_days > 0"
    )
    op.create_check_constraint(op.f("ck_ai_rules_statement_grounds_are_text"), "ai_rules", GROUNDS)
    _allow_sources(", 'appeal'")
    _create_appeals()
    for statement in GRANTS:
        op.execute(statement)
    for name, before, after in FUNCTIONS:
        _change_function(name, before, after)


def downgrade() -> None:
    """Take them back; reviews that outcomes stored become reviews of the page."""
    for name, before, after in FUNCTIONS:
        _change_function(name, after, before)
    op.drop_table("appeals")
    op.execute("SET LOCAL hushgate.erasing = 'on'")
    op.execute("UPDATE decision_reviews SET source = 'page' WHERE source = 'appeal'")
    _allow_sources("")
    for name in ("appeal_days_positive", "statement_grounds_are_text"):
        op.drop_constraint(op.f(f"ck_ai_rules_{name}"), "ai_rules", type_="check")
    for column in _settings():
        op.drop_column("ai_rules", column.name)


def _allow_sources(more: str) -> None:
    check = SOURCES.format(more=more)
    op.execute("ALTER TABLE decision_reviews DROP CONSTRAINT ck_decision_reviews_source_known")
    op.execute(
        f"ALTER TABLE decision_reviews ADD CONSTRAINT ck_decision_reviews_source_known CHECK ({check}) NOT VALID"
    )
    op.execute("ALTER TABLE decision_reviews VALIDATE CONSTRAINT ck_decision_reviews_source_known")
    words = (
        "page, queue, blind, golden, bulk, cli or appeal"
        if more
        else "page, queue, blind, golden, bulk or cli"
    )
    op.execute(f"COMMENT ON COLUMN decision_reviews.source IS '{words}'")


def _change_function(name: str, before: str, after: str) -> None:
    """Replace one part of a function's text; its rights stay."""
    connection = op.get_bind()
    query = sa.text("SELECT pg_get_functiondef(to_regproc(:name))")
    found = connection.execute(query, {"name": name}).scalar_one()
    if found.count(before) != 1:
        raise RuntimeError(f"{name}: expected one place with {before.strip()!r}, got {found.count(before)}")
    connection.exec_driver_sql(found.replace(before, after).replace("%", "%%"))


def _create_appeals() -> None:
    text = sa.Text()
    op.create_table(
        "appeals",
        sa.Column("id", sa.Uuid(), nullable=False, comment="UUIDv7"),
        sa.Column("decision_id", sa.Uuid(), nullable=False),
        sa.Column("decision_at", TIME, nullable=False, comment="created_at of the decision"),
        *(
            sa.Column(name, text, nullable=False)
            for name in ("user_id", "event_id", "conversation_id", "message_id", "author_id", "scope")
        ),
        sa.Column("source", text, nullable=False, comment="api, link or page"),
        sa.Column("text", text, nullable=False, comment="why the author wants another decision"),
        sa.Column(
            "entered_by", text, nullable=False, comment="login of the person or token's owner; empty: by link"
        ),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("due_at", TIME, nullable=False, comment="until when people should decide it"),
        sa.Column("outcome", text, comment="upheld or restored; null: open"),
        sa.Column("statement", text, comment="the reasons, for the author"),
        sa.Column("decided_by", text, comment="login at that time"),
        sa.Column("decided_at", TIME),
        sa.Column(
            "review_id", sa.Uuid(), comment="the review that the outcome stored; null: the decision is gone"
        ),
        sa.Column("effect", text, comment="of the review: none, restored or removed"),
        sa.Column("settled_at", TIME, comment="the undo window is over, and the outcome was reported"),
        sa.CheckConstraint("source IN ('api', 'link', 'page')", name=op.f("ck_appeals_source_known")),
        sa.CheckConstraint("outcome IN ('upheld', 'restored')", name=op.f("ck_appeals_outcome_known")),
        sa.CheckConstraint(
            "num_nulls(outcome, statement, decided_by, decided_at, effect) IN (0, 5)",
            name=op.f("ck_appeals_decided_completely"),
        ),
        sa.CheckConstraint(
            "settled_at IS NULL OR outcome IS NOT NULL", name=op.f("ck_appeals_settled_with_outcome")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_appeals")),
        sa.UniqueConstraint("decision_id", name=op.f("uq_appeals_decision_id")),
        comment="appeals against decisions, one for each decision",
    )
    _index("ix_appeals_open", "due_at", "id", where="outcome IS NULL")
    _index("ix_appeals_to_settle", "decided_at", where="outcome IS NOT NULL AND settled_at IS NULL")
    _index("ix_appeals_created_at", "created_at", "id")
    _index("ix_appeals_review_id", "review_id", where="review_id IS NOT NULL", unique=True)


def _index(name: str, *columns: str, where: str = "", unique: bool = False) -> None:
    condition = sa.text(where) if where else None
    op.create_index(name, "appeals", list(columns), unique=unique, postgresql_where=condition)


def _settings() -> tuple[sa.Column[object], ...]:
    return (
        sa.Column("appeals_enabled", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column(
            "appeal_within_days",
            sa.Double(),
            server_default=sa.text("184"),
            nullable=False,
            comment="how long after a decision an appeal is taken",
        ),
        sa.Column(
            "appeal_due_days",
            sa.Double(),
            server_default=sa.text("14"),
            nullable=False,
            comment="how long people have to decide an appeal",
        ),
        sa.Column("statements_enabled", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column(
            "statement_grounds",
            JSONB(),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="reason code -> what a statement of reasons says, see worker/statements.py",
        ),
        sa.Column(
            "statement_countries",
            sa.ARRAY(sa.Text()),
            server_default=sa.text("'{}'::text[]"),
            nullable=False,
            comment="lower case",
        ),
    )
