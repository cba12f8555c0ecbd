"""The pipeline with ports that do as they are told and a clock that never waits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.unit.fakes import (
    CLEAN,
    FakeClock,
    FakeConversations,
    FakeJudge,
    FakeModel,
    FakeModerator,
    FakeRetriever,
)
from tests.unit.samples import NOW, account, event, passage, scores
from worker.assessment import parse_policy
from worker.errors import (
    ModelRejected,
    ModelUnavailable,
    ModerationRejected,
    ModerationUnavailable,
    RetrievalUnavailable,
    StorageUnavailable,
)
from worker.generation import RetryPolicy
from worker.model import Account, Completion, Decision, Event, Message, Tokens, ToolCall
from worker.pipeline import decide
from worker.policy import Reason
from worker.ports import Ports
from worker.rules import compile_rules
from worker.snapshot import snapshot
from worker.steps.run import Case

ANSWER = Completion(
    text="We are open from nine to six on weekdays [1].", model="m", tokens=Tokens(prompt=7, completion=3)
)
OTHER = Completion(text="From nine to six on weekdays, we are open [1].", model="m")
SEARCH = Completion(
    text="", model="m", tool_calls=(ToolCall(call_id="t", name="search_documents", arguments={"query": "h"}),)
)
ESCALATE = Completion(
    text="", model="m", tool_calls=(ToolCall(call_id="t", name="escalate", arguments={"reason": "angry"}),)
)
DOWN = ModerationUnavailable("no verdict", kind="server_error")
BUSY = ModelUnavailable("try later", kind="server_error")
GUARDRAIL = {"name": "guardrail"}


class World:
    """Everything outside, and what became of it."""

    def __init__(
        self,
        *,
        model: list[Completion | Exception] | None = None,
        moderation: list[Any] | None = None,
        found: list[Any] | None = None,
        judge: list[Any] | None = None,
        history: tuple[Message, ...] = (),
    ) -> None:
        self.clock = FakeClock()
        self.moderator = FakeModerator(moderation or [CLEAN])
        self.model = FakeModel(model or [ANSWER])
        self.retriever = FakeRetriever(found or [(passage(),)])
        self.conversations = FakeConversations(history)
        self.judge = FakeJudge(judge) if judge else None

    async def decide(
        self, asked: Event | None = None, owner: Account | None = None, **retry: Any
    ) -> Decision:
        """Run the pipeline once."""
        owner = owner or account()
        case = Case(
            event=asked or event(),
            account=owner,
            rules=compile_rules(owner.flagged_keywords, owner.flagged_phrases, version=owner.version),
            policy=parse_policy(dict(owner.assessment_policy)),
            retry=RetryPolicy(**retry),
        )
        ports = Ports(
            clock=self.clock,
            moderator=self.moderator,
            model=self.model,
            retriever=self.retriever,
            conversations=self.conversations,
            judge=self.judge,
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
    """Guards, history, search, model, the same guards on the draft, assessment."""
    world = World()
    decision = await world.decide()

    assert stages(decision) == [
        *BEFORE_MODEL,
        "generation",
        "rules_reply",
        "moderation_reply",
        "assessment",
    ]
    assert (decision.reason_code, decision.reply) == (Reason.REPLIED, ANSWER.text)
    assert (decision.tokens, decision.models["completion"]) == (ANSWER.tokens, "m")
    assert decision.remember
    assert world.calls == (2, 1, 1, 1)


@pytest.mark.parametrize(
    ("world", "settings", "ran", "calls"),
    [
        (World(), {"version": 0}, 1, (0, 0, 0, 0)),
        (World(), {"ai_control_enabled": False}, 1, (0, 0, 0, 0)),
        (World(), {"flagged_keywords": ("open",)}, 2, (0, 0, 0, 0)),
        (World(moderation=[scores(("hate",), hate=0.9)]), {}, 3, (1, 0, 0, 0)),
        (World(moderation=[ModerationRejected("bad image")]), {}, 3, (1, 0, 0, 0)),
        (World(found=[()]), {}, 6, (1, 1, 1, 0)),
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
    """What the author attached is no part of ours."""
    world = World()
    await world.decide(event(attachments=("https://x.example/a.png",)))

    assert world.moderator.asked == [
        ("When are you open?", ("https://x.example/a.png",)),
        (ANSWER.text, ()),
    ]


async def test_the_waits_between_attempts_are_two_and_four_seconds() -> None:
    """Each attempt is in the decision with what it waited."""
    world = World(model=[BUSY, BUSY, ANSWER])
    decision = await world.decide()
    noted = [(a.number, a.outcome, a.waited_s) for a in decision.attempts]

    assert world.clock.slept == [2.0, 4.0]
    assert noted == [(1, "server_error", 2.0), (2, "server_error", 4.0), (3, "completed", 0.0)]
    assert decision.reply == ANSWER.text


async def test_a_retry_after_is_obeyed() -> None:
    """The longer of the two waits."""
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
    """Degraded, remembered without a reply, with confidence 0."""
    world = World(model=errors)
    decision = await world.decide()

    assert (decision.reason_code, decision.reply, decision.degraded) == (reason, None, True)
    assert (len(decision.attempts), len(world.model.asked)) == (calls, calls)
    assert (decision.confidence, decision.remember) == (0.0, True)


async def test_a_hold_goes_on_until_moderation_is_back() -> None:
    """Pauses double from half a second; nothing else runs meanwhile."""
    world = World(moderation=[DOWN, DOWN, DOWN, CLEAN])
    decision = await world.decide()

    assert world.clock.slept == [0.5, 1.0, 2.0]
    assert decision.reply == ANSWER.text
    assert not decision.degraded


async def test_a_hold_ends_when_the_event_is_too_old() -> None:
    """Exactly at ``hold_max_s``: silent, degraded, with a reason of its own."""
    world = World(moderation=[DOWN])
    decision = await world.decide(owner=account(hold_max_s=60.0))

    assert (decision.reason_code, decision.degraded) == (Reason.MODERATION_TIMED_OUT, True)
    assert sum(world.clock.slept) == 60.0
    assert world.calls[1:] == (0, 0, 0)


async def test_a_long_hold_leaves_room_for_what_comes_after_it() -> None:
    """Its first tries and its last are kept, and every attempt of the model."""
    world = World(moderation=[*[DOWN] * 300, CLEAN], model=[BUSY, ANSWER])
    decision = await world.decide()
    held = [a.number for a in decision.attempts if a.stage == "moderation"]

    assert held == [*range(1, 50), 300]
    assert [a.outcome for a in decision.attempts if a.stage == "generation"] == ["server_error", "completed"]


async def test_block_is_silent_and_allow_goes_on_after_three_tries() -> None:
    """Neither invents a score; allow says that nobody moderated."""
    blocked = await World(moderation=[DOWN]).decide(owner=account(moderation_failure="block"))
    allowed = await World(moderation=[DOWN]).decide(owner=account(moderation_failure="allow"))

    assert (blocked.reason_code, blocked.reply) == (Reason.MODERATION_UNAVAILABLE, None)
    assert [a.number for a in blocked.attempts] == [1, 2, 3]
    assert (allowed.reply, allowed.degraded) == (ANSWER.text, True)
    assert "moderation" not in allowed.models


async def test_cancelled_while_holding_nothing_later_has_run() -> None:
    """A drain leaves no half state: the event is decided again from its start elsewhere."""
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

    assert world.calls == (tries, 0, 0, 0)


async def test_cancelled_while_the_model_is_asked_it_is_not_asked_again() -> None:
    """The retries do not swallow a drain."""
    world = World(model=[asyncio.CancelledError()])  # type: ignore[list-item]
    with pytest.raises(asyncio.CancelledError):
        await world.decide()

    assert (world.clock.slept, len(world.model.asked)) == ([], 1)


async def test_history_that_cannot_be_read_rises() -> None:
    """Nothing was decided; the queue repeats it."""
    world = World()
    world.conversations.error = StorageUnavailable("away")
    with pytest.raises(StorageUnavailable):
        await world.decide()

    assert world.calls == (1, 1, 0, 0)


async def test_a_bug_rises() -> None:
    """It is no ending."""
    with pytest.raises(ZeroDivisionError):
        await World(model=[ZeroDivisionError()]).decide()


async def test_a_search_that_failed_is_told_to_the_audit() -> None:
    """Degraded, and no reply is made up without evidence."""
    decision = await World(found=[RetrievalUnavailable("away", kind="timeout")]).decide()

    assert (decision.degraded, decision.reply) == (True, None)
    assert [s.detail for s in decision.stages if s.stage == "retrieval"] == [{"error": "timeout"}]


async def test_a_search_that_was_less_than_it_should_be_is_told_too() -> None:
    """The reply goes out, marked."""
    world = World()
    world.retriever.degraded = "timeout"
    decision = await world.decide()

    assert (decision.degraded, decision.reply) == (True, ANSWER.text)


@pytest.mark.parametrize(("rounds", "asked"), [(0, 1), (2, 3)])
async def test_rounds_of_tools_are_bounded(rounds: int, asked: int) -> None:
    """On the last round the model has no tools, and asking for them still is the end."""
    world = World(model=[SEARCH])
    decision = await world.decide(tool_rounds=rounds)

    assert (decision.reason_code, len(world.model.asked)) == (Reason.TOOL_LOOP, asked)
    assert [prompt.tools_allowed for prompt in world.model.asked] == [*[True] * rounds, False]
    assert len(world.retriever.asked) == 1 + asked


async def test_passages_of_a_tool_are_numbered_on_and_counted_once() -> None:
    """Those already known are not shown twice."""
    world = World(model=[SEARCH, ANSWER], found=[(passage(1),), (passage(1), passage(2))])
    decision = await world.decide()
    shown = world.model.asked[1].tool_rounds[0].results[0].content

    assert shown.startswith("[2] ")
    assert [each.passage_id for each in decision.passages] == ["1#1", "2#1"]
    assert world.retriever.asked[1] == ("acme", "h", 5)


async def test_the_model_s_wish_for_a_person_is_an_escalation() -> None:
    """Nothing is sent."""
    decision = await World(model=[ESCALATE]).decide()

    assert (decision.reason_code, decision.reason) == (
        Reason.MODEL_ESCALATED,
        "the model asked for a person: angry",
    )


async def test_a_flagged_draft_is_sealed_with_its_message() -> None:
    """Neither enters the history."""
    flagged = scores(("hate",), hate=0.8)
    decision = await World(moderation=[CLEAN, flagged]).decide()

    assert (decision.quarantine, decision.rejected_draft, decision.remember) == (True, ANSWER.text, False)
    assert (decision.reply, decision.confidence) == (None, 0.8)


async def test_rules_leave_the_draft_alone_where_the_account_says_so() -> None:
    """`rules_on_reply` false: keywords are for authors only."""
    words = {"flagged_keywords": ("weekdays",)}
    held = await World().decide(owner=account(**words))
    sent = await World().decide(owner=account(**words, rules_on_reply=False))

    assert (held.reason_code, sent.reason_code) == (Reason.REPLY_FLAGGED_RULE, Reason.REPLIED)


async def test_an_answer_that_took_too_long_is_not_sent() -> None:
    """The age counts at the end as at the start."""
    world = World(model=[BUSY, ANSWER])
    decision = await world.decide(owner=account(reply_max_age_s=1.0))

    assert (decision.reason_code, decision.reply) == (Reason.TOO_LATE, None)


@pytest.mark.parametrize(
    ("drafts", "judged", "sent", "confidences"),
    [
        ([ANSWER, OTHER], [0.5, 0.9, 1.0, 1.0], OTHER.text, "better"),
        ([ANSWER, OTHER], [0.5, 0.9, 0.1, 0.1], ANSWER.text, "worse"),
        ([ANSWER, ModelRejected("no", status=400)], [0.5, 0.9], ANSWER.text, "none"),
    ],
)
async def test_a_medium_draft_is_made_once_more_and_the_better_one_stands(
    drafts: list[Completion | Exception], judged: list[float], sent: str, confidences: str
) -> None:
    """Ten passages down to 0.3 (seed 001); a medium draft that did not improve goes out as it was."""
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


async def test_a_second_draft_that_is_flagged_gives_way_to_the_first() -> None:
    """Its finding stays in the audit; its words are sealed nowhere and sent nowhere."""
    world = World(
        model=[ANSWER, OTHER],
        judge=[0.5, 0.9],
        moderation=[CLEAN, CLEAN, scores(("hate",), hate=0.8)],
    )
    decision = await world.decide(owner=account(assessment_policy=GUARDRAIL))

    assert (decision.reply, decision.quarantine) == (ANSWER.text, False)
    assert [finding.matched_rule for finding in decision.findings] == ["openai_moderation:hate"]


async def test_the_prompt_s_hash_is_that_of_the_reply() -> None:
    """A recheck that did not help leaves no trace in it."""
    plain = await World(judge=[1.0]).decide(owner=account(assessment_policy=GUARDRAIL))
    world = World(
        model=[ANSWER, OTHER], judge=[0.5, 0.9, 0.1, 0.1], found=[(passage(1),), (passage(1), passage(2))]
    )
    worse = await world.decide(owner=account(assessment_policy=GUARDRAIL))

    assert worse.reply == plain.reply
    assert worse.prompt_hash == plain.prompt_hash


@pytest.mark.parametrize("judge", [None, [BUSY], [ModelRejected("no", status=403)]])
async def test_a_judge_that_is_not_there_is_no_score(judge: list[Any] | None) -> None:
    """The policy's low action decides; the confidence claims no grounding."""
    decision = await World(judge=judge).decide(owner=account(assessment_policy=GUARDRAIL))

    assert decision.reason_code == Reason.LOW_CONFIDENCE_ESCALATED
    assert decision.assessment is not None
    assert decision.assessment.category == "judge_unavailable"
    assert "grounding" not in decision.assessment.signals


