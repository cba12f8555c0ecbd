"""Which calls of model servers run side by side, and what becomes of a call whose answer is not needed."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.support.fakes import CLEAN
from tests.support.readings import reading, said
from tests.support.samples import account, passage, scores
from tests.unit.test_pipeline import DOWN, SENT, World, stages
from worker.model import Completion, Decision, Tokens
from worker.reasons import Reason

HURTFUL = scores(flagged=("violence",), violence=0.99)
READ = Completion(
    text=reading(said("supported", passage().text)), model="j", tokens=Tokens(prompt=50, completion=9)
)


class Rounds:
    """Holds every call until no further call begins, then answers those of ``first``, else all."""

    def __init__(self, world: World, *, first: str = "") -> None:
        self.world, self.first = world, first
        self.waiting: list[tuple[str, asyncio.Event]] = []
        self.asked: list[Counter[str]] = []
        for name in ("moderator.moderate", "retriever.search", "model.complete", "judge.read"):
            port, method = name.split(".")
            if getattr(world, port) is not None:
                self._hold(port, method)

    def _hold(self, port: str, method: str) -> None:
        behind = getattr(self.world, port)

        class Held:
            """The port whose calls are held."""

            def __getattr__(_, name: str) -> Any:  # noqa: N805  # the outer ``self`` is needed
                async def call(*given: Any, **named: Any) -> Any:
                    answered = asyncio.Event()
                    self.waiting.append((port, answered))
                    await answered.wait()
                    return await getattr(behind, name)(*given, **named)

                return call if name == method else getattr(behind, name)

        setattr(self.world, port, Held())

    async def decide(self, **owner: Any) -> Decision:
        """The decision, made round by round."""
        deciding = asyncio.ensure_future(self.world.decide(owner=account(**owner)))
        while not deciding.done():
            for _ in range(30):
                await asyncio.sleep(0)
            if deciding.done():
                break
            now = [each for each in self.waiting if each[0] == self.first] or self.waiting
            self.waiting = [each for each in self.waiting if each not in now]
            if now:
                self.asked.append(Counter(port for port, _ in now))
            for _, answered in now:
                answered.set()
        return await deciding


async def test_a_reply_waits_three_times() -> None:
    """Moderation beside the search, the completion, and moderation beside the judge."""
    rounds = Rounds(World(judge=[READ]))
    decision = await rounds.decide(assessment_policy={"name": "calibrated"})

    assert decision.reply == SENT
    assert rounds.asked == [
        Counter(moderator=1, retriever=1),
        Counter(model=1),
        Counter(moderator=1, judge=1),
    ]
    assert stages(decision) == [
        "scope", "rules", "moderation", "history", "retrieval", "evidence",
        "generation", "rules_reply", "moderation_reply", "assessment",
    ]  # fmt: skip


async def test_a_flagged_message_pays_no_model() -> None:
    """Its search is cancelled and leaves no stage."""
    rounds = Rounds(World(moderation=[HURTFUL]), first="moderator")
    decision = await rounds.decide()

    assert decision.reason_code is Reason.MODERATION_FLAGGED
    assert rounds.asked == [Counter(moderator=1)]
    assert stages(decision) == ["scope", "rules", "moderation"]
    assert decision.passages == ()


@pytest.mark.parametrize(
    ("first", "outcome", "tokens"),
    [("moderator", "cancelled", Tokens()), ("judge", "", READ.tokens)],
    ids=["", "judge"],
)
async def test_a_flagged_reply_keeps_what_its_reading_cost(first: str, outcome: str, tokens: Tokens) -> None:
    """Whether the judge answered before or was cancelled, which is no failure; nothing it said is used."""
    rounds = Rounds(World(moderation=[CLEAN, HURTFUL], judge=[READ]), first=first)
    with capture_logs() as logged:
        decision = await rounds.decide(assessment_policy={"name": "calibrated"})
    judged = [call for call in decision.calls if call.purpose == "judge"]

    assert decision.reason_code is Reason.REPLY_MODERATION_FLAGGED
    assert [call.error for call in judged] == [outcome]
    assert sum((each.tokens for each in decision.usage if each.purpose == "judge"), Tokens()) == tokens
    assert (decision.assessment, stages(decision)[-1]) == (None, "moderation_reply")
    assert logged == []


async def test_the_context_is_read_again_after_a_hold() -> None:
    """Documents may have changed meanwhile; after a short retry they are not read twice."""
    held, short = World(moderation=[DOWN, DOWN, DOWN, DOWN, CLEAN]), World(moderation=[DOWN, CLEAN])
    long, brief = await held.decide(), await short.decide()

    assert (len(held.retriever.asked), len(short.retriever.asked)) == (2, 1)
    assert (long.reply, brief.reply) == (SENT, SENT)
    assert Counter(stages(long)) == Counter(stages(brief))
