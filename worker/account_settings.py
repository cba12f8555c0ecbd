"""Every account setting, declared once, and the check that turns a JSON object into an Account.

The settings form, the descriptions of a change, ``hushgate accounts settings`` and ``docs/settings.md`` are
made from the declarations in ``AccountSettings``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated, Any, Final, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
)

from worker.assessment import parse_policy
from worker.business_hours import checked_date, checked_ranges, checked_time_zone
from worker.errors import PolicyRejected, RejectedError
from worker.escalation import checked_actions, checked_queues, checked_sent_reason
from worker.expectations import expectation, place_of
from worker.model import (
    LINKS_OF_PASSAGES,
    Account,
    BudgetAction,
    Combination,
    EscalationAction,
    FailurePolicy,
    ReplyMode,
    RuleLevel,
    Shedding,
    StaleReply,
    Weekday,
)
from worker.moderator_settings import MOST_MODERATORS, ModeratorSettings, with_unique_names
from worker.payload import is_account_name
from worker.reply_content import domain_of
from worker.rules import RuleProblem, validate_rules
from worker.setting_description import (
    UNIT,
    RiskText,
    Section,
    Setting,
    SettingKind,
    begins,
    either,
    setting,
    warn_moderators_changed,
    warn_silenced,
    warn_thresholds_changed,
    warns,
)
from worker.statement_grounds import checked_country, checked_grounds

ISO_639_1: Final = (
    "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de "
    "dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia "
    "id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo "
    "lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl "
    "ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk "
    "tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
"""Codes of two letters; "vn", "jp" and "cn" are countries."""


def _known_language(value: str) -> str:
    if len(value) == 2 and value not in ISO_639_1.split():
        raise ValueError("expected a language code such as en or de")
    return value


def _known_country(value: str) -> str:
    from phonenumbers import SUPPORTED_REGIONS  # noqa: PLC0415  # 2 MB that few accounts need

    if value.upper() not in SUPPORTED_REGIONS:
        raise ValueError("expected a country code such as de or vn")
    return value


def _known_link_source(value: str) -> str:
    return value if value == LINKS_OF_PASSAGES else domain_of(value)


ESCAPED_NUL: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
RuleText = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=r"^[^\x00]*$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00]*$")]
ShareNumber = Annotated[float, Field(ge=0, le=1)]
Amount = Annotated[int, Field(ge=1, le=1_000_000_000)]
Usd = Annotated[float, Field(gt=0, le=10_000_000, allow_inf_nan=False)]
Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}$"), AfterValidator(_known_language)]
Country = Annotated[str, StringConstraints(pattern=r"^[a-z]{2}$"), AfterValidator(_known_country)]
SentReason = Annotated[
    str,
    BeforeValidator(lambda value: value.upper() if isinstance(value, str) else value),
    AfterValidator(checked_sent_reason),
]
"""A reason with a reply or a handoff; the settings form gives lower case."""
AuthorText = Annotated[str, StringConstraints(max_length=1000, pattern=r"^[^\x00]*\S[^\x00]*$")]
PairName = Annotated[str, StringConstraints(min_length=1, max_length=1100, pattern=r"^\S([^\x00-\x1f]*\S)?$")]
QueueName = Annotated[str, StringConstraints(max_length=100, pattern=r"^[^\s=]([^\x00-\x1f=]*[^\s=])?$")]
GroundText = Annotated[str, StringConstraints(max_length=3000, pattern=r"^[^\x00-\x1f=]+$")]
Seconds = Annotated[float, Field(ge=0, le=31 * 86_400, allow_inf_nan=False)]


def _without_nul(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if ESCAPED_NUL.search(json.dumps(value)):
        raise ValueError("expected text without NUL")
    return value


class AccountRejected(RejectedError):
    """Settings that cannot be stored; the message has one line for every problem.

    Attributes:
        problems: place (``flagged_keywords.3``, ``hold_max_s``), and expectation with value.
    """

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{place}: {what}" for place, what in self.problems))

    def __reduce__(self) -> tuple[type[AccountRejected], tuple[tuple[tuple[str, str], ...]]]:
        """Child processes of a backtest hand it to their parent."""
        return type(self), (self.problems,)


class AccountSettings(BaseModel):
    """The settings of an account; names and order as in ``worker.model.Account``."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    ai_control_enabled: bool = setting(
        title="AI replies",
        section=Section.REPLIES,
        sentence="Let the AI answer",
        help="The main switch: while it is off, nothing is answered.",
        warnings=warns(RiskText.SWITCHED_ON, begins(True)),
    )
    ai_enabled_for_chats: bool = setting(
        title="AI for chats",
        section=Section.REPLIES,
        sentence="in chats",
        help="Answer chat messages.",
        warnings=warns(RiskText.SWITCHED_ON, begins(True)),
    )
    ai_enabled_for_comments: bool = setting(
        title="AI for comments",
        section=Section.REPLIES,
        sentence="in comments",
        help="Answer comments.",
        warnings=warns(RiskText.SWITCHED_ON, begins(True)),
    )
    flagged_keywords: Annotated[list[RuleText], Field(max_length=100_000)] = setting(
        title="Keywords",
        section=Section.RULES,
        help="Words that stop a message.",
        document="rules.md",
    )
    flagged_phrases: Annotated[list[RuleText], Field(max_length=100_000)] = setting(
        title="Phrases",
        section=Section.RULES,
        help="Phrases that stop a message.",
        document="rules.md",
    )
    allowed: Annotated[list[RuleText], Field(max_length=100_000)] = setting(
        title="Allowed texts",
        section=Section.RULES,
        help="Texts that cancel a keyword or phrase found inside them.",
    )
    rule_level: Annotated[RuleLevel, Field(strict=False)] = setting(
        title="Matching of rules",
        section=Section.MODERATION,
        help="How freely keywords and phrases match.",
        document="rules.md",
        choices={
            RuleLevel.DEFAULT: "whole words and phrases, in any disguise that a reader recognises",
            RuleLevel.STRICT: "also masked letters, split words and typos; some harmless words match",
        },
    )
    rules_on_reply: bool = setting(
        title="Rules also test the reply",
        section=Section.MODERATION,
        help="Keywords and phrases stop a draft as they stop a message.",
        warnings=warns(RiskText.REPLY_UNTESTED, begins(False)),
    )
    rules_on_passages: bool = setting(
        title="Rules also test passages",
        section=Section.MODERATION,
        help="Passages with a keyword or phrase are not shown to the model.",
        document="screening.md",
    )
    injection_check: bool = setting(
        title="Instructions to the model",
        section=Section.MODERATION,
        help="Passages that give instructions to the model are not shown to it, and messages that do are"
        " not answered.",
        document="screening.md",
        warnings=warns(RiskText.PASSAGES_UNCHECKED, begins(False)),
    )
    reply_links: Annotated[
        list[Annotated[str, AfterValidator(_known_link_source)]], Field(max_length=100)
    ] = setting(
        title="Links in replies",
        section=Section.MODERATION,
        help="passages: those of the passages that the reply cites, and of the instructions. Domains such"
        " as shop.example: with their subdomains. Empty: none. A draft with another link is handed to a"
        " person.",
    )
    moderation_thresholds: dict[Name, ShareNumber] = setting(
        title="Moderation thresholds",
        section=Section.MODERATION,
        help="By category, the score that stops a text; other categories follow the model's own flag.",
        warnings=warn_thresholds_changed,
    )
    moderation_failure: Annotated[FailurePolicy, Field(strict=False)] = setting(
        title="When moderation is down",
        section=Section.MODERATION,
        help="What happens to a message while a moderator does not answer. When it refuses the key, the"
        " model or the address, no message passes.",
        warnings=either(
            warns(RiskText.UNMODERATED, begins(FailurePolicy.ALLOW)),
            warns(RiskText.HELD, begins(FailurePolicy.HOLD)),
        ),
        choices={
            FailurePolicy.HOLD: "wait for it up to the longest hold, then send no reply",
            FailurePolicy.BLOCK: "try three times, then send no reply",
            FailurePolicy.ALLOW: "try three times, then answer without moderation",
        },
    )
    hold_max_s: Seconds = setting(
        title="Longest hold, seconds",
        section=Section.MODERATION,
        help="How long a message waits for moderation before it gets no reply.",
    )
    moderators: Annotated[
        list[ModeratorSettings], Field(max_length=MOST_MODERATORS), AfterValidator(with_unique_names)
    ] = setting(
        title="Moderators",
        section=Section.MODERATION,
        help="What moderates messages and replies; without any, the moderation API alone.",
        document="moderators.md",
        warnings=warn_moderators_changed,
    )
    moderation_combination: Annotated[Combination, Field(strict=False)] = setting(
        title="Several moderators",
        section=Section.MODERATION,
        help="How their results decide about one text.",
        warnings=warns(RiskText.COMBINED_WEAKER, lambda before, after: before is Combination.ANY != after),
        choices={
            Combination.ANY: "all are asked at once, one hit blocks",
            Combination.ALL: "all are asked at once, only hits of all block",
            Combination.FIRST: "they are asked in turn, the first that answers decides",
        },
    )
    reply_max_age_s: Seconds = setting(
        title="Oldest message answered, seconds",
        section=Section.REPLIES,
        help="Age of a message since it was written or arrived, whichever is earlier; 86400 is a day.",
    )
    shedding: Annotated[Shedding, Field(strict=False)] = setting(
        title="Answered first under overload",
        section=Section.REPLIES,
        help="Counts while more conversations wait than can be decided before their messages are too"
        " old to be answered. Left out messages end without a reply as SHED.",
        choices={
            Shedding.OLDEST_FIRST: "the oldest; the others end when they are too old",
            Shedding.NEWEST_FIRST: "the newest; the oldest are left out at once",
            Shedding.CHATS_FIRST: "chats, the oldest first; comments are left out at once",
        },
    )
    languages: Annotated[list[Language], Field(max_length=100)] = setting(
        title="Languages answered in",
        section=Section.REPLIES,
        sentence="Answer only in these languages",
        help="Codes such as en, de; empty for any.",
    )
    prompt: Annotated[str, StringConstraints(max_length=20_000, pattern=r"^[^\x00]*$")] = setting(
        title="Instructions",
        section=Section.REPLY,
        sentence="Tone and instructions for the AI",
        help="About the account, its tone and its language; they extend the fixed instructions.",
    )
    mask_personal_data: bool = setting(
        title="Mask personal data",
        section=Section.PRIVACY,
        help="Vendors get placeholders for e-mail addresses and for phone, card and bank account numbers.",
        document="personal-data.md",
        warnings=warns(RiskText.UNMASKED, begins(False)),
    )
    phone_countries: Annotated[list[Country], Field(max_length=10)] = setting(
        title="Countries of phone numbers",
        section=Section.PRIVACY,
        help="Codes such as de, vn: their national formats are masked; numbers with + always are.",
    )
    assessment_policy: Annotated[dict[str, JsonValue], AfterValidator(_without_nul)] = setting(
        title="Confidence policy",
        section=Section.REPLY,
        sentence="How an answer is checked",
        help="Name and settings of the policy that assesses a draft.",
        document="confidence.md",
        warnings=warns(
            RiskText.UNASSESSED,
            lambda before, after: before.get("enabled", True) and after.get("enabled") is False,
        ),
    )
    fallback_texts: dict[
        Language, Annotated[str, StringConstraints(max_length=5000, pattern=r"^[^\x00]*$")]
    ] = setting(
        title="Fallback texts",
        section=Section.FALLBACKS,
        sentence="What the customer reads when the AI is not sure",
        help="By language, the text sent in place of a draft with low confidence.",
    )
    disclosure_texts: dict[Language, AuthorText] = setting(
        title="AI disclosure",
        section=Section.DISCLOSURE,
        help="By language, a text that says that an AI answers. It is sent before the first reply of a"
        " conversation; empty: none.",
    )
    people_idle_s: Seconds = setting(
        title="Conversation returns to the AI after, seconds",
        section=Section.PEOPLE,
        help="When people have written nothing for so long in a conversation that they own, the AI"
        " answers in it again; 0: only after a release. For an escalation outside business hours the time"
        " begins when they open.",
    )
    stale_reply: Annotated[StaleReply, Field(strict=False)] = setting(
        title="Reply overtaken by a newer message",
        section=Section.PEOPLE,
        help="What happens to a reply when the author wrote again while it was made.",
        choices={
            StaleReply.DISCARD: "discard it and answer the newer message with both in the prompt",
            StaleReply.SEND: "send it, then answer the newer message",
        },
    )
    loop_replies: Annotated[int, Field(ge=0, le=10)] = setting(
        title="Replies to an automatic replier",
        section=Section.PEOPLE,
        help="After so many replies within an hour to messages without a sign of a person, or after an"
        " automatic reply, the conversation is handed to people once and the AI is silent; 0: never.",
    )
    burst_window_s: Annotated[float, Field(ge=0, le=30, allow_inf_nan=False)] = setting(
        title="Wait for further messages, seconds",
        section=Section.PEOPLE,
        help="Messages that an author writes in a row are answered once: each waits so long for the"
        " author's next one, a finished question a third, and the last one is answered with all of them;"
        " 0: no wait.",
    )
    retract_deleted: bool = setting(
        title="Retract replies to deleted messages",
        section=Section.PEOPLE,
        help="When an author deletes a message, the channel is asked to delete the reply to it.",
    )
    retract_flagged: bool = setting(
        title="Retract replies that moderation flags late",
        section=Section.MODERATION,
        help="When a text that passed without moderation is flagged later, the channel is asked to delete"
        " the reply.",
    )
    reply_mode: Annotated[ReplyMode, Field(strict=False)] = setting(
        title="Replies",
        section=Section.APPROVAL,
        sentence="Answers",
        help="In accounts that people create, each answer waits for your approval at first. “Switch on"
        " automatic answers” shows how the last drafts would have gone.",
        warnings=warns(RiskText.SENT_AT_ONCE, begins(ReplyMode.AUTO)),
        choices={
            ReplyMode.AUTO: "are sent at once when they are trusted",
            ReplyMode.SUGGEST: "wait until a person approves, edits or replaces them",
        },
    )
    auto_reasons: Annotated[list[SentReason], Field(max_length=50)] = setting(
        title="Sent without approval, by reason",
        section=Section.APPROVAL,
        help="While answers wait for your approval, the reasons whose texts are sent at once: REPLIED,"
        " PARTIAL_REPLY and FALLBACK_SENT for replies, MODEL_ESCALATED and others for the text at a"
        " handoff.",
    )
    auto_from_confidence: ShareNumber | None = setting(
        title="Sent without approval, from confidence",
        section=Section.APPROVAL,
        help="While answers wait for your approval, a reply with at least this measured confidence is"
        " sent at once; empty: none.",
    )
    keep_drafts_days: Annotated[float, Field(ge=1, le=365, allow_inf_nan=False)] = setting(
        title="Drafts that were not sent are kept, days",
        section=Section.APPROVAL,
        help="Reviewers can read and use them so long; then they are deleted.",
    )
    keep_quarantine_days: Annotated[float, Field(ge=30, le=366, allow_inf_nan=False)] = setting(
        title="Flagged exchanges are kept, days",
        section=Section.PRIVACY,
        help="Flagged messages and drafts are sealed so long, for reviews and appeals; then they are"
        " deleted. Appeals may need six months.",
    )
    budget_day_usd: Usd | None = setting(
        title="Budget for a day, USD",
        section=Section.SPENDING,
        help="What models may cost from midnight to midnight UTC, by known prices; empty: no budget.",
        document="limits.md",
    )
    budget_month_usd: Usd | None = setting(
        title="Budget for a month, USD",
        section=Section.SPENDING,
        help="The same for a calendar month, UTC.",
    )
    budget_action: Annotated[BudgetAction, Field(strict=False)] = setting(
        title="When a budget is spent",
        section=Section.SPENDING,
        help="Until the next day or month, or until the budget is raised. Decisions in progress end as"
        " usual.",
        warnings=warns(RiskText.UNLIMITED, begins(BudgetAction.ALERT)),
        choices={
            BudgetAction.ALERT: "an alert is raised, replies are sent as before",
            BudgetAction.SUGGEST: "replies wait until a person approves them",
            BudgetAction.SILENCE: "no model is called and nothing is sent",
        },
    )
    requests_per_min: Amount | None = setting(
        title="Calls of models in a minute",
        section=Section.SPENDING,
        help="For drafts and judge, over all workers; further events wait. Empty: no limit.",
    )
    tokens_per_min: Amount | None = setting(
        title="Tokens in a minute",
        section=Section.SPENDING,
        help="Of the same calls. Empty: no limit.",
    )
    concurrent_events: Amount | None = setting(
        title="Events decided at once",
        section=Section.SPENDING,
        help="Over all workers; further events wait. Empty: no limit.",
    )
    handoff_texts: dict[Language, AuthorText] = setting(
        title="Text at a handoff",
        section=Section.HANDOFF,
        sentence="What the customer reads when people take over",
        help="By language, the text sent to the author when a conversation is handed to people; empty:"
        " none. With replies that wait for approval it is sent only for reasons sent without approval.",
    )
    handoff_texts_closed: dict[Language, AuthorText] = setting(
        title="Text at a handoff outside business hours",
        section=Section.HANDOFF,
        help="By language, sent instead of the text at a handoff; empty: the same text.",
    )
    escalation_actions: Annotated[
        dict[PairName, Annotated[EscalationAction, Field(strict=False)]],
        Field(max_length=200),
        AfterValidator(checked_actions),
    ] = setting(
        title="What is handed to people",
        section=Section.HANDOFF,
        help="By reason code or matched rule, escalate or silence; others as their reason says.",
        document="escalations.md",
        warnings=warn_silenced,
    )
    escalation_queues: Annotated[
        dict[PairName, QueueName], Field(max_length=200), AfterValidator(checked_queues)
    ] = setting(
        title="Queues of escalations",
        section=Section.HANDOFF,
        help="By matched rule, label (label:name=value), reason code or *, the queue that an escalation"
        " names.",
    )
    time_zone: Annotated[str, StringConstraints(max_length=64), AfterValidator(checked_time_zone)] = setting(
        title="Time zone",
        section=Section.HANDOFF,
        sentence="People answer in the time zone",
        help="IANA name such as Europe/Berlin, for business hours and holidays.",
    )
    business_hours: dict[
        Annotated[Weekday, Field(strict=False)],
        Annotated[str, StringConstraints(max_length=200), AfterValidator(checked_ranges)],
    ] = setting(
        title="Business hours",
        section=Section.HANDOFF,
        sentence="at these hours",
        help="By weekday (mon to sun), ranges such as 09:00-12:00, 13:00-17:00; a missing day is closed."
        " Empty: always open.",
    )
    holidays: Annotated[list[Annotated[str, AfterValidator(checked_date)]], Field(max_length=1000)] = setting(
        title="Holidays",
        section=Section.HANDOFF,
        help="Dates such as 2026-12-25, closed all day.",
    )
    appeals_enabled: bool = setting(
        title="Appeals",
        section=Section.APPEALS,
        help="People may appeal against a decision that gave them no reply.",
        document="appeals.md",
    )
    appeal_within_days: Annotated[float, Field(ge=1, le=3660, allow_inf_nan=False)] = setting(
        title="Appeals are taken after a decision for, days",
        section=Section.APPEALS,
        help="Article 20 of the Digital Services Act asks for six months: 184 days are never less.",
    )
    appeal_due_days: Annotated[float, Field(ge=1, le=366, allow_inf_nan=False)] = setting(
        title="Appeals are decided within, days",
        section=Section.APPEALS,
        help="The due date that the list of appeals shows.",
    )
    statements_enabled: bool = setting(
        title="Statements of reasons",
        section=Section.APPEALS,
        help="Statements of reasons of the Digital Services Act may be exported. A bot that says nothing"
        " does not restrict anything.",
        document="appeals.md",
    )
    statement_grounds: Annotated[
        dict[PairName, GroundText], Field(max_length=100), AfterValidator(checked_grounds)
    ] = setting(
        title="Grounds of statements",
        section=Section.APPEALS,
        help="By reason code: decision_visibility | decision_ground | category | law or section of your"
        " terms | why. A reason without a ground gets no statement.",
    )
    statement_countries: Annotated[
        list[Annotated[str, AfterValidator(checked_country)]], Field(max_length=40)
    ] = setting(
        title="Countries of statements",
        section=Section.APPEALS,
        help="Codes such as de, fr: where the restrictions apply; needed for an export.",
    )
    record_answers: bool = setting(
        title="Record answers for replays",
        section=Section.LEARNING,
        help="What models, moderators and the search answered is stored with each decision, sealed. So"
        " it can be made again with other settings.",
        document="learn.md",
    )


