"""A decision that is erased on request leaves the exports that may hold it, finished or under way.

Law: as 0001. Deleting is what a person does by hand, so nothing that runs becomes slower.
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0009"
down_revision: str | Sequence[str] | None = "0008"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

# The lock: an export that begins meanwhile would read what is not deleted yet, and be seen by nobody here.
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
    """Watch deletions."""
    op.execute(END_EXPORTS)
    op.execute(
        "CREATE TRIGGER end_exports AFTER DELETE ON ai_decisions"
        " FOR EACH ROW EXECUTE FUNCTION hushgate_end_exports()"
    )


def downgrade() -> None:
    """Leave exports alone."""
    op.execute("DROP TRIGGER end_exports ON ai_decisions")
    op.execute("DROP FUNCTION hushgate_end_exports")
