"""Codes, failures, counts and durations in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import orjson

from worker.model import DecisionKind, EventType, Tier
from worker.reasons import Reason
from worker.rules.model import MatchMethod

MATCH_METHODS: Final[Mapping[MatchMethod, str]] = {
    MatchMethod.EXACT: "exact match",
    MatchMethod.CASE: "other case",
    MatchMethod.WIDTH: "full-width or half-width letters",
    MatchMethod.ACCENT: "other accents",
    MatchMethod.VARIANT: "spelling variant",
    MatchMethod.HOMOGLYPH: "look-alike letters of another script",
    MatchMethod.LEET: "digits or signs for letters",
    MatchMethod.REPEAT: "repeated letters",
    MatchMethod.INVISIBLE: "invisible characters inside",
    MatchMethod.SEPARATED: "separated letters",
    MatchMethod.GLUED: "words run together",
    MatchMethod.MASKED: "masked letters",
    MatchMethod.TYPO: "one letter differs or two are exchanged",
    MatchMethod.REGEX: "regular expression",
}
EVENT_TYPES: Final[Mapping[str, str]] = {
    EventType.MESSAGE: "message of an author",
    EventType.AGENT_MESSAGE: "message of the team",
    EventType.MESSAGE_EDITED: "edit of a message",
    EventType.MESSAGE_DELETED: "deletion of a message",
}
"""Total; snapshots and files keep the codes."""
OWNER_CAUSES: Final[Mapping[str, str]] = {
    "escalation": "escalation",
    "agent_message": "message of a person",
    "command": "taken by a person",
    "release": "released to the AI",
}
"""Why the owner of a conversation changed; total over ``db.conversation_owners.OwnerCause``."""
CLOSING_CAUSES: Final[Mapping[str, str]] = {
    "released": "released to the AI",
    "answered": "answered by a person",
    "idle": "the idle time of people ended",
    "reviewed": "overturned in a review",
    "replaced": "a later escalation took its place",
    "message_deleted": "the author deleted the message",
}
"""Why an escalation was closed; total over ``db.escalations.closing.ClosingCause``."""
CANCEL_REASONS: Final[Mapping[str | None, str]] = {
    None: "Cancelled by a reviewer before delivery",
    "too_late": "Held back because it was too late",
    "taken_over": "Discarded because people took the conversation",
    "message_deleted": "Discarded because the author deleted the message",
    "message_flagged": "Discarded because the author's edit of the message was flagged",
}
"""Why a reply was cancelled, by ``outbox.cancel_reason``."""
DECISION_LABELS: Final[Mapping[str, str]] = {
    DecisionKind.RESPOND: "Replied",
    DecisionKind.IGNORE: "No reply",
    DecisionKind.ESCALATE: "Handed to a person",
}
"""Total; addresses, files and the JSON API keep the codes."""
REASON_GROUPS: Final[Mapping[str, str]] = {"blocked": "Blocked", "failed": "Silent failures"}
"""Labels of the groups in ``review.reason_labels``."""
ATTEMPT_OUTCOMES: Final[Mapping[str, str]] = {
    "timeout": "timed out",
    "connection": "no connection",
    "rate_limited": "too many requests",
    "circuit_open": "not called: it had failed several times in a row",
    "busy": "not called: too many calls were under way",
    "limited": "not called: a limit of requests or tokens was reached",
    "server_error": "server error",
    "malformed": "a malformed response",
    "empty": "an empty answer",
    "unreadable": "a response in an unexpected format",
    "rejected": "refused",
    "misconfigured": "refused: the endpoint is misconfigured",
    "detector": "its filter failed",
}
"""How an attempt ended, as ``worker.adapters`` names it."""
MODERATOR_OUTCOMES: Final[Mapping[str, str]] = {
    "clear": "flagged nothing",
    "hit": "flagged the text",
    "no_result": "no result",
    "not_needed": "not needed",
}
"""What became of one of several moderators, as ``worker.moderation.record`` stores it."""
DRAFT_PROBLEMS: Final[Mapping[str, str]] = {
    "no_evidence": "no passage supports it",
    "invalid_citation": "it cites a passage that does not exist",
    "wrong_language": "it is in the wrong language",
    "mixed_scripts": "its words mix look-alike letters of two scripts",
    "moderation_hit": "moderation flagged it",
    "empty_reply": "it was empty",
    "citations_only": "it held nothing but citations",
    "no_words": "it held no words",
    "refusal": "it only says that it has no answer",
    "context_too_large": "its passages were too long to check",
    "judge_unavailable": "the judge did not answer",
    "undecided": "its words did not decide it",
    "ungrounded": "its facts are not in the passages",
    "irrelevant": "it does not answer the question",
    "relevance_judge_unavailable": "the judge did not say whether it answers the question",
    "relevance_undecided": "its words did not decide whether it answers the question",
    "TOOL_FAILURE": "a tool failed, or it says so (TOOL_FAILURE)",
    "TIMEOUT": "a time limit was reached, or it says so (TIMEOUT)",
    "TECHNICAL_LIMITATION": "it names a technical limitation (TECHNICAL_LIMITATION)",
    "INSUFFICIENT_INFO": "it says that information is missing (INSUFFICIENT_INFO)",
    "AMBIGUOUS_QUERY": "it calls the question ambiguous (AMBIGUOUS_QUERY)",
    "UNCERTAINTY": "it sounds uncertain (UNCERTAINTY)",
}
"""Problems of a draft, by the names that policies give them."""
MOST_CHARS: Final = 80


def match_wording(joined: str) -> str:
    """How a rule matched, such as ``leet+separated``, in words."""
    known = [
        MATCH_METHODS[MatchMethod(each)] if each in MATCH_METHODS else each
        for each in joined.split("+")
        if each
    ]
    return ", ".join(known)


def decision_label(decision: str) -> str:
    """A decision in words; the code of another release unchanged."""
    return DECISION_LABELS.get(decision, decision)


def reason_label(name: str) -> str:
    """A reason code or a group in words; the code of another release unchanged."""
    return REASON_GROUPS.get(name) or (Reason(name).spec.label if name in Reason.__members__ else name)


TIER_MARKS: Final[Mapping[str, str]] = {Tier.HIGH: "✓", Tier.MEDIUM: "⚡", Tier.LOW: "⚠"}
RECHECK_MARK: Final = "↻"
"""Confidence Guardrail, "Frontend Display"."""


def tier_wording(tier: str) -> str:
    """A tier with its mark; that of another release unchanged."""
    return f"{TIER_MARKS[tier]} {tier}" if tier in TIER_MARKS else tier


def attempt_wording(outcome: str) -> str:
    """How an attempt ended, in words."""
    return ATTEMPT_OUTCOMES.get(outcome, outcome.replace("_", " "))


def count_wording(times: int) -> str:
    """How often, in words: once, twice, 3 times."""
    return {1: "once", 2: "twice"}.get(times, f"{times} times")


def duration_wording(seconds: float) -> str:
    """A duration in the largest fitting unit: ``12 ms``, ``90 s``, ``3 h 20 min``, ``2 days``."""
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    if minutes < 120 and minutes != 60:
        return f"{minutes} min"
    if (minutes % 1440 == 0 and minutes > 1440) or minutes > 4 * 1440:
        return f"{round(minutes / 1440)} days"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def shortened(text: str) -> str:
    """A name or a rule, cut at 80 characters."""
    return text if len(text) <= MOST_CHARS else text[:MOST_CHARS] + "…"


def value_wording(value: object) -> str:
    """A stored value as JSON; a list of texts joined by commas."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return orjson.dumps(value).decode()


