"""The pipeline with scripted ports and a clock that never waits."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.support.fakes import (
    CLEAN,
    FakeArrivals,
    FakeClock,
    FakeConversations,
    FakeJudge,
    FakeModel,
    FakeModerator,
    FakeRetriever,
)
from tests.support.readings import reading, said
from tests.support.samples import NOW, account, event, passage, scores
from worker.assessment import parse_delivery, parse_policy
from worker.assessment.policies.designs import DESIGNS, published_record
from worker.errors import (
    EndpointMisconfigured,
    ModelRejected,
    ModelUnavailable,
    ModerationRejected,
    ModerationUnavailable,
    PolicyRejected,
    RetrievalUnavailable,
    StorageUnavailable,
)
from worker.generation import TOOLS
from worker.model import (
    Account,
    CallPurpose,
    Completion,
    Decision,
    DecisionKind,
    Event,
    EventType,
    FailurePolicy,
    HeldKind,
    Json,
    Message,
    MessageRole,
    NewerEvent,
    Scope,
    Source,
    Tokens,
    ToolCall,
)
from worker.pipeline import decide
from worker.ports import ModelLimits, Ports
from worker.presets import new_account
from worker.reasons import Reason
from worker.rules import compile_rules
from worker.snapshot import snapshot_json
from worker.steps.run import EventCase

ANSWER = Completion(
    text="We are open from nine to six on weekdays [1].", model="m", tokens=Tokens(prompt=7, completion=3)
)
OTHER = Completion(text="From nine to six on weekdays, we are open [1].", model="m")
SENT = "We are open from nine to six on weekdays."
OTHER_SENT = "From nine to six on weekdays, we are open."
SEARCH = Completion(
    text="", model="m", tool_calls=(ToolCall(call_id="t", name="search_documents", arguments={"query": "h"}),)
)
ESCALATE = Completion(
    text="", model="m", tool_calls=(ToolCall(call_id="t", name="escalate", arguments={"reason": "angry"}),)
)
DOWN = ModerationUnavailable("no result", kind="server_error")
BUSY = ModelUnavailable("try later", kind="server_error")
GUARDRAIL = {"name": "guardrail"}


class World:
    """Scripted ports, which record their calls."""

    def __init__(
        self,
        *,
        model: list[Completion | Exception] | None = None,
        moderation: list[Any] | None = None,
        found: list[Any] | None = None,
        judge: list[Any] | None = None,
        history: tuple[Message, ...] = (),
        newer: list[tuple[NewerEvent, ...] | Exception] | None = None,
    ) -> None:
        self.clock = FakeClock()
        self.moderator = FakeModerator(moderation or [CLEAN])
        self.model = FakeModel(model or [ANSWER])
        self.retriever = FakeRetriever(found or [(passage(),)])
        self.conversations = FakeConversations(history)
        self.judge = FakeJudge(judge) if judge else None
        self.arrivals = FakeArrivals(newer) if newer else None
        self.models: dict[str, FakeModel] = {}
        self.is_replaced = False

    async def decide(
        self, asked: Event | None = None, owner: Account | None = None, **limits: Any
    ) -> Decision:
        """Run the pipeline once."""
        owner = owner or account()
        case = EventCase(
            event=asked or event(),
            account=owner,
            rules=compile_rules(owner.flagged_keywords, owner.flagged_phrases, version=owner.version),
            policy=parse_policy(dict(owner.assessment_policy)),
            delivery=parse_delivery(dict(owner.assessment_policy)),
        )
        return await self.decide_case(case, **limits)

    async def decide_case(self, case: EventCase, **limits: Any) -> Decision:
        """Run the pipeline once for a case."""
        ports = Ports(
            clock=self.clock,
            moderator=self.moderator,
            model=self.model,
            models=self.models,
            retriever=self.retriever,
            conversations=self.conversations,
            judge=self.judge,
            arrivals=self.arrivals,
            limits=ModelLimits(**limits),
            is_replaced=lambda: self.is_replaced,
        )
        return await decide(case, ports)

    @property
    def calls(self) -> tuple[int, int, int, int]:
        """Calls of moderation, history, search and model."""
        ports = (self.moderator, self.conversations, self.retriever, self.model)
        return tuple(len(port.asked) for port in ports)  # type: ignore[return-value]


def stages(decision: Decision) -> list[str]:
    """Names of the stages that ran, in order."""
    return [stage.stage for stage in decision.stages]


BEFORE_MODEL = ["scope", "rules", "moderation", "history", "retrieval", "evidence"]


async def test_a_clean_message_runs_every_stage_in_order() -> None:
    """Guards, history, search, model, the guards on the draft, assessment; citation marks are not sent."""
    world = World()
    decision = await world.decide()

    assert stages(decision) == [
        *BEFORE_MODEL,
        "generation",
        "rules_reply",
        "moderation_reply",
        "assessment",
    ]
    assert (decision.reason_code, decision.reply) == (Reason.REPLIED, SENT)
    assert (decision.tokens, decision.models["completion"]) == (ANSWER.tokens, "m")
    assert decision.remember
    assert world.calls == (2, 1, 1, 1)
    assert decision.draft == ANSWER.text
    assert decision.sources == (Source(number=1, passage_id="1#1", title="Opening hours"),)
    assert decision.send_before == NOW + timedelta(days=1)


@pytest.mark.parametrize(
    ("world", "settings", "ran", "calls"),
    [
        (World(), {"version": 0}, 1, (0, 0, 0, 0)),
        (World(), {"ai_control_enabled": False}, 1, (0, 0, 0, 0)),
        (World(), {"flagged_keywords": ("open",)}, 2, (0, 0, 0, 0)),
        (World(moderation=[scores(("hate",), hate=0.9)]), {}, 3, (1, 1, 0, 0)),
        (World(moderation=[ModerationRejected("bad image")]), {}, 3, (1, 1, 0, 0)),
        (
            World(found=[()]),
            {"assessment_policy": {"name": "safety", "low_action": "escalate"}},
            6,
            (1, 1, 1, 0),
        ),
    ],
)
async def test_on_a_block_nothing_later_runs(
    world: World, settings: dict[str, Any], ran: int, calls: tuple[int, int, int, int]
) -> None:
    """No model call is paid, and nothing is sent."""
    decision = await world.decide(owner=account(**settings))

    assert stages(decision) == BEFORE_MODEL[:ran]
    assert world.calls == calls
    assert decision.reply is None


async def test_the_images_are_moderated_with_the_message_and_not_with_the_reply() -> None:
    """The author's images belong to the message only."""
    world = World()
    await world.decide(event(attachments=("https://x.example/a.png",)))

    assert world.moderator.asked == [
        ("When are you open?", ("https://x.example/a.png",)),
        (SENT, ()),
    ]


async def test_the_waits_between_attempts_are_two_and_four_seconds() -> None:
    """The decision holds each attempt with its wait; the longer of ours and the server's counts."""
    world = World(model=[BUSY, BUSY, ANSWER])
    decision = await world.decide()
    noted = [(a.number, a.outcome, a.waited_s) for a in decision.attempts]

    assert world.clock.slept == [2.0, 4.0]
    assert noted == [(1, "server_error", 2.0), (2, "server_error", 4.0), (3, "completed", 0.0)]
    assert decision.reply == SENT
    world = World(model=[ModelUnavailable("busy", kind="rate_limited", retry_after_s=9.0), ANSWER])
    await world.decide()
    assert world.clock.slept == [9.0]


