"""States, kinds and roles in words; addresses, files and the JSON API keep the codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from db.answers.state import AnswerState
from db.jobs import JobKind, JobState
from review.languages import gettext, mark
from worker.model import CheckOutcome, EventType, Scope

DELIVERY_STATES: Final[Mapping[str, str]] = {
    "waiting": mark("waiting"),
    "succeeded": mark("succeeded"),
    "failed": mark("failed"),
    "cancelled": mark("cancelled"),
}
EVENT_TYPES: Final[Mapping[str, str]] = {
    EventType.MESSAGE: mark("message of an author"),
    EventType.AGENT_MESSAGE: mark("message of the team"),
    EventType.MESSAGE_EDITED: mark("edit of a message"),
    EventType.MESSAGE_DELETED: mark("deletion of a message"),
    EventType.FEEDBACK: mark("feedback about a reply"),
    EventType.CHECK: mark("check by a program"),
}
"""Total; snapshots and files keep the codes."""
CHECK_OUTCOMES: Final[Mapping[str, str]] = {
    CheckOutcome.ALLOW: mark("allow"),
    CheckOutcome.REWRITE: mark("rewrite"),
    CheckOutcome.HOLD: mark("hold"),
    CheckOutcome.BLOCK: mark("block"),
}
"""Total; programs get the codes."""
OWNER_CAUSES: Final[Mapping[str, str]] = {
    "escalation": mark("escalation"),
    "agent_message": mark("message of a person"),
    "command": mark("taken by a person"),
    "release": mark("released to the AI"),
}
"""Why the owner of a conversation changed; total over ``db.history.conversation_owners.OwnerCause``."""
CLOSING_CAUSES: Final[Mapping[str, str]] = {
    "released": mark("released to the AI"),
    "answered": mark("answered by a person"),
    "idle": mark("the idle time of people ended"),
    "reviewed": mark("overturned in a review"),
    "replaced": mark("a later escalation took its place"),
    "message_deleted": mark("the author deleted the message"),
}
"""Why an escalation was closed; total over ``db.escalations.closing.ClosingCause``."""
CANCEL_REASONS: Final[Mapping[str | None, str]] = {
    None: mark("Cancelled by a reviewer before delivery"),
    "too_late": mark("Held back because it was too late"),
    "taken_over": mark("Discarded because people took the conversation"),
    "message_deleted": mark("Discarded because the author deleted the message"),
    "message_flagged": mark("Discarded because the author's edit of the message was flagged"),
}
"""Why a reply was cancelled, by ``outbox.cancel_reason``."""
ANSWER_OUTCOMES: Final[Mapping[str, str]] = {
    "unchanged": mark("Approved"),
    "edited": mark("Edited and sent"),
    "replaced": mark("Replaced by an own answer"),
    "written": mark("Answered"),
    "dismissed": mark("Closed without an answer"),
}
ANSWER_STATES: Final[Mapping[str, str]] = {
    AnswerState.APPROVED: mark("Approved by a person"),
    AnswerState.EDITED: mark("Edited by a person"),
    AnswerState.WRITTEN: mark("Answered by a person"),
    AnswerState.DISMISSED: mark("Closed without an answer"),
}
"""Total; files and the JSON API keep the codes."""
HELD_KINDS: Final[Mapping[str, str]] = {
    "reply": mark("Reply of the AI, not sent"),
    "draft": mark("Draft of the AI, not sent"),
    "recheck": mark("The other draft of the recheck"),
}
SCOPES: Final[Mapping[str, str]] = {Scope.CHAT: mark("chat"), Scope.COMMENT: mark("comment")}
"""Total over ``Scope``."""
JOB_KINDS: Final[Mapping[JobKind, str]] = {
    JobKind.EXPORT: mark("Export"),
    JobKind.BULK_REVIEW: mark("Bulk review"),
    JobKind.BULK_UNDO: mark("Undo of a bulk review"),
}
"""Total."""
JOB_STATES: Final[Mapping[JobState, str]] = {
    JobState.QUEUED: mark("queued"),
    JobState.RUNNING: mark("running"),
    JobState.DONE: mark("done"),
    JobState.FAILED: mark("failed"),
    JobState.CANCELLED: mark("cancelled"),
}
"""Total."""
REVIEW_STATES: Final[Mapping[str, str]] = {
    "open": mark("open"),
    "reviewed": mark("reviewed"),
    "agree": mark("agreed"),
    "overturn": mark("overturned"),
    "unsure": mark("unsure"),
    "disputed": mark("disputed"),
}
"""What reviewers said of a decision; total over ``db.audit.filters.ReviewFilter``."""
FIRST_QUEUES: Final = frozenset(
    {mark("Handoffs to check"), mark("Objections"), mark("Second readings"), mark("Silent ignores, a sample")}
)
"""Names that Hushgate gives to queues; people give all others."""


def queue_name(name: str) -> str:
    """A queue's name: as stored, unless Hushgate gave it."""
    return gettext(name) if name in FIRST_QUEUES else name
