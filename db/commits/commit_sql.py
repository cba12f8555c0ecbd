"""The statements that commit an event: its key, then everything that depends on the new key."""

from __future__ import annotations

from typing import Final

from db.answers.held import STORE_HELD_DRAFTS
from db.commits.retracting import REPLY_TO_MESSAGE, retract_replies
from db.commits.rows import ROWS, over_rows
from db.costs.ledger import STORE_LEDGER
from db.customer_feedback.storing import JOIN_FEEDBACK, STORE_FEEDBACK
from db.escalations.closing import CLOSE_WITH_MESSAGE
from db.escalations.opening import OPEN_ESCALATION, OPEN_FOLLOW_UP
from db.history.conversation_owners import TAKE_CONVERSATION
from db.late_moderation.settling import STORE_UNMODERATED
from db.webhooks.changes import RETURNING_OWNER, STORE_DECISION_EVENT, STORE_TAKEN_EVENT, withdraw_replies
from worker.late_moderation import unmoderated_roles
from worker.model import Decision, EventType
from worker.reasons import Reason

FREE: Final = """
    (%(reply)s::text IS NULL OR NOT EXISTS (
        SELECT FROM conversations WHERE user_id = %(user_id)s AND conversation_id = %(conversation_id)s
            AND (people_until > %(created_at)s AND cause <> 'release' OR changes <> %(changes)s)))
"""
"""A reply is stored only while the AI owns the conversation, without a change of the owner since its turn."""
KEY_FROM: Final = f"""
    INSERT INTO event_keys (
        user_id, event_id, entry_id, decision_id, created_at, conversation_id, message_id, type, written_at)
    SELECT %(user_id)s, %(event_id)s, %(entry_id)s, %(id)s, %(created_at)s, %(conversation_id)s,
        %(message_id)s, %(type)s, %(written_at)s {{source}}
    WHERE NOT EXISTS (SELECT FROM dead_letters WHERE entry_id = %(entry_id)s) AND {FREE} {{order}}
    ON CONFLICT DO NOTHING RETURNING user_id, decision_id AS id
"""
KEY: Final = KEY_FROM.format(source="", order="")
KEY_OF_BURIED: Final = f"""
    SELECT %(user_id)s::text AS user_id, %(id)s::uuid AS id
    WHERE NOT EXISTS (SELECT FROM dead_letters WHERE entry_id = %(entry_id)s) AND {FREE}
        AND hushgate_take_over_key(%(user_id)s, %(event_id)s, %(entry_id)s, %(id)s, %(created_at)s)
"""
"""Takes over the key of an entry that became a dead letter, for a further entry of its event."""
KEY_OF_CHECK_FROM: Final = """
    INSERT INTO checks (
        user_id, event_id, decision_id, created_at, conversation_id, author_id, request_hash, verdict)
    SELECT %(user_id)s, %(event_id)s, %(id)s, %(created_at)s, %(conversation_id)s, %(author_id)s,
        %(request_hash)s, %(verdict)s::jsonb {source} {order}
    ON CONFLICT DO NOTHING RETURNING user_id, decision_id AS id
"""
KEY_OF_CHECK: Final = KEY_OF_CHECK_FROM.format(source="", order="")
"""A check is no event of a stream, so it has a key of its own."""
RECORD: Final = """
    INSERT INTO recordings (decision_id, user_id, conversation_id, author_id, created_at, overtaken, data)
    SELECT %(id)s, key.user_id, %(conversation_id)s, %(author_id)s, %(created_at)s, %(overtaken)s,
        decode(%(recording)s::text, 'base64')
    FROM key WHERE %(recording)s::text IS NOT NULL"""
