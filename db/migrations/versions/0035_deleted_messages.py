"""The deletion of a message closes its escalation and expires its held drafts; flagged edits stop webhooks.

Law: as 0001. The previous release continues to work.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0035"
down_revision: str | Sequence[str] | None = "0033"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

CAUSES = ("'released', 'answered', 'idle', 'reviewed', 'replaced'", "message_deleted")
CANCEL_REASONS = (
    "'taken_over', 'too_late', 'message_deleted', 'retracted', 'reply_not_sent'",
    "message_flagged",
)
EXPIRE = """
    CREATE FUNCTION {schema}.hushgate_expire_held_drafts(
        account text, conversation text, message text, moment timestamptz)
    RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
        UPDATE {schema}.held_drafts h SET expires_at = moment
        FROM {schema}.ai_decisions d
        WHERE d.user_id = account AND d.conversation_id = conversation AND d.message_id = message
            AND h.decision_id = d.id AND h.expires_at > moment
    $$
"""


def upgrade() -> None:
    """Add a closing cause, a reason of cancelled deliveries, and a function for workers."""
    _replace("escalations", "cause", "cause_known", f"{CAUSES[0]}, '{CAUSES[1]}'")
    _replace(
        "webhook_deliveries",
        "cancel_reason",
        "cancel_reason_known",
        f"{CANCEL_REASONS[0]}, '{CANCEL_REASONS[1]}'",
    )
    schema = op.get_bind().execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    op.execute(EXPIRE.format(schema=schema))
    op.execute("REVOKE ALL ON FUNCTION hushgate_expire_held_drafts FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION hushgate_expire_held_drafts TO hushgate_worker")


def downgrade() -> None:
    """Remove them; rows get the nearest value that the previous release knows."""
    op.execute("DROP FUNCTION hushgate_expire_held_drafts")
    op.execute(f"UPDATE escalations SET cause = 'reviewed' WHERE cause = '{CAUSES[1]}'")
    for column, table in (("cancel_reason", "webhook_deliveries"), ("withdrawn", "outgoing_events")):
        op.execute(f"UPDATE {table} SET {column} = 'message_deleted' WHERE {column} = '{CANCEL_REASONS[1]}'")
    _replace("escalations", "cause", "cause_known", CAUSES[0])
    _replace("webhook_deliveries", "cancel_reason", "cancel_reason_known", CANCEL_REASONS[0])


def _replace(table: str, column: str, name: str, values: str) -> None:
    full = op.f(f"ck_{table}_{name}")
    op.drop_constraint(full, table)
    op.create_check_constraint(full, table, f"{column} IN ({values})")