async def test_a_fallback_goes_out_in_place_of_the_draft() -> None:
    """The account's own text."""
    policy = {"name": "guardrail", "enable_escalation": False}
    owner = account(assessment_policy=policy, fallback_texts={"en": "A colleague will answer."})
    decision = await World(judge=[0.0]).decide(owner=owner)

    assert (decision.reason_code, decision.reply) == (Reason.FALLBACK_SENT, "A colleague will answer.")


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
    """As the publisher gave it, else told from the message."""
    policy = {"name": "guardrail", "enable_escalation": False}
    owner = account(assessment_policy=policy, fallback_texts=TEXTS, languages=languages)
    decision = await World(judge=[0.0]).decide(event(**changes), owner)

    assert (decision.reason_code, decision.reply) == (Reason.FALLBACK_SENT, reply)


@pytest.mark.parametrize(
    ("failed", "category"),
    [("timeout", "TIMEOUT"), ("server_error", "TOOL_FAILURE"), ("rejected", "TOOL_FAILURE")],
)
@pytest.mark.parametrize("found", [True, False])
async def test_a_search_that_failed_gives_the_category_of_seed_000(
    failed: str, category: str, *, found: bool
) -> None:
    """TIMEOUT and TOOL_FAILURE are known from typed errors, unless words alone found something."""
    world = World(found=[(passage(),) if found else ()])
    world.retriever.degraded = failed
    decision = await world.decide(owner=account(assessment_policy={"name": "failsafe"}))
    assert decision.assessment is not None

    assert decision.assessment.category == ("" if found else category)
    assert decision.degraded
    assert (decision.reply == ANSWER.text) is found


