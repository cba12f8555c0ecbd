"""Reason codes for people: plain words for each, names for several together, lists of them in a URL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from db.dashboard import BLOCKED, FAILED
from worker.policy import Reason

GROUPS: Final[Mapping[str, tuple[Reason, ...]]] = {"blocked": BLOCKED, "failed": FAILED}
"""Names that stand for several codes, beside the codes themselves.

A tile of the dashboard counts eleven codes as one thing. Written out they make a link that nobody reads, and
a view kept from it would miss the code that the next release adds; a name means what the tile counts.
"""
GROUP_WORDS: Final[Mapping[str, str]] = {"blocked": "Blocked", "failed": "Silent failures"}
WORDS: Final[Mapping[Reason, str]] = {
    Reason.UNKNOWN_ACCOUNT: "Account without settings",
    Reason.AI_DISABLED: "AI switched off",
    Reason.CHATS_DISABLED: "Chats switched off",
    Reason.COMMENTS_DISABLED: "Comments switched off",
    Reason.TOO_LATE: "Waited too long",
    Reason.FLAGGED_RULE: "Rule matched the message",
    Reason.MODERATION_FLAGGED: "Moderation flagged the message",
    Reason.MODERATION_REJECTED: "Moderation refused to look at the message",
    Reason.MODERATION_UNAVAILABLE: "Moderation did not answer",
    Reason.MODERATION_TIMED_OUT: "Held for moderation too long",
    Reason.LLM_ERROR: "Model gave no usable answer",
    Reason.LLM_REJECTED: "Model's server refused the request",
    Reason.MODEL_REFUSED: "Model declined to answer",
    Reason.TOOL_LOOP: "Model kept searching",
    Reason.MODEL_ESCALATED: "Model asked for a person",
    Reason.REPLY_FLAGGED_RULE: "Rule matched the draft",
    Reason.REPLY_MODERATION_FLAGGED: "Moderation flagged the draft",
    Reason.REPLY_MODERATION_REJECTED: "Moderation refused to look at the draft",
    Reason.REPLY_MODERATION_UNAVAILABLE: "Moderation of the draft did not answer",
    Reason.REPLY_MODERATION_TIMED_OUT: "Draft held for moderation too long",
    Reason.NO_EVIDENCE: "Nothing found to answer from",
    Reason.NO_ANSWER: "Draft had no answer",
    Reason.LOW_CONFIDENCE: "Draft not trusted",
    Reason.LOW_CONFIDENCE_ESCALATED: "No trusted draft, handed to a person",
    Reason.FALLBACK_SENT: "Prepared text sent",
    Reason.REPLIED: "Reply sent",
}
"""Total: a reason without words fails a test."""
NAMES: Final = (*GROUPS, *Reason)
_BY_FOLDED: Final = {name.lower(): str(name) for name in NAMES}


class UnknownReason(ValueError):  # noqa: N818  # its text is the name
    """A name is neither a code nor a group."""


def said(name: str) -> str:
    """A code or a group in plain words; a code of another release as it is."""
    return GROUP_WORDS.get(name) or (WORDS[Reason(name)] if name in Reason.__members__ else name)


def names_in(text: str) -> tuple[str, ...]:
    """The names in a comma-separated list, in any case, each once.

    Raises:
        UnknownReason: one of them, or the lack of any.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    unknown = next((part for part in parts if part.lower() not in _BY_FOLDED), None)
    if unknown is not None or not parts:
        raise UnknownReason(text if unknown is None else unknown)
    return tuple(dict.fromkeys(_BY_FOLDED[part.lower()] for part in parts))


def codes_of(names: tuple[str, ...]) -> tuple[str, ...]:
    """The codes that names stand for, each once."""
    codes = (code for name in names for code in GROUPS.get(name, (name,)))
    return tuple(dict.fromkeys(str(code) for code in codes))
