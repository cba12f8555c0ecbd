"""A dead letter of an event takes the event's key, so that no other run of the entry can decide it.

Law: as 0001. The previous release reads only the entries of keys, and writes a decision with each key.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0013"
down_revision: str | Sequence[str] | None = "0012"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

FUNCTIONS = (
    """
    CREATE FUNCTION hushgate_take_over_key(
        account text, event text, entry text, decision uuid, moment timestamptz) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
        UPDATE event_keys SET entry_id = entry, decision_id = decision, created_at = moment
        WHERE user_id = account AND event_id = event AND decision_id IS NULL AND entry_id <> entry;
        RETURN FOUND;
    END $$
    """,
    """
    CREATE FUNCTION hushgate_key_of_buried_gone() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO purged AS p (table_name, rows) VALUES ('event_keys', -1)
            ON CONFLICT ON CONSTRAINT pk_purged DO UPDATE SET rows = p.rows - 1;
        RETURN NULL;
    END $$
    """,
    """
    CREATE TRIGGER key_of_buried_gone AFTER DELETE ON event_keys
        FOR EACH ROW WHEN (OLD.decision_id IS NULL) EXECUTE FUNCTION hushgate_key_of_buried_gone()
    """,
    # pg_temp last: a temporary table must not replace one of ours under the owner's rights
    """
    DO $$
    DECLARE
        name text;
    BEGIN
        FOREACH name IN ARRAY ARRAY[
            'hushgate_take_over_key(text, text, text, uuid, timestamptz)', 'hushgate_key_of_buried_gone()']
        LOOP
            EXECUTE format(
                'ALTER FUNCTION %s SET search_path = pg_catalog, %I, pg_temp', name, current_schema());
        END LOOP;
    END $$
    """,
    "REVOKE ALL ON FUNCTION hushgate_take_over_key, hushgate_key_of_buried_gone FROM PUBLIC",
    "GRANT EXECUTE ON FUNCTION hushgate_take_over_key TO hushgate_worker",
    "GRANT SELECT (entry_id) ON dead_letters TO hushgate_worker",
)


def upgrade() -> None:
    """Allow keys without a decision; they are counted with their dead letters, not again when they are swept."""
    op.alter_column(
        "event_keys",
        "decision_id",
        existing_type=sa.Uuid(),
        nullable=True,
        comment="NULL: the entry is a dead letter",
    )
    op.alter_column(
        "event_keys",
        "entry_id",
        existing_type=sa.Text(),
        existing_nullable=False,
        comment="the stream entry that was decided or buried",
        existing_comment="the stream entry that was decided",
    )
    op.create_table_comment(
        "event_keys",
        "idempotency: which events have their decision or dead letter",
        existing_comment="idempotency: which events have their decision",
    )
    for statement in FUNCTIONS:
        op.execute(statement)


def downgrade() -> None:
    """Delete the keys of dead letters."""
    op.execute("DROP TRIGGER key_of_buried_gone ON event_keys")
    op.execute("DROP FUNCTION hushgate_key_of_buried_gone, hushgate_take_over_key")
    op.execute("REVOKE SELECT (entry_id) ON dead_letters FROM hushgate_worker")
    op.execute("DELETE FROM event_keys WHERE decision_id IS NULL")
    op.alter_column("event_keys", "decision_id", existing_type=sa.Uuid(), nullable=False, comment=None)
    op.alter_column(
        "event_keys",
        "entry_id",
        existing_type=sa.Text(),
        existing_nullable=False,
        comment="the stream entry that was decided",
    )
    op.create_table_comment("event_keys", "idempotency: which events have their decision")