@pytest.mark.parametrize(
    ("errors", "calls", "reason"),
    [
        ([BUSY], 3, Reason.LLM_ERROR),
        ([ModelUnavailable("later", retry_after_s=999.0)], 1, Reason.LLM_ERROR),
        ([BUSY, ModelRejected("no", status=401)], 2, Reason.LLM_REJECTED),
        ([ModelRejected("no", status=400)], 1, Reason.LLM_REJECTED),
    ],
)
async def test_after_the_last_attempt_there_is_silence(
    errors: list[Completion | Exception], calls: int, reason: Reason
) -> None:
    """The decision is degraded, remembered without a reply and has confidence 0."""
    world = World(model=errors)
    decision = await world.decide()

    assert (decision.reason_code, decision.reply, decision.degraded) == (reason, None, True)
    assert (len(decision.attempts), len(world.model.asked)) == (calls, calls)
    assert (decision.confidence, decision.remember) == (0.0, True)


async def test_a_hold_waits_until_moderation_answers() -> None:
    """Pauses double from half a second, and no model is asked meanwhile."""
    world = World(moderation=[DOWN, DOWN, DOWN, CLEAN])
    decision = await world.decide()

    assert world.clock.slept == [0.5, 1.0, 2.0]
    assert decision.reply == SENT
    assert not decision.degraded


async def test_a_hold_ends_when_the_event_is_too_old() -> None:
    """It ends exactly at ``hold_max_s``, silent and degraded, with its own reason code."""
    world = World(moderation=[DOWN])
    decision = await world.decide(owner=account(hold_max_s=60.0))

    assert (decision.reason_code, decision.degraded) == (Reason.MODERATION_TIMED_OUT, True)
    assert sum(world.clock.slept) == 60.0
    assert world.calls[1:] == (1, 1, 0)


async def test_a_long_hold_leaves_room_for_later_attempts() -> None:
    """Its first attempts and its last are kept, and every attempt of the model."""
    world = World(moderation=[*[DOWN] * 300, CLEAN], model=[BUSY, ANSWER])
    decision = await world.decide()
    held = [a.number for a in decision.attempts if a.stage == "moderation"]

    assert held == [*range(1, 50), 300]
    assert [a.outcome for a in decision.attempts if a.stage == "generation"] == ["server_error", "completed"]


async def test_block_is_silent_and_allow_continues_after_three_attempts() -> None:
    """Neither invents a score; allow records that the text was not moderated."""
    blocked = await World(moderation=[DOWN]).decide(owner=account(moderation_failure="block"))
    allowed = await World(moderation=[DOWN]).decide(owner=account(moderation_failure="allow"))

    assert (blocked.reason_code, blocked.reply) == (Reason.MODERATION_UNAVAILABLE, None)
    assert [a.number for a in blocked.attempts] == [1, 2, 3]
    assert (allowed.reply, allowed.degraded) == (SENT, True)
    assert "moderation" not in allowed.models


@pytest.mark.parametrize("failure", ["allow", "block", "hold"])
@pytest.mark.parametrize("cause", ["key", "quota", "model", "address"])
async def test_misconfigured_moderation_lets_nothing_pass(failure: str, cause: str) -> None:
    """A revoked key is no outage: `allow` is silent at once, and a hold retries until its end."""
    revoked = EndpointMisconfigured("no", cause=cause, status=401)
    world = World(moderation=[revoked])
    decision = await world.decide(owner=account(moderation_failure=FailurePolicy(failure), hold_max_s=1.0))
    asked = {"hold": 3}.get(failure, 1)

    assert (decision.reason_code, decision.reply) == (Reason.MODERATION_MISCONFIGURED, None)
    assert (decision.degraded, decision.confidence) == (True, 0.0)
    assert [attempt.outcome for attempt in decision.attempts] == ["misconfigured"] * asked
    assert world.calls[0] == asked
    assert world.calls[3] == 0


async def test_a_key_may_be_revoked_or_corrected_while_an_event_runs() -> None:
    """Revoked after the message, the draft is not sent; a held event is answered when it is corrected."""
    revoked = EndpointMisconfigured("no", cause="key", status=401)
    stopped = await World(moderation=[CLEAN, revoked]).decide(owner=account(moderation_failure="allow"))
    answered = await World(moderation=[revoked, CLEAN]).decide()

    assert (stopped.reason_code, stopped.reply) == (Reason.REPLY_MODERATION_MISCONFIGURED, None)
    assert answered.reason_code == Reason.REPLIED


async def test_cancelled_while_holding_nothing_later_has_run() -> None:
    """A drain leaves no half state, and asks no model: the event is decided from its start elsewhere."""
    world = World(moderation=[DOWN])
    task = asyncio.ensure_future(world.decide(owner=account(hold_max_s=1e9)))
    fifth = asyncio.Event()
    world.moderator.before = lambda: fifth.set() if len(world.moderator.asked) == 5 else None
    await fifth.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    tries = len(world.moderator.asked)
    await asyncio.sleep(0)

    assert world.calls == (tries, 1, 1, 0)


async def test_a_held_event_begins_again_when_other_servers_are_in_force() -> None:
    """It is put back at its next attempt; a wait that is not a hold ends with the servers it began with."""
    held, short = World(moderation=[DOWN]), World(moderation=[DOWN])
    held.is_replaced = short.is_replaced = True
    with pytest.raises(asyncio.CancelledError):
        await held.decide()
    blocked = await short.decide(owner=account(moderation_failure="block"))

    assert held.calls == (1, 1, 1, 0)
    assert blocked.reason_code == Reason.MODERATION_UNAVAILABLE


async def test_cancelled_while_the_model_is_asked_it_is_not_asked_again() -> None:
    """The retries do not swallow a drain."""
    world = World(model=[asyncio.CancelledError()])  # type: ignore[list-item]
    with pytest.raises(asyncio.CancelledError):
        await world.decide()

    assert (world.clock.slept, len(world.model.asked)) == ([], 1)


async def test_history_that_cannot_be_read_rises() -> None:
    """Nothing was decided, and the queue retries the event."""
    world = World()
    world.conversations.error = StorageUnavailable("away")
    with pytest.raises(StorageUnavailable):
        await world.decide()

    assert world.calls == (0, 1, 0, 0)


async def test_a_bug_rises() -> None:
    """A bug is no ending."""
    with pytest.raises(ZeroDivisionError):
        await World(model=[ZeroDivisionError()]).decide()


async def test_a_failed_or_incomplete_search_is_recorded() -> None:
    """The decision is degraded; a reply is sent only where passages were found."""
    failed = await World(found=[RetrievalUnavailable("away", kind="timeout")]).decide()
    world = World()
    world.retriever.degraded = "timeout"
    incomplete = await world.decide()

    assert (failed.degraded, failed.reply) == (True, None)
    assert [s.detail for s in failed.stages if s.stage == "retrieval"] == [{"error": "timeout"}]
    assert (incomplete.degraded, incomplete.reply) == (True, SENT)


