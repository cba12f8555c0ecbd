"""Reason codes: why an event ended as it did. Everything that depends on the code alone is declared here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

from worker.model import DecisionKind


class ErrorClass(StrEnum):
    """The error classes of Guardrails, kept so that people can search for them."""

    PRE_BLOCKED = "GUARDRAIL_PRE_BLOCKED"
    POST_BLOCKED = "GUARDRAIL_POST_BLOCKED"
    LLM_ERROR = "LLM_ERROR"


class ReasonFamily(StrEnum):
    """Which part of the system ended the event; every reason is in exactly one family."""

    SETTINGS = "settings"
    TOO_LATE = "too late"
    BLOCKED = "blocked"
    MODERATION_FAILED = "moderation failed"
    MODEL_FAILED = "model failed"
    ESCALATED = "escalated"
    NOT_TRUSTED = "not trusted"
    PEOPLE = "with people"
    CONVERSATION = "conversation"
    FEEDBACK = "feedback"
    HELD = "held for approval"
    ANSWERED = "answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonSpec:
    """All facts about one reason code.

    Attributes:
        code: as stored.
        label: a few plain words for lists; unique.
        when: the condition, for ``docs/reasons.md``.
        explanation: one sentence for the decision page; empty when the sentence needs the decision's data,
            see ``review.decision.explanation``.
        error_class: None when neither a guardrail nor the model caused a silent ending.
    """

    code: str
    family: ReasonFamily
    label: str
    when: str
    explanation: str = ""
    decision: DecisionKind = DecisionKind.IGNORE
    error_class: ErrorClass | None = None


class Reason(StrEnum):
    """Why an event ended as it did; stored, never renamed."""

    spec: ReasonSpec

    def __new__(cls, spec: ReasonSpec | str) -> Self:
        """A member whose value is the code; type checkers read this signature for a lookup by code too."""
        assert isinstance(spec, ReasonSpec)
        member = str.__new__(cls, spec.code)
        member._value_ = spec.code
        member.spec = spec
        return member

    UNKNOWN_ACCOUNT = ReasonSpec(
        code="UNKNOWN_ACCOUNT",
        family=ReasonFamily.SETTINGS,
        error_class=ErrorClass.PRE_BLOCKED,
        label="Account without settings",
        when="`ai_rules` has no row for the account",
    )
    AI_DISABLED = ReasonSpec(
        code="AI_DISABLED",
        family=ReasonFamily.SETTINGS,
        error_class=ErrorClass.PRE_BLOCKED,
        label="AI switched off",
        when="`ai_control_enabled` is false",
        explanation="Nothing was sent: the account has switched the AI off.",
    )
    CHATS_DISABLED = ReasonSpec(
        code="CHATS_DISABLED",
        family=ReasonFamily.SETTINGS,
        error_class=ErrorClass.PRE_BLOCKED,
        label="Chats switched off",
        when="`ai_enabled_for_chats` is false",
        explanation="Nothing was sent: the account lets the AI answer comments, not chats.",
    )
    COMMENTS_DISABLED = ReasonSpec(
        code="COMMENTS_DISABLED",
        family=ReasonFamily.SETTINGS,
        error_class=ErrorClass.PRE_BLOCKED,
        label="Comments switched off",
        when="`ai_enabled_for_comments` is false",
        explanation="Nothing was sent: the account lets the AI answer chats, not comments.",
    )
    BUDGET_SPENT = ReasonSpec(
        code="BUDGET_SPENT",
        family=ReasonFamily.SETTINGS,
        label="Budget spent",
        when="a budget of the account is spent and `budget_action` is `silence`; no model was called",
        explanation="Nothing was sent: the account's budget for models is spent, and it is set to answer"
        " nothing until the next period.",
    )
    TOO_LATE = ReasonSpec(
        code="TOO_LATE",
        family=ReasonFamily.TOO_LATE,
        error_class=ErrorClass.PRE_BLOCKED,
        label="Waited too long",
        when="written longer than `reply_max_age_s` ago: at its turn, after a hold, or when the answer"
        " was ready. The earlier of `created_at` and the arrival counts, so that a backfill gets no"
        " replies and a clock that is ahead makes no message younger. Or less time is left at its turn"
        " than the shortest of the last answers took; no model was called",
    )
    SHED = ReasonSpec(
        code="SHED",
        family=ReasonFamily.TOO_LATE,
        error_class=ErrorClass.PRE_BLOCKED,
        label="Left out under overload",
        when="more conversations of the account wait than can be decided within `reply_max_age_s`, and"
        " `shedding` is `newest_first`, or `chats_first` and it is a comment; no model was called",
        explanation="Nothing was sent: more messages waited than could be answered in time, and the"
        " account's setting for that case leaves this one out.",
    )
    FLAGGED_RULE = ReasonSpec(
        code="FLAGGED_RULE",
        family=ReasonFamily.BLOCKED,
        error_class=ErrorClass.PRE_BLOCKED,
        label="Rule matched the message",
        when="a rule matched the message, or it has an instruction to the model (`injection_check`,"
        " matched rule such as `injection:override`); the exchange is quarantined",
    )
    MODERATION_FLAGGED = ReasonSpec(
        code="MODERATION_FLAGGED",
        family=ReasonFamily.BLOCKED,
        error_class=ErrorClass.PRE_BLOCKED,
        label="Moderation flagged the message",
        when="moderation flagged the message; the exchange is quarantined",
    )
    MODERATION_REJECTED = ReasonSpec(
        code="MODERATION_REJECTED",
        family=ReasonFamily.MODERATION_FAILED,
        error_class=ErrorClass.PRE_BLOCKED,
        label="Moderation refused to look at the message",
        when="the moderation API refused the text of this message",
        explanation="Nothing was sent: the moderation service refused the text of this message, and"
        " nothing is answered unmoderated.",
    )
    MODERATION_UNAVAILABLE = ReasonSpec(
        code="MODERATION_UNAVAILABLE",
        family=ReasonFamily.MODERATION_FAILED,
        error_class=ErrorClass.PRE_BLOCKED,
        label="Moderation did not answer",
        when="moderation is down, `moderation_failure` is `block`; or a classifier's answer cannot be read",
    )
    MODERATION_TIMED_OUT = ReasonSpec(
        code="MODERATION_TIMED_OUT",
        family=ReasonFamily.MODERATION_FAILED,
        error_class=ErrorClass.PRE_BLOCKED,
        label="Held for moderation too long",
        when="moderation is down for longer than `hold_max_s`, `moderation_failure` is `hold`",
    )
    MODERATION_MISCONFIGURED = ReasonSpec(
        code="MODERATION_MISCONFIGURED",
        family=ReasonFamily.MODERATION_FAILED,
        error_class=ErrorClass.PRE_BLOCKED,
        label="Moderation is misconfigured",
        when="a moderator refuses this deployment: key, quota, model name or address; or an account's"
        " moderator is not declared or does not fit; at once, with `hold` after `hold_max_s`",
        explanation="Nothing was sent: the moderation service refused this deployment, so the message"
        " was not moderated; its key, quota, model name or address is wrong.",
    )
    LLM_ERROR = ReasonSpec(
        code="LLM_ERROR",
        family=ReasonFamily.MODEL_FAILED,
        error_class=ErrorClass.LLM_ERROR,
        label="Model gave no usable answer",
        when="no completion after all attempts",
    )
    LLM_REJECTED = ReasonSpec(
        code="LLM_REJECTED",
        family=ReasonFamily.MODEL_FAILED,
        error_class=ErrorClass.LLM_ERROR,
        label="Model's server refused the request",
        when="the endpoint refused the request (400, 401, 403 ...), or the deployment: quota, model"
        " name, address",
        explanation="Nothing was sent: the language model's server refused the request, so asking again"
        " could not help; check key, model name and prompt.",
    )
    MODEL_REFUSED = ReasonSpec(
        code="MODEL_REFUSED",
        family=ReasonFamily.MODEL_FAILED,
        error_class=ErrorClass.LLM_ERROR,
        label="Model declined to answer",
        when="the model declined",
        explanation="Nothing was sent: the language model declined to answer this message.",
    )
    TOOL_LOOP = ReasonSpec(
        code="TOOL_LOOP",
        family=ReasonFamily.MODEL_FAILED,
        error_class=ErrorClass.LLM_ERROR,
        label="Model kept searching",
        when="the model asked for tools in its last round too",
        explanation="Nothing was sent: the language model kept searching the documents and never answered.",
    )
    IMAGE_UNCHECKED = ReasonSpec(
        code="IMAGE_UNCHECKED",
        decision=DecisionKind.ESCALATE,
        family=ReasonFamily.ESCALATED,
        label="Image could not be checked",
        when="moderation passed the text, and could not check an image in three attempts, such as"
        " one that cannot be fetched",
        explanation="Handed to a person: an image could not be checked. The text passed moderation.",
    )
    ATTACHMENT_UNSEEN = ReasonSpec(
        code="ATTACHMENT_UNSEEN",
        decision=DecisionKind.ESCALATE,
        family=ReasonFamily.ESCALATED,
        label="About an attachment",
        when="the message has an attachment, and no text, fewer than three words, or a text that"
        " points to something shown (this, attached, photo ... in many languages); no model was called",
        explanation="Handed to a person: the message is about an attachment, which the AI cannot see.",
    )
    MODEL_ESCALATED = ReasonSpec(
        code="MODEL_ESCALATED",
        decision=DecisionKind.ESCALATE,
        family=ReasonFamily.ESCALATED,
        label="Model asked for a person",
        when="the model asked for a person",
        explanation="Handed to a person: the language model asked for one instead of answering.",
    )
    REPLY_FLAGGED_RULE = ReasonSpec(
        code="REPLY_FLAGGED_RULE",
        family=ReasonFamily.BLOCKED,
        error_class=ErrorClass.POST_BLOCKED,
        label="Rule matched the draft",
        when="a rule matched the draft; the exchange is quarantined",
    )
    REPLY_MODERATION_FLAGGED = ReasonSpec(
        code="REPLY_MODERATION_FLAGGED",
        family=ReasonFamily.BLOCKED,
        error_class=ErrorClass.POST_BLOCKED,
        label="Moderation flagged the draft",
        when="moderation flagged the draft; the exchange is quarantined",
    )
    REPLY_MODERATION_REJECTED = ReasonSpec(
        code="REPLY_MODERATION_REJECTED",
        family=ReasonFamily.MODERATION_FAILED,
        error_class=ErrorClass.POST_BLOCKED,
        label="Moderation refused to look at the draft",
        when="the moderation API refused this draft",
        explanation="Nothing was sent: the moderation service refused the drafted reply, and no reply is"
        " sent unmoderated.",
    )
    REPLY_MODERATION_UNAVAILABLE = ReasonSpec(
        code="REPLY_MODERATION_UNAVAILABLE",
        family=ReasonFamily.MODERATION_FAILED,
        error_class=ErrorClass.POST_BLOCKED,
        label="Moderation of the draft did not answer",
        when="as `MODERATION_UNAVAILABLE`, for the draft",
    )
    REPLY_MODERATION_TIMED_OUT = ReasonSpec(
        code="REPLY_MODERATION_TIMED_OUT",
        family=ReasonFamily.MODERATION_FAILED,
        error_class=ErrorClass.POST_BLOCKED,
        label="Draft held for moderation too long",
        when="as `MODERATION_TIMED_OUT`, for the draft",
    )
    REPLY_MODERATION_MISCONFIGURED = ReasonSpec(
        code="REPLY_MODERATION_MISCONFIGURED",
        family=ReasonFamily.MODERATION_FAILED,
        error_class=ErrorClass.POST_BLOCKED,
        label="Moderation of the draft is misconfigured",
        when="as `MODERATION_MISCONFIGURED`, for the draft",
        explanation="Nothing was sent: the moderation service refused this deployment, so the drafted"
        " reply was not moderated; its key, quota, model name or address is wrong.",
    )
    NO_EVIDENCE = ReasonSpec(
        code="NO_EVIDENCE",
        family=ReasonFamily.NOT_TRUSTED,
        label="Nothing found to answer from",
        when="nothing to answer from; no model call was paid",
    )
    NO_ANSWER = ReasonSpec(
        code="NO_ANSWER",
        family=ReasonFamily.NOT_TRUSTED,
        label="Draft had no answer",
        when="the draft only said that it has no answer, and `low_action` is `silence`, or the draft is"
        " empty: no person is asked, and the conversation stays with the AI. With `low_action`"
        " `escalate` such a draft ends as `LOW_CONFIDENCE_ESCALATED`",
        explanation="Nothing was sent: the draft only said that it does not know the answer.",
    )
    PLACEHOLDER_UNKNOWN = ReasonSpec(
        code="PLACEHOLDER_UNKNOWN",
        family=ReasonFamily.NOT_TRUSTED,
        label="Draft had an unknown placeholder",
        when="`mask_personal_data` is on, and the draft has a placeholder that was not issued or is damaged",
        explanation="Nothing was sent: the draft has a placeholder for hidden data that stands for"
        " nothing, so the reply would be wrong.",
    )
    LOW_CONFIDENCE = ReasonSpec(
        code="LOW_CONFIDENCE",
        family=ReasonFamily.NOT_TRUSTED,
        label="Draft not trusted",
        when="the draft cannot be trusted, and `low_action` is `silence`, or `fallback` without a text:"
        " no person is asked, and the conversation stays with the AI",
    )
    LOW_CONFIDENCE_ESCALATED = ReasonSpec(
        code="LOW_CONFIDENCE_ESCALATED",
        decision=DecisionKind.ESCALATE,
        family=ReasonFamily.ESCALATED,
        label="No trusted draft, handed to a person",
        when="the draft cannot be trusted or only said that it has no answer, and `low_action` is"
        " `escalate`, as the default policy has it: a person is asked, and the conversation belongs to"
        " people",
    )
    PROMISED_ACTION = ReasonSpec(
        code="PROMISED_ACTION",
        decision=DecisionKind.ESCALATE,
        family=ReasonFamily.ESCALATED,
        label="Draft promised an action",
        when="the draft promised a handoff or an action that is not performed, or claimed it was done",
        explanation="Handed to a person: the drafted reply promised an action that the AI cannot do, or"
        " claimed that it was done.",
    )
    REPLY_UNSAFE = ReasonSpec(
        code="REPLY_UNSAFE",
        decision=DecisionKind.ESCALATE,
        family=ReasonFamily.ESCALATED,
        label="Draft had unsafe content",
        when="the draft has a link that `reply_links` does not allow, HTML, a picture, a mention of"
        " everyone, hidden text, a formula, a key or password, an e-mail address, card or IBAN of unknown"
        " origin, or a piece of our instructions; the matched rule says which, as `reply_content:link`",
    )
    AUTO_REPLY_LOOP_ESCALATED = ReasonSpec(
        code="AUTO_REPLY_LOOP_ESCALATED",
        decision=DecisionKind.ESCALATE,
        family=ReasonFamily.ESCALATED,
        label="Automatic replier, handed to a person",
        when="an answer to the AI is an automatic reply, or `loop_replies` replies were sent within an"
        " hour to messages without a sign of a person; once in an exchange",
        explanation="Handed to a person: an automatic replier seems to answer the AI's replies.",
    )
    OWNED_BY_PEOPLE = ReasonSpec(
        code="OWNED_BY_PEOPLE",
        family=ReasonFamily.PEOPLE,
        label="People have the conversation",
        when="people own the conversation: it was escalated, a person wrote in it, or a person took it",
        explanation="Nothing was sent: people had this conversation when the message's turn came.",
    )
    TAKEN_OVER = ReasonSpec(
        code="TAKEN_OVER",
        family=ReasonFamily.PEOPLE,
        label="Taken over while the reply was made",
        when="people took the conversation while the reply was made; the reply was discarded",
        explanation="Nothing was sent: people took the conversation while the AI prepared a reply.",
    )
    AGENT_MESSAGE = ReasonSpec(
        code="AGENT_MESSAGE",
        family=ReasonFamily.PEOPLE,
        label="Message of a person",
        when="a person of the account's team wrote (`type` `agent_message`); the message enters the"
        " history and the conversation belongs to people",
        explanation="Nothing was sent: a person of the team wrote this message, and people have the"
        " conversation since.",
    )
    BURST_MERGED = ReasonSpec(
        code="BURST_MERGED",
        family=ReasonFamily.CONVERSATION,
        label="Answered with the next message",
        when="the author wrote again within `burst_window_s`; the later message is answered with both in"
        " the prompt, and the reason names its `message_id`",
        explanation="Nothing was sent: the author wrote again at once, and the later message is answered"
        " with both in the prompt.",
    )
    ACKNOWLEDGED = ReasonSpec(
        code="ACKNOWLEDGED",
        family=ReasonFamily.CONVERSATION,
        label="Acknowledgement",
        when="the message only acknowledges, thanks, praises, laughs or says goodbye, it answers no"
        " question of ours, and no earlier message waits for an answer (`gate`); no model was called",
        explanation="Nothing was sent: the message needs no answer. The conversation stays with the AI.",
    )
    SUPERSEDED = ReasonSpec(
        code="SUPERSEDED",
        family=ReasonFamily.CONVERSATION,
        label="A newer message came first",
        when="the author wrote again while the reply was made and `stale_reply` is `discard`; the newer"
        " message is answered with both in the prompt",
        explanation="Nothing was sent: the author wrote again while the AI prepared a reply. The newer"
        " message was answered with both in the prompt.",
    )
    MESSAGE_WITHDRAWN = ReasonSpec(
        code="MESSAGE_WITHDRAWN",
        family=ReasonFamily.CONVERSATION,
        label="Deleted before the reply",
        when="the author deleted the message while the reply was made, or its deletion came first",
        explanation="Nothing was sent: the author deleted the message before a reply was sent.",
    )
    MESSAGE_REPEATED = ReasonSpec(
        code="MESSAGE_REPEATED",
        family=ReasonFamily.CONVERSATION,
        label="Message repeated",
        when="another event of the same account, conversation and `message_id` has a decision; the reason"
        " names it",
        explanation="Nothing was sent: the same message came before under another event id.",
    )
    CHANGE_OUTDATED = ReasonSpec(
        code="CHANGE_OUTDATED",
        family=ReasonFamily.CONVERSATION,
        label="Overtaken by a newer change",
        when="an edit that is older than a known one, or of a deleted message; or a message whose edit"
        " came first and was flagged",
        explanation="Nothing was sent: a newer change of the message came first, and the history is as"
        " before.",
    )
    AUTO_REPLY_LOOP = ReasonSpec(
        code="AUTO_REPLY_LOOP",
        family=ReasonFamily.CONVERSATION,
        label="Automatic replier",
        when="a further message of an automatic replier after `AUTO_REPLY_LOOP_ESCALATED`",
        explanation="Nothing was sent: an automatic replier wrote, and the AI no longer answers it.",
    )
    MESSAGE_EDITED = ReasonSpec(
        code="MESSAGE_EDITED",
        family=ReasonFamily.CONVERSATION,
        label="Message edited",
        when="an author edited an earlier message; the stored history follows",
        explanation="Nothing was sent: the author edited an earlier message. The stored history follows.",
    )
    MESSAGE_DELETED = ReasonSpec(
        code="MESSAGE_DELETED",
        family=ReasonFamily.CONVERSATION,
        label="Message deleted",
        when="an author deleted an earlier message; it leaves the stored history with its reply",
        explanation="Nothing was sent: the author deleted an earlier message. It left the stored history,"
        " and a reply that was not delivered yet was cancelled.",
    )
    MESSAGE_CHECKED = ReasonSpec(
        code="MESSAGE_CHECKED",
        family=ReasonFamily.CONVERSATION,
        label="Message passed a check",
        when="a program had a message without a draft checked, and rules and moderation passed it",
        explanation="Nothing was sent: a program asked whether this message may be answered, and it may.",
    )
    FEEDBACK = ReasonSpec(
        code="FEEDBACK",
        family=ReasonFamily.FEEDBACK,
        label="Feedback about a reply",
        when="an author rated the reply to an earlier message (`type` `feedback`); the marks stand beside"
        " the decision on that message",
        explanation="Nothing was sent: the author rated the reply to an earlier message.",
    )
    FEEDBACK_UNMATCHED = ReasonSpec(
        code="FEEDBACK_UNMATCHED",
        family=ReasonFamily.FEEDBACK,
        label="Feedback about an unknown message",
        when="feedback names no message that was decided in this conversation of the account; it counts"
        " when the message with its `message_id` comes later",
        explanation="Nothing was sent: the author rated a reply, but the conversation has no decision for"
        " the message that the feedback names.",
    )
    HELD_FOR_APPROVAL = ReasonSpec(
        code="HELD_FOR_APPROVAL",
        family=ReasonFamily.HELD,
        label="Waits for approval",
        when="`reply_mode` is `suggest` and neither `auto_reasons` nor `auto_from_confidence` lets the"
        " reply pass; a person can approve, edit or replace it",
        explanation="Nothing was sent: the reply waits until a person approves it.",
    )
    HELD_FOR_BUDGET = ReasonSpec(
        code="HELD_FOR_BUDGET",
        family=ReasonFamily.HELD,
        label="Waits for approval: budget spent",
        when="a budget of the account is spent and `budget_action` is `suggest`; a person can approve,"
        " edit or replace the reply",
        explanation="Nothing was sent: the account's budget is spent, so the reply waits until a person"
        " approves it.",
    )
    HELD_UNREAD = ReasonSpec(
        code="HELD_UNREAD",
        family=ReasonFamily.HELD,
        label="Waits for approval: no judge read it",
        when="the draft is not verbatim and no judge read it, because the judge is switched off, did not"
        " answer, or gave no usable answer; a person can approve, edit or replace the reply, and the"
        " conversation stays with the AI",
    )
    FALLBACK_SENT = ReasonSpec(
        code="FALLBACK_SENT",
        decision=DecisionKind.RESPOND,
        family=ReasonFamily.ANSWERED,
        label="Prepared text sent",
        when="the account's fallback text was sent instead of the draft",
    )
    PARTIAL_REPLY = ReasonSpec(
        code="PARTIAL_REPLY",
        decision=DecisionKind.RESPOND,
        family=ReasonFamily.ANSWERED,
        label="Supported part sent",
        when="the draft cannot be trusted, but enough of its sentences can; they were sent, with a text"
        " on what is missing",
        explanation="A reply was sent: only the sentences of the draft that the documents support.",
    )
    DRAFT_CHECKED = ReasonSpec(
        code="DRAFT_CHECKED",
        decision=DecisionKind.RESPOND,
        family=ReasonFamily.ANSWERED,
        label="Draft passed a check",
        when="a program had a draft checked without passages, and rules and moderation passed it",
        explanation="A program may send its draft: rules and moderation passed it. It was not assessed,"
        " as no passages were given.",
    )
    REPLIED = ReasonSpec(
        code="REPLIED",
        decision=DecisionKind.RESPOND,
        family=ReasonFamily.ANSWERED,
        label="Reply sent",
        when="every check passed",
    )


def reasons_of(*families: ReasonFamily) -> tuple[Reason, ...]:
    """The reasons of these families, in the order of their declaration."""
    return tuple(reason for reason in Reason if reason.spec.family in families)


FAILURE_FAMILIES: Final = (ReasonFamily.MODERATION_FAILED, ReasonFamily.MODEL_FAILED, ReasonFamily.TOO_LATE)
"""Silent because something did not work, not because a person or a policy chose it."""
BLOCKED: Final = reasons_of(ReasonFamily.BLOCKED)
"""A guardrail worked as intended: message or draft was flagged."""
FAILED: Final = reasons_of(*FAILURE_FAMILIES)
HELD: Final = reasons_of(ReasonFamily.HELD)
"""A reply waits until a person approves it."""


def reasons_table() -> str:
    """The reasons as a Markdown table."""
    rows = (
        f"| {reason} | {reason.spec.decision} | {reason.spec.error_class or ''} | {reason.spec.when} |"
        for reason in Reason
    )
    return "\n".join(("| reason | decision | error class | when |", "|---|---|---|---|", *rows))
