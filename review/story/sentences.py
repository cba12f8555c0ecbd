"""Why a decision ended as it did, in one sentence for somebody who has never seen the code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from review.care import CATEGORIES, MODERATION
from review.story.margins import Margin
from review.story.wording import ASPECTS, how, kind, shortened, span_of
from worker.model import FailurePolicy
from worker.policy import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a sentence may rest on.

    Attributes:
        row: the decision with its snapshot.
        failure: what its account wanted while moderation is down, as the version it used said.
        hold_max_s: how long that version holds an event for moderation.
        reply_max_age_s: how old an event may be at its turn.
        margins: of the draft, see ``review.story.margins``.
        hides_rule: True while the texts are covered, as a rule's word is part of them.
    """

    row: Mapping[str, Any]
    failure: FailurePolicy | None = None
    hold_max_s: float | None = None
    reply_max_age_s: float | None = None
    margins: tuple[Margin, ...] = ()
    hides_rule: bool = False

    @property
    def snapshot(self) -> Mapping[str, Any]:
        """The stored trace."""
        snapshot: Mapping[str, Any] = self.row["snapshot_json"]
        return snapshot

    @property
    def assessment(self) -> Mapping[str, Any]:
        """How far the draft was trusted; empty when it never came to that."""
        return self.snapshot.get("assessment") or {}


def sentence(facts: Facts) -> str:
    """Why it ended so."""
    code = facts.row["reason_code"]
    if code not in Reason.__members__:
        return f"It ended as {code}, a reason that this release of the review pages does not know."
    told = SENTENCES[Reason(code)]
    return told if isinstance(told, str) else told(facts)


def _unknown_account(facts: Facts) -> str:
    return (
        f"Nothing was sent: the account {shortened(facts.row['user_id'])} has no settings, so the AI is off."
    )


def _too_late(facts: Facts) -> str:
    limit = facts.reply_max_age_s
    most = "" if limit is None else f", longer than the {span_of(limit)} this account allows for a reply"
    return f"Nothing was sent: the message had waited {span_of(_age_s(facts))}{most}."


def _flagged_rule(facts: Facts) -> str:
    return f"Nothing was sent: the message contains {_rule(facts)}."


def _reply_flagged_rule(facts: Facts) -> str:
    return f"Nothing was sent: the drafted reply was stopped, as it contains {_rule(facts)}."


def _moderation_flagged(facts: Facts) -> str:
    return f"Nothing was sent: the moderation model found {_category(facts, 'moderation')} in the message."


def _reply_moderation_flagged(facts: Facts) -> str:
    found = _category(facts, "moderation_reply")
    return f"Nothing was sent: the drafted reply was stopped, as the moderation model found {found} in it."


def _moderation_unavailable(facts: Facts) -> str:
    return (
        f"Nothing was sent: moderation gave no verdict on the message{_tries(facts, 'moderation')}{_BLOCKS}"
    )


def _reply_moderation_unavailable(facts: Facts) -> str:
    tries = _tries(facts, "moderation_reply")
    return f"Nothing was sent: moderation gave no verdict on the drafted reply{tries}{_BLOCKS}"


def _moderation_timed_out(facts: Facts) -> str:
    tries = _tries(facts, "moderation")
    return f"Nothing was sent: moderation gave no verdict on the message{tries}; {_held(facts)}"


def _reply_moderation_timed_out(facts: Facts) -> str:
    tries = _tries(facts, "moderation_reply")
    return f"Nothing was sent: moderation gave no verdict on the drafted reply{tries}; {_held(facts)}"


def _llm_error(facts: Facts) -> str:
    return f"Nothing was sent: the language model gave no usable answer{_tries(facts, 'generation')}."


def _no_evidence(facts: Facts) -> str:
    return f"Nothing was sent: {_nothing_found(facts)}, so no reply was drafted."


def _low_confidence(facts: Facts) -> str:
    return f"Nothing was sent: a reply was drafted but not trusted; {_trust(facts)}."


def _low_confidence_escalated(facts: Facts) -> str:
    if _is_early(facts):
        return f"Handed to a person: {_nothing_found(facts)}."
    return f"Handed to a person: a reply was drafted but not trusted; {_trust(facts)}."


def _fallback_sent(facts: Facts) -> str:
    if _is_early(facts):
        return f"A prepared text was sent: {_nothing_found(facts)}."
    return f"A prepared text was sent in place of the draft: that was not trusted; {_trust(facts)}."


def _replied(facts: Facts) -> str:
    category = facts.assessment.get("category", "")
    if category == "disabled":
        return "A reply was sent: the account has switched the check of drafts off, so nothing was checked."
    if "gate" in facts.assessment.get("passed_checks", ()):
        said = category.replace("_", " ")
        return f"A reply was sent: it is a {said}, which states no fact that would need a check."
    return f"A reply was sent: the draft was trusted; {_trust(facts)}."