@pytest.mark.parametrize(("rounds", "asked"), [(0, 1), (2, 3)])
async def test_rounds_of_tools_are_bounded(rounds: int, asked: int) -> None:
    """On the last round the model has no tools, and a further tool call ends the event."""
    world = World(model=[SEARCH])
    decision = await world.decide(tool_rounds=rounds)

    assert (decision.reason_code, len(world.model.asked)) == (Reason.TOOL_LOOP, asked)
    assert [prompt.tools for prompt in world.model.asked] == [*[TOOLS] * rounds, TOOLS if rounds else ()]
    assert [prompt.must_answer for prompt in world.model.asked] == [*[False] * rounds, bool(rounds)]
    assert len(world.retriever.asked) == 1 + asked


TOO_LONG = ModelRejected("maximum context length", status=400, is_too_long=True)


def long_history() -> tuple[Message, ...]:
    """Eight lines of about 500 tokens."""
    return tuple(Message(role=MessageRole.USER, text=f"{at} " + "word " * 400) for at in range(8))


async def test_a_history_beyond_the_context_leaves_out_its_oldest_lines() -> None:
    """The audit says how many."""
    world = World(history=long_history())
    decision = await world.decide(context_tokens=3000)
    (asked,) = world.model.asked

    assert asked.history == long_history()[-len(asked.history) :]
    assert 0 < len(asked.history) < 8
    assert [s.detail.get("lines_left_out") for s in decision.stages if s.stage == "generation"] == [
        8 - len(asked.history)
    ]


async def test_a_prompt_that_is_refused_for_its_length_is_asked_again_with_half() -> None:
    """At once, and the attempts are counted."""
    world = World(model=[TOO_LONG, TOO_LONG, ANSWER], history=long_history())
    decision = await world.decide()
    lines = [len(prompt.history) for prompt in world.model.asked]

    assert decision.reason_code not in {Reason.LLM_REJECTED, Reason.LLM_ERROR}
    assert lines[0] == 8 > lines[1] > lines[2]
    assert world.clock.slept == []
    assert [each.outcome for each in decision.attempts] == ["rejected", "rejected", "completed"]


async def test_a_question_that_is_too_long_alone_is_refused_once() -> None:
    """There is nothing to leave out but the passage."""
    world = World(model=[TOO_LONG])
    decision = await world.decide()

    assert (decision.reason_code, len(world.model.asked)) == (Reason.LLM_REJECTED, 2)


async def test_an_unfinished_completion_is_asked_for_again() -> None:
    """Half a reply is never sent."""
    world = World(model=[ModelUnavailable("unfinished completion", kind="unfinished"), ANSWER])
    decision = await world.decide()

    assert decision.reply == SENT
    assert [each.outcome for each in decision.attempts] == ["unfinished", "completed"]


async def test_passages_of_a_tool_are_numbered_on_and_counted_once() -> None:
    """Those already known are not shown twice."""
    world = World(model=[SEARCH, ANSWER], found=[(passage(1),), (passage(1), passage(2))])
    decision = await world.decide()
    first, second = world.model.asked
    shown = second.tool_rounds[0].results[0].content
    opening, line, closing = shown.splitlines()

    assert line.startswith("[2] ")
    assert (opening, closing) == (first.passages.splitlines()[0], first.passages.splitlines()[-1])
    assert opening in second.system
    assert closing in second.system
    assert "those that search_documents finds" in second.system
    assert [each.passage_id for each in decision.passages] == ["1#1", "2#1"]
    assert world.retriever.asked[1] == ("acme", "h", 5)


async def test_a_call_of_the_escalate_tool_is_an_escalation() -> None:
    """Nothing is sent."""
    decision = await World(model=[ESCALATE]).decide()

    assert (decision.reason_code, decision.reason) == (
        Reason.MODEL_ESCALATED,
        "the model asked for a person: angry",
    )


async def test_a_flagged_draft_is_sealed_with_its_message() -> None:
    """Neither of them enters the history."""
    flagged = scores(("hate",), hate=0.8)
    decision = await World(moderation=[CLEAN, flagged]).decide()

    assert (decision.quarantine, decision.rejected_draft, decision.remember) == (True, SENT, False)
    assert (decision.reply, decision.confidence) == (None, 0.8)


async def test_rules_on_reply_false_exempts_the_draft() -> None:
    """Keywords and phrases then apply to authors only."""
    words = {"flagged_keywords": ("weekdays",)}
    held = await World().decide(owner=account(**words))
    sent = await World().decide(owner=account(**words, rules_on_reply=False))

    assert (held.reason_code, sent.reason_code) == (Reason.REPLY_FLAGGED_RULE, Reason.REPLIED)


@pytest.mark.parametrize(
    ("world", "waited", "age_s", "calls"),
    [
        ({}, [3.0], 2.0, (0, 0, 0, 0)),
        ({"moderation": [DOWN, DOWN, DOWN, CLEAN]}, [], 2.0, (3, 1, 1, 0)),
        ({"model": [BUSY, ANSWER]}, [], 1.0, (1, 1, 1, 1)),
    ],
    ids=["at its turn", "after a hold", "after a retry"],
)
async def test_a_message_that_is_too_old_costs_no_further_call(
    world: dict[str, Any], waited: list[float], age_s: float, calls: tuple[int, int, int, int]
) -> None:
    """The age is checked before moderation, each attempt of a hold, and each attempt of a completion."""
    made = World(**world)
    made.clock.slept.extend(waited)
    decision = await made.decide(owner=account(reply_max_age_s=age_s))

    assert (decision.reason_code, decision.reply) == (Reason.TOO_LATE, None)
    assert made.calls == calls


async def test_an_edit_is_moderated_however_old_it_is() -> None:
    """Its result decides whether the text leaves the history, not whether a reply is sent."""
    world = World(moderation=[DOWN, CLEAN])
    world.clock.slept.append(3.0)
    await world.decide(asked=event(type=EventType.MESSAGE_EDITED), owner=account(reply_max_age_s=2.0))

    assert len(world.moderator.asked) == 2


async def test_guards_read_the_reply_as_it_is_sent() -> None:
    """A mark inside a word hides nothing from rules and moderation."""
    hidden = Completion(text="We are op[1]en from nine to six on weekdays.", model="m")
    world = World(model=[hidden])
    held = await world.decide(owner=account(flagged_phrases=("op en",)))

    assert held.reason_code == Reason.REPLY_FLAGGED_RULE
    assert held.rejected_draft == "We are op en from nine to six on weekdays."


async def test_a_draft_of_citation_marks_only_is_no_answer() -> None:
    """Without the marks there is no text to send."""
    decision = await World(model=[Completion(text="[1]", model="m")]).decide()

    assert (decision.reason_code, decision.reply) == (Reason.NO_ANSWER, None)


