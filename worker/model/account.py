"""One version of an account's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from worker.model.conversation import StaleReply
from worker.model.event import Json


class FailurePolicy(StrEnum):
    """What an account wants while the moderation API is down."""

    HOLD = "hold"
    BLOCK = "block"
    ALLOW = "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One version of an account's settings, the newest row of ``ai_rules``; version 0 has no row at all.

    Attributes:
        version: counts up with every change; a decision pins the one it used.
        flagged_keywords: whole words, see ``docs/rules.md``.
        flagged_phrases: whole phrases.
        allowed: entries that cancel a hit inside them.
        rules_on_reply: whether keywords and phrases are also tested on the draft.
        moderation_thresholds: category -> 0..1 from which a score flags; other categories follow the API.
        hold_max_s: longest wait for moderation before the event ends in silence, seconds.
        reply_max_age_s: a message written longer ago than this gets no reply, seconds; checked at its turn,
            before the model is called, when the draft is ready and at delivery.
        languages: language codes it answers in, such as ``en``; empty for any.
        prompt: the account's own instructions; the fixed ones stand before and after them.
        assessment_policy: name and settings of the confidence policy, see ``docs/confidence.md``.
        fallback_texts: language -> text to send when a reply cannot be trusted; when empty the policy's own,
            if it has one, else silence.
        disclosure_texts: language -> text before the first reply of a conversation, which says that an AI
            answers; empty: none.
        people_idle_s: a conversation returns to the AI when people have written nothing in it for so long,
            seconds; 0: only by release.
        stale_reply: what happens to a reply when a newer message came while it was made.
        retract_deleted: whether a delivered reply is retracted when its message is deleted.
    """

    user_id: str
    version: int
    ai_control_enabled: bool = False
    ai_enabled_for_chats: bool = False
    ai_enabled_for_comments: bool = False
    flagged_keywords: tuple[str, ...] = ()
    flagged_phrases: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    rules_on_reply: bool = True
    moderation_thresholds: Mapping[str, float] = field(default_factory=dict)
    moderation_failure: FailurePolicy = FailurePolicy.HOLD
    hold_max_s: float = 3600.0
    reply_max_age_s: float = 86400.0
    languages: tuple[str, ...] = ()
    prompt: str = ""
    assessment_policy: Mapping[str, Json] = field(default_factory=dict)
    fallback_texts: Mapping[str, str] = field(default_factory=dict)
    disclosure_texts: Mapping[str, str] = field(default_factory=dict)
    people_idle_s: float = 3600.0
    stale_reply: StaleReply = StaleReply.DISCARD
    retract_deleted: bool = False
