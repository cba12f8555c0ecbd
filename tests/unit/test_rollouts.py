"""Arms and bounds of a rollout."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from tasks.entries.rulebooks import Rulebooks
from tests.support.samples import account, event
from trials.pure.rollouts.bounds import (
    ArmFigures,
    BoundRejected,
    Measure,
    RolloutFigures,
    broken_bounds,
    compare_arms,
    parse_bound,
)
from trials.pure.statistics.sequential import ClusterSums, ComparisonVerdict
from worker.model import AI_ONLY, Account, ConversationState, Owner
from worker.running_rollouts import PLACES, RunningRollout, place_of

ROLLOUT = UUID("01a20047-0dfa-71d7-8e88-c1d4329d1fb5")
CANDIDATE = UUID("01a20047-0dfa-71d7-8e88-c1d4329d1fb6")


def arm(hits: int, total: int, measure: Measure = Measure.BLOCKS, p95_ms: float = 0.0) -> ArmFigures:
    """An arm of conversations with one decision each."""
    sums = ClusterSums(
        units=total, hits=hits, size=total, hits_squared=hits, crossed=hits, size_squared=total
    )
    return ArmFigures(sums={measure: sums}, p95_ms=p95_ms)


def running(share: float, version: int = 3) -> RunningRollout:
    """A rollout of a candidate that blocks another word."""
    return RunningRollout(
        rollout_id=ROLLOUT,
        candidate_id=CANDIDATE,
        user_id="acme",
        base_version=version,
        changes={"flagged_keywords": ["casino"]},
        share=share,
    )


def test_places_are_spread_and_a_larger_share_keeps_its_conversations() -> None:
    """A tenth of the places has a tenth of the conversations; at one half all of them are in it still."""
    conversations = [f"conversation-{number}" for number in range(5000)]
    tenth = {each for each in conversations if running(0.1).takes(each)}
    half = {each for each in conversations if running(0.5).takes(each)}

    assert 400 < len(tenth) < 600
    assert 2300 < len(half) < 2700
    assert tenth < half
    assert all(running(1.0).takes(each) for each in conversations)
    assert 0 <= min(place_of(ROLLOUT, each) for each in conversations) < PLACES


@pytest.mark.parametrize(
    ("bound", "live", "candidate", "broken"),
    [
        ("blocks<=0.2", arm(0, 0), arm(20, 100), False),
        ("blocks<=0.2", arm(0, 0), arm(21, 100), True),
        ("blocks<=0.2", arm(0, 0), arm(49, 49), False),
        ("blocks<=+0.05", arm(10, 100), arm(15, 100), False),
        ("blocks<=+0.05", arm(10, 100), arm(16, 100), True),
        ("blocks<=+0.05", arm(0, 49), arm(100, 100), False),
        ("blocks<=x1.5", arm(10, 100), arm(15, 100), False),
        ("blocks<=x1.5", arm(10, 100), arm(16, 100), True),
        ("latency<=x2", arm(1, 100, Measure.LATENCY, 50), arm(1, 100, Measure.LATENCY, 101), True),
        ("latency<=x2", arm(1, 100, Measure.LATENCY, 50), arm(1, 100, Measure.LATENCY, 99), False),
        ("cost<=0.01", arm(0, 0), arm(60, 100), False),
    ],
)
def test_a_bound_is_broken_by_enough_decisions_beyond_it(
    bound: str, live: ArmFigures, candidate: ArmFigures, *, broken: bool
) -> None:
    """Absolute, above and times the other arm; with too few decisions of an arm it says nothing."""
    figures = RolloutFigures(live=live, candidate=candidate)

    assert bool(broken_bounds([parse_bound(bound)], figures, least=50)) is broken


@pytest.mark.parametrize(
    "text", ["", "blocks", "blocks<0.2", "speed<=1", "blocks<=-1", "blocks<=nan", "cost<=+"]
)
def test_a_bound_written_otherwise_is_refused(text: str) -> None:
    """The message names the measures."""
    with pytest.raises(BoundRejected, match="overturns, escalations"):
        parse_bound(text)


def test_a_bound_is_written_as_it_was_read() -> None:
    """What is stored is read again."""
    for text in ("blocks<=0.2", "escalations<=+0.05", "latency<=x1.5", "cost<=3"):
        assert str(parse_bound(text)) == text


def test_arms_are_compared_by_the_declared_metric() -> None:
    """A clear difference is decided, and few conversations are not."""
    clear = RolloutFigures(live=arm(10, 1000), candidate=arm(300, 1000))
    few = RolloutFigures(live=arm(1, 10), candidate=arm(9, 10))

    assert compare_arms(Measure.BLOCKS, clear, planned=2000).verdict is ComparisonVerdict.HIGHER
    assert compare_arms(Measure.BLOCKS, few, planned=2000).verdict is ComparisonVerdict.TOO_FEW


async def test_workers_choose_the_arm_and_hear_of_steps() -> None:
    """A step is in force after a refresh, without people's conversations; other settings end the trial."""
    stored = {"acme": account(flagged_keywords=("spam",))}
    steps = dict[str, RunningRollout]()

    async def load(user_id: str) -> Account:
        return stored[user_id]

    async def versions(_: object) -> dict[str, int]:
        return {name: each.version for name, each in stored.items()}

    async def rollouts(_: object) -> dict[str, RunningRollout]:
        return dict(steps)

    books = Rulebooks(load, versions, rollouts=rollouts)
    ours, version = event(conversation_id="c-1"), stored["acme"].version
    people = ConversationState(owner=Owner.PEOPLE)
    before = (await books.get("acme")).for_event(ours, AI_ONLY)
    steps["acme"] = running(1.0, version)
    await books.refresh()
    book = await books.get("acme")
    tried, kept = book.for_event(ours, AI_ONLY), book.for_event(ours, people)
    stored["acme"] = replace(stored["acme"], version=version + 1)
    await books.refresh()
    after = (await books.get("acme")).for_event(ours, AI_ONLY)

    assert [each.candidate_id for each in (before, tried, kept, after)] == [None, CANDIDATE, None, None]
    assert tried.account.flagged_keywords == ("casino",)
    assert kept.account.flagged_keywords == ("spam",)