async def test_a_fallback_is_sent_as_the_account_wrote_it() -> None:
    """A bracketed number in a fallback text is no citation."""
    texts, policy = {"en": "Ask at desk [1]."}, {"name": "failsafe"}
    decision = await World(found=[RetrievalUnavailable("away", kind="timeout")]).decide(
        owner=account(fallback_texts=texts, assessment_policy=policy)
    )

    assert (decision.reason_code, decision.reply) == (Reason.FALLBACK_SENT, "Ask at desk [1].")
    assert (decision.draft, decision.sources) == (None, ())


@pytest.mark.parametrize(
    ("drafts", "judged", "sent", "confidences"),
    [
        ([ANSWER, OTHER], [0.5, 1.0], OTHER_SENT, "better"),
        ([ANSWER, OTHER], [0.5, 0.1], SENT, "worse"),
        ([ANSWER, ModelRejected("no", status=400)], [0.5], SENT, "none"),
    ],
)
async def test_a_medium_draft_is_made_once_more_and_the_better_one_stands(
    drafts: list[Completion | Exception], judged: list[float], sent: str, confidences: str
) -> None:
    """Ten passages down to 0.3 (Guardrail); a medium draft that did not improve is sent."""
    world = World(
        model=drafts,
        judge=judged,
        found=[(passage(1),), (passage(1), passage(2), passage(3, similarity=0.1))],
    )
    decision = await world.decide(owner=account(assessment_policy=GUARDRAIL))
    assert decision.rechecked is not None
    before, after = decision.rechecked

    assert (decision.reason_code, decision.reply) == (Reason.REPLIED, sent)
    assert [limit for _, _, limit in world.retriever.asked] == [5, 10]
    assert {
        "better": after is not None and after > before,
        "worse": after is not None and after < before,
    }.get(confidences, after is None)
    shown = {"better": ["1#1", "2#1"]}.get(confidences, ["1#1"])
    assert [each.passage_id for each in decision.passages] == shown


async def test_the_model_s_own_searches_of_a_recheck_are_as_wide_as_its_first() -> None:
    """Ten passages down to 0.3 for both (Confidence Guardrail), five down to 0.4 before."""
    world = World(model=[SEARCH, ANSWER, SEARCH, OTHER], judge=[0.5, 1.0])
    decision = await world.decide(owner=account(assessment_policy=GUARDRAIL))

    assert [(query, limit) for _, query, limit in world.retriever.asked] == [
        (event().text, 5), ("h", 5), (event().text, 10), ("h", 10),
    ]  # fmt: skip
    assert world.retriever.least == [0.4, 0.4, 0.3, 0.3]
    assert decision.rechecked is not None


async def test_a_flagged_second_draft_is_dropped_for_the_first() -> None:
    """Its finding stays in the audit; its text is neither sealed nor sent."""
    world = World(
        model=[ANSWER, OTHER],
        judge=[0.5, 0.9],
        moderation=[CLEAN, CLEAN, scores(("hate",), hate=0.8)],
    )
    decision = await world.decide(owner=account(assessment_policy=GUARDRAIL))

    assert (decision.reply, decision.quarantine) == (SENT, False)
    assert [finding.matched_rule for finding in decision.findings] == ["openai_moderation:hate"]


async def test_the_prompt_s_hash_is_that_of_the_reply() -> None:
    """A recheck without improvement keeps it; a better draft has its own, also one of the same words."""
    found = [(passage(1),), (passage(1), passage(2))]
    plain = await World(judge=[1.0]).decide(owner=account(assessment_policy=GUARDRAIL))
    world = World(model=[ANSWER, OTHER], judge=[0.5, 0.1], found=list(found))
    worse = await world.decide(owner=account(assessment_policy=GUARDRAIL))
    world = World(model=[ANSWER, ANSWER], judge=[0.5, 1.0], found=list(found))
    better = await world.decide(owner=account(assessment_policy=GUARDRAIL))

    assert (worse.reply, worse.prompt_hash) == (plain.reply, plain.prompt_hash)
    assert better.rechecked is not None
    assert better.prompt_hash != plain.prompt_hash
    assert [each.passage_id for each in better.passages] == ["1#1", "2#1"]


async def test_the_prompt_s_hash_covers_the_results_of_tools() -> None:
    """The hash is of the prompt which the draft answers, not of the first prompt."""
    found = [(passage(1),), (passage(2, text="We are open on Sundays."),)]
    others = [(passage(1),), (passage(2, text="We are closed on Sundays."),)]
    one, other = [await World(model=[SEARCH, ANSWER], found=list(each)).decide() for each in (found, others)]

    assert one.prompt_hash != other.prompt_hash


@pytest.mark.parametrize("judge", [None, [BUSY], [ModelRejected("no", status=403)]])
async def test_a_missing_judge_is_no_score(judge: list[Any] | None) -> None:
    """The policy's low action decides; the confidence claims no grounding."""
    decision = await World(judge=judge).decide(owner=account(assessment_policy=GUARDRAIL))

    assert decision.reason_code == Reason.LOW_CONFIDENCE_ESCALATED
    assert decision.assessment is not None
    assert decision.assessment.category == ("judge_unavailable" if judge else "judge_off")
    assert "grounding" not in decision.assessment.signals


@pytest.mark.parametrize(
    ("script", "owner", "waits", "reason"),
    [
        ([BUSY, BUSY, 1.0], {}, [2.0, 4.0, 0.0], Reason.REPLIED),
        ([BUSY], {}, [2.0, 4.0, 0.0], Reason.LOW_CONFIDENCE_ESCALATED),
        ([ModelRejected("no", status=403), 1.0], {}, [0.0], Reason.LOW_CONFIDENCE_ESCALATED),
        ([ModelUnavailable("off", kind="circuit_open"), 1.0], {}, [0.0], Reason.LOW_CONFIDENCE_ESCALATED),
        ([BUSY, 1.0], {"reply_max_age_s": 1.0}, [0.0], Reason.LOW_CONFIDENCE_ESCALATED),
    ],
)
async def test_a_judge_is_asked_again_after_an_outage(
    script: list[Any], owner: dict[str, Any], waits: list[float], reason: Reason
) -> None:
    """A right answer does not wait for a person because of one error 500; nor is one sent too late."""
    decision = await World(judge=script).decide(owner=account(assessment_policy=GUARDRAIL, **owner))

    assert decision.reason_code == reason
    assert [each.waited_s for each in decision.attempts if each.stage == "judge"] == waits


VIETNAMESE = "Cửa hàng của bạn mở cửa vào lúc mấy giờ các ngày trong tuần vậy?"
TEXTS = {"en": "A colleague will answer.", "vi": "Đồng nghiệp sẽ trả lời."}


@pytest.mark.parametrize(
    ("changes", "languages", "reply"),
    [
        ({"text": VIETNAMESE}, (), TEXTS["vi"]),
        ({"text": VIETNAMESE}, ("en", "vi"), TEXTS["vi"]),
        ({"language": "vi-VN"}, (), TEXTS["vi"]),
        ({}, (), TEXTS["en"]),
    ],
)
async def test_a_fallback_speaks_the_author_s_language(
    changes: dict[str, Any], languages: tuple[str, ...], reply: str
) -> None:
    """The publisher's language tag counts; without one the language is detected."""
    policy = {"name": "guardrail", "enable_escalation": False}
    owner = account(assessment_policy=policy, fallback_texts=TEXTS, languages=languages)
    decision = await World(judge=[0.0]).decide(event(**changes), owner)

    assert (decision.reason_code, decision.reply) == (Reason.FALLBACK_SENT, reply)


