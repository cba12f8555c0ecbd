"""Legal holds, and how long an account keeps flagged exchanges.

Law: as 0001. The new column has a constant default: the previous release continues to work.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0044"
down_revision: str | Sequence[str] | None = "0041"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)
PATH = "SET search_path = pg_catalog, {schema}, pg_temp"
FUNCTIONS = (
    # The time inside a UUIDv7.
    """
    CREATE FUNCTION {schema}.hushgate_uuid_time(id uuid) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE STRICT {path} AS $$
        SELECT to_timestamp(
            ('x' || lpad(left(replace(id::text, '-', ''), 12), 16, '0'))::bit(64)::bigint / 1000.0)
    $$
    """,
    # The ways in which JSON may write a text, with its quotes.
    """
    CREATE FUNCTION {schema}.hushgate_json_forms(subject text) RETURNS bytea[]
    LANGUAGE plpgsql IMMUTABLE STRICT {path} AS $$
    DECLARE
        whole text := to_json(subject)::text;
        escaped text := '';
        each text;
        code integer;
    BEGIN
        FOREACH each IN ARRAY string_to_array(whole, NULL) LOOP
            code := ascii(each);
            escaped := escaped || CASE
                WHEN code < 128 THEN each
                WHEN code < 65536 THEN '\\u' || lpad(to_hex(code), 4, '0')
                ELSE '\\u' || to_hex(55296 + ((code - 65536) >> 10))
                     || '\\u' || to_hex(56320 + ((code - 65536) & 1023)) END;
        END LOOP;
        RETURN ARRAY[convert_to(whole, 'UTF8'), convert_to(escaped, 'UTF8')];
    END $$
    """,
    """
    CREATE FUNCTION {schema}.hushgate_in_payload(payload bytea, subject text) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT {path} AS $$
        SELECT coalesce(bool_or(position(form in payload) > 0), false)
        FROM unnest(hushgate_json_forms(subject)) AS form
    $$
    """,
    # True of a row that a hold in force covers. An answer of a person belongs to the decision that it answers.
    """
    CREATE FUNCTION {schema}.hushgate_is_held(account text, decision uuid, conversation text, author text)
    RETURNS boolean LANGUAGE plpgsql STABLE {path} AS $$
    DECLARE
        subject_id uuid := decision;
        found record;
    BEGIN
        IF NOT EXISTS (SELECT FROM legal_holds h WHERE h.user_id = account AND h.released_at IS NULL
                       AND (h.until IS NULL OR h.until > now())) THEN
            RETURN false;
        END IF;
        SELECT coalesce((SELECT a.decision_id FROM answers a WHERE a.id = decision), decision)
            INTO subject_id;
        SELECT d.conversation_id, d.author_id INTO found FROM ai_decisions d
        WHERE d.id = subject_id AND d.user_id = account
            AND d.created_at BETWEEN hushgate_uuid_time(subject_id) - interval '2 milliseconds'
                                 AND hushgate_uuid_time(subject_id) + interval '2 milliseconds';
        RETURN EXISTS (
            SELECT FROM legal_holds h
            WHERE h.user_id = account AND h.released_at IS NULL AND (h.until IS NULL OR h.until > now())
                AND CASE h.kind
                    WHEN 'decision' THEN h.subject = subject_id::text
                    WHEN 'conversation' THEN
                        h.subject IN (nullif(conversation, ''), nullif(found.conversation_id, ''))
                    ELSE h.subject IN (nullif(author, ''), nullif(found.author_id, '')) END);
    END $$
    """,
    # True of a payload that names what a hold covers; a dead letter has no columns for it.
    """
    CREATE FUNCTION {schema}.hushgate_payload_is_held(payload bytea) RETURNS boolean
    LANGUAGE sql STABLE {path} AS $$
        SELECT EXISTS (
            SELECT FROM legal_holds h
            WHERE h.kind <> 'decision' AND h.released_at IS NULL AND (h.until IS NULL OR h.until > now())
                AND hushgate_in_payload(payload, h.user_id) AND hushgate_in_payload(payload, h.subject))
    $$
    """,
)
NAMES = (
    "hushgate_payload_is_held(bytea)",
    "hushgate_is_held(text, uuid, text, text)",
    "hushgate_in_payload(bytea, text)",
    "hushgate_json_forms(text)",
    "hushgate_uuid_time(uuid)",
)
GRANTS = ("GRANT SELECT, INSERT, UPDATE (released_at, released_by) ON legal_holds TO hushgate_reviewer",)


def upgrade() -> None:
    """Add the table, its functions and the setting."""
    op.create_table(
        "legal_holds",
        sa.Column("id", sa.Uuid(), nullable=False, comment="UUIDv7"),
        sa.Column("user_id", sa.Text(), nullable=False, comment="the account"),
        sa.Column("kind", sa.Text(), nullable=False, comment="decision, conversation or author"),
        sa.Column("subject", sa.Text(), nullable=False, comment="the id; empty: erased after the hold ended"),
        sa.Column("reason", sa.Text(), nullable=False, comment="why, in the words of the person"),
        sa.Column("placed_by", sa.Text(), nullable=False, comment="login, or command line"),
        sa.Column("placed_at", TIME, server_default=sa.func.now(), nullable=False),
        sa.Column("until", TIME, comment="it ends then; null: when a person releases it"),
        sa.Column("released_at", TIME),
        sa.Column("released_by", sa.Text()),
        sa.CheckConstraint(
            "kind IN ('decision', 'conversation', 'author')", name=op.f("ck_legal_holds_kind_known")
        ),
        sa.CheckConstraint(
            "num_nulls(released_at, released_by) IN (0, 2)", name=op.f("ck_legal_holds_released_by_person")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_legal_holds")),
        comment="what no sweep and no erasure may delete",
    )
    op.create_index("ix_legal_holds_account", "legal_holds", ["user_id", "placed_at"])
    op.add_column(
        "ai_rules",
        sa.Column(
            "keep_quarantine_days",
            sa.DOUBLE_PRECISION(),
            server_default=sa.text("30"),
            nullable=False,
            comment="how long flagged exchanges are kept sealed",
        ),
    )
    op.create_check_constraint(
        op.f("ck_ai_rules_keep_quarantine_days_bounded"),
        "ai_rules",
        "keep_quarantine_days BETWEEN 30 AND 366",
    )
    schema = op.get_bind().execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    for function in FUNCTIONS:
        op.execute(function.format(schema=schema, path=PATH.format(schema=schema)))
    for name in NAMES:
        op.execute(f"REVOKE ALL ON FUNCTION {name} FROM PUBLIC")
    for statement in GRANTS:
        op.execute(statement)


def downgrade() -> None:
    """Drop them; nothing is held any more."""
    for name in NAMES:
        op.execute(f"DROP FUNCTION {name}")
    op.drop_column("ai_rules", "keep_quarantine_days")
    op.drop_table("legal_holds")
