"""Moderation results: scores against thresholds, several moderators combined, pauses during an outage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, assert_never

from worker.model import (
    OPENAI_MODERATION,
    Account,
    Combination,
    FailurePolicy,
    Finding,
    Json,
    ModerationScores,
    ModeratorChoice,
    Severity,
    Stage,
)

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


class Vote(StrEnum):
    """What one moderator contributes to the decision about a text.

    ``CLOSED`` is no result, and the text may not pass without one; ``ABSENT`` is no result, and the account
    continues without it.
    """

    CLEAR = "clear"
    HIT = "hit"
    CLOSED = "closed"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeratorResult:
    """The final result of one moderator for one text.

    Attributes:
        scores: None without a result.
        finding: of a hit, else None.
        error: why there is no result, else None.
        duration_ms: all attempts with their pauses.
    """

    choice: ModeratorChoice
    vote: Vote
    scores: ModerationScores | None = None
    finding: Finding | None = None
    error: Exception | None = None
    duration_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """The joint result of the moderators: the result that blocks the text, or None."""

    blocked_by: ModeratorResult | None = None


PASSED: Final = Conclusion()


def with_failure(account: Account, policy: FailurePolicy) -> Account:
    """The account whose moderators all have this failure policy."""
    moderators = tuple(replace(each, failure=policy) for each in account.moderators)
    return replace(account, moderation_failure=policy, moderators=moderators)


def panel(account: Account) -> tuple[ModeratorChoice, ...]:
    """The moderators of an account, each with the failure policy and the thresholds in force."""
    if not account.moderators:
        default = ModeratorChoice(
            name=OPENAI_MODERATION,
            endpoint=OPENAI_MODERATION,
            failure=account.moderation_failure,
            thresholds=account.moderation_thresholds,
        )
        return (default,)
    return tuple(_of_account(account, each) for each in account.moderators)


def _of_account(account: Account, choice: ModeratorChoice) -> ModeratorChoice:
    is_api = choice.endpoint == OPENAI_MODERATION
    return replace(
        choice,
        failure=choice.failure or account.moderation_failure,
        thresholds=account.moderation_thresholds if is_api else choice.thresholds,
    )


def conclusion(combination: Combination, results: Sequence[ModeratorResult | None]) -> Conclusion | None:
    """The conclusion as soon as no missing result can change it; None before.

    Args:
        combination: of the account.
        results: in the account's order; None for a moderator that has no final result yet.
    """
    if len(results) == 1:  # no combination differs, and most accounts have one
        return _of_one(results[0])
    known = [each for each in results if each is not None]
    is_complete = len(known) == len(results)
    blocking = Conclusion(blocked_by=_first(known, Vote.HIT) or _first(known, Vote.CLOSED))
    match combination:
        case Combination.ANY:
            return blocking if is_complete or blocking.blocked_by else None
        case Combination.ALL:
            if _first(known, Vote.CLEAR):
                return PASSED
            blocking = Conclusion(blocked_by=_first(known, Vote.CLOSED) or _first(known, Vote.HIT))
            return blocking if is_complete else None
        case Combination.FIRST:
            answered = next((each for each in known if each.vote in {Vote.CLEAR, Vote.HIT}), None)
            if answered:
                return Conclusion(blocked_by=answered if answered.vote is Vote.HIT else None)
            return blocking if is_complete else None
        case _:
            assert_never(combination)


def _of_one(result: ModeratorResult | None) -> Conclusion | None:
    if result is None:
        return None
    return Conclusion(blocked_by=result) if result.vote in {Vote.HIT, Vote.CLOSED} else PASSED


def _first(results: Iterable[ModeratorResult], vote: Vote) -> ModeratorResult | None:
    return next((each for each in results if each.vote is vote), None)


def finding(scores: ModerationScores, choice: ModeratorChoice, *, stage: Stage) -> Finding | None:
    """The worst category at or over its threshold, or, without a threshold, flagged by the moderator."""
    over = [
        (score, category)
        for category, score in scores.scores.items()
        if (
            category in scores.flagged
            if (limit := choice.thresholds.get(category)) is None
            else score >= limit
        )
    ]
    if not over:
        return None
    score, category = max(over)
    limit, is_api = choice.thresholds.get(category), choice.endpoint == OPENAI_MODERATION
    flagged = "flagged by the API" if is_api else "flagged by the classifier"
    ground = flagged if limit is None else f"threshold {limit}"
    source = "OpenAI Moderation" if is_api else choice.name
    return Finding(
        stage=stage,
        code=OPENAI_MODERATION if is_api else "classifier",
        severity=Severity.BLOCK,
        matched_rule=f"{choice.name}:{category}",
        evidence=f"{source}: {category} ({score:.3f}, {ground})",
        score=score,
    )


def margins(scores: ModerationScores, choice: ModeratorChoice) -> dict[str, Json]:
    """Scores with the threshold in force, for the stage trace, so that near misses stay visible.

    Kept are categories with a threshold of the account, scores of at least 0.5, and the three highest. The
    moderation API's have the category as key, a classifier's its matched rule.
    """
    ranked = sorted(scores.scores.items(), key=lambda item: -item[1])
    limits, is_api = choice.thresholds, choice.endpoint == OPENAI_MODERATION
    prefix = "" if is_api else f"{choice.name}:"
    return {
        f"{prefix}{category}": {"score": score, "threshold": limits.get(category)}
        for place, (category, score) in enumerate(ranked)
        if place < HIGHEST or score >= TELLING_SCORE or category in limits
    }


def record(choice: ModeratorChoice, result: ModeratorResult | None) -> dict[str, Json]:
    """What the stage trace keeps of one moderator.

    Its outcome is ``clear``, ``hit``, ``no_result`` with the kind of the last failure, or ``not_needed`` when
    the others had decided before.
    """
    if result is None:
        return {"name": choice.name, "outcome": "not_needed"}
    written: dict[str, Json] = {
        "name": choice.name,
        "outcome": "no_result" if result.error else result.vote.value,
        "duration_ms": round(result.duration_ms, 3),
    }
    if result.scores is not None:
        written["model"] = result.scores.model
    if result.error is not None:
        written["error"] = str(getattr(result.error, "kind", "rejected"))
    return written


def pause_s(
    policy: FailurePolicy, hold_max_s: float, attempt: int, age_s: float, retry_after_s: float | None
) -> float | None:
    """Seconds to wait before asking again after failed ``attempt`` (from 1); None to stop asking.

    A hold asks until the event is ``hold_max_s`` old; block and allow ask three times in all. Pauses are
    0.5 s doubling to 10 s, and never shorter than the API asked for.
    """
    backoff = max(min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(attempt - 1, 10)), retry_after_s or 0.0)
    if policy == FailurePolicy.HOLD:
        return min(backoff, hold_max_s - age_s) if age_s < hold_max_s else None
    return backoff if attempt < ATTEMPTS_WITHOUT_HOLD and backoff <= LONGEST_PAUSE_S else None


def image_pause_s(attempt: int) -> float | None:
    """Seconds to wait before images that could not be checked are tried again; None after three attempts."""
    return FIRST_PAUSE_S * 4 ** (attempt - 1) if attempt < ATTEMPTS_WITHOUT_HOLD else None


def without_hold(account: Account) -> Account:
    """The account with moderators that block during an outage instead of holding."""

    def now(policy: FailurePolicy) -> FailurePolicy:
        return FailurePolicy.BLOCK if policy is FailurePolicy.HOLD else policy

    moderators = tuple(
        replace(each, failure=now(each.failure) if each.failure else None) for each in account.moderators
    )
    return replace(account, moderators=moderators, moderation_failure=now(account.moderation_failure))