@pytest.mark.parametrize("language", ["vi", "en"])
async def test_a_reply_has_the_disclosure_in_the_author_s_language(language: str) -> None:
    """A model's reply and a fallback have it; an escalation has none."""
    asked, silent = event(language=language), {"name": "guardrail"}
    fallback = {"name": "guardrail", "enable_escalation": False}
    sent = await World().decide(asked, account(disclosure_texts=TEXTS))
    owner = account(disclosure_texts=TEXTS, fallback_texts={"en": "Soon."}, assessment_policy=fallback)
    replaced = await World(judge=[0.0]).decide(asked, owner)
    none = await World(judge=[0.0]).decide(asked, account(disclosure_texts=TEXTS, assessment_policy=silent))

    assert (sent.reason_code, sent.disclosure) == (Reason.REPLIED, TEXTS[language])
    assert (replaced.reason_code, replaced.disclosure) == (Reason.FALLBACK_SENT, TEXTS[language])
    assert (none.reply, none.disclosure) == (None, None)


async def test_the_disclosure_of_a_message_with_typing_errors_is_in_the_reply_s_language() -> None:
    """The errors look like Polish, the reply does not."""
    texts = {**TEXTS, "de": "Hier antwortet eine KI.", "pl": "Odpowiada asystent."}
    owner = account(disclosure_texts=texts, assessment_policy=GUARDRAIL)
    sent = await World(judge=[1.0]).decide(event(text="is teh shop opn tomorow"), owner)

    assert (sent.reason_code, sent.disclosure) == (Reason.REPLIED, TEXTS["en"])


@pytest.mark.parametrize(
    ("failed", "category"),
    [("timeout", "TIMEOUT"), ("server_error", "TOOL_FAILURE"), ("rejected", "TOOL_FAILURE")],
)
@pytest.mark.parametrize("found", [True, False])
async def test_a_failed_search_gives_the_category_of_failsafe_node(
    failed: str, category: str, *, found: bool
) -> None:
    """TIMEOUT and TOOL_FAILURE are known from typed errors, unless the search by words found something."""
    world = World(found=[(passage(),) if found else ()])
    world.retriever.degraded = failed
    decision = await world.decide(owner=account(assessment_policy={"name": "failsafe"}))
    assert decision.assessment is not None

    assert decision.assessment.category == ("" if found else category)
    assert decision.degraded
    assert (decision.reply == SENT) is found


async def test_the_record_of_failsafe_node_is_stored_with_its_time() -> None:
    """PASSED and FAILSAFE_TRIGGERED each have a timestamp."""
    owner = account(assessment_policy={"name": "failsafe"})
    passed = snapshot_json(await World().decide(owner=owner))["assessment"]["diagnostics"]
    doubt = Completion(text="I'm not sure, maybe; I think we might possibly be open.", model="m")
    world = World(model=[doubt], judge=[0.2])
    stopped = snapshot_json(await world.decide(owner=owner))["assessment"]["diagnostics"]

    assert (passed["assessment"], passed["timestamp"]) == ("PASSED", NOW.isoformat())
    assert stopped == {
        "confidence_score": 0.4,
        "error_category": "UNCERTAINTY",
        "assessment": "FAILSAFE_TRIGGERED",
        "original_response_preview": doubt.text,
        "timestamp": NOW.isoformat(),
    }


async def test_the_confidence_log_of_confidence_guardrail_is_stored_with_its_times() -> None:
    """One entry a draft, before and after the recheck; the message says that it was rechecked."""
    world = World(model=[ANSWER, OTHER], judge=[0.5, 0.1])
    kept = snapshot_json(await world.decide(owner=account(assessment_policy=GUARDRAIL)))
    metadata, log = kept["assessment"]["diagnostics"], kept["confidenceLog"]

    assert [(entry["recheckAttempted"], entry["recheckCount"]) for entry in log] == [(False, 0), (True, 1)]
    assert [entry["score"] for entry in log] == kept["rechecked"]
    assert {entry["timestamp"] for entry in log} == {NOW.isoformat()}
    assert set(log[0]) == {
        "timestamp", "score", "tier", "breakdown", "documentsUsed", "recheckAttempted", "recheckCount",
        "details",
    }  # fmt: skip
    assert (metadata["recheckAttempted"], metadata["recheckCount"]) == (True, 1)
    assert metadata["confidence"] == log[0]["score"]


@pytest.mark.parametrize(
    ("low_action", "reason", "reply"),
    [
        ("escalate", Reason.LOW_CONFIDENCE_ESCALATED, None),
        ("silence", Reason.NO_ANSWER, None),
        ("fallback", Reason.FALLBACK_SENT, "A colleague will answer."),
    ],
)
async def test_a_draft_that_only_admits_not_to_know_is_not_sent(
    low_action: str, reason: Reason, reply: str | None
) -> None:
    """The calibrated policy answers it with its low action; the admission is true: confidence 1."""
    owner = account(
        assessment_policy={"name": "calibrated", "low_action": low_action},
        fallback_texts={"en": "A colleague will answer."},
    )
    world = World(model=[Completion(text="I don't know.", model="m")])
    decision = await world.decide(owner=owner)

    assert (decision.reason_code, decision.reply, decision.confidence) == (reason, reply, 0.0)


@pytest.mark.parametrize(
    ("category", "kind"),
    [("self-harm/intent", DecisionKind.ESCALATE), ("harassment", DecisionKind.IGNORE)],
)
async def test_people_see_a_message_about_self_harm(category: str, kind: DecisionKind) -> None:
    """Of an account that a person created: no reply, a sealed exchange and an escalation."""
    world = World(moderation=[scores((category,), **{category: 0.9})])
    decision = await world.decide(owner=replace(new_account("u1"), version=1))

    assert (decision.reason_code, decision.kind) == (Reason.MODERATION_FLAGGED, kind)
    assert (decision.reply, decision.quarantine) == (None, True)
    assert (decision.escalation is not None) is (kind is DecisionKind.ESCALATE)


NEXT = NewerEvent(
    event_id="e2",
    type=EventType.MESSAGE,
    message_id="m2",
    author_id="a1",
    received_at=NOW,
    written_at=NOW,
)
BURST = {"burst_window_s": 1.5}


@pytest.mark.parametrize(("newer", "slept"), [([(NEXT,)], []), ([(), (NEXT,)], [0.5])])
async def test_a_message_is_merged_into_the_next_one(newer: list[Any], slept: list[float]) -> None:
    """Without a wait when that is there, or when it comes during the wait: moderated, no model."""
    world = World(newer=newer)
    decision = await world.decide(owner=account(**BURST))

    assert (decision.reason_code, decision.answered_event) == (Reason.BURST_MERGED, "e2")
    assert (decision.remember, decision.reply, decision.confidence) == (True, None, 1.0)
    assert (world.calls[0], world.calls[3], world.clock.slept) == (1, 0, slept)