def percent(share: float | None) -> str:
    """A share of 0..1 in percent, one decimal below ten."""
    if share is None:
        return "–"
    return f"{share * 100:.1f} %" if abs(share) < 0.1 else f"{share * 100:.0f} %"


def usd(number: float | None) -> str:
    """An amount of money; small ones with as many digits as they need."""
    if number is None:
        return "unknown"
    return f"{number:,.2f} USD" if number >= 1 or not number else f"{number:.6f} USD"


def amount(number: float | None) -> str:
    """A number with a thin space between thousands."""
    if number is None:
        return "–"
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def event_type_wording(name: str) -> str:
    """What happened, in words; a type of another release unchanged."""
    return EVENT_TYPES.get(name, name)


def owner_cause(cause: str) -> str:
    """Why the owner of a conversation changed, in words; a cause of another release unchanged."""
    return OWNER_CAUSES.get(cause, cause)


def closing_wording(cause: str) -> str:
    """Why an escalation was closed."""
    return CLOSING_CAUSES.get(cause, cause)


def cancel_wording(reason: str | None, *, late: bool) -> str:
    """Why a reply was cancelled; ``late`` tells for rows that older releases cancelled without a reason."""
    return CANCEL_REASONS.get("too_late" if reason is None and late else reason, str(reason))


def answer_outcome(outcome: str) -> str:
    """What a person did with a message, as stored."""
    return {
        "unchanged": "Approved",
        "edited": "Edited and sent",
        "replaced": "Replaced by an own answer",
        "written": "Answered",
        "dismissed": "Closed without an answer",
    }.get(outcome, outcome)


def held_kind(kind: str) -> str:
    """What a text that was not sent is, as stored."""
    return {
        "reply": "Reply of the AI, not sent",
        "draft": "Draft of the AI, not sent",
        "recheck": "The other draft of the recheck",
    }.get(kind, kind)
