"""Why a decision ended as it did, in one sentence without codes; and notices on what else happened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final

from db.audit.settings_snapshot import SettingsVersion
from review.content_covers import CATEGORIES, MODERATION
from review.decision.highlights import DIRECTION_CONTROLS, span_place
from review.decision.margins import Margin, trust_wording
from review.wording import attempt_wording, count_wording, duration_wording, match_wording, shortened
from worker.model import Action, AttemptOutcome, DecisionKind, FailurePolicy, Stage
from worker.reasons import Reason
from worker.rules import MatchMethod
from worker.snapshot import Snapshot, SnapshotAssessment, SnapshotFinding, SnapshotStage

NOT_ASSESSED: Final = SnapshotAssessment()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationFacts:
    """What the sentences are made from.

    Attributes:
        row: the decision's columns.
        settings: the account's settings version that was used; None when it is not stored.
        margins: of the draft, see ``review.decision.margins``.
        hides_rule: True while the texts are covered, as a rule's word is part of them.
    """

    row: Mapping[str, Any]
    snapshot: Snapshot
    settings: SettingsVersion | None = None
    margins: tuple[Margin, ...] = ()
    hides_rule: bool = False

    @property
    def assessment(self) -> SnapshotAssessment:
        """How far the draft can be trusted; empty when none was assessed."""
        return self.snapshot.assessment or NOT_ASSESSED


def explain(facts: ExplanationFacts) -> str:
    """Why the event ended this way."""
    code = facts.row["reason_code"]
    if code not in Reason.__members__:
        return f"The reason is {code}, which this release of the review pages does not know."
    reason = Reason(code)
    return SENTENCES[reason](facts) if reason in SENTENCES else reason.spec.explanation


def notices(facts: ExplanationFacts) -> tuple[str, ...]:
    """One sentence for each further event that a reviewer should know."""
    return tuple(text for notice in NOTICES if (text := notice(facts)))


def _too_late(facts: ExplanationFacts) -> str:
    allowed = ""
    if facts.settings is not None:
        limit = duration_wording(facts.settings.reply_max_age_s)
        allowed = f", longer than the {limit} this account allows for a reply"
    decided_at: datetime = facts.row["created_at"]
    times = [each for each in (facts.snapshot.received_at, facts.snapshot.created_at) if each is not None]
    age_s = max(0.0, (decided_at - min(times)).total_seconds()) if times else 0.0
    return f"Nothing was sent: the message was {duration_wording(age_s)} old{allowed}."


def _no_moderation_result(stage: str, subject: str, facts: ExplanationFacts) -> str:
    attempts, who = _attempts(facts, stage), _decided_by(facts, stage)
    if attempts.endswith(f"{attempt_wording(AttemptOutcome.UNREADABLE)})"):
        return f"Nothing was sent: {who} gave no result for the {subject}{attempts}."
    return (
        f"Nothing was sent: {who} gave no result for the {subject}{attempts}, and this"
        " account is set to block while moderation is unavailable."
    )


def _moderation_timed_out(stage: str, subject: str, facts: ExplanationFacts) -> str:
    limit = ""
    if facts.settings is not None:
        limit = f" for {duration_wording(facts.settings.hold_max_s)} at most, the account's limit,"
    return (
        f"Nothing was sent: {_decided_by(facts, stage)} gave no result for the"
        f" {subject}{_attempts(facts, stage)}; it was held{limit} and then given up."
    )


def _low_confidence_escalated(facts: ExplanationFacts) -> str:
    if _ended_before_draft(facts):
        return f"Handed to a person: {_missing_evidence(facts)}."
    return f"Handed to a person: a reply was drafted but not trusted; {_trust(facts)}."


def _fallback_sent(facts: ExplanationFacts) -> str:
    if _ended_before_draft(facts):
        return f"A prepared text was sent: {_missing_evidence(facts)}."
    return f"A prepared text was sent instead of the draft, which was not trusted; {_trust(facts)}."


def _replied(facts: ExplanationFacts) -> str:
    category = facts.assessment.category
    if category == "disabled":
        return "A reply was sent: the account has switched the check of drafts off, so nothing was checked."
    if (intended := facts.assessment.intended_action) is not None:
        return f"A reply was sent: {_test_mode(intended)}; {_trust(facts)}."
    if "gate" in facts.assessment.passed_checks:
        kind = category.replace("_", " ")
        return f"A reply was sent: it is a {kind}, which states no fact that would need a check."
    return f"A reply was sent: the draft was trusted; {_trust(facts)}."


def _test_mode(intended: str) -> str:
    action = TEST_MODE_ACTIONS.get(intended, intended)
    return f"the account's policy is in test mode and changes nothing. Without test mode {action}"


TEST_MODE_ACTIONS: Final[Mapping[str, str]] = {
    Action.SEND: "it would be sent too",
    Action.RECHECK: "it would be drafted once more from more passages",
    Action.FALLBACK: "a prepared text would be sent instead",
    Action.ESCALATE: "it would be handed to a person",
    Action.SILENCE: "nothing would be sent",
}
SENTENCES: Final[Mapping[Reason, Callable[[ExplanationFacts], str]]] = {
    Reason.UNKNOWN_ACCOUNT: lambda facts: (
        f"Nothing was sent: the account {shortened(facts.row['user_id'])} has no settings, so the AI is off."
    ),
    Reason.TOO_LATE: _too_late,
    Reason.FLAGGED_RULE: lambda facts: f"Nothing was sent: the message contains {_rule(facts)}.",
    Reason.MODERATION_FLAGGED: lambda facts: (
        f"Nothing was sent: {_moderator(facts)} found {_category(facts, 'moderation')} in the message."
    ),
    Reason.MODERATION_UNAVAILABLE: partial(_no_moderation_result, "moderation", "message"),
    Reason.MODERATION_TIMED_OUT: partial(_moderation_timed_out, "moderation", "message"),
    Reason.LLM_ERROR: lambda facts: (
        f"Nothing was sent: the language model gave no usable answer{_attempts(facts, 'generation')}."
    ),
    Reason.REPLY_FLAGGED_RULE: lambda facts: (
        f"Nothing was sent: the drafted reply was stopped, as it contains {_rule(facts)}."
    ),
    Reason.REPLY_MODERATION_FLAGGED: lambda facts: (
        f"Nothing was sent: the drafted reply was stopped, as {_moderator(facts)} found"
        f" {_category(facts, 'moderation_reply')} in it."
    ),
    Reason.REPLY_MODERATION_UNAVAILABLE: partial(_no_moderation_result, "moderation_reply", "drafted reply"),
    Reason.REPLY_MODERATION_TIMED_OUT: partial(_moderation_timed_out, "moderation_reply", "drafted reply"),
    Reason.NO_EVIDENCE: lambda facts: (
        f"Nothing was sent: {_missing_evidence(facts)}, so no reply was drafted."
    ),
    Reason.LOW_CONFIDENCE: lambda facts: (
        f"Nothing was sent: a reply was drafted but not trusted; {_trust(facts)}."
    ),
    Reason.LOW_CONFIDENCE_ESCALATED: _low_confidence_escalated,
    Reason.FALLBACK_SENT: _fallback_sent,
    Reason.REPLIED: _replied,
}
"""The sentences that need the decision's data; the others are ``ReasonSpec.explanation``."""


