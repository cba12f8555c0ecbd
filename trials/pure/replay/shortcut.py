"""Decisions that changed settings cannot change, found without deciding them again.

A setting touches a decision from one stage on. Where a recording ends before that stage, or what the stage
would find in it is the same as then, the decision is the same. Whatever is not certain is decided again.
"""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum
from typing import Any, Final

from trials.pure.replay.difference import ReplayOutcome
from worker import moderation
from worker.assessment import Delivery, FallbackLevel, delivered_text
from worker.model import OPENAI_MODERATION, Account, ModerationScores, Passage, Stage
from worker.recordings.recording import Port, RecordedAnswer, RecordedOutcome, Recording
from worker.steps.run import PinnedSettings

RULES: Final = frozenset({"flagged_keywords", "flagged_phrases", "allowed"})
THRESHOLDS: Final = frozenset({"moderation_thresholds"})
FROM_HISTORY: Final = frozenset({"prompt", "assessment_policy", "fallback_texts", "languages"})
"""Settings that nothing reads before the stored history is read."""
UNREAD: Final = frozenset(
    {"version", "record_answers", "appeals_enabled", "appeal_within_days", "appeal_due_days"}
)
"""Settings that no decision reads."""
RULED: Final = frozenset({"FLAGGED_RULE", "REPLY_FLAGGED_RULE"})


class Touched(StrEnum):
    """Where changed settings may touch a decision."""

    RULES = "rules"
    THRESHOLDS = "thresholds"
    HISTORY = "history"
    EVERYTHING = "everything"


PARTS: Final = {Touched.RULES: RULES, Touched.THRESHOLDS: THRESHOLDS, Touched.HISTORY: FROM_HISTORY}


def touched(before: Account, after: Account) -> frozenset[Touched]:
    """What reads the settings of which two versions differ."""
    names = {each.name for each in fields(Account) if getattr(before, each.name) != getattr(after, each.name)}
    names -= UNREAD
    if names - frozenset().union(*PARTS.values()):
        return frozenset({Touched.EVERYTHING})
    return frozenset(part for part, read in PARTS.items() if names & read)


def is_unchanged(
    recording: Recording, stored: ReplayOutcome, before: Account, version: PinnedSettings
) -> bool:
    """Whether a decision certainly ends as it did under another version of its settings.

    Each part finds what it found: then the next one sees what it saw.
    """

    def same(part: Touched) -> bool:
        match part:
            case Touched.HISTORY:
                return all(each.port != Port.HISTORY for each in recording.answers)
            case Touched.THRESHOLDS:
                return _same_findings(recording, before, version.account)
            case Touched.RULES:
                return stored.reason_code not in RULED and _no_rule_matches(recording, version)
            case _:
                return False

    return all(map(same, touched(before, version.account)))


def _same_findings(recording: Recording, before: Account, after: Account) -> bool:
    """Whether all scores of the moderation API are as far over the thresholds as they were."""
    if before.moderators:
        return False
    (former,), (new,) = moderation.panel(before), moderation.panel(after)
    assert former.endpoint == OPENAI_MODERATION  # without moderators of its own an account has the API alone
    scores = [each.value for each in recording.answers if isinstance(each.value, ModerationScores)]
    return all(
        moderation.finding(each, former, stage=Stage.MODERATION)
        == moderation.finding(each, new, stage=Stage.MODERATION)
        for each in scores
    )


def _no_rule_matches(recording: Recording, version: PinnedSettings) -> bool:
    """Whether the rules match nothing that the engine may have tested."""
    drafts = [each.value.text for each in recording.answers if _is_draft(each)]
    if drafts and (version.account.mask_personal_data or _rules_see_more(version.delivery)):
        return False
    if version.account.rules_on_passages and any(each.port == Port.SEARCH for each in recording.answers):
        return False
    texts = {recording.event.text}
    if version.account.rules_on_reply:
        texts.update(*(_forms(draft, _passages(recording)) for draft in drafts))
    return not any(version.rules.match(text) for text in texts)


def _rules_see_more(delivery: Delivery) -> bool:
    """Whether a part of a draft, or headings beside a text, may be tested as well."""
    return delivery.suggest_questions or FallbackLevel.PARTIAL in delivery.fallback_levels


def _forms(draft: str, passages: tuple[Passage, ...]) -> set[str]:
    """A draft with all, some and no citation marks: which were removed depends on the passages shown."""
    return {draft, *(delivered_text(draft, passages[:count]) for count in range(len(passages) + 1))}


def _passages(recording: Recording) -> tuple[Passage, ...]:
    found: dict[str, Passage] = {}
    for each in recording.answers:
        if each.port == Port.SEARCH and each.outcome is RecordedOutcome.VALUE:
            found.update({passage.passage_id: passage for passage in each.value})
    return tuple(found.values())


def _is_draft(answer: RecordedAnswer) -> bool:
    value: Any = answer.value
    return (
        answer.outcome is RecordedOutcome.VALUE and answer.port.partition(":")[0] == Port.MODEL and value.text
    )
