"""Previews of erasures count copies of whole conversations, and the second pass of an erasure deletes them again.

Law: as 0001. Functions keep their names and results; the previous release calls them as before.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0081"
down_revision: str | Sequence[str] | None = "0080"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

DECLARED_BEFORE = "        conversations text[];\n"
DECLARED = "        touched text[];\n"
SCOPE_BEFORE = "INTO ids, held_decisions, conversations FROM"
SCOPE = """, coalesce(array_agg(DISTINCT s.conversation_id)
                   FILTER (WHERE NOT held AND s.conversation_id <> ''), '{}')
            INTO ids, held_decisions, conversations, touched FROM"""
TABLES_BEFORE = " 'golden_set_items', 'shadow_results', 'recordings',"
# Copies that have lines of a conversation's other authors, and rows without a decision.
COUNTED_BEFORE = "        SELECT counts || jsonb_build_object('outgoing_events', count(*)) INTO counts"
COUNTED = """        FOREACH name IN ARRAY ARRAY['recordings', 'shadow_results', 'golden_set_items'] LOOP
            EXECUTE format('SELECT count(*) FROM %I t WHERE t.user_id = $1
                    AND (t.decision_id = ANY($2) OR t.conversation_id = ANY($3) OR $4 = ''account''
                        OR $4 = ''author'' AND t.author_id = $5 OR $4 = ''conversation'' AND t.conversation_id = $5)
                    AND NOT hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, t.author_id)', name)
                INTO found USING e.user_id, ids, touched, e.kind, e.subject;
            counts := counts || jsonb_build_object(name, found);
        END LOOP;
"""
# A decision, a shadow or a golden set may have read a conversation before the first pass, and stored it after.
PLACES_BEFORE = "            IF e.kind = 'author' THEN\n                INSERT INTO erasure_items"
PLACES = """            INSERT INTO erasure_items SELECT erasure, 'place', place FROM unnest(places) AS place
                WHERE place <> '' ON CONFLICT DO NOTHING;
"""
AGAIN_BEFORE = "hushgate_erase_copies(e.user_id, ids, '{}')"
AGAIN = """hushgate_erase_copies(e.user_id, ids, CASE WHEN cardinality(ids) < most THEN ARRAY(
            SELECT i.value FROM erasure_items i WHERE i.erasure_id = erasure AND i.kind = 'place') ELSE '{}' END)"""
FUNCTIONS = (
    ("hushgate_preview_erasure", DECLARED_BEFORE, DECLARED_BEFORE + DECLARED),
    ("hushgate_preview_erasure", SCOPE_BEFORE, SCOPE),
    ("hushgate_preview_erasure", TABLES_BEFORE, ""),
    ("hushgate_preview_erasure", COUNTED_BEFORE, COUNTED + COUNTED_BEFORE),
    ("hushgate_erase_decisions", PLACES_BEFORE, PLACES + PLACES_BEFORE),
    ("hushgate_erase_again", AGAIN_BEFORE, AGAIN),
)
"""Function, a part of its text, and what stands there instead."""
RESTORED = (
    ("hushgate_preview_erasure", COUNTED, ""),
    ("hushgate_preview_erasure", "'held_drafts',", f"'held_drafts',{TABLES_BEFORE}"),
    ("hushgate_preview_erasure", SCOPE, SCOPE_BEFORE),
    ("hushgate_preview_erasure", DECLARED, ""),
    ("hushgate_erase_decisions", PLACES, ""),
    ("hushgate_erase_again", AGAIN, AGAIN_BEFORE),
)


KINDS_BEFORE = "decision, answer, conversation, word or exports"
KINDS = "decision, answer, conversation, place, word or exports"


def upgrade() -> None:
    """Change the three functions."""
    op.alter_column("erasure_items", "kind", comment=KINDS, existing_comment=KINDS_BEFORE)
    for name, before, after in FUNCTIONS:
        _change_function(name, before, after)


def downgrade() -> None:
    """Take the changes back."""
    op.alter_column("erasure_items", "kind", comment=KINDS_BEFORE, existing_comment=KINDS)
    for name, before, after in RESTORED:
        _change_function(name, before, after)


def _change_function(name: str, before: str, after: str) -> None:
    """Replace one part of a function's text; its rights stay."""
    connection = op.get_bind()
    query = sa.text("SELECT pg_get_functiondef(to_regproc(:name))")
    found = connection.execute(query, {"name": name}).scalar_one()
    if found.count(before) != 1:
        raise RuntimeError(f"{name}: expected one place with {before.strip()!r}, got {found.count(before)}")
    connection.exec_driver_sql(found.replace(before, after).replace("%", "%%"))