SETTINGS: Final[Mapping[str, Setting]] = {
    name: next(each for each in info.metadata if isinstance(each, Setting))
    for name, info in AccountSettings.model_fields.items()
}
"""Every setting, in the order of ``AccountSettings``."""
RULES: Final = tuple(name for name, each in SETTINGS.items() if each.section is Section.RULES)
"""The settings that are rules, in the order in which problems number their rules."""


def kind_of(name: str) -> SettingKind:
    """The kind of a setting's value."""
    shape = AccountSettings.model_fields[name].annotation
    if isinstance(shape, type) and issubclass(shape, StrEnum):
        return SettingKind.CHOICE
    if shape is float and SETTINGS[name].title.endswith(UNIT):
        return SettingKind.DURATION
    plain: Mapping[Any, SettingKind] = {
        bool: SettingKind.SWITCH,
        float: SettingKind.NUMBER,
        int: SettingKind.NUMBER,
        str: SettingKind.TEXT,
        ShareNumber | None: SettingKind.SHARE,
        Usd | None: SettingKind.NUMBER,
        Amount | None: SettingKind.NUMBER,
    }
    if get_origin(shape) is list:
        return SettingKind.RECORDS if get_args(shape)[0] is ModeratorSettings else SettingKind.LIST
    return plain.get(shape) or SettingKind.MAPPING