async def test_a_search_that_is_away_gives_the_category_too() -> None:
    """The retriever itself timed out."""
    world = World(found=[RetrievalUnavailable("away", kind="timeout")])
    decision = await world.decide(owner=account(assessment_policy={"name": "failsafe"}))

    assert decision.assessment is not None
    assert decision.assessment.category == "TIMEOUT"


async def test_the_record_of_seed_000_is_stored_with_its_time() -> None:
    """Metadata PASSED and FAILSAFE_TRIGGERED, each with a timestamp."""
    owner = account(assessment_policy={"name": "failsafe"})
    passed = snapshot(await World().decide(owner=owner))["assessment"]["diagnostics"]
    doubt = Completion(text="I'm not sure, maybe; I think we might possibly be open.", model="m")
    world = World(model=[doubt], judge=[0.2])
    stopped = snapshot(await world.decide(owner=owner))["assessment"]["diagnostics"]

    assert (passed["assessment"], passed["timestamp"]) == ("PASSED", NOW.isoformat())
    assert stopped == {
        "confidence_score": 0.4,
        "error_category": "UNCERTAINTY",
        "assessment": "FAILSAFE_TRIGGERED",
        "original_response_preview": doubt.text,
        "timestamp": NOW.isoformat(),
    }


async def test_the_confidence_log_of_seed_001_is_stored_with_its_times() -> None:
    """One entry a draft, before and after the recheck; the message says that it was rechecked."""
    world = World(model=[ANSWER, OTHER], judge=[0.5, 0.9, 0.1, 0.1])
    kept = snapshot(await world.decide(owner=account(assessment_policy=GUARDRAIL)))
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

    assert (decision.reason_code, decision.reply, decision.confidence) == (reason, reply, 1.0)
