"""One version of an account's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from worker.model.conversation import StaleReply
from worker.model.costs import BudgetAction
from worker.model.event import Json
from worker.model.held import ReplyMode


class RuleLevel(StrEnum):
    """The level of rule matching: ``strict`` adds masked letters, splits, glued phrases and one typo."""

    DEFAULT = "default"
    STRICT = "strict"


class FailurePolicy(StrEnum):
    """What an account wants while a moderator is down."""

    HOLD = "hold"
    BLOCK = "block"
    ALLOW = "allow"


class Shedding(StrEnum):
    """Which messages an account answers first while it gets more than can be answered in time."""

    OLDEST_FIRST = "oldest_first"
    NEWEST_FIRST = "newest_first"
    CHATS_FIRST = "chats_first"


class Combination(StrEnum):
    """How the results of several moderators decide about one text."""

    ANY = "any"
    ALL = "all"
    FIRST = "first"


OPENAI_MODERATION: Final = "openai_moderation"
"""Endpoint and name of the OpenAI-compatible moderation API among an account's moderators."""


LINKS_OF_PASSAGES: Final = "passages"
"""In ``Account.reply_links``: the links of the passages that a reply cites, and of the account's prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeratorChoice:
    """One moderator of an account.

    Attributes:
        name: unique in the account; in matched rules (``<name>:<category>``) and in the audit.
        endpoint: ``OPENAI_MODERATION`` or the name of a classifier that the deployment declares; never a URL.
        failure: None: as the account's ``moderation_failure``.
        thresholds: category -> 0..1 from which a score flags; other categories follow the classifier's
            answer. The moderation API has ``Account.moderation_thresholds`` instead.
        policy: the text by which a classifier judges that reads one; empty for the others.
    """

    name: str
    endpoint: str
    failure: FailurePolicy | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    policy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One version of an account's settings, the newest row of ``ai_rules``; version 0 has no row at all.

    Attributes:
        version: counts up with every change; a decision pins the one it used.
        flagged_keywords: whole words, see ``docs/rules.md``.
        flagged_phrases: whole phrases.
        allowed: entries that cancel a hit inside them.
        rule_level: how freely keywords and phrases match.
        rules_on_reply: whether keywords and phrases are also tested on the draft.
        rules_on_passages: whether keywords and phrases are also tested on passages.
        injection_check: whether passages with instructions to the model are left out, and messages blocked.
        reply_links: ``LINKS_OF_PASSAGES`` and domains to which a reply may link; empty: none.
        moderation_thresholds: category -> 0..1 from which a score flags; other categories follow the API.
        hold_max_s: longest wait for moderation before the event ends in silence, seconds.
        moderators: in the account's order; empty: the moderation API alone.
        moderation_combination: how the results of several moderators decide.
        reply_max_age_s: a message written longer ago than this gets no reply, seconds; checked at its turn,
            before the model is called, when the draft is ready and at delivery.
        shedding: which messages are answered first when more wait than can be decided in that time.
        languages: language codes it answers in, such as ``en``; empty for any.
        prompt: the account's own instructions; the fixed ones stand before and after them.
        mask_personal_data: whether vendors get placeholders for personal data, see ``worker.masking``.
        phone_countries: ISO 3166 codes, lower case, whose national phone formats are masked.
        assessment_policy: name and settings of the confidence policy, see ``docs/confidence.md``.
        fallback_texts: language -> text to send when a reply cannot be trusted; when empty the policy's own,
            if it has one, else silence.
        disclosure_texts: language -> text before the first reply of a conversation, which says that an AI
            answers; empty: none.
        people_idle_s: a conversation returns to the AI when people have written nothing in it for so long,
            seconds, after an escalation in business hours; 0: only by release.
        stale_reply: what happens to a reply when a newer message came while it was made.
        loop_replies: replies within an hour to messages without a sign of a person, after which the AI stops
            answering them; 0: it goes on.
        burst_window_s: a message is answered together with the author's next one when that arrives within
            this time, seconds, at most 30; 0: each message is answered at once.
        retract_deleted: whether a delivered reply is retracted when its message is deleted.
        retract_flagged: whether a delivered reply is retracted when moderation flags the exchange late.
        reply_mode: ``suggest``: replies wait for a person, but for those that the next two let pass.
        auto_reasons: codes of reasons whose replies or handoff texts are sent at once.
        auto_from_confidence: 0..1 from which a measured reply of the model is sent at once; None: no such
            limit.
        keep_drafts_days: how long drafts that were not sent are kept, days.
        keep_quarantine_days: how long flagged exchanges are kept sealed, days.
        budget_day_usd: what models may cost in a day, UTC, US dollars; None: no budget.
        budget_month_usd: the same in a calendar month, UTC.
        budget_action: what happens to events once a budget is spent.
        requests_per_min: calls of models for its events in a minute, over the fleet; None: no limit.
        tokens_per_min: tokens of these calls; None: no limit.
        concurrent_events: events decided at once, over the fleet; None: no limit.
        handoff_texts: language -> text to the author when a decision hands the conversation to people;
            empty: none.
        handoff_texts_closed: ``handoff_texts`` outside business hours; empty: the same texts.
        escalation_actions: reason code or matched rule -> what is done where people could answer.
        escalation_queues: matched rule, ``label:<name>=<value>``, reason code or ``*`` -> name of a queue.
        time_zone: IANA name, of the business hours.
        business_hours: ``Weekday`` -> ranges such as ``09:00-12:00, 13:00-17:00``; a missing day is closed;
            empty: always open.
        holidays: dates such as ``2026-12-25`` on which people do not answer.
        appeals_enabled: whether appeals against its decisions are taken.
        appeal_within_days: how long after a decision one is taken, days.
        appeal_due_days: how long its people have to decide one, days.
        statements_enabled: whether statements of reasons may be exported.
        statement_grounds: reason code -> what a statement says about it, see ``worker.statement_grounds``.
        statement_countries: codes of the countries in which its restrictions apply, lower case.
        record_answers: whether what the ports answered is stored with each decision, sealed, for replays.
    """

    user_id: str
    version: int
    ai_control_enabled: bool = False
    ai_enabled_for_chats: bool = False
    ai_enabled_for_comments: bool = False
    flagged_keywords: tuple[str, ...] = ()
    flagged_phrases: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    rule_level: RuleLevel = RuleLevel.DEFAULT
    rules_on_reply: bool = True
    rules_on_passages: bool = False
    injection_check: bool = True
    reply_links: tuple[str, ...] = (LINKS_OF_PASSAGES,)
    moderation_thresholds: Mapping[str, float] = field(default_factory=dict)
    moderation_failure: FailurePolicy = FailurePolicy.HOLD
    hold_max_s: float = 3600.0
    moderators: tuple[ModeratorChoice, ...] = ()
    moderation_combination: Combination = Combination.ANY
    reply_max_age_s: float = 86400.0
    shedding: Shedding = Shedding.OLDEST_FIRST
    languages: tuple[str, ...] = ()
    prompt: str = ""
    mask_personal_data: bool = False
    phone_countries: tuple[str, ...] = ()
    assessment_policy: Mapping[str, Json] = field(default_factory=dict)
    fallback_texts: Mapping[str, str] = field(default_factory=dict)
    disclosure_texts: Mapping[str, str] = field(default_factory=dict)
    people_idle_s: float = 3600.0
    stale_reply: StaleReply = StaleReply.DISCARD
    loop_replies: int = 6
    burst_window_s: float = 1.5
    retract_deleted: bool = False
    retract_flagged: bool = False
    reply_mode: ReplyMode = ReplyMode.AUTO
    auto_reasons: tuple[str, ...] = ()
    auto_from_confidence: float | None = None
    keep_drafts_days: float = 30.0
    keep_quarantine_days: float = 30.0
    budget_day_usd: float | None = None
    budget_month_usd: float | None = None
    budget_action: BudgetAction = BudgetAction.ALERT
    requests_per_min: int | None = None
    tokens_per_min: int | None = None
    concurrent_events: int | None = None
    handoff_texts: Mapping[str, str] = field(default_factory=dict)
    handoff_texts_closed: Mapping[str, str] = field(default_factory=dict)
    escalation_actions: Mapping[str, str] = field(default_factory=dict)
    escalation_queues: Mapping[str, str] = field(default_factory=dict)
    time_zone: str = "UTC"
    business_hours: Mapping[str, str] = field(default_factory=dict)
    holidays: tuple[str, ...] = ()
    appeals_enabled: bool = False
    appeal_within_days: float = 184.0
    appeal_due_days: float = 14.0
    statements_enabled: bool = False
    statement_grounds: Mapping[str, str] = field(default_factory=dict)
    statement_countries: tuple[str, ...] = ()
    record_answers: bool = True
