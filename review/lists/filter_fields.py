"""The filters of the audit, declared once: URL, page, API, command line and saved views read this table."""

from __future__ import annotations

from typing import Any, Final

from db.audit.filters import AnsweredFilter, ReviewFilter, SourceFilter
from db.customer_feedback.reading import FeedbackFilter
from db.figures.figure_sql import RunEvent
from features.feature import hook_items
from review.lists import filter_parsers
from review.lists.filter_parsers import FilterField, Parser
from review.words import reasons as reason_labels
from worker.assessment.policies.designs import DESIGNS
from worker.assessment.values import ReplyKind, UnusableReason
from worker.model import DecisionKind, Scope, Tier


def _filter(
    name: str,
    title: str,
    about: str,
    parse: Parser = filter_parsers.text_of,
    *,
    target: str = "",
    **options: Any,
) -> FilterField:
    return FilterField(name=name, title=title, about=about, parse=parse, target=target or name, **options)


def _choice(name: str, title: str, about: str, *choices: str) -> FilterField:
    return _filter(name, title, about, filter_parsers.one_of(*choices), choices=choices)


AGES: Final = ("1h", "24h", "7d", "30d", filter_parsers.EVER)
STAGE_OUTCOMES: Final = (
    "*:failed", "moderation:failed", "moderation_reply:failed", "generation:failed", "retrieval:failed",
    "evidence:flagged", "assessment:flagged",
)  # fmt: skip
REJECTIONS: Final = (
    *(reason for design in DESIGNS.values() for reason in design.rejections),
    *UnusableReason,
    ReplyKind.REFUSAL,
)
"""The published reasons of the policies; filters take any other as well."""
FIELDS: Final = (
    _filter(
        "since",
        "From",
        "From this time or age on: 2026-11-21T10:00Z, 24h, 7d; all for everything. 24h unless given.",
        filter_parsers.since,
        suggestions=AGES,
        example="24h",
    ),
    _filter("until", "Until", "Before this time or age.", filter_parsers.time_of, example="now"),
    _filter("account", "Account", "This account (user_id).", target="user_id"),
    _choice("decision", "Decision", "This decision.", *DecisionKind),
    _filter(
        "reason",
        "Reason",
        "A reason code such as LLM_ERROR; blocked or failed for those of the dashboard's tiles."
        " Several with commas or repeated.",
        filter_parsers.reason_codes,
        target="reason_codes",
        several=True,
        suggestions=reason_labels.NAMES,
    ),
    _filter(
        "rule",
        "Rule",
        "This matched rule; a * at the end matches a prefix.",
        target="matched_rule",
        example="flagged_keyword:*",
    ),
    _filter(
        "version",
        "Version",
        "This version of the account's settings; needs the filter account.",
        filter_parsers.whole_number,
        target="rules_version",
    ),
    _filter(
        "candidate",
        "Candidate",
        "Decided by this candidate in a rollout; the id of the candidate.",
        filter_parsers.identifier,
        target="candidate_id",
    ),
    _choice("tier", "Confidence tier", "This tier of the assessment.", *Tier),
    _filter(
        "rejection",
        "Rejection reason",
        "The policy rejected the draft for this reason, such as off_topic or UNCERTAINTY.",
        target="rejection_reason",
        suggestions=REJECTIONS,
        example="off_topic",
    ),
    _filter(
        "confidence_from",
        "Confidence from",
        "At least this confidence, 0 to 1.",
        filter_parsers.share,
        target="least_confidence",
        example="0 to 1",
    ),
    _filter(
        "confidence_to",
        "Confidence to",
        "At most this confidence, 0 to 1.",
        filter_parsers.share,
        target="most_confidence",
        example="0 to 1",
    ),
    _filter("author", "Author", "Events of this author.", target="author_id"),
    _filter("conversation", "Conversation", "Events of this conversation.", target="conversation_id"),
    _choice("scope", "Scope", "Chats or comments.", *Scope),
    _choice("source", "Source", "Messages of the stream, or checks of programs.", *SourceFilter),
    _filter(
        "stage",
        "Stage outcome",
        "A stage and its outcome, such as moderation:failed; *:failed is any stage.",
        filter_parsers.stage_outcome,
        target="stage_outcome",
        suggestions=STAGE_OUTCOMES,
        example="moderation:failed",
    ),
    _choice(
        "ran", "Run", "A call was retried, the draft was rechecked, or the recheck improved it.", *RunEvent
    ),
    _filter(
        "degraded",
        "Degraded",
        "Moderation, search or a model failed or was incomplete.",
        filter_parsers.yes_or_no,
        choices=("yes", "no"),
        opposite="whole",
    ),
    _choice("review", "Review", "The state of the decision's reviews.", *ReviewFilter),
    _choice("answered", "Answered by a person", "What a person answered to it.", *AnsweredFilter),
    _choice("feedback", "Feedback", "What customers said of the reply.", *FeedbackFilter),
    _filter(
        "assignee",
        "Assigned to",
        "In a queue, assigned to or claimed by this login.",
        filter_parsers.assignee,
        example="me, or a login",
    ),
    *hook_items("filters"),
    _filter("text", "Text", "Part of the message, in any case."),
    _filter("event", "Event", "The event with this id.", target="event_id"),
    _filter("message", "Message", "The event with this message id.", target="message_id"),
)
"""Every filter, in the order in which a URL carries them."""