def changed(current: Account, changes: Mapping[str, Any]) -> Account:
    """The account with these settings changed, at the version of ``current``.

    Raises:
        AccountRejected: unknown settings or invalid values, all of them.
    """
    if not is_account_name(current.user_id):
        raise AccountRejected([("user_id", f"expected an account's name, got {_shown(current.user_id)}")])
    settings = {
        name: value for name, value in asdict(current).items() if name in AccountSettings.model_fields
    }
    settings |= {name: list(value) for name, value in settings.items() if isinstance(value, tuple)}
    try:
        checked = AccountSettings.model_validate(settings | dict(changes))
    except ValidationError as error:
        problems = [
            (place_of(each["loc"]), f"{_expectation(each)}, got {_shown(each['input'])}")
            for each in error.errors(include_url=False)
        ]
        raise AccountRejected(problems) from error
    try:
        parse_policy(checked.assessment_policy)
    except PolicyRejected as error:
        raise AccountRejected([("assessment_policy", str(error))]) from error
    values = {name: getattr(checked, name) for name in AccountSettings.model_fields}
    values |= {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    values["moderators"] = tuple(each.choice() for each in checked.moderators)
    return Account(user_id=current.user_id, version=current.version, **values)


def rule_problems(account: Account, recent: Sequence[str] = ()) -> tuple[RuleProblem, ...]:
    """The errors and warnings of an account's rules, tested on its recent messages; errors first."""
    return validate_rules(
        account.flagged_keywords,
        account.flagged_phrases,
        allow=account.allowed,
        recent_messages=recent,
        level=account.rule_level,
    )


def _expectation(problem: Any) -> str:
    if problem["type"] != "extra_forbidden":
        return f"expected {expectation(problem['msg'])}"
    near = get_close_matches(place_of(problem["loc"]), AccountSettings.model_fields, n=1)
    return "there is no such setting" + (f" ({near[0]} is one)" if near else "")


def _shown(value: object) -> str:
    """A value as JSON, so that the text "1" and the number 1 differ; at most 80 characters."""
    return json.dumps(value, ensure_ascii=False, default=str)[:80]
