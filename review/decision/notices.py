"""Notices on what else happened to an event, beside the reason of its decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from db.people.sample_data import SAMPLE_ACCOUNT
from review.decision.clauses import ExplanationFacts, unread_outcome
from review.decision.explanation import MESSAGE
from review.languages import gettext as _
from review.languages import ngettext
from review.languages.numbers import localized
from review.words.decisions import DRAFT_PROBLEMS, attempt_wording, count_wording, duration_wording, shortened
from worker.assessment import ReadingOutcome
from worker.model import DecisionKind, FailurePolicy
from worker.reasons import Reason


def notices(facts: ExplanationFacts) -> tuple[str, ...]:
    """One sentence for each further event that a reviewer should know."""
    return tuple(text for notice in NOTICES if (text := notice(facts)))


def _sample(facts: ExplanationFacts) -> str:
    if facts.row["user_id"] != SAMPLE_ACCOUNT:
        return ""
    return _("This is sample data: nothing of it is sent to a channel.")


def _candidate(facts: ExplanationFacts) -> str:
    if facts.row["candidate_id"] is None:
        return ""
    return _("A candidate decided this in a rollout, not the settings in force.")


def _unmoderated(facts: ExplanationFacts) -> str:
    stages = [each.stage for each in facts.snapshot.stages if each.unmoderated]
    continues = facts.settings and facts.settings.moderation_failure is FailurePolicy.ALLOW
    if not stages or not continues or "MODERATION" in facts.row["reason_code"]:
        return ""
    text = _(
        "Moderation was unavailable for %(subjects)s, and this account is set to continue without moderation."
    )
    subjects = [_("the draft") if each.endswith("_reply") else _(MESSAGE) for each in stages]
    return text % {"subjects": _(" and ").join(subjects)}


def _left_out(facts: ExplanationFacts) -> str:
    """Moderators whose result was missing, and that did not end the event."""
    missing = {
        f"“{shortened(each.name)}” ({attempt_wording(each.error)})": None
        for stage in facts.snapshot.stages
        for each in stage.moderators
        if each.outcome == "no_result" and each.name != stage.decided_by
    }
    if not missing:
        return ""
    return _("Moderators without a result: %(names)s.") % {"names": ", ".join(missing)}


def _search_reduced(facts: ExplanationFacts) -> str:
    searches = [each for each in facts.snapshot.stages if each.stage == "retrieval"]
    if failed := next((each.search_error for each in searches if each.search_error), ""):
        return _("The documents could not be searched (%(failure)s).") % {"failure": attempt_wording(failed)}
    if degraded := next((each.search_degraded for each in searches if each.search_degraded), ""):
        text = _(
            "The documents were searched by words only: the embedding model did not answer (%(failure)s)."
        )
        return text % {"failure": attempt_wording(degraded)}
    return ""


def _screened(facts: ExplanationFacts) -> str:
    left_out = len(facts.snapshot.screened)
    if not left_out:
        return ""
    text = ngettext(
        "One passage that was found was not shown to the language model: a check of the passage failed.",
        "%(num)s passages that were found were not shown to the language model: a check of the passage"
        " failed.",
        left_out,
    )
    return text % {"num": left_out}


def _unread(facts: ExplanationFacts) -> str:
    """Why no judge read the draft, and what to do."""
    failed = [
        each for each in facts.snapshot.attempts if each.stage == "judge" and each.outcome != "completed"
    ]
    match unread_outcome(facts.assessment):
        case None if not failed:
            return ""
        case ReadingOutcome.OFF:
            return _("The judge was switched off (HUSHGATE_JUDGE), so no draft was read.")
        case None | ReadingOutcome.UNAVAILABLE if failed:
            text = _("The judge of drafts did not answer (%(failure)s).")
            return text % {"failure": attempt_wording(failed[-1].outcome)}
        case None | ReadingOutcome.UNAVAILABLE:
            return _("The judge of drafts refused to answer.")
        case unusable:
            text = _(
                "The judge answered, but its answer was unusable: %(why)s. Where that is frequent, another"
                " judge model is needed (HUSHGATE_JUDGE)."
            )
            return text % {"why": _(DRAFT_PROBLEMS[unusable])}


def _retried(facts: ExplanationFacts) -> str:
    attempts = [each for each in facts.snapshot.attempts if each.stage == "generation"]
    failed = [each for each in attempts if each.outcome != "completed"]
    if not failed or attempts[-1] in failed:
        return ""
    waited_s = sum(each.waited_s for each in attempts)
    values = {
        "times": count_wording(len(failed)),
        "outcomes": ", ".join(dict.fromkeys(attempt_wording(each.outcome) for each in failed)),
        "pause": duration_wording(waited_s),
    }
    if not waited_s:
        return _("The language model failed %(times)s (%(outcomes)s) and answered on retry.") % values
    text = _(
        "The language model failed %(times)s (%(outcomes)s) and answered on retry after %(pause)s of waiting."
    )
    return text % values


def _rechecked(facts: ExplanationFacts) -> str:
    if not (pair := facts.snapshot.rechecked):
        return ""
    before, after = pair
    values = {"before": localized(f"{before:.2f}"), "after": localized(f"{after or 0.0:.2f}")}
    if after is None:
        text = _(
            "Rechecked: no second draft could be made; the first draft, confidence %(before)s, was kept."
        )
    elif after > before:
        text = _("Rechecked: confidence %(before)s before, %(after)s after; the second draft was kept.")
    else:
        text = _("Rechecked: confidence %(before)s before, %(after)s after; the first draft was kept.")
    return text % values


def _by_settings(facts: ExplanationFacts) -> str:
    """An account may hand a silent ending to people, and keep a handoff from them."""
    code, decision = facts.row["reason_code"], facts.row["decision"]
    if code not in Reason.__members__ or decision == Reason(code).spec.decision:
        return ""
    if decision == DecisionKind.ESCALATE:
        return _("Handed to a person, because the account's settings ask for it.")
    return _("Not handed to a person, because the account's settings say so.")


def _unreadable(facts: ExplanationFacts) -> str:
    if not facts.snapshot.unreadable:
        return ""
    text = _("This release cannot read a part of the stored record: %(paths)s.")
    return text % {"paths": shortened(", ".join(facts.snapshot.unreadable))}


NOTICES: Final[tuple[Callable[[ExplanationFacts], str], ...]] = (
    _sample,
    _candidate,
    _unmoderated,
    _left_out,
    _search_reduced,
    _screened,
    _unread,
    _retried,
    _rechecked,
    _by_settings,
    _unreadable,
)