def _rule(facts: ExplanationFacts) -> str:
    matched: str = facts.row["matched_rule"] or ""
    kind_of_rule, _, word = matched.partition(":")
    name = {"flagged_phrase": "blocked phrase", "flagged_regex": "blocked pattern"}.get(
        kind_of_rule, "blocked word"
    )
    if facts.hides_rule:
        return f"a {name} of the account"
    found = next((each for each in facts.snapshot.findings if each.matched_rule == matched), None)
    method = match_wording(found.how) if found and found.how else ""
    place = _fuzzy_place(facts, found) if found and MatchMethod.TYPO in found.how.split("+") else ""
    return f"the account's {name} “{shortened(word)}”" + (f" ({method})" if method else "") + place


def _fuzzy_place(facts: ExplanationFacts, found: SnapshotFinding) -> str:
    """The text that a fuzzy rule matched and where, such as ``: “casinos”, characters 4 to 10``."""
    text = facts.row.get("message_text") or ""
    if found.span is None or found.stage != Stage.RULES or found.span[1] > len(text):
        return ""
    matched = "".join(each for each in text[slice(*found.span)] if each not in DIRECTION_CONTROLS)
    return f": “{shortened(matched)}”, {span_place(text, found.span)}"


def _moderator(facts: ExplanationFacts) -> str:
    """Who flagged a text."""
    matched: str = facts.row["matched_rule"] or ""
    if not matched or matched.startswith(MODERATION):
        return "the moderation model"
    return f"the moderator “{shortened(matched.partition(':')[0])}”"


