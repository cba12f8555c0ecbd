"""What the sentences about a decision are made from, and the clauses that several of them share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from db.audit.settings_snapshot import SettingsVersion
from review.content_covers import CATEGORIES, MODERATION
from review.decision.highlights import span_place
from review.decision.margins import Margin
from review.languages import gettext as _
from review.languages import ngettext
from review.languages.numbers import localized
from review.words.decisions import attempt_wording, match_wording, named_rule, shortened
from worker.assessment import ReadingOutcome
from worker.displayed.direction import DIRECTION_CONTROL
from worker.model import Stage
from worker.rules import MatchMethod
from worker.snapshot import Snapshot, SnapshotAssessment, SnapshotAttempt, SnapshotFinding, SnapshotStage

NOT_ASSESSED: Final = SnapshotAssessment()
UNREAD: Final = frozenset(ReadingOutcome) - {ReadingOutcome.READ}


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
        """How far the draft can be trusted; empty without an assessment."""
        return self.snapshot.assessment or NOT_ASSESSED


def rule_clause(facts: ExplanationFacts) -> str:
    """Which rule matched, how and where; its kind alone while the texts are covered."""
    matched: str = facts.row["matched_rule"] or ""
    if facts.hides_rule:
        return named_rule(matched, with_word=False)
    found = next((each for each in facts.snapshot.findings if each.matched_rule == matched), None)
    method = match_wording(found.how) if found and found.how else ""
    place = _fuzzy_place(facts, found) if found and MatchMethod.TYPO in found.how.split("+") else ""
    return named_rule(matched) + (f" ({method})" if method else "") + place


def _fuzzy_place(facts: ExplanationFacts, found: SnapshotFinding) -> str:
    """The text that a fuzzy rule matched and where, such as ``: “casinos”, characters 4 to 10``."""
    text = facts.row.get("message_text") or ""
    if found.span is None or found.stage != Stage.RULES or found.span[1] > len(text):
        return ""
    matched = DIRECTION_CONTROL.sub("", text[slice(*found.span)])
    return f": “{shortened(matched)}”, {span_place(text, found.span)}"


def moderator_clause(facts: ExplanationFacts) -> str:
    """Who flagged a text."""
    matched: str = facts.row["matched_rule"] or ""
    if not matched or matched.startswith(MODERATION):
        return _("the moderation model")
    return _("the moderator “%(name)s”") % {"name": shortened(matched.partition(":")[0])}


def decided_by_clause(facts: ExplanationFacts, stage: str) -> str:
    """Who gave no result: moderation in general, or the moderator that the account chose."""
    name = _stage(facts, stage).decided_by
    return _("the moderator “%(name)s”") % {"name": shortened(name)} if name else _("moderation")


def _stage(facts: ExplanationFacts, stage: str) -> SnapshotStage:
    """The last record of a stage; an empty record of a stage that did not run."""
    found = [each for each in facts.snapshot.stages if each.stage == stage]
    return found[-1] if found else SnapshotStage()


def category_clause(facts: ExplanationFacts, stage: str) -> str:
    """The category that a moderator found in a stage, with its score and threshold where they are stored."""
    matched: str = facts.row["matched_rule"] or ""
    category = matched.removeprefix(MODERATION)
    named = category if matched.startswith(MODERATION) else matched.partition(":")[2]
    words = _(CATEGORIES[named]) if named in CATEGORIES else shortened(named)
    found = next((each.highest for each in facts.snapshot.stages if each.stage == stage), {}).get(category)
    if found is None:
        return words
    values = {"category": words, "score": localized(f"{found.score:.2f}")}
    if found.threshold is None:
        return _("%(category)s (score %(score)s, flagged by the model itself)") % values
    values["threshold"] = localized(f"{found.threshold:.2f}")
    return _("%(category)s (score %(score)s, this account's threshold is %(threshold)s)") % values


def unread_outcome(assessment: SnapshotAssessment) -> ReadingOutcome | None:
    """Why no judge read the draft; None where a judge read it, or no judge was needed."""
    named = (*assessment.failed_checks, assessment.category)
    return next((ReadingOutcome(each) for each in named if each in UNREAD), None)


def attempts_clause(facts: ExplanationFacts, stage: str) -> str:
    """Number and outcomes of the last call's attempts: ``3 attempts (timed out, server error)``."""
    attempts, outcomes = _attempts_of(facts, stage), attempt_outcomes(facts, stage)
    if not attempts:
        return ""
    number = attempts[-1].number
    text = ngettext("one attempt (%(outcomes)s)", "%(num)s attempts (%(outcomes)s)", number)
    return text % {"num": number, "outcomes": ", ".join(outcomes)}


def _attempts_of(facts: ExplanationFacts, stage: str) -> list[SnapshotAttempt]:
    moderator = _stage(facts, stage).decided_by
    return [
        each for each in facts.snapshot.attempts if each.stage == stage and each.moderator in {"", moderator}
    ]


def attempt_outcomes(facts: ExplanationFacts, stage: str) -> list[str]:
    """What became of the last call's attempts, each outcome once.

    A stage may call several times, such as a model that searches first; each call counts from 1.
    """
    attempts = _attempts_of(facts, stage)
    last_call = max((place for place, each in enumerate(attempts) if each.number == 1), default=0)
    return list(dict.fromkeys(attempt_wording(each.outcome) for each in attempts[last_call:]))
