"""Golden sets: labelled messages of an account, and the results of evaluations on them.

Law: as 0001. The previous release has no golden sets. Functions keep their names and what they did before.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0077"
down_revision: str | Sequence[str] | None = "0082"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)
GRANTS = (
    "GRANT SELECT, INSERT, DELETE ON golden_sets, golden_set_items TO hushgate_reviewer",
    "GRANT UPDATE (purpose, version, changed_at) ON golden_sets TO hushgate_reviewer",
    "GRANT SELECT, INSERT ON golden_runs TO hushgate_reviewer",
)
HELD = "hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, t.author_id)"
SWEEP_BEFORE = "    ('jobs', 'id', 'uuid',"
SWEPT = f"""    ('golden_set_items', 'id', 'uuid', 'recorded_at', '28 days', 'true',
        '{HELD}'),
"""
PREVIEW_BEFORE = "'quarantine', 'held_drafts',"
# An item has lines of the conversation's other authors, as a recording has them.
COPIES_BEFORE = "        DELETE FROM golden_items t WHERE t.decision_id = ANY(ids);\n"
COPIES = f"""        DELETE FROM golden_set_items t WHERE t.decision_id = ANY(ids)
            OR t.user_id = account AND t.conversation_id = ANY(places) AND NOT {HELD};
        GET DIAGNOSTICS gone = ROW_COUNT;
        counts := counts || jsonb_build_object('golden_set_items', gone);
"""
# Imported rows have no decision, and items outlive the decisions of months that retention deleted.
ROWS_BEFORE = "        DELETE FROM outgoing_events o\n        WHERE o.user_id = e.user_id AND NOT hushgate_event_is_held"
ROWS = f"""        DELETE FROM golden_set_items t
        WHERE t.user_id = e.user_id AND t.created_at <= e.started_at AND (e.kind = 'account'
                OR t.conversation_id = ANY(places) OR e.kind = 'author' AND t.author_id = e.subject
                OR e.kind = 'conversation' AND t.conversation_id = e.subject)
            AND NOT {HELD};
        GET DIAGNOSTICS gone = ROW_COUNT;
        counts := counts || jsonb_build_object('golden_set_items',
            gone + coalesce((counts ->> 'golden_set_items')::bigint, 0));
"""
EXPIRE_BEFORE = "AND h.expires_at > moment;\n"
EXPIRE = f"""        DELETE FROM golden_set_items t
        WHERE t.user_id = account AND t.conversation_id = conversation AND t.recorded_at < moment
            AND NOT {HELD};
"""
FUNCTIONS = (
    ("hushgate_expire_held_drafts", EXPIRE_BEFORE, EXPIRE_BEFORE + EXPIRE),
    ("hushgate_sweep_rows", SWEEP_BEFORE, SWEPT + SWEEP_BEFORE),
    ("hushgate_retention_due", SWEEP_BEFORE, SWEPT + SWEEP_BEFORE),
    ("hushgate_preview_erasure", PREVIEW_BEFORE, f"{PREVIEW_BEFORE} 'golden_set_items',"),
    ("hushgate_erase_rows", ROWS_BEFORE, ROWS + ROWS_BEFORE),
    ("hushgate_erase_copies", COPIES_BEFORE, COPIES + COPIES_BEFORE),
)
"""Function, a part of its text, and what stands there instead."""


def upgrade() -> None:
    """Add the tables, and the place of the items in sweep and erasure."""
    _create_sets()
    _create_items()
    _create_runs()
    for statement in GRANTS:
        op.execute(statement)
    for name, before, after in FUNCTIONS:
        _change_function(name, before, after)


def downgrade() -> None:
    """Take them back."""
    for name, before, after in FUNCTIONS:
        _change_function(name, after, before)
    for name in ("golden_runs", "golden_set_items", "golden_sets"):
        op.drop_table(name)


def _change_function(name: str, before: str, after: str) -> None:
    """Replace one part of a function's text; its rights stay."""
    connection = op.get_bind()
    query = sa.text("SELECT pg_get_functiondef(to_regproc(:name))")
    found = connection.execute(query, {"name": name}).scalar_one()
    if found.count(before) != 1:
        raise RuntimeError(f"{name}: expected one place with {before.strip()!r}, got {found.count(before)}")
    connection.exec_driver_sql(found.replace(before, after).replace("%", "%%"))


