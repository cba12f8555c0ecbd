"""What scores mean for an account, and how long a silent moderation API is asked again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.samples import account, scores
from worker import moderation
from worker.model import FailurePolicy, ModerationScores, ModeratorChoice, Stage


def chosen(**settings: Any) -> ModeratorChoice:
    """The only moderator of an account with these settings."""
    (only,) = moderation.panel(account(**settings))
    return only


@pytest.mark.parametrize(
    ("scores", "thresholds", "rule"),
    [
        (scores(violence=0.2), {}, None),
        (scores(violence=0.99), {}, None),
        (scores(("violence",), violence=0.2), {}, "openai_moderation:violence"),
        (scores(("violence",), violence=0.2), {"violence": 0.5}, None),
        (scores(violence=0.5), {"violence": 0.5}, "openai_moderation:violence"),
        (scores(violence=0.4999), {"violence": 0.5}, None),
        (scores(violence=0.0), {"violence": 0.0}, "openai_moderation:violence"),
        (scores(("hate",), hate=0.3, violence=0.9), {"violence": 0.8}, "openai_moderation:violence"),
        (scores(("hate",), hate=0.3, violence=0.2), {"sexual": 0.1}, "openai_moderation:hate"),
    ],
)
def test_a_threshold_replaces_the_api_s_own_flag(
    scores: ModerationScores, thresholds: dict[str, float], rule: str | None
) -> None:
    """The worst category counts; without a threshold of the account, the API's flag decides."""
    found = moderation.finding(scores, chosen(moderation_thresholds=thresholds), stage=Stage.MODERATION)

    assert (found.matched_rule if found else None) == rule


def test_the_evidence_names_score_and_ground() -> None:
    """A reviewer sees the score and the threshold or the API as its source."""
    by_api = moderation.finding(scores(("hate",), hate=0.5), chosen(), stage=Stage.MODERATION)
    by_us = moderation.finding(
        scores(hate=0.5), chosen(moderation_thresholds={"hate": 0.4}), stage=Stage.MODERATION
    )

    assert by_api is not None
    assert by_us is not None
    assert by_api.evidence == "OpenAI Moderation: hate (0.500, flagged by the API)"
    assert by_us.evidence == "OpenAI Moderation: hate (0.500, threshold 0.4)"
    assert by_us.score == 0.5


def test_near_misses_stay_visible() -> None:
    """The three highest scores, and every one with a threshold of its own, however low."""
    given = scores(a=0.1, b=0.4, c=0.2, d=0.3, e=0.04, f=0.03)
    shown = moderation.margins(given, chosen(moderation_thresholds={"d": 0.35, "e": 0.05}))

    assert shown == {
        "b": {"score": 0.4, "threshold": None},
        "d": {"score": 0.3, "threshold": 0.35},
        "c": {"score": 0.2, "threshold": None},
        "e": {"score": 0.04, "threshold": 0.05},
    }


def test_scores_from_a_half_on_are_all_kept() -> None:
    """Reviewers who cover any of four categories do not see such a text."""
    shown = moderation.margins(scores(a=0.9, b=0.8, c=0.7, d=0.5, e=0.49), chosen())

    assert set(shown) == {"a", "b", "c", "d"}


HOLD, BLOCK, ALLOW = FailurePolicy.HOLD, FailurePolicy.BLOCK, FailurePolicy.ALLOW


@pytest.mark.parametrize(
    ("policy", "attempt", "age_s", "retry_after_s", "pause_s"),
    [
        (HOLD, 1, 0.0, None, 0.5),
        (HOLD, 2, 1.0, None, 1.0),
        (HOLD, 5, 1.0, None, 8.0),
        (HOLD, 6, 1.0, None, 10.0),
        (HOLD, 10_000, 1.0, None, 10.0),
        (HOLD, 1, 0.0, 42.0, 42.0),
        (HOLD, 1, 3595.0, 42.0, 5.0),
        (HOLD, 9, 3600.0, None, None),
        (HOLD, 9, 9999.0, None, None),
        (HOLD, 1, -50.0, None, 0.5),
        (BLOCK, 1, 0.0, None, 0.5),
        (BLOCK, 2, 0.0, None, 1.0),
        (BLOCK, 3, 0.0, None, None),
        (ALLOW, 2, 0.0, 9.0, 9.0),
        (ALLOW, 1, 0.0, 11.0, None),
        (ALLOW, 3, 0.0, None, None),
    ],
)
def test_the_pause_follows_the_account_s_policy(
    policy: FailurePolicy, attempt: int, age_s: float, retry_after_s: float | None, pause_s: float | None
) -> None:
    """A hold asks until the event is too old; block and allow ask three times in all."""
    assert moderation.pause_s(policy, 3600.0, attempt, age_s, retry_after_s) == pause_s


@given(st.floats(0, 7200), st.integers(1, 2000), st.none() | st.floats(0, 1e9))
def test_a_hold_never_sleeps_past_its_end(age_s: float, attempt: int, retry_after_s: float | None) -> None:
    """A long Retry-After does not extend a hold."""
    pause_s = moderation.pause_s(HOLD, 3600.0, attempt, age_s, retry_after_s)

    assert (pause_s is None) == (age_s >= 3600)
    assert pause_s is None or 0 < pause_s <= 3600 - age_s
