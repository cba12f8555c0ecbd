"""Stages, outcomes, severities and sources of reviews in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from db.reviews.rulings import ReviewSource
from review.languages import gettext, mark
from review.words.decisions import attempt_wording
from worker.account_settings import SETTINGS
from worker.model import Severity, Stage, StageOutcome

STAGES: Final[Mapping[str, str]] = {
    Stage.SCOPE: mark("scope"),
    Stage.RULES: mark("rules"),
    Stage.MODERATION: mark("moderation"),
    Stage.HISTORY: mark("history"),
    Stage.RETRIEVAL: mark("retrieval"),
    Stage.EVIDENCE: mark("evidence"),
    Stage.GENERATION: mark("generation"),
    Stage.RULES_REPLY: mark("rules of the reply"),
    Stage.MODERATION_REPLY: mark("moderation of the reply"),
    Stage.ASSESSMENT: mark("assessment"),
    Stage.JUDGE: mark("judge"),
}
"""Total."""
OUTCOMES: Final[Mapping[str, str]] = {
    StageOutcome.PASSED: mark("✓ passed"),
    StageOutcome.FLAGGED: mark("⚑ flagged"),
    StageOutcome.FAILED: mark("✗ failed"),
    StageOutcome.SKIPPED: mark("– skipped"),
    "completed": mark("✓ completed"),
}
"""Total over stages; other endings of attempts are in ``review.words.decisions.ATTEMPT_OUTCOMES``."""
SEVERITIES: Final[Mapping[str, str]] = {
    Severity.NOTE: mark("note"),
    Severity.WARN: mark("warning"),
    Severity.BLOCK: mark("blocks"),
}
"""Total."""
SOURCES: Final[Mapping[ReviewSource, str]] = {
    ReviewSource.PAGE: mark("on the decision's page"),
    ReviewSource.QUEUE: mark("from a queue"),
    ReviewSource.BLIND: mark("blind second reading"),
    ReviewSource.GOLDEN: mark("known answer"),
    ReviewSource.BULK: mark("bulk review"),
    ReviewSource.CLI: mark("on the command line"),
    ReviewSource.APPEAL: mark("on an appeal"),
}
"""Total."""
MEASURED: Final[Mapping[str, str]] = {
    "message": mark("of the message"),
    "draft": mark("of the draft"),
    "passages": mark("of the passages"),
}
"""Total over the subjects of ``review.decision.margins``."""
COUNTED: Final[Mapping[str, str]] = {
    "keywords": "flagged_keywords",
    "phrases": "flagged_phrases",
    "has_fallback_texts": "fallback_texts",
}
"""Fields of ``db.audit.settings_snapshot.SettingsVersion`` that have another name than their setting."""


def stage_outcome(outcome: str) -> str:
    """How a stage or an attempt ended, with its mark."""
    return gettext(OUTCOMES[outcome]) if outcome in OUTCOMES else f"✗ {attempt_wording(outcome)}"


def setting_title(field: str) -> str:
    """The title of the setting that a stored field holds."""
    name = COUNTED.get(field, field)
    return gettext(SETTINGS[name].title) if name in SETTINGS else name.replace("_", " ")