def _decided_by(facts: ExplanationFacts, stage: str) -> str:
    """Who gave no result: moderation in general, or the moderator that the account chose."""
    name = _stage(facts, stage).decided_by
    return f"the moderator “{shortened(name)}”" if name else "moderation"


def _stage(facts: ExplanationFacts, stage: str) -> SnapshotStage:
    """The last record of a stage; an empty one when it did not run."""
    found = [each for each in facts.snapshot.stages if each.stage == stage]
    return found[-1] if found else SnapshotStage()


def _category(facts: ExplanationFacts, stage: str) -> str:
    matched: str = facts.row["matched_rule"] or ""
    category = matched.removeprefix(MODERATION)
    named = category if matched.startswith(MODERATION) else matched.partition(":")[2]
    words = CATEGORIES.get(named, shortened(named))
    found = next((each.highest for each in facts.snapshot.stages if each.stage == stage), {}).get(category)
    if found is None:
        return words
    if found.threshold is None:
        return f"{words} (score {found.score:.2f}, flagged by the model itself)"
    return f"{words} (score {found.score:.2f}, this account's threshold is {found.threshold:.2f})"


def _attempts(facts: ExplanationFacts, stage: str) -> str:
    """Number and outcomes of the last call's attempts: `` in 3 attempts (timed out, server error)``.

    A stage may call several times, such as a model that searches first; each call counts from 1.
    """
    moderator = _stage(facts, stage).decided_by
    attempts = [
        each for each in facts.snapshot.attempts if each.stage == stage and each.moderator in {"", moderator}
    ]
    if not attempts:
        return ""
    last_call = max((place for place, each in enumerate(attempts) if each.number == 1), default=0)
    outcomes = dict.fromkeys(attempt_wording(each.outcome) for each in attempts[last_call:])
    number = attempts[-1].number
    times = "one attempt" if number == 1 else f"{number} attempts"
    return f" in {times} ({', '.join(outcomes)})"


def _ended_before_draft(facts: ExplanationFacts) -> bool:
    return not any(each.stage == "generation" for each in facts.snapshot.stages)


def _missing_evidence(facts: ExplanationFacts) -> str:
    if failed := facts.assessment.failed_comparisons:
        return f"the passages found are not enough to answer from ({'; '.join(failed)})"
    if not facts.snapshot.passages:
        return "no passage of the account's documents matches the message"
    found = len(facts.snapshot.passages)
    return f"none of the {found} passages found is similar enough to the message to answer from"


def _trust(facts: ExplanationFacts) -> str:
    """The comparison that decided about a draft, and the checks that stopped it."""
    held = facts.assessment.intended_action not in (None, Action.SEND)
    sent = facts.row["reason_code"] == Reason.REPLIED and not held
    return trust_wording(facts.assessment, facts.margins, sent=sent) or (
        f"its confidence is {facts.row['confidence']:.2f}"
    )