async def test_a_message_waits_once_for_the_next_one() -> None:
    """Then it is answered, and what came meanwhile is looked at once more before the reply is stored."""
    world = World(newer=[()])
    decision = await world.decide(owner=account(**BURST))

    assert decision.reason_code == Reason.REPLIED
    assert world.clock.slept == [0.5]
    assert world.arrivals is not None
    assert len(world.arrivals.asked) == 3


def edit(text: str, *, after_s: float = 1.0) -> NewerEvent:
    """An edit of the sample event's message."""
    return replace(
        NEXT,
        event_id=f"edit{after_s}",
        type=EventType.MESSAGE_EDITED,
        message_id="m1",
        written_at=NOW + timedelta(seconds=after_s),
        edited_text=text,
    )


@pytest.mark.parametrize(
    ("newer", "models", "text"),
    [
        ([(edit("When are you open on weekdays?"),)], 1, "When are you open on weekdays?"),
        ([(), (), (edit("When are you open on weekdays?"),)], 2, "When are you open on weekdays?"),
        ([(edit("When are you open on weekdays?", after_s=3.0), edit("An older one", after_s=2.0))], 1, None),
        ([(), (), (edit(f" {event().text} "),)], 1, event().text),
        ([(), (), (replace(edit("Another message"), message_id="m9"),)], 1, event().text),
    ],
)
async def test_an_answer_in_the_making_follows_an_edit(
    newer: list[Any], models: int, text: str | None
) -> None:
    """The newest text is decided; what was made for the older one is paid and dropped."""
    world = World(newer=newer)
    decision = await world.decide(owner=account(**BURST))

    assert decision.reason_code == Reason.REPLIED
    assert decision.event.text == (text or "When are you open on weekdays?")
    assert (world.calls[3], decision.tokens.prompt) == (models, models * ANSWER.tokens.prompt)
    assert stages(decision).count("generation") == 1
    assert bool(decision.event.notes) is (decision.event.text != event().text)


async def test_an_edit_that_a_rule_forbids_gets_no_reply() -> None:
    """Its text is tested before an answer is paid for."""
    world = World(newer=[(), (), (edit("buy SPAM"),)])
    decision = await world.decide(owner=account(flagged_keywords=("spam",), **BURST))

    assert (decision.reason_code, decision.reply) == (Reason.FLAGGED_RULE, None)
    assert (decision.quarantine, world.calls[3]) == (True, 1)


async def test_an_author_who_never_stops_editing_is_answered() -> None:
    """After a few edits the text is answered as it was read last."""
    edits: list[Any] = [(edit(f"When are you open{'?' * number}", after_s=number),) for number in range(2, 9)]
    world = World(newer=edits)
    decision = await world.decide(owner=account(**BURST))

    assert decision.reason_code == Reason.REPLIED
    assert decision.event.text == "When are you open????"


@pytest.mark.parametrize("window_s", [0.0, 1.5])
async def test_who_does_not_wait(window_s: float) -> None:
    """An account without a window, and a message that is older than the window."""
    old = event(received_at=NOW - timedelta(seconds=5))
    world = World(newer=[()])
    decision = await world.decide(old if window_s else None, owner=account(burst_window_s=window_s))

    assert decision.reason_code == Reason.REPLIED
    assert world.clock.slept == []


QUESTION_OF_OURS = Message(role=MessageRole.ASSISTANT, text="Shall I reserve one?")
ANSWER_OF_OURS = Message(role=MessageRole.ASSISTANT, text=SENT)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("scope", Scope)
async def test_an_acknowledgement_ends_silently_under_every_policy(design: str, scope: Scope) -> None:
    """It is moderated and stored; no search and no model is paid, and no person is asked."""
    world = World(history=(ANSWER_OF_OURS,))
    owner = account(assessment_policy={"name": design})
    decision = await world.decide(event(text="ok 👍 thank you!", scope=scope), owner=owner)

    assert (decision.reason_code, decision.kind) == (Reason.ACKNOWLEDGED, DecisionKind.IGNORE)
    assert (decision.reply, decision.remember, decision.quarantine) == (None, True, False)
    assert world.calls == (1, 1, 0, 0)


@pytest.mark.parametrize(
    ("history", "settings"),
    [
        ((QUESTION_OF_OURS,), {}),
        ((Message(role=MessageRole.USER, text="And on Sunday?"),), {}),
        ((ANSWER_OF_OURS,), {"name": "guardrail", "gate": False}),
    ],
)
async def test_an_acknowledgement_that_means_more_goes_to_the_model(
    history: tuple[Message, ...], settings: dict[str, Any]
) -> None:
    """It answers our question, a message before it waits, or the account's policy has no gate."""
    world = World(history=history, model=[Completion(text="You are welcome.", model="m")])
    decision = await world.decide(event(text="ok"), owner=account(assessment_policy=settings))

    assert decision.reason_code != Reason.ACKNOWLEDGED
    assert len(world.model.asked) > 0


@pytest.mark.parametrize("design", DESIGNS)
async def test_a_greeting_is_answered_under_every_policy(design: str) -> None:
    """Without documents, too: its reply passes the gate."""
    greeting = "Hello! How can I help you today?"
    world = World(found=[()], model=[Completion(text=greeting, model="m")])
    owner = account(assessment_policy={"name": design})
    decision = await world.decide(event(text="Good morning!"), owner=owner)

    assert (decision.reason_code, decision.reply) == (Reason.REPLIED, greeting)


@pytest.mark.parametrize(("text", "reason"), [("👍", Reason.FLAGGED_RULE), ("ok", Reason.MODERATION_FLAGGED)])
async def test_an_acknowledgement_passes_the_guards_first(text: str, reason: Reason) -> None:
    """An account may forbid a sign, and moderation may flag a word."""
    world = World(moderation=[scores(("hate",), hate=0.9)])
    decision = await world.decide(event(text=text), owner=account(flagged_phrases=("👍",)))

    assert (decision.reason_code, decision.quarantine) == (reason, True)


@pytest.mark.parametrize("text", ["buy spam", "fine"])
async def test_a_stopped_message_is_never_merged(text: str) -> None:
    """Rules and moderation come first, so that no stopped text enters a prompt."""
    flagged = scores(("violence",), violence=0.9)
    world = World(newer=[(NEXT,)], moderation=[flagged])
    decision = await world.decide(event(text=text), owner=account(flagged_keywords=("spam",), **BURST))

    assert decision.reason_code in {Reason.FLAGGED_RULE, Reason.MODERATION_FLAGGED}
    assert (decision.remember, decision.quarantine) == (False, True)