SENTENCES: Final[Mapping[Reason, str | Callable[[Facts], str]]] = {
    Reason.UNKNOWN_ACCOUNT: _unknown_account,
    Reason.AI_DISABLED: "Nothing was sent: the account has switched the AI off.",
    Reason.CHATS_DISABLED: "Nothing was sent: the account lets the AI answer comments, not chats.",
    Reason.COMMENTS_DISABLED: "Nothing was sent: the account lets the AI answer chats, not comments.",
    Reason.TOO_LATE: _too_late,
    Reason.FLAGGED_RULE: _flagged_rule,
    Reason.MODERATION_FLAGGED: _moderation_flagged,
    Reason.MODERATION_REJECTED: (
        "Nothing was sent: the moderation service would not look at this message, as when it cannot open a "
        "picture, and nothing is answered unmoderated."
    ),
    Reason.MODERATION_UNAVAILABLE: _moderation_unavailable,
    Reason.MODERATION_TIMED_OUT: _moderation_timed_out,
    Reason.LLM_ERROR: _llm_error,
    Reason.LLM_REJECTED: (
        "Nothing was sent: the language model's server refused the request, so asking again could not "
        "help; key, model name or prompt needs a look."
    ),
    Reason.MODEL_REFUSED: "Nothing was sent: the language model declined to answer this message.",
    Reason.TOOL_LOOP: "Nothing was sent: the language model kept searching the documents and never answered.",
    Reason.MODEL_ESCALATED: "Handed to a person: the language model asked for one instead of answering.",
    Reason.REPLY_FLAGGED_RULE: _reply_flagged_rule,
    Reason.REPLY_MODERATION_FLAGGED: _reply_moderation_flagged,
    Reason.REPLY_MODERATION_REJECTED: (
        "Nothing was sent: the moderation service would not look at the drafted reply, and no reply goes out "
        "unmoderated."
    ),
    Reason.REPLY_MODERATION_UNAVAILABLE: _reply_moderation_unavailable,
    Reason.REPLY_MODERATION_TIMED_OUT: _reply_moderation_timed_out,
    Reason.NO_EVIDENCE: _no_evidence,
    Reason.NO_ANSWER: (
        "Nothing was sent: the draft only said that it does not know the answer. Such drafts are not kept."
    ),
    Reason.LOW_CONFIDENCE: _low_confidence,
    Reason.LOW_CONFIDENCE_ESCALATED: _low_confidence_escalated,
    Reason.FALLBACK_SENT: _fallback_sent,
    Reason.REPLIED: _replied,
}
"""Total: a reason without a sentence fails a test."""
_BLOCKS: Final = ", and this account wants silence while it is away."


def _rule(facts: Facts) -> str:
    kind_of_rule, _, word = (facts.row["matched_rule"] or "").partition(":")
    name = {"flagged_phrase": "blocked phrase", "flagged_regex": "blocked pattern"}.get(
        kind_of_rule, "blocked word"
    )
    if facts.hides_rule:
        return f"a {name} of the account"
    found = next(
        (each for each in facts.snapshot["findings"] if each["matched_rule"] == facts.row["matched_rule"]),
        None,
    )
    written = how(found["how"]) if found and found["how"] else ""
    return f"the account's {name} “{shortened(word)}”" + (f", {written}" if written else "")


def _category(facts: Facts, stage: str) -> str:
    category = (facts.row["matched_rule"] or "").removeprefix(MODERATION)
    words = CATEGORIES.get(category, shortened(category))
    highest = next(
        (each["detail"].get("highest") or {} for each in facts.snapshot["stages"] if each["stage"] == stage),
        {},
    )
    if (noted := highest.get(category)) is None:
        return words
    if noted["threshold"] is None:
        return f"{words} (score {noted['score']:.2f}, flagged by the model itself)"
    return f"{words} (score {noted['score']:.2f}, this account stops it from {noted['threshold']:.2f})"


def _tries(facts: Facts, stage: str) -> str:
    """How often the last call was tried and how that went: ``in 3 attempts (timed out, server error)``.

    A stage may call several times, as the model does that looks something up first; each call counts from 1.
    """
    tried = [each for each in facts.snapshot["attempts"] if each["stage"] == stage]
    if not tried:
        return ""
    tried = tried[max((place for place, each in enumerate(tried) if each["number"] == 1), default=0) :]
    last = tried[-1]
    number, kinds = last["number"], dict.fromkeys(kind(each["outcome"]) for each in tried)
    times = "one attempt" if number == 1 else f"{number} attempts"
    return f" in {times} ({', '.join(kinds)})"


def _held(facts: Facts) -> str:
    most = (
        "" if facts.hold_max_s is None else f" for {span_of(facts.hold_max_s)} at most, as the account wants,"
    )
    return f"it was held{most} and then given up."


def _age_s(facts: Facts) -> float:
    made: datetime = facts.row["created_at"]
    return max(0.0, (made - datetime.fromisoformat(facts.snapshot["received_at"])).total_seconds())


def _is_early(facts: Facts) -> bool:
    """Whether it ended for want of evidence, before anything was drafted."""
    return not any(each["stage"] == "generation" for each in facts.snapshot["stages"])


def _nothing_found(facts: Facts) -> str:
    passages = facts.snapshot["passages"]
    if not passages:
        return "no passage of the account's documents has to do with the message"
    return f"none of the {len(passages)} passages found is near enough to the message to answer from"


def _trust(facts: Facts) -> str:
    """What spoke for or against a draft: the facts that stopped it, else its score beside the threshold."""
    found = facts.assessment
    trusted = facts.row["decision"] == "respond" and facts.row["reason_code"] == Reason.REPLIED
    noted = (*found.get("failed_checks", ()), found.get("category", ""))
    why = dict.fromkeys(ASPECTS[each] for each in noted if each in ASPECTS)
    score = next((m for m in facts.margins if m.subject == "draft" and m.reached is trusted), None)
    if score is None or score.threshold is None:
        figure = f"its confidence is {facts.row['confidence']:.2f}"
    else:
        figure = f"its {score.measure} is {score.score:.2f} where {score.threshold:.2f} is needed"
    return figure if trusted or not why else f"{figure}: {', '.join(why)}"
