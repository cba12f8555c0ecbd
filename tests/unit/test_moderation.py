"""What moderation scores mean for an account, how long a silent API is asked, and what held events leave."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.samples import account, event, scores
from worker import moderation
from worker.model import FailurePolicy, ModerationScores, ModeratorChoice, Stage
from worker.moderation_holds import CLOSED_S, Holds


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


class Places:
    """Counts what holds leave and take again."""

    def __init__(self, most: int, of_account: int) -> None:
        self.free = 0
        self.holds = Holds(most=most, most_of_account=of_account, left=self.left, returned=self.returned)

    def left(self) -> None:
        """One place is free."""
        self.free += 1

    def returned(self) -> None:
        """One place is taken."""
        self.free -= 1

    def hold(self, stack: ExitStack, user_id: str, entry: str, *, leaves: bool = True) -> None:
        """Hold one more call of an event until the stack ends."""
        held = event(user_id=user_id, entry_id=entry)
        stack.enter_context(self.holds.waiting(held, now_s=100.0, leaves=leaves))


def test_a_held_event_leaves_its_place_once() -> None:
    """Two calls of one event are one place; the place is taken again when the last call goes on."""
    places = Places(9, 9)
    with ExitStack() as outer:
        places.hold(outer, "u", "1-1")
        with ExitStack() as inner:
            places.hold(inner, "u", "1-1")
            seen = places.free, places.holds.count, places.holds.events
        after = places.free, places.holds.count

    assert (seen, after) == ((1, 2, 1), (1, 1))
    assert (places.free, places.holds.count, places.holds.events) == (0, 0, 0)


def test_a_short_wait_keeps_its_place() -> None:
    """Only a hold has no limit of attempts."""
    places = Places(0, 0)
    with ExitStack() as stack:
        places.hold(stack, "u", "1-1", leaves=False)

        assert (places.free, places.holds.count, places.holds.open_lanes(100.0)) == (0, 1, {})


@pytest.mark.parametrize(("most", "of_account"), [(2, 9), (9, 2)])
def test_an_event_without_room_is_put_back(most: int, of_account: int) -> None:
    """Its run ends and it keeps no place; its account is limited for as long as it holds other events."""
    places = Places(most, of_account)
    with ExitStack() as stack:
        places.hold(stack, "u", "1-1")
        places.hold(stack, "u", "1-2")
        with pytest.raises(asyncio.CancelledError):
            places.hold(stack, "u", "1-3")
        places.hold(stack, "u", "1-2")

        assert (places.free, places.holds.events) == (2, 2)
        assert places.holds.open_lanes(100.0) == {"u": of_account}

    assert places.holds.open_lanes(100.0) == {}


def test_an_account_without_room_for_any_event_gets_none_for_a_while() -> None:
    """Otherwise its events would be put back again at once."""
    places = Places(1, 9)
    with ExitStack() as stack:
        places.hold(stack, "u", "1-1")
        with pytest.raises(asyncio.CancelledError):
            places.hold(stack, "v", "1-2")

        assert places.holds.open_lanes(100.0) == {"u": 9, "v": 0}
        assert places.holds.open_lanes(100.0 + CLOSED_S) == {"u": 9}


def test_accounts_without_held_events_are_not_limited() -> None:
    """What is held limits its own account only, for as long as it is held."""
    places = Places(9, 3)
    with ExitStack() as stack:
        places.hold(stack, "u", "1-1")

        assert places.holds.open_lanes(100.0) == {"u": 3}

    assert places.holds.open_lanes(100.0) == {}
