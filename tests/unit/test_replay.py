"""A decision made again from its recording is the same, whatever the ports answered and when."""

from __future__ import annotations

import asyncio
import gc
import random
import weakref
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.support.fakes import (
    CLEAN,
    FakeClock,
    FakeConversations,
    FakeModel,
    FakeModerator,
    FakeRetriever,
    next_of,
)
from tests.support.readings import reading, said
from tests.support.samples import NOW, account, event, passage, scores
from trials.pure.replay.deciding import Replay, replayed
from trials.pure.replay.difference import DifferenceKind, difference, outcome_of, unequal_fields
from trials.pure.replay.shortcut import is_unchanged
from worker.errors import (
    EndpointMisconfigured,
    ModelRejected,
    ModelUnavailable,
    ModerationRejected,
    ModerationUnavailable,
    RetrievalUnavailable,
)
from worker.model import (
    Account,
    BudgetAction,
    BudgetPeriod,
    BudgetReached,
    Combination,
    Completion,
    ConversationState,
    Decision,
    Event,
    EventType,
    FailurePolicy,
    Message,
    MessageRole,
    ModeratorChoice,
    NewerEvent,
    Owner,
    Retrieved,
    Tokens,
    ToolCall,
)
from worker.pipeline import decide
from worker.ports import ModelLimits, Ports, RetryPolicy
from worker.reasons import Reason
from worker.recordings.recorder import Recorder
from worker.recordings.recording import Port, RecordedOutcome, RecordingUnreadable
from worker.recordings.stored import decoded, encoded
from worker.steps.run import EventCase, pinned_settings

ANSWER = Completion(
    text="We are open from nine to six on weekdays [1].", model="m", tokens=Tokens(prompt=70, completion=30)
)
OTHER = Completion(text="From nine to six, write to kim@example.com [1].", model="n")
SEARCH = Completion(
    text="", model="m", tool_calls=(ToolCall(call_id="t", name="search_documents", arguments={"query": "h"}),)
)
PERSON = Completion(
    text="",
    model="m",
    tool_calls=(ToolCall(call_id="t", name="escalate", arguments={"n": 2**70, "reason": "x"}),),
)
COMPLETIONS = (
    *[ANSWER] * 5, OTHER, OTHER, SEARCH, SEARCH, PERSON, Completion(text="", model="m", refusal="no"),
    Completion(text="[EMAIL_7] [1].", model="m"), ModelUnavailable("down", kind="server_error"),
    ModelUnavailable("busy", kind="rate_limited", retry_after_s=float("inf")),
    ModelRejected("bad", status=400), ModelRejected("key", status=401, kind="misconfigured"),
)  # fmt: skip
MODERATIONS = (
    *[CLEAN] * 40, scores(violence=0.99), ModerationUnavailable("down", kind="server_error"),
    ModerationUnavailable("odd", kind="unreadable"), ModerationRejected("image"),
    EndpointMisconfigured("key", cause="key", status=401),
)  # fmt: skip
READ = reading(
    said("supported", passage().text), said("no_claim"), scores={"grounding": 0.7, "certainty": 0.7}
)
ANSWERED = (READ, READ, READ.replace("0.97", "NaN"), reading(said("contradicted")), "no number", "")
JUDGED = (
    *(Completion(text=each, model="j", tokens=Tokens(prompt=5, completion=1)) for each in ANSWERED),
    ModelUnavailable("down", kind="timeout"), Completion(text="", model="j", refusal="no"),
)  # fmt: skip
FOUND: tuple[Any, ...] = (
    (passage(),), (passage(), passage(passage_id="2#1", text="On Sunday we are closed.")), (),
    RetrievalUnavailable("down", kind="timeout"),
)  # fmt: skip
POLICIES: tuple[Mapping[str, Any], ...] = (
    {}, {"name": "guardrail"}, {"name": "silent"}, {"name": "calibrated"}, {"name": "failsafe"},
    {"name": "consensus", "models": ["default", "second"]}, {"name": "calibrated", "low_action": "silence"},
    {"name": "calibrated", "retry_with": {"model": "second", "below": 0.99}},
)  # fmt: skip