@pytest.mark.parametrize(
    ("policy", "world", "intended"),
    [
        ({"name": "guardrail", "testMode": True}, {"judge": [0.0]}, "escalate"),
        ({"name": "guardrail", "test_mode": True}, {"judge": [0.5, 0.9]}, "recheck"),
        ({"name": "guardrail", "test_mode": True}, {"judge": [1.0]}, "send"),
        ({"name": "failsafe", "test_mode": True, "confidence_threshold": 1.0}, {"judge": [0.0]}, "fallback"),
        ({"name": "calibrated", "test_mode": True}, {"found": [()]}, "escalate"),
        ({"name": "validators", "test_mode": True}, {"found": [()]}, "fallback"),
        ({"name": "safety", "test_mode": True}, {"found": [()]}, "fallback"),
    ],
)
async def test_in_test_mode_scores_are_stored_and_change_nothing(
    policy: dict[str, Any], world: dict[str, Any], intended: str
) -> None:
    """The draft is sent at any score (Confidence Guardrail, "Test Mode"); the audit has both actions."""
    made = World(**world)
    text = SENT if policy["name"] != "failsafe" else "We are possibly open."
    made.model = FakeModel([replace(ANSWER, text=text)])
    decision = await made.decide(owner=account(assessment_policy=policy))
    kept = snapshot_json(decision)["assessment"]

    assert (decision.reason_code, decision.reply) == (Reason.REPLIED, text)
    assert (kept["action"], kept["intended_action"]) == ("send", intended)
    assert (decision.rechecked, len(made.retriever.asked)) == (None, 1)
    assert decision.confidence == kept["confidence"]
    assert "Test mode" in decision.reason


async def test_outside_test_mode_nothing_says_so() -> None:
    """Only an assessment made in test mode has an intended action."""
    decision = await World().decide(owner=account(assessment_policy={"name": "safety"}))
    disabled = {"name": "safety", "enabled": False, "test_mode": True}
    off = await World().decide(owner=account(assessment_policy=disabled))

    assert snapshot_json(decision)["assessment"]["intended_action"] is None
    assert snapshot_json(off)["assessment"]["intended_action"] is None


@pytest.mark.parametrize(
    ("metadata", "reply"),
    [
        ({"profile": "expert"}, "Timeout of the search."),
        ({"profile": "child"}, "Please ask again."),
        ({"profile": ["expert"]}, "Please ask again."),
        ({}, "Please ask again."),
    ],
)
async def test_the_author_s_profile_chooses_the_text(metadata: dict[str, Any], reply: str) -> None:
    """FailsafeNode: responses by user profile, from the event's metadata; else the account's own."""
    policy = {
        "name": "failsafe",
        "responses": {"TIMEOUT": "Please ask again."},
        "profile_responses": {"expert": {"TIMEOUT": "Timeout of the search."}},
    }
    world = World(found=[RetrievalUnavailable("away", kind="timeout")])
    decision = await world.decide(event(metadata=metadata), account(assessment_policy=policy))

    assert (decision.reason_code, decision.reply) == (Reason.FALLBACK_SENT, reply)


CHAIN = {"name": "failsafe", "guardrail": {"highThreshold": 0.9, "enableEscalation": True}}


@pytest.mark.parametrize(
    ("draft", "judged", "reason", "policy"),
    [
        ("A maybe, possibly.", [0.2], Reason.FALLBACK_SENT, "failsafe@1"),
        (ANSWER.text, [0.0], Reason.LOW_CONFIDENCE_ESCALATED, "guardrail@1"),
        (ANSWER.text, [1.0], Reason.REPLIED, "guardrail@1"),
    ],
)
async def test_a_guardrail_follows_a_failsafe(
    draft: str, judged: list[float], reason: Reason, policy: str
) -> None:
    """FailsafeNode: Failsafe, then Guardrail, then the response; the second sees only what passed."""
    world = World(model=[replace(ANSWER, text=draft)], judge=judged)
    kept = snapshot_json(await world.decide(owner=account(assessment_policy=CHAIN)))["assessment"]
    decision = await world.decide(owner=account(assessment_policy=CHAIN))

    assert (decision.reason_code, kept["policy"]) == (reason, policy)
    assert world.retriever.least[0] == 0.4
    if policy == "guardrail@1":
        assert kept["diagnostics"]["failsafe"] == {"confidence_score": 0.8, "assessment": "PASSED"}
        assert kept["passed_checks"][0] == "failsafe"
        assert kept["diagnostics"]["confidence"] == kept["confidence"]


async def test_a_second_draft_that_the_failsafe_stops_is_dropped() -> None:
    """The recheck of the guardrail runs the failsafe again; its confidence is not compared."""
    doubtful = Completion(text="An error occurred while the opening hours were looked up.", model="m")
    world = World(model=[ANSWER, doubtful], judge=[0.5, 0.9])
    decision = await world.decide(owner=account(assessment_policy=CHAIN))

    assert (decision.reason_code, decision.reply) == (Reason.REPLIED, SENT)
    assert [limit for _, _, limit in world.retriever.asked] == [5, 10]
    assert decision.rechecked is not None


@pytest.mark.parametrize(
    ("following", "problem"),
    [
        ({"highThreshold": 2}, "guardrail.high_threshold: expected a number from 0 to 1, got 2.0"),
        ({"limit": 2}, "guardrail.limit: there is no such field"),
        ("guardrail", "guardrail: expected a JSON object, got str"),
        ({"name": "safety"}, "guardrail.name: expected guardrail, got 'safety'"),
        ({"testMode": True}, "guardrail.test_mode: expected test_mode of the failsafe, got one of its own"),
    ],
)
def test_a_wrong_field_of_a_following_guardrail_is_named(following: Any, problem: str) -> None:
    """With the name of the field it stands in."""
    with pytest.raises(PolicyRejected) as refused:
        parse_policy({"name": "failsafe", "guardrail": following})

    assert list(refused.value.problems) == [problem]


@pytest.mark.parametrize("closed", [{"ai_control_enabled": False}, {"version": 0}])
async def test_an_edit_goes_to_no_vendor_while_the_ai_is_off(closed: dict[str, Any]) -> None:
    """The history follows; rules are tested, moderation is not called."""
    edit = event(type=EventType.MESSAGE_EDITED)
    world = World()
    decision = await world.decide(edit, account(**closed))

    assert decision.reason_code == Reason.MESSAGE_EDITED
    assert world.calls == (0, 0, 0, 0)


async def test_no_fallback_answers_a_message_that_its_author_deleted_meanwhile() -> None:
    """Also where the documents cannot answer, before any model is called."""
    deleted = replace(NEXT, type=EventType.MESSAGE_DELETED, message_id="m1")
    fallback = {"name": "calibrated", "low_action": "fallback"}
    world = World(found=[()], newer=[(deleted,)])
    owner = account(assessment_policy=fallback, fallback_texts={"en": "Soon."}, burst_window_s=0.0)
    decision = await world.decide(owner=owner)

    assert (decision.reason_code, decision.reply) == (Reason.MESSAGE_WITHDRAWN, None)


