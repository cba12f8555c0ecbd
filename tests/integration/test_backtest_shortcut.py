"""The shortcuts of backtests: a group found without deciding again is the one found by deciding again."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from db.account_settings.account_versions import get_version
from db.account_settings.accounts import store_account
from db.pool import Pool, create_pool
from tests.support.fakes import FakeClock, FakeConversations, FakeModel, FakeModerator, FakeRetriever
from tests.support.samples import account, event, passage, scores
from tests.unit.test_replay import ANSWER, OTHER, made, some_case
from trials.pure.replay.difference import DifferenceKind, outcome_of
from trials.store.recordings import StoredDecision
from trials.store.replaying import Replayer
from worker.model import Account, Completion, Decision
from worker.pipeline import decide
from worker.ports import Ports
from worker.recordings.recorder import Recorder
from worker.recordings.stored import encoded
from worker.steps.run import EventCase, pinned_settings

CALM: Final = 40
"""Decisions whose ports always answer."""
CHAOTIC: Final = 20
"""Decisions of ports with errors, holds and cancelled calls."""
WORDS: Final = (
    "open", "nine", "kim", "spam", "closed", "sunday", "/op.n/", "~weekdays", "to kim@example.com",
    "open from", "nothing of it",
)  # fmt: skip
"""Of messages, drafts and passages, and some of none."""
INSIDE: Final = Completion(text="We are open [1] from nine to six on weekdays.", model="m")
"""Its words stand beside each other once the citation mark is removed."""
MASKED: Final = Completion(text="We write to [EMAIL_1] from nine to six [1].", model="m")
RULES: Final = st.lists(st.sampled_from(WORDS), max_size=2, unique=True).map(tuple)
THRESHOLDS: Final = st.dictionaries(
    st.sampled_from(("violence", "hate", "harassment")), st.sampled_from((0.0, 0.005, 0.01, 0.5, 0.98, 1.0))
)
CHANGES: Final = st.one_of(
    st.fixed_dictionaries(
        {}, optional={"flagged_keywords": RULES, "flagged_phrases": RULES, "allowed": RULES}
    ),
    st.fixed_dictionaries({"moderation_thresholds": THRESHOLDS}),
    st.fixed_dictionaries({"flagged_keywords": RULES, "moderation_thresholds": THRESHOLDS}),
)
"""Changed rules, changed thresholds, and both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Decisions with their recordings, and the settings of each, which Postgres has as well."""

    runner: asyncio.Runner
    source: Pool
    decisions: tuple[StoredDecision, ...]
    accounts: dict[str, Account]


@pytest.fixture(scope="module")
def stored(database_url: str) -> Iterator[Stored]:
    """Pipelines by chance: rules, policies, thresholds, masked texts, moderators."""
    with asyncio.Runner() as runner:
        pool = create_pool(database_url, size=1, application="test", role=None)
        source = runner.run(pool.__aenter__())
        kept = [runner.run(_stored(source, seed)) for seed in range(CALM + CHAOTIC)]
        accounts = {owner.user_id: owner for owner, _ in kept}
        decisions = tuple(each for _, each in kept)
        yield Stored(runner=runner, source=source, decisions=decisions, accounts=accounts)
        runner.run(pool.__aexit__(None, None, None))


async def _stored(source: Pool, seed: int) -> tuple[Account, StoredDecision]:
    draw, user_id = random.Random(seed), f"shop-{seed}"
    case = _calm_case(draw) if seed < CALM else some_case(draw)
    owner = replace(case.account, user_id=user_id, version=1)
    case = replace(case, event=replace(case.event, user_id=user_id), account=owner)
    assert await store_account(source, owner, changed_by="test") == 1
    again = await get_version(source, user_id, 1)
    assert again is not None
    assert again.account == owner
    decision, recording = await (_decided(case, draw) if seed < CALM else made(case, draw))
    return owner, StoredDecision(
        decision_id=decision.decision_id,
        user_id=user_id,
        created_at=decision.decided_at,
        erased=False,
        rules_version=1,
        outcome=replace(outcome_of(decision), snapshot={}),
        recording=recording,
        overtaken=False,
    )


def _calm_case(draw: random.Random) -> EventCase:
    """A question to an account whose rules see replies, passages and masked texts, or do not."""
    owner = account(
        flagged_keywords=draw.choice(((), (), ("spam",), ("nine",), ("write",))),
        allowed=draw.choice(((), ("nine to six",))),
        rules_on_reply=draw.random() < 0.7,
        rules_on_passages=draw.random() < 0.3,
        mask_personal_data=draw.random() < 0.6,
        moderation_thresholds=draw.choice(({}, {"violence": 0.5}, {"violence": 0.9, "hate": 0.2})),
        assessment_policy={"name": draw.choice(("failsafe", "failsafe", "failsafe", "guardrail", "silent"))},
    )
    version = pinned_settings(owner, {})
    asked = event(text=draw.choice(("When are you open?", "When? I am kim@example.com", "Hello")))
    return EventCase(
        event=asked, account=owner, rules=version.rules, policy=version.policy, delivery=version.delivery
    )


async def _decided(case: EventCase, draw: random.Random) -> tuple[Decision, bytes]:
    scored = [
        scores(violence=draw.choice((0.01, 0.01, 0.3, 0.6)), hate=draw.choice((0.0, 0.1, 0.3)))
        for _ in range(2)
    ]
    found = (passage(), passage(number=2, text="On Sunday we are closed."))[: draw.choice((0, 1, 2, 2))]
    ports = Ports(
        clock=FakeClock(),
        moderator=FakeModerator(script=[*scored]),
        model=FakeModel([MASKED if "kim" in case.event.text else draw.choice((ANSWER, INSIDE, OTHER))]),
        retriever=FakeRetriever([found]),
        conversations=FakeConversations(),
    )
    recorder = Recorder(case=case, behind=ports)
    decision = await decide(case, recorder.ports)
    return decision, encoded(recorder.recording())


def test_a_shortcut_finds_the_group_that_deciding_again_finds(stored: Stored) -> None:
    """For changes of rules and thresholds by chance, over recordings of every kind."""
    groups: Counter[str] = Counter()
    skipped: Counter[bool] = Counter()

    async def both(changes: dict[str, Any], first: int) -> None:
        for each in stored.decisions[first::4]:
            tried = replace(stored.accounts[each.user_id], **changes)
            replayer = Replayer(source=stored.source, candidates={each.user_id: tried})
            quick, found = await replayer.group_of(each)
            full, _ = await replayer.group_of(each, full=True)
            groups[full] += 1
            skipped[found is None] += 1

            assert quick == full, (each.user_id, changes)

    @settings(max_examples=120, deadline=None)
    @given(changes=CHANGES, first=st.integers(0, 3))
    def holds(changes: dict[str, Any], first: int) -> None:
        stored.runner.run(both(changes, first))

    holds()

    assert groups.keys() >= {DifferenceKind.UNCHANGED, DifferenceKind.NEWLY_STOPPED}
    assert min(skipped[True], skipped[False]) > 100