"""The recording of a decision; workers cannot read it again."""
COMMIT: Final = f"""
WITH key AS ({{key}}), decision AS (
    INSERT INTO ai_decisions (
        created_at, id, user_id, event_id, message_id, conversation_id, author_id, scope, decision,
        confidence, reason_code, reason, matched_rule, message_text, snapshot_json, degraded,
        rejection_reason, candidate_id)
    SELECT %(created_at)s, %(id)s, key.user_id, %(event_id)s, %(message_id)s, %(conversation_id)s,
        %(author_id)s, %(scope)s, %(decision)s, %(confidence)s, %(reason_code)s, %(reason)s,
        %(matched_rule)s, %(message_text)s, %(snapshot)s::jsonb, %(degraded)s,
        %(rejection_reason)s, %(candidate_id)s::uuid
    FROM key
), removed AS (
    DELETE FROM messages m USING key
    WHERE %(quarantine)s AND %(type)s <> 'check' AND m.user_id = key.user_id
        AND m.conversation_id = %(conversation_id)s AND m.message_id = %(message_id)s
    RETURNING key.id, m.id AS place, m.role, m.text
), sealed AS (
    INSERT INTO quarantine (
        user_id, conversation_id, message_id, decision_id, role, text, created_at, expires_at, place)
    SELECT key.user_id, %(conversation_id)s, %(message_id)s, %(id)s, exchange.role, exchange.text,
        %(created_at)s, %(expires_at)s, coalesce(exchange.place, nextval('messages_id_seq'))
    FROM key, LATERAL (
        SELECT removed.role, removed.text, removed.place FROM removed WHERE removed.id = key.id
        UNION ALL SELECT 'user', %(text)s::text, NULL
        UNION ALL SELECT 'assistant', %(rejected_draft)s::text, NULL) AS exchange
    WHERE %(quarantine)s AND exchange.text IS NOT NULL
), stored AS (
    INSERT INTO messages (user_id, conversation_id, message_id, decision_id, role, text, created_at, sign)
    SELECT key.user_id, %(conversation_id)s, %(message_id)s, %(id)s, exchange.role, exchange.text,
        %(created_at)s, exchange.sign
    FROM key, LATERAL (
        VALUES (1, %(role)s, %(text)s::text, %(sign)s::text), (2, 'assistant', %(reply)s::text, NULL))
        AS exchange (place, role, text, sign)
    WHERE %(remember)s AND exchange.text IS NOT NULL ORDER BY key.id, exchange.place
    RETURNING id
), reply AS (
    INSERT INTO outbox (
        user_id, event_id, decision_id, conversation_id, message_id, scope, text, created_at,
        draft, sources, send_before, changes, metadata, disclosure)
    SELECT key.user_id, %(event_id)s, %(id)s, %(conversation_id)s, %(message_id)s, %(scope)s,
        %(reply)s::text, %(created_at)s, %(draft)s::text, %(sources)s::jsonb, %(send_before)s::timestamptz,
        %(changes)s, %(metadata)s::jsonb, %(disclosure)s::text
    FROM key WHERE %(reply)s::text IS NOT NULL
    ON CONFLICT (user_id, event_id) DO NOTHING  -- retention took the key and the event came again
), recorded AS ({RECORD}
){{change}}
SELECT array_agg(key.id){{made}} FROM key
"""
_OF_ROWS: Final = {"source": "FROM rows", "order": "ORDER BY rows.user_id, rows.event_id, rows.id"}
_OVER_ROWS: Final = COMMIT.partition("{key}")[2].format(change=STORE_LEDGER, made=STORE_DECISION_EVENT)


def _commit_several(key: str) -> str:
    return f"""
WITH rows AS MATERIALIZED ({ROWS}), taken AS (
    {over_rows(key.format(**_OF_ROWS), "rows")}
), key AS (SELECT rows.* FROM rows JOIN taken USING (id){over_rows(_OVER_ROWS, "key")}
"""


COMMIT_SEVERAL: Final = _commit_several(KEY_FROM)
"""``COMMIT`` over the rows of several events, for those that change neither history nor owner.

Keys are taken in their order, so that two batches with the same events cannot wait for each other.
"""
COMMIT_CHECKS: Final = _commit_several(KEY_OF_CHECK_FROM)
"""The same of several checks."""
HANDOFF: Final = f""", handed AS ({TAKE_CONVERSATION.format(user_id="key.user_id", source="FROM key")}
    {RETURNING_OWNER}){STORE_TAKEN_EVENT}"""
