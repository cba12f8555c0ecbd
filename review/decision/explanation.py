"""Why a decision ended as it did, in one sentence without codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Final

from db.answers.state import AnswerState, PersonAnswer
from review.decision.clauses import (
    ExplanationFacts,
    attempt_outcomes,
    attempts_clause,
    category_clause,
    decided_by_clause,
    moderator_clause,
    rule_clause,
    unread_outcome,
)
from review.decision.margins import trust_wording
from review.languages import gettext as _
from review.languages import mark
from review.languages.numbers import localized
from review.words.decisions import DRAFT_PROBLEMS, attempt_wording, duration_wording, shortened
from worker.assessment.policies.vetoes import Veto
from worker.model import Action, AttemptOutcome
from worker.reasons import Reason
from worker.reply_content import ContentKind
from worker.rules import RuleKind

ANSWERED: Final[Mapping[AnswerState, str]] = {
    AnswerState.APPROVED: mark("A reply was sent: %(person)s approved the text of the AI."),
    AnswerState.EDITED: mark("A reply was sent: %(person)s changed the text of the AI."),
    AnswerState.WRITTEN: mark("A reply was sent: %(person)s wrote it."),
    AnswerState.DISMISSED: mark("Nothing was sent: %(person)s closed the message without an answer."),
}
"""Total."""
MESSAGE: Final = mark("the message")
DRAFTED_REPLY: Final = mark("the drafted reply")


def explain(facts: ExplanationFacts) -> str:
    """Why the event ended this way."""
    code = facts.row["reason_code"]
    if code not in Reason.__members__:
        unknown = _("The reason is %(code)s, which this release of the review pages does not know.")
        return unknown % {"code": code}
    reason = Reason(code)
    return SENTENCES[reason](facts) if reason in SENTENCES else _(reason.spec.explanation)


def answer_sentence(answer: PersonAnswer | None) -> str:
    """What a person answered; empty while no answer stands."""
    return "" if answer is None else _(ANSWERED[answer.answered]) % {"person": answer.answered_by}


def _too_late(facts: ExplanationFacts) -> str:
    if facts.snapshot.checked is not None:
        return _("The check was not ready within the deadline that the program gave.")
    decided_at: datetime = facts.row["created_at"]
    times = [each for each in (facts.snapshot.received_at, facts.snapshot.created_at) if each is not None]
    age_s = max(0.0, (decided_at - min(times)).total_seconds()) if times else 0.0
    age = duration_wording(age_s)
    if facts.settings is None:
        return _("Nothing was sent: the message was %(age)s old.") % {"age": age}
    limit_s = facts.settings.reply_max_age_s
    if age_s < limit_s:
        text = _(
            "Nothing was sent: the message was %(age)s old, and an answer would not have been ready within"
            " the %(limit)s this account allows for a reply."
        )
    else:
        text = _(
            "Nothing was sent: the message was %(age)s old, longer than the %(limit)s this account allows for"
            " a reply."
        )
    return text % {"age": age, "limit": duration_wording(limit_s)}


def _no_moderation_result(stage: str, subject: str, facts: ExplanationFacts) -> str:
    values = {"no_result": _no_result(stage, subject, facts)}
    if attempt_outcomes(facts, stage)[-1:] == [attempt_wording(AttemptOutcome.UNREADABLE)]:
        return _("Nothing was sent: %(no_result)s.") % values
    text = _(
        "Nothing was sent: %(no_result)s, and this account is set to block while moderation is unavailable."
    )
    return text % values


def _moderation_timed_out(stage: str, subject: str, facts: ExplanationFacts) -> str:
    values = {"no_result": _no_result(stage, subject, facts)}
    if facts.settings is None:
        return _("Nothing was sent: %(no_result)s; it was held and then given up.") % values
    text = _(
        "Nothing was sent: %(no_result)s; it was held for %(limit)s at most, the account's limit, and then"
        " given up."
    )
    return text % (values | {"limit": duration_wording(facts.settings.hold_max_s)})


def _no_result(stage: str, subject: str, facts: ExplanationFacts) -> str:
    """Who gave no result for which text, in how many attempts: a clause."""
    attempts = attempts_clause(facts, stage)
    values = {"who": decided_by_clause(facts, stage), "subject": _(subject), "attempts": attempts}
    if not attempts:
        return _("%(who)s gave no result for %(subject)s") % values
    return _("%(who)s gave no result for %(subject)s in %(attempts)s") % values


def _no_answer(facts: ExplanationFacts) -> str:
    attempts = attempts_clause(facts, "generation")
    if not attempts:
        return _("Nothing was sent: the language model gave no usable answer.")
    text = _("Nothing was sent: the language model gave no usable answer in %(attempts)s.")
    return text % {"attempts": attempts}


def _low_confidence_escalated(facts: ExplanationFacts) -> str:
    if _ended_before_draft(facts):
        return _("Handed to a person: %(why)s.") % {"why": _missing_evidence(facts)}
    text = _("Handed to a person: a reply was drafted but not trusted; %(why)s.")
    return text % {"why": _trust(facts)}


def _fallback_sent(facts: ExplanationFacts) -> str:
    if _ended_before_draft(facts):
        return _("A prepared text was sent: %(why)s.") % {"why": _missing_evidence(facts)}
    text = _("A prepared text was sent instead of the draft, which was not trusted; %(why)s.")
    return text % {"why": _trust(facts)}


def _held_unread(facts: ExplanationFacts) -> str:
    if (outcome := unread_outcome(facts.assessment)) is not None:
        text = _(
            "Nothing was sent: %(why)s, so nothing has read the draft beside its passages. The draft waits"
            " until a person approves it."
        )
        return text % {"why": _(DRAFT_PROBLEMS[outcome])}
    return _(
        "Nothing was sent: no judge has read the draft beside its passages, so the draft waits until a"
        " person approves it."
    )


def _replied(facts: ExplanationFacts) -> str:
    category = facts.assessment.category
    if category == "disabled":
        return _(
            "A reply was sent: the account has switched the check of drafts off, so nothing was checked."
        )
    if (intended := facts.assessment.intended_action) is not None:
        known = TEST_MODE_ACTIONS.get(intended)
        text = _(
            "A reply was sent: the account's policy is in test mode and changes nothing. Without test mode"
            " %(action)s; %(why)s."
        )
        return text % {"action": _(known) if known else intended, "why": _trust(facts)}
    if "gate" in facts.assessment.passed_checks:
        text = _("A reply was sent: it is a %(kind)s, which states no fact that would need a check.")
        return text % {"kind": category.replace("_", " ")}
    if "verbatim" in facts.assessment.passed_checks:
        return _(
            "A reply was sent: the draft is copied from a passage that has the words of the question, so no"
            " judge was needed."
        )
    return _("A reply was sent: the draft was trusted; %(why)s.") % {"why": _trust(facts)}


def _flagged_rule(facts: ExplanationFacts) -> str:
    if (facts.row["matched_rule"] or "").startswith(f"flagged_{RuleKind.AUTHOR}:"):
        return _("Nothing was sent: the message is from %(rule)s.") % {"rule": rule_clause(facts)}
    return _("Nothing was sent: the message contains %(rule)s.") % {"rule": rule_clause(facts)}


def _unsafe(facts: ExplanationFacts) -> str:
    kind = (facts.row["matched_rule"] or "").partition(":")[2]
    text = _("Handed to a person: the drafted reply has %(content)s.")
    return text % {"content": _(CONTENT[ContentKind(kind)] if kind in set(ContentKind) else UNSAFE)}


CONTENT: Final[Mapping[ContentKind, str]] = {
    ContentKind.INSTRUCTIONS: mark("a piece of the AI's instructions"),
    ContentKind.SECRET: mark("a key or a password"),
    ContentKind.PERSONAL_DATA: mark(
        "an e-mail address, card or account number that stands neither in the documents nor in the"
        " conversation"
    ),
    ContentKind.MARKUP: mark("HTML or similar tags"),
    ContentKind.IMAGE: mark("a picture"),
    ContentKind.MENTION: mark("a mention that calls everyone"),
    ContentKind.HIDDEN_TEXT: mark("hidden text"),
    ContentKind.FORMULA: mark("a spreadsheet formula that starts programs"),
    ContentKind.LINK: mark("a link that the account's settings do not allow"),
}
"""Total."""
UNSAFE: Final = mark("unsafe content")
TEST_MODE_ACTIONS: Final[Mapping[str, str]] = {
    Action.SEND: mark("it would be sent too"),
    Action.RECHECK: mark("it would be drafted once more from more passages"),
    Action.FALLBACK: mark("a prepared text would be sent instead"),
    Action.ESCALATE: mark("it would be handed to a person"),
    Action.SILENCE: mark("nothing would be sent"),
    Action.HOLD: mark("it would wait for a person's approval"),
}
SENTENCES: Final[Mapping[Reason, Callable[[ExplanationFacts], str]]] = {
    Reason.UNKNOWN_ACCOUNT: lambda facts: (
        _("Nothing was sent: the account %(account)s has no settings, so the AI is off.")
        % {"account": shortened(facts.row["user_id"])}
    ),
    Reason.TOO_LATE: _too_late,
    Reason.FLAGGED_RULE: _flagged_rule,
    Reason.MODERATION_FLAGGED: lambda facts: (
        _("Nothing was sent: %(who)s found %(category)s in the message.")
        % {"who": moderator_clause(facts), "category": category_clause(facts, "moderation")}
    ),
    Reason.MODERATION_UNAVAILABLE: partial(_no_moderation_result, "moderation", MESSAGE),
    Reason.MODERATION_TIMED_OUT: partial(_moderation_timed_out, "moderation", MESSAGE),
    Reason.LLM_ERROR: _no_answer,
    Reason.REPLY_FLAGGED_RULE: lambda facts: (
        _("Nothing was sent: the drafted reply was stopped, as it contains %(rule)s.")
        % {"rule": rule_clause(facts)}
    ),
    Reason.REPLY_MODERATION_FLAGGED: lambda facts: (
        _("Nothing was sent: the drafted reply was stopped, as %(who)s found %(category)s in it.")
        % {"who": moderator_clause(facts), "category": category_clause(facts, "moderation_reply")}
    ),
    Reason.REPLY_MODERATION_UNAVAILABLE: partial(_no_moderation_result, "moderation_reply", DRAFTED_REPLY),
    Reason.REPLY_MODERATION_TIMED_OUT: partial(_moderation_timed_out, "moderation_reply", DRAFTED_REPLY),
    Reason.NO_EVIDENCE: lambda facts: (
        _("Nothing was sent: %(why)s, so no reply was drafted.") % {"why": _missing_evidence(facts)}
    ),
    Reason.LOW_CONFIDENCE: lambda facts: (
        _("Nothing was sent: a reply was drafted but not trusted; %(why)s.") % {"why": _trust(facts)}
    ),
    Reason.HELD_UNREAD: _held_unread,
    Reason.LOW_CONFIDENCE_ESCALATED: _low_confidence_escalated,
    Reason.FALLBACK_SENT: _fallback_sent,
    Reason.REPLIED: _replied,
    Reason.REPLY_UNSAFE: _unsafe,
}
"""The sentences that need the decision's data; the others are ``ReasonSpec.explanation``."""


def _ended_before_draft(facts: ExplanationFacts) -> bool:
    return not any(each.stage == "generation" for each in facts.snapshot.stages)


def _missing_evidence(facts: ExplanationFacts) -> str:
    if failed := facts.assessment.failed_comparisons:
        text = _("the passages found are not enough to answer from (%(comparisons)s)")
        return text % {"comparisons": "; ".join(failed)}
    if Veto.NO_EVIDENCE in facts.assessment.failed_checks:
        return _("the account has no documents to answer from")
    return _("no passage of the account's documents matches the message")


def _trust(facts: ExplanationFacts) -> str:
    """The comparison that decided about a draft, and the checks that stopped it."""
    held = facts.assessment.intended_action not in (None, Action.SEND)
    sent = facts.row["reason_code"] == Reason.REPLIED and not held
    return trust_wording(facts.assessment, facts.margins, sent=sent) or (
        _("its confidence is %(confidence)s") % {"confidence": localized(f"{facts.row['confidence']:.2f}")}
    )