def _required(name: str, kind: Any, comment: str | None = None, **more: Any) -> "sa.Column[Any]":
    return sa.Column(name, kind, nullable=False, comment=comment, **more)


def _of_set(name: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["set_id"], ["golden_sets.id"], name=op.f(name), ondelete="CASCADE")


def _create_sets() -> None:
    op.create_table(
        "golden_sets",
        _required("id", sa.Uuid(), "UUIDv7"),
        _required("user_id", sa.Text(), "the account"),
        _required("name", sa.Text(), "unique in the account"),
        _required("purpose", sa.Text(), "what it is for, in a person's words", server_default=""),
        _required("version", sa.Integer(), "counts changes of its items", server_default=sa.text("1")),
        _required("created_by", sa.Text(), "login at that time"),
        _required("created_at", TIME, server_default=sa.text("now()")),
        _required("changed_at", TIME, "of its items", server_default=sa.text("now()")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_golden_sets")),
        sa.UniqueConstraint("user_id", "name", name=op.f("uq_golden_sets_user_id_name")),
        comment="sets of labelled messages, on which settings and models are evaluated",
    )


def _create_items() -> None:
    table, text = "golden_set_items", sa.Text()
    op.create_table(
        table,
        _required("id", sa.Uuid(), "UUIDv7"),
        _required("set_id", sa.Uuid()),
        _required("user_id", text, "the account"),
        _required("row_id", text, "of its decision or its imported row; unique in the set"),
        _required("source", text, "decision, import or edited_draft"),
        sa.Column("decision_id", sa.Uuid(), comment="null: an imported row"),
        *(_required(name, text) for name in ("conversation_id", "author_id")),
        _required("expected", text, "answer or silent"),
        sa.Column("expected_reason", text, comment="reason code of a silent decision; null: any"),
        _required("labelled_by", text, "people whose rulings or texts are the label"),
        _required("content", JSONB(), "texts, see worker/evaluation/items.py"),
        _required("recorded_at", TIME, "of the decision; of an imported row when it was imported"),
        _required("created_at", TIME, server_default=sa.text("now()")),
        sa.CheckConstraint(
            "source IN ('decision', 'import', 'edited_draft')", name=op.f(f"ck_{table}_source_known")
        ),
        sa.CheckConstraint("expected IN ('answer', 'silent')", name=op.f(f"ck_{table}_expected_known")),
        sa.CheckConstraint(
            "(source = 'import') = (decision_id IS NULL)", name=op.f(f"ck_{table}_decision_unless_imported")
        ),
        _of_set(f"fk_{table}_set_id_golden_sets"),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
        sa.UniqueConstraint("set_id", "row_id", name=op.f(f"uq_{table}_set_id_row_id")),
        comment="labelled messages with their history and passages; sealed as recordings are",
    )
    op.create_index("ix_golden_set_items_decision", table, ["decision_id"])
    op.create_index("ix_golden_set_items_conversation", table, ["user_id", "conversation_id"])


def _create_runs() -> None:
    op.create_table(
        "golden_runs",
        _required("id", sa.Uuid(), "UUIDv7"),
        _required("set_id", sa.Uuid()),
        _required("set_version", sa.Integer()),
        _required("user_id", sa.Text(), "the account"),
        _required("arms", JSONB(), "a list of settings, model and figures"),
        _required("made_by", sa.Text(), "login at that time"),
        _required("made_at", TIME),
        _of_set("fk_golden_runs_set_id_golden_sets"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_golden_runs")),
        comment="results of evaluations, without texts: append-only",
    )
    op.create_index("ix_golden_runs_set", "golden_runs", ["set_id", "id"])
