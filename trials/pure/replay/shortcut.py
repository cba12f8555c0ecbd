"""Decisions that changed settings cannot change, found without deciding them again.

A setting touches a decision from one stage on. Where a recording ends before that stage, or what the stage
would find in it is the same as then, the decision is the same. Whatever is not certain is decided again.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

from trials.pure.replay.difference import ReplayOutcome
from worker import moderation
from worker.assessment import Delivery, FallbackLevel, delivered_text
from worker.model import OPENAI_MODERATION, Account, ModerationScores, Passage, Stage
from worker.recordings.recording import Port, RecordedAnswer, RecordedOutcome, Recording
from worker.steps.run import PinnedSettings

UNREAD: Final = frozenset(
    {"version", "record_answers", "appeals_enabled", "appeal_within_days", "appeal_due_days"}
)
"""Settings that no decision reads."""
RULED: Final = frozenset({"FLAGGED_RULE", "REPLY_FLAGGED_RULE"})


def is_unchanged(
    recording: Recording, stored: ReplayOutcome, before: Account, settings: PinnedSettings
) -> bool:
    """Whether a decision certainly ends as it did under another version of its settings.

    Each part that reads a changed setting finds what it found: then the next one sees what it saw.
    """
    after = settings.account
    changed = {
        each.name for each in fields(Account) if getattr(before, each.name) != getattr(after, each.name)
    }
    changed -= UNREAD
    if changed - {name for names, _ in PARTS for name in names}:
        return False
    return all(same(recording, stored, before, settings) for names, same in PARTS if changed & names)


def _before_history(recording: Recording, *_: object) -> bool:
    """Whether the decision ended before the stored history was read."""
    return all(each.port != Port.HISTORY for each in recording.answers)


def _same_findings(recording: Recording, _: ReplayOutcome, before: Account, settings: PinnedSettings) -> bool:
    """Whether all scores of the moderation API are as far over the thresholds as they were."""
    if before.moderators:
        return False
    (former,), (new,) = moderation.panel(before), moderation.panel(settings.account)
    assert former.endpoint == OPENAI_MODERATION  # without moderators of its own an account has the API alone
    scores = [each.value for each in recording.answers if isinstance(each.value, ModerationScores)]
    return all(
        moderation.finding(each, former, stage=Stage.MODERATION)
        == moderation.finding(each, new, stage=Stage.MODERATION)
        for each in scores
    )


def _no_rule_matches(
    recording: Recording, stored: ReplayOutcome, _: Account, settings: PinnedSettings
) -> bool:
    """Whether the rules match nothing that the engine may have tested, as then."""
    if stored.reason_code in RULED or settings.rules.has_authors:
        return False
    drafts = [each.value.text for each in recording.answers if _is_draft(each)]
    if recording.event.check is not None and recording.event.check.draft is not None:
        drafts.append(recording.event.check.draft)
    if drafts and (settings.account.mask_personal_data or _rules_see_more(settings.delivery)):
        return False
    if settings.account.rules_on_passages and any(each.port == Port.SEARCH for each in recording.answers):
        return False
    texts = {recording.event.text}
    if settings.account.rules_on_reply:
        texts.update(*(_forms(draft, _passages(recording)) for draft in drafts))
    return not any(settings.rules.match(text) for text in texts)


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


PARTS: Final = (
    (frozenset({"flagged_keywords", "flagged_phrases", "allowed"}), _no_rule_matches),
    (frozenset({"moderation_thresholds"}), _same_findings),
    (frozenset({"prompt", "assessment_policy", "fallback_texts", "languages"}), _before_history),
)
"""Settings, with what says that the part of the engine that reads them finds what it found."""