class World:
    """Ports that always answer the same, at once."""

    def __init__(self) -> None:
        self.ports = Ports(
            clock=FakeClock(),
            moderator=FakeModerator(),
            model=FakeModel([ANSWER]),
            retriever=FakeRetriever([(passage(),)]),
            conversations=FakeConversations(),
        )


@dataclass(slots=True)
class Rounds:
    """When calls end: by chance, at different times or without waiting."""

    draw: random.Random
    taken: set[int] = field(default_factory=set)
    now: int = 0

    async def wait(self) -> None:
        """Wait some rounds of the loop; no other call ends at the same time."""
        if self.draw.random() < 0.2:
            return
        ends = self.now + self.draw.randrange(1, 6)
        while ends in self.taken:
            ends += 1
        self.taken.add(ends)
        while self.now < ends:
            for _ in range(10):
                await asyncio.sleep(0)
            self.now = min(max(self.now + 1, min(self.taken)), ends)
        self.taken.discard(ends)


class SlowClock(FakeClock):
    """A clock whose sleeps end as calls do."""

    def __init__(self, rounds: Rounds) -> None:
        super().__init__()
        self.rounds = rounds

    async def sleep(self, seconds: float) -> None:
        """Note it, and wait some rounds."""
        await self.rounds.wait()
        self.slept.append(seconds)


@dataclass(slots=True)
class Slow:
    """Ports that answer by chance after some rounds of the loop."""

    draw: random.Random
    clock: SlowClock

    async def _answer(self, of: tuple[Any, ...]) -> Any:
        await self.clock.rounds.wait()
        self.clock.slept.append(self.draw.choice((0.0, 0.000_004, *[0.25] * 8, 20.0)))
        return next_of([self.draw.choice(of)])

    async def moderate(self, text: str, image_urls: Any) -> Any:
        """Scores, or an error."""
        return await self._answer(MODERATIONS)

    async def classify(self, question: Any) -> Any:
        """Scores, or an error."""
        return await self._answer(MODERATIONS)

    async def complete(self, prompt: Any, timeout_s: float) -> Any:
        """A completion, or an error."""
        return await self._answer(COMPLETIONS)

    async def read(self, request: Any) -> Any:
        """An answer of any shape."""
        return await self._answer(JUDGED)

    async def search(self, *given: Any, **lines: Any) -> Retrieved:
        """Passages, or an error."""
        return Retrieved(passages=(await self._answer(FOUND))[: given[2]])

    async def history(self, *given: Any) -> tuple[Message, ...]:
        """Some lines."""
        line = Message(role=MessageRole.USER, text="Call 0171 2345678")
        found: tuple[Message, ...] = await self._answer(((), (line,), (line, line)))
        return found

    async def newer(self, asked: Event) -> tuple[NewerEvent, ...]:
        """Some events."""

        def one(kind: EventType) -> NewerEvent:
            is_edit = kind is EventType.MESSAGE_EDITED
            return NewerEvent(
                event_id="later",
                type=kind,
                message_id=asked.message_id if is_edit else "later",
                author_id=asked.author_id,
                received_at=NOW,
                written_at=NOW,
                edited_text=f"{asked.text} please" if is_edit else "",
            )

        found: tuple[NewerEvent, ...] = await self._answer(
            (
                (),
                (),
                (),
                (one(EventType.MESSAGE),),
                (one(EventType.AGENT_MESSAGE),),
                (one(EventType.MESSAGE_EDITED),),
            )
        )
        return found


def some_account(draw: random.Random) -> Account:
    """Settings by chance."""
    names = ("openai", "guard", "shield", "nowhere")
    choices = tuple(
        ModeratorChoice(name=name, endpoint=name, failure=draw.choice((None, *FailurePolicy)))
        for name in draw.sample(names, draw.choice((0, 0, 0, 0, 1, 2, 3)))
    )
    return account(
        moderators=choices,
        moderation_combination=draw.choice(tuple(Combination)),
        moderation_failure=draw.choice(tuple(FailurePolicy)),
        hold_max_s=draw.choice((0.1, 30.0)),
        reply_max_age_s=draw.choice((15.0, 3600.0)),
        flagged_keywords=draw.choice(((), ("spam",), ("nine",))),
        rules_on_reply=draw.random() < 0.8,
        mask_personal_data=draw.random() < 0.5,
        burst_window_s=draw.choice((0.0, 5.0)),
        assessment_policy=dict(draw.choice(POLICIES)),
        ai_enabled_for_chats=draw.random() < 0.95,
    )


