"""Moderation scores against an account's thresholds, and pauses between calls during an outage."""

from __future__ import annotations

from typing import Final

from worker.model import Account, FailurePolicy, Finding, Json, ModerationScores, Severity, Stage

CATEGORIES: Final = (
    "harassment",
    "harassment/threatening",
    "hate",
    "hate/threatening",
    "illicit",
    "illicit/violent",
    "self-harm",
    "self-harm/instructions",
    "self-harm/intent",
    "sexual",
    "sexual/minors",
    "violence",
    "violence/graphic",
)
"""The categories of omni-moderation (openai 3.54 ``types/moderation.py``)."""
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 10.0
ATTEMPTS_WITHOUT_HOLD: Final = 3
HIGHEST: Final = 3
TELLING_SCORE: Final = 0.5
"""From this score on it is always kept: reviewers may have such texts covered."""


def finding(scores: ModerationScores, account: Account, *, stage: Stage) -> Finding | None:
    """The worst category at or over the account's threshold, or flagged by the API where there is none."""
    over = [
        (score, category)
        for category, score in scores.scores.items()
        if (category in scores.flagged if (limit := _limit(account, category)) is None else score >= limit)
    ]
    if not over:
        return None
    score, category = max(over)
    limit = _limit(account, category)
    ground = "flagged by the API" if limit is None else f"threshold {limit}"
    return Finding(
        stage=stage,
        code="openai_moderation",
        severity=Severity.BLOCK,
        matched_rule=f"openai_moderation:{category}",
        evidence=f"OpenAI Moderation: {category} ({score:.3f}, {ground})",
        score=score,
    )


def margins(scores: ModerationScores, account: Account) -> dict[str, Json]:
    """Scores with the threshold in force, for the stage trace, so that near misses stay visible.

    Kept are categories with a threshold of the account, scores of at least 0.5, and the three highest.
    """
    ranked = sorted(scores.scores.items(), key=lambda item: -item[1])
    return {
        category: {"score": score, "threshold": _limit(account, category)}
        for place, (category, score) in enumerate(ranked)
        if place < HIGHEST or score >= TELLING_SCORE or _limit(account, category) is not None
    }


def pause_s(account: Account, attempt: int, age_s: float, retry_after_s: float | None) -> float | None:
    """Seconds to wait before asking again after failed ``attempt`` (from 1); None to stop asking.

    A hold asks until the event is ``hold_max_s`` old; block and allow ask three times in all. Pauses are
    0.5 s doubling to 10 s, and never shorter than the API asked for.
    """
    backoff = max(min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(attempt - 1, 10)), retry_after_s or 0.0)
    if account.moderation_failure is FailurePolicy.HOLD:
        return min(backoff, account.hold_max_s - age_s) if age_s < account.hold_max_s else None
    return backoff if attempt < ATTEMPTS_WITHOUT_HOLD and backoff <= LONGEST_PAUSE_S else None


def _limit(account: Account, category: str) -> float | None:
    return account.moderation_thresholds.get(category)