def _unmoderated(facts: ExplanationFacts) -> str:
    stages = [each.stage for each in facts.snapshot.stages if each.unmoderated]
    continues = facts.settings and facts.settings.moderation_failure is FailurePolicy.ALLOW
    if not stages or not continues or "MODERATION" in facts.row["reason_code"]:
        return ""
    subjects = " and ".join("the draft" if each.endswith("_reply") else "the message" for each in stages)
    return (
        f"Moderation was unavailable for {subjects}, and this account is set to continue without moderation."
    )


def _left_out(facts: ExplanationFacts) -> str:
    """Moderators whose result was missing, and that did not end the event."""
    missing = {
        f"“{shortened(each.name)}” ({attempt_wording(each.error)})": None
        for stage in facts.snapshot.stages
        for each in stage.moderators
        if each.outcome == "no_result" and each.name != stage.decided_by
    }
    return f"Moderators without a result: {', '.join(missing)}." if missing else ""


def _search_reduced(facts: ExplanationFacts) -> str:
    searches = [each for each in facts.snapshot.stages if each.stage == "retrieval"]
    if failed := next((each.search_error for each in searches if each.search_error), ""):
        return f"The documents could not be searched ({attempt_wording(failed)})."
    if degraded := next((each.search_degraded for each in searches if each.search_degraded), ""):
        failure = attempt_wording(degraded)
        return f"The documents were searched by words only: the embedding model did not answer ({failure})."
    return ""


def _screened(facts: ExplanationFacts) -> str:
    left_out = len(facts.snapshot.screened)
    if not left_out:
        return ""
    found = "One passage that was found was" if left_out == 1 else f"{left_out} passages that were found were"
    return f"{found} not shown to the language model: a check of the passage failed."


def _judge_unavailable(facts: ExplanationFacts) -> str:
    failed = [
        each for each in facts.snapshot.attempts if each.stage == "judge" and each.outcome != "completed"
    ]
    return f"The judge of drafts did not answer ({attempt_wording(failed[-1].outcome)})." if failed else ""


def _retried(facts: ExplanationFacts) -> str:
    attempts = [each for each in facts.snapshot.attempts if each.stage == "generation"]
    failed = [each for each in attempts if each.outcome != "completed"]
    if not failed or attempts[-1] in failed:
        return ""
    times, waited_s = count_wording(len(failed)), sum(each.waited_s for each in attempts)
    pause = f" after {duration_wording(waited_s)} of waiting" if waited_s else ""
    outcomes = ", ".join(dict.fromkeys(attempt_wording(each.outcome) for each in failed))
    return f"The language model failed {times} ({outcomes}) and answered on retry{pause}."


def _rechecked(facts: ExplanationFacts) -> str:
    if not (pair := facts.snapshot.rechecked):
        return ""
    before, after = pair
    if after is None:
        return (
            f"Rechecked: no second draft could be made; the first draft, confidence {before:.2f}, was kept."
        )
    result = "the second draft was kept" if after > before else "the first draft was kept"
    return f"Rechecked: confidence {before:.2f} before, {after:.2f} after; {result}."


def _by_settings(facts: ExplanationFacts) -> str:
    """An account may hand a silent ending to people, and keep a handoff from them."""
    code, decision = facts.row["reason_code"], facts.row["decision"]
    if code not in Reason.__members__ or decision == Reason(code).spec.decision:
        return ""
    if decision == DecisionKind.ESCALATE:
        return "Handed to a person, because the account's settings ask for it."
    return "Not handed to a person, because the account's settings say so."


def _unreadable(facts: ExplanationFacts) -> str:
    paths = ", ".join(facts.snapshot.unreadable)
    return f"This release cannot read a part of the stored record: {shortened(paths)}." if paths else ""


NOTICES: Final[tuple[Callable[[ExplanationFacts], str], ...]] = (
    _unmoderated,
    _left_out,
    _search_reduced,
    _screened,
    _judge_unavailable,
    _retried,
    _rechecked,
    _by_settings,
    _unreadable,
)