def some_case(draw: random.Random) -> EventCase:
    """An event with its versions by chance."""
    owner = some_account(draw)
    version = pinned_settings(owner, {})
    budget = BudgetReached(
        period=BudgetPeriod.DAY, start=NOW.date(), budget_usd=1.0, spent_usd=1.5,
        action=draw.choice(tuple(BudgetAction)),
    )  # fmt: skip
    return EventCase(
        event=event(
            text=draw.choice(("When are you open? I am kim@example.com", "spam for all", "Hello")),
            type=draw.choice((EventType.MESSAGE,) * 20 + tuple(EventType)),
            metadata={"labels": {}, "n": [1, None, "é"]},
            attachments=draw.choice(((), ("https://example.com/a.png",))),
        ),
        account=owner,
        rules=version.rules,
        policy=version.policy,
        delivery=version.delivery,
        conversation=ConversationState(owner=draw.choice((*[Owner.AI] * 20, Owner.PEOPLE)), changes=3),
        budget=draw.choice((None, None, budget)),
    )


async def made(case: EventCase, draw: random.Random) -> tuple[Decision, bytes]:
    """A decision by chance, and its stored recording."""
    clock = SlowClock(Rounds(draw))
    slow = Slow(draw, clock)
    ports = Ports(
        clock=clock,
        moderator=slow if draw.random() < 0.9 else None,
        model=slow,
        models={"second": slow},
        classifiers={"guard": slow, "shield": slow},
        retriever=slow,
        conversations=slow,
        judge=slow if draw.random() < 0.7 else None,
        arrivals=slow if draw.random() < 0.5 else None,
        retry=RetryPolicy(attempts=draw.choice((1, 3))),
        limits=ModelLimits(tool_rounds=1),
    )
    recorder = Recorder(case=case, behind=ports)
    decision = await decide(case, recorder.ports)
    return decision, encoded(recorder.recording())


async def again(case: EventCase, decision: Decision, stored: bytes, owner: Account | None = None) -> Replay:
    """The decision made again from its stored recording."""
    version = pinned_settings(owner or case.account, {})
    return await replayed(decoded(stored), version, decision_id=decision.decision_id)


def untimed(decision: Decision) -> Decision:
    """A decision without its times."""
    return replace(decision, stages=(), attempts=(), calls=(), began_s=0.0, ended_s=0.0)


async def test_a_replay_is_the_same_bit_for_bit() -> None:
    """250 pipelines by chance, with races, errors, holds and cancelled calls; every part is equal."""
    reasons = set()
    for seed in range(250, 500):
        draw = random.Random(seed)
        case = some_case(draw)
        decision, stored = await made(case, draw)
        found = await again(case, decision, stored)
        reasons.add(decision.reason_code)

        assert found.decision is not None, (seed, found.missing)
        assert unequal_fields(outcome_of(decision), outcome_of(found.decision)) == (), seed
        assert untimed(decision) == untimed(found.decision), seed
    assert len(reasons) > 20, reasons
    assert {Reason.REPLIED, Reason.HELD_UNREAD, Reason.LOW_CONFIDENCE_ESCALATED} <= reasons


async def test_a_recorded_error_is_freed_without_the_collector() -> None:
    """Its traceback holds the frames that hold the recorder, so the recorder must not hold the error."""
    case = some_case(random.Random(1))

    async def fails() -> None:
        raise ModelUnavailable("away", kind="status_503")

    gc.disable()
    try:
        recorder = Recorder(case=case, behind=World().ports)
        try:
            await recorder.ask(Port.MODEL, "", fails)
        except ModelUnavailable as error:
            left = weakref.ref(error)
        stored = decoded(encoded(recorder.recording()))
        del recorder
        assert left() is None
    finally:
        gc.enable()
    assert (stored.answers[0].outcome, str(stored.answers[0].value)) == (RecordedOutcome.ERROR, "away")


