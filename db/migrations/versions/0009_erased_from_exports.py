"""Erasing a decision ends or deletes the exports that may contain it.

Law: as 0001. Only a person deletes decisions, so no running service becomes slower.
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0009"
down_revision: str | Sequence[str] | None = "0008"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

# The lock: an export that starts meanwhile would read rows not yet deleted, and would not be found here.
END_EXPORTS = """
    CREATE FUNCTION hushgate_end_exports() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        LOCK TABLE jobs IN SHARE ROW EXCLUSIVE MODE;
        UPDATE jobs SET state = 'failed', finished_at = coalesce(finished_at, now()),
            error = 'A decision that it may hold was erased. Ask for it anew.'
        WHERE kind = 'export' AND state IN ('running', 'done') AND created_at >= OLD.created_at;
        DELETE FROM job_parts p USING jobs j
        WHERE j.id = p.job_id AND j.kind = 'export' AND j.created_at >= OLD.created_at;
        RETURN NULL;
    END $$
"""


def upgrade() -> None:
    """Create the trigger on deletions."""
    op.execute(END_EXPORTS)
    op.execute(
        "CREATE TRIGGER end_exports AFTER DELETE ON ai_decisions"
        " FOR EACH ROW EXECUTE FUNCTION hushgate_end_exports()"
    )


def downgrade() -> None:
    """Drop the trigger."""
    op.execute("DROP TRIGGER end_exports ON ai_decisions")
    op.execute("DROP FUNCTION hushgate_end_exports")
