"""The parameters of a commit."""

from __future__ import annotations

from base64 import b64encode
from datetime import timedelta
from typing import Any, Final

import orjson

from db.answers.held import held_json
from db.costs.ledger import ledger_json
from db.customer_feedback.storing import feedback_values
from db.escalations.opening import opening_values
from db.history.conversation_owners import OwnerCause
from worker.assessment.policies.reply_metadata import reply_metadata
from worker.late_moderation import unmoderated_roles
from worker.model import TRACE_FIELDS, Decision, EventType, Json, MessageRole
from worker.reply_sentences import supported_sentences
from worker.snapshot import snapshot_json

MESSAGE_TEXT_CHARS: Final = 500  # Silent Guardrails: the first 500 characters
QUARANTINE: Final = timedelta(days=30)
NO_TRACE: Final[dict[str, Json]] = dict.fromkeys(TRACE_FIELDS)


def commit_values(decision: Decision) -> dict[str, Any]:
    """Parameter -> value, of every part of ``db.commits.commit_sql``."""
    event = decision.event
    is_agent = event.type is EventType.AGENT_MESSAGE
    return {
        "id": decision.decision_id,
        "created_at": decision.decided_at,
        "expires_at": decision.sealed_until or decision.decided_at + QUARANTINE,
        "user_id": event.user_id,
        "event_id": event.event_id,
        "entry_id": event.entry_id,
        "message_id": event.message_id,
        "type": event.type.value,
        "written_at": event.created_at,
        "sign": decision.sign,
        "conversation_id": event.conversation_id,
        "author_id": event.author_id,
        "scope": event.scope.value,
        "text": event.text,
        "decision": decision.kind.value,
        "confidence": decision.confidence,
        "reason_code": str(decision.reason_code),
        "reason": decision.reason,
        "matched_rule": decision.matched_rule,
        "message_text": event.text[:MESSAGE_TEXT_CHARS],
        "snapshot": orjson.dumps(snapshot_json(decision), option=orjson.OPT_NON_STR_KEYS).decode(),
        "degraded": decision.degraded,
        "rejection_reason": decision.rejection_reason,
        "candidate_id": decision.candidate_id,
        "quarantine": decision.quarantine,
        "rejected_draft": decision.rejected_draft,
        "remember": decision.remember,
        "reply": decision.reply,
        "draft": decision.draft,
        "sources": orjson.dumps([source.shape() for source in decision.sources]).decode(),
        "metadata": orjson.dumps(reply_metadata(decision) | {"sentences": _sentences(decision)}).decode(),
        "trace": orjson.dumps(NO_TRACE | (decision.trace.fields() if decision.trace else {})).decode(),
        "disclosure": decision.disclosure,
        "send_before": decision.send_before,
        "changes": decision.changes,
        "role": (MessageRole.AGENT if is_agent else MessageRole.USER).value,
        "retract": decision.retract_reply,
        "now": decision.decided_at,
        "people_until": decision.people_until,
        "cause": (OwnerCause.AGENT_MESSAGE if is_agent else OwnerCause.ESCALATION).value,
        "changed_by": event.author_id if is_agent else "",
        "agent_entry": event.entry_id if is_agent else None,
        "held": held_json(decision) if decision.held else None,
        "held_until": decision.held_until,
        "keep": decision.decision_id,
        "costs": ledger_json(decision),
        "recording": b64encode(decision.recording).decode() if decision.recording is not None else None,
        "overtaken": decision.overtaken,
        "request_hash": None,
        "verdict": None,
        "unmoderated": [each.value for each in unmoderated_roles(decision)],
        **feedback_values(decision),
        **opening_values(decision),
    }


def _sentences(decision: Decision) -> list[Json] | None:
    return supported_sentences(
        decision.assessment, draft=decision.draft, sent=decision.reply or "", passages=decision.passages
    )