EDIT: Final = """, former AS (
    DELETE FROM messages m USING key
    WHERE m.user_id = key.user_id AND m.conversation_id = %(conversation_id)s
        AND m.message_id = %(message_id)s
    RETURNING m.id, m.user_id, m.decision_id, m.role, m.text, m.created_at, m.sign
), edited AS (
    INSERT INTO messages (id, user_id, conversation_id, message_id, decision_id, role, text, created_at, sign)
    OVERRIDING SYSTEM VALUE
    SELECT id, user_id, %(conversation_id)s, %(message_id)s, decision_id, role,
        CASE role WHEN 'assistant' THEN text ELSE %(text)s END, created_at, sign
    FROM former
), early AS (
    INSERT INTO messages (user_id, conversation_id, message_id, decision_id, role, text, created_at, sign)
    SELECT user_id, %(conversation_id)s, %(message_id)s, id, 'user', %(text)s, %(created_at)s, 'early_edit'
    FROM key
    WHERE NOT EXISTS (
        SELECT FROM event_keys k WHERE k.user_id = key.user_id
            AND k.conversation_id = %(conversation_id)s AND k.message_id = %(message_id)s
            AND k.type IN ('message', 'agent_message')) AND NOT EXISTS (SELECT FROM former)
)"""
"""Message and reply are stored anew in their places: workers may not change a stored line.

An edit that came before its message is kept for it, and no prompt shows it until then.
"""
REPLACED: Final = """, former AS (
    DELETE FROM messages m USING key
    WHERE m.user_id = key.user_id AND m.conversation_id = %(conversation_id)s
        AND m.message_id = %(message_id)s
)"""
"""The edit that came before its message goes when the message is stored with its text."""
DELETION: Final = f""", deleted AS (
    DELETE FROM messages m USING key
    WHERE m.user_id = key.user_id AND m.conversation_id = %(conversation_id)s
        AND m.message_id = %(message_id)s
){retract_replies("message_deleted", at="%(created_at)s")}{CLOSE_WITH_MESSAGE}"""
FLAGGED_EDIT: Final = f""", cancelled AS (
    UPDATE outbox o SET cancel_reason = 'message_flagged',
        cancelled_at = coalesce(o.cancelled_at, %(created_at)s)
    FROM key
    WHERE {REPLY_TO_MESSAGE} AND o.delivered_at IS NULL AND o.cancel_reason IS NULL
){withdraw_replies(REPLY_TO_MESSAGE, "message_flagged")}"""
"""The exchange leaves the history, so a reply that still waits must not enter the conversation."""


def commit_statement(decision: Decision, key: str) -> str:
    """The commit of a decision."""
    ledger = STORE_LEDGER if decision.costs else ""
    return COMMIT.format(key=key, change=change_of(decision) + ledger, made=STORE_DECISION_EVENT)


def change_of(decision: Decision) -> str:
    """The parts of a commit that changes more than history lines of its own; empty for any other."""
    change = ""
    if decision.people_until is not None:
        change = HANDOFF if decision.escalation is None else HANDOFF + OPEN_ESCALATION
    elif decision.escalation is not None:
        change = OPEN_FOLLOW_UP
    elif decision.reason_code == Reason.MESSAGE_EDITED:
        change = EDIT
    elif decision.reason_code == Reason.MESSAGE_DELETED:
        change = DELETION
    elif is_flagged_edit(decision):
        change = FLAGGED_EDIT
    further = (
        (bool(unmoderated_roles(decision)), STORE_UNMODERATED),
        (decision.event.feedback is not None, STORE_FEEDBACK),
        (decision.rated_first, JOIN_FEEDBACK),
        (decision.event.edited_first and not decision.quarantine, REPLACED),
        (bool(decision.held), STORE_HELD_DRAFTS),
    )
    return change + "".join(part for is_needed, part in further if is_needed)


def is_flagged_edit(decision: Decision) -> bool:
    """Whether an edit made a message flagged: its exchange leaves the history."""
    return decision.quarantine and decision.event.type is EventType.MESSAGE_EDITED