async def test_a_candidate_asks_what_changed_and_nothing_else() -> None:
    """Other rules play every answer; another prompt lacks one, which is named or asked live."""
    owner = account(assessment_policy={"name": "calibrated"})
    version = pinned_settings(owner, {})
    asked = event(text="When are you open?")
    case = EventCase(event=asked, account=owner, rules=version.rules, policy=version.policy)
    world = World()
    recorder = Recorder(case=case, behind=world.ports)
    decision = await decide(case, recorder.ports)
    stored = encoded(recorder.recording())
    stopped = await again(case, decision, stored, replace(owner, flagged_keywords=("nine",)))
    brief = replace(owner, prompt="Be brief.")
    asking = await again(case, decision, stored, brief)
    live = await replayed(
        decoded(stored), pinned_settings(brief, {}), decision_id=decision.decision_id, live=world.ports
    )
    assert decision.reason_code is Reason.REPLIED
    assert stopped.decision is not None
    assert live.decision is not None
    changed = difference(outcome_of(decision), outcome_of(stopped.decision))

    assert (changed.kind, stopped.asked) == (DifferenceKind.NEWLY_STOPPED, ())
    assert changed.why.startswith("REPLY_FLAGGED_RULE (flagged_keyword:nine)")
    assert (asking.decision, asking.missing) == (None, "model")
    assert live.asked == ("model",)
    assert difference(outcome_of(decision), outcome_of(live.decision)).kind is DifferenceKind.UNCHANGED


@pytest.mark.parametrize("damage", [b"", b"o", b"oxyz", b"j" + b"x" * 50])
def test_a_damaged_recording_is_not_guessed(damage: bytes) -> None:
    """It is refused with the reason."""
    with pytest.raises(RecordingUnreadable):
        decoded(damage)


async def test_a_later_form_and_a_wrong_value_are_refused() -> None:
    """No value of a recording is replaced by a placeholder."""
    draw = random.Random(3)
    _, stored = await made(some_case(draw), draw)
    text = zlib.decompress(stored[1:])
    for former, wrong in ((b'"form":1', b'"form":2'), (b'"scope":"chat"', b'"scope":"post"')):
        assert former in text
        with pytest.raises(RecordingUnreadable):
            decoded(stored[:1] + zlib.compress(text.replace(former, wrong)))


CHANGES: tuple[dict[str, Any], ...] = (
    {"flagged_keywords": ("open",)}, {"flagged_keywords": ("closed", "kim")}, {"allowed": ("nine",)},
    {"flagged_keywords": ()}, {"moderation_thresholds": {"violence": 0.005}},
    {"moderation_thresholds": {"violence": 1.0}}, {"prompt": "Be brief."},
    {"assessment_policy": {"name": "calibrated", "low_action": "silence"}}, {"record_answers": False}, {},
    {"flagged_keywords": ("closed",), "moderation_thresholds": {"violence": 1.0}},
    {"allowed": ("nine",), "prompt": "Be brief."},
    {"flagged_keywords": ("open",), "moderation_thresholds": {"violence": 0.005}, "prompt": "Be brief."},
)  # fmt: skip


async def test_a_shortcut_is_taken_only_where_nothing_changes() -> None:
    """What changed rules, thresholds or policies skip ends as it did when it is decided again."""
    skipped = several = 0
    for seed in range(40):
        draw = random.Random(seed)
        case = some_case(draw)
        decision, stored = await made(case, draw)
        before = outcome_of(decision)
        for changes in CHANGES:
            version = pinned_settings(replace(case.account, **changes), {})
            if not is_unchanged(decoded(stored), before, case.account, version):
                continue
            skipped += 1
            several += len(changes) > 1
            found = await again(case, decision, stored, version.account)

            assert found.decision is not None, (seed, changes)
            assert difference(before, outcome_of(found.decision)).kind is DifferenceKind.UNCHANGED, seed
    assert skipped > 100
    assert several > 20