async def test_no_part_of_an_irrelevant_draft_is_sent() -> None:
    """A supported sentence about something else is no partial answer."""
    parking = "Parking is free for every guest. The shop is in Hanoi. We sell private jets for 900 dollars."
    place = passage(text="Parking is free for every guest. The shop is in Hanoi, near the lake.")
    policy = {"name": "calibrated", "fallback_levels": ["partial", "silence"]}
    quotes = ("Parking is free for every guest", "The shop is in Hanoi, near the lake")
    answer = reading(*(said("supported", each) for each in quotes), said("not_mentioned"), relevance=0.1)
    world = World(model=[replace(ANSWER, text=parking)], found=[(place,)], judge=[answer])
    asked = event(text="How do I get a refund for a broken lamp?")
    decision = await world.decide(asked, account(assessment_policy=policy))

    assert (decision.reason_code, decision.reply) == (Reason.LOW_CONFIDENCE, None)


PARAPHRASE = replace(ANSWER, text="On weekdays you can come between nine and six [1].")
PARAPHRASE_SENT = "On weekdays you can come between nine and six."
SUPPORTED = reading(said("supported", passage().text))
BOOKED = replace(ANSWER, text="I have booked a table for you.")
HUGS = "Hugs and sunshine from our whole crew!"


@pytest.mark.parametrize(
    ("added", "reply"),
    [
        (HUGS, PARAPHRASE_SENT),
        ("If you are curious, come and get a hug!", PARAPHRASE_SENT),
        ("If you row in the large club!", None),
        ("Love from Waldo Smith and the whole Foundry team", PARAPHRASE_SENT),
        ("Hugs and sunshine since 1987!", None),
        ("For members of the large rowing club only!", None),
        ("It is for members of the large rowing club.", None),
        ("We don't hug dogs or cats!", None),
    ],
)
async def test_a_courtesy_that_only_the_judge_knows_is_not_sent(added: str, reply: str | None) -> None:
    """The rest is a new text, which is moderated; what may limit the rest holds the draft."""
    answer = reading(said("supported", passage().text), said("no_claim"))
    draft = replace(ANSWER, text=f"{PARAPHRASE.text} {added}")
    world = World(model=[draft], judge=[answer])
    decision = await world.decide(event(text="What should I know about your shop?"))
    removed = decision.assessment.diagnostics.get("removed_sentences") if decision.assessment else None
    moderated = [PARAPHRASE_SENT] if reply else []

    assert decision.reply == reply
    assert removed == ([added] if reply else None)
    assert [text for text, *_ in world.moderator.asked][1:] == [f"{PARAPHRASE_SENT} {added}", *moderated]


async def test_a_draft_of_unknown_courtesies_alone_is_not_sent() -> None:
    """Nothing that a passage supports would remain."""
    world = World(model=[replace(ANSWER, text=HUGS)], judge=[reading(said("no_claim"))])
    decision = await world.decide(event(text="What should I know about your shop?"))

    assert decision.reply is None


@pytest.mark.parametrize(
    ("judge", "outcome", "degraded"),
    [
        (None, "judge_off", False),
        ([ModelUnavailable("down", kind="server_error")], "judge_unavailable", True),
        ([ModelRejected("no", status=403)], "judge_unavailable", True),
        (["It looks fine."], "judge_answer_is_not_json", False),
        ([""], "judge_answer_empty", False),
    ],
)
async def test_a_draft_that_no_judge_has_read_is_held(
    judge: list[Any] | None, outcome: str, *, degraded: bool
) -> None:
    """The conversation stays with the AI: no handoff, no reply, and the draft waits for approval."""
    decision = await World(model=[PARAPHRASE], judge=judge).decide()
    kept = snapshot_json(decision)

    assert (decision.reason_code, decision.kind) == (Reason.HELD_UNREAD, DecisionKind.IGNORE)
    assert (decision.reply, decision.confidence, decision.degraded) == (None, 0.0, degraded)
    assert [(each.kind, each.text) for each in decision.held] == [(HeldKind.REPLY, PARAPHRASE_SENT)]
    assert outcome in decision.reason
    assert [s["detail"]["judged"] for s in kept["stages"] if s["stage"] == "assessment"] == [outcome]


@pytest.mark.parametrize(
    ("draft", "judge", "calls", "reason"),
    [
        (ANSWER, [SUPPORTED], 1, Reason.REPLIED),
        (PARAPHRASE, [SUPPORTED], 1, Reason.REPLIED),
        (PARAPHRASE, [reading(said("contradicted"))], 1, Reason.LOW_CONFIDENCE_ESCALATED),
        (PARAPHRASE, [reading(said("promise"))], 1, Reason.PROMISED_ACTION),
        (PARAPHRASE, ["?"], 1, Reason.HELD_UNREAD),
        (BOOKED, [reading(said("not_mentioned"))], 1, Reason.PROMISED_ACTION),
        (BOOKED, None, 0, Reason.HELD_UNREAD),
        (replace(ANSWER, text="I do not know."), [SUPPORTED], 0, Reason.LOW_CONFIDENCE_ESCALATED),
    ],
)
async def test_a_judge_is_asked_at_most_once(
    draft: Completion, judge: list[Any] | None, calls: int, reason: Reason
) -> None:
    """Not for a non-answer; an unusable answer is not asked for again."""
    world = World(model=[draft], judge=judge)
    decision = await world.decide()

    assert decision.reason_code == reason
    assert (len(world.judge.asked) if world.judge else 0) == calls
    assert len([call for call in decision.calls if call.purpose is CallPurpose.JUDGE]) == calls


async def test_a_reading_is_stored_with_its_quotes() -> None:
    """Places in the draft and in the passages, for the reviewer."""
    decision = await World(model=[PARAPHRASE], judge=[SUPPORTED]).decide()
    (sentence,) = snapshot_json(decision)["assessment"]["sentences"]

    assert (decision.reply, sentence["verdict"], sentence["support"]) == (PARAPHRASE_SENT, "supported", 0.97)
    assert sentence["quotes"] == [{"passage": 1, "start": 0, "end": len(passage().text) - 1}]


async def test_a_search_that_found_nothing_ends_no_event() -> None:
    """The model may search with better words; a draft without any passage is not sent."""
    found = await World(model=[SEARCH, ANSWER], found=[(), (passage(),)]).decide()
    none = await World(found=[()], judge=[0.97]).decide()

    assert (found.reason_code, found.reply) == (Reason.REPLIED, SENT)
    assert none.reply is None
    assert none.assessment is not None
    assert none.assessment.category == "no_evidence"


async def test_the_reply_stream_has_only_published_diagnostics() -> None:
    """What an account's options add to the record of the guardrail stays in the audit."""
    decision = await World(judge=[1.0]).decide(owner=account(assessment_policy={"name": "guardrail"}))
    assert decision.assessment is not None
    more: dict[str, Json] = {**decision.assessment.diagnostics, "removed_sentences": ["secret"]}
    record = published_record(replace(decision.assessment, diagnostics=more))

    assert record is not None
    assert {"confidence", "confidenceTier", "timestamp"} <= set(record)
    assert "removed_sentences" not in record


async def test_a_guardrail_after_a_disabled_failsafe_is_in_test_mode_too() -> None:
    """Scores change nothing, whichever policy made them."""
    policy = {"name": "failsafe", "enabled": False, "test_mode": True, "guardrail": {}}
    decision = await World(judge=[0.0]).decide(owner=account(assessment_policy=policy))

    assert (decision.reason_code, decision.reply) == (Reason.REPLIED, SENT)
