"""Several moderators: how their results combine, and one message through the pipeline with them."""

from __future__ import annotations

import asyncio
from itertools import permutations, product
from typing import Any

import pytest

from tests.support.fakes import (
    FakeClassifier,
    FakeClock,
    FakeConversations,
    FakeModel,
    FakeModerator,
    FakeRetriever,
)
from tests.support.samples import account, event, passage, scores
from worker import moderation
from worker.assessment import parse_policy
from worker.classifiers.prompts import ClassifierQuestion
from worker.errors import EndpointMisconfigured, ModerationRejected, ModerationUnavailable
from worker.late_moderation import unmoderated_roles
from worker.model import (
    OPENAI_MODERATION,
    Combination,
    Completion,
    Decision,
    FailurePolicy,
    Finding,
    MessageRole,
    ModerationScores,
    ModeratorChoice,
    Severity,
    Stage,
    Tokens,
)
from worker.moderation import ModeratorResult, Vote
from worker.pipeline import decide
from worker.ports import Ports
from worker.reasons import Reason
from worker.rules import compile_rules
from worker.snapshot import Snapshot, snapshot_json
from worker.steps.run import EventCase

ANY, ALL, FIRST = Combination
CLEAR, HIT, CLOSED, ABSENT = Vote
HOLD, BLOCK, ALLOW = FailurePolicy
PASSES = None


def result(vote: Vote, name: str) -> ModeratorResult:
    """A final result."""
    found = Finding(
        stage=Stage.MODERATION, code="x", severity=Severity.BLOCK, matched_rule=f"{name}:x", evidence="x"
    )
    return ModeratorResult(
        choice=ModeratorChoice(name=name, endpoint=name),
        vote=vote,
        scores=scores(x=0.9) if vote in {HIT, CLEAR} else None,
        finding=found if vote is HIT else None,
    )


def concluded(combination: Combination, *votes: Vote | None) -> str | None:
    """Name of the result that blocks, ``passes``, or None while it is open; moderators are a, b, c."""
    results = [None if vote is None else result(vote, name) for name, vote in zip("abc", votes, strict=False)]
    found = moderation.conclusion(combination, results)
    if found is None:
        return None
    return found.blocked_by.choice.name if found.blocked_by else "passes"


@pytest.mark.parametrize(
    ("votes", "of_any", "of_all", "of_first"),
    [
        ((CLEAR, CLEAR), "passes", "passes", "passes"),
        ((HIT, CLEAR), "a", "passes", "a"),
        ((CLEAR, HIT), "b", "passes", "passes"),
        ((HIT, HIT), "a", "a", "a"),
        ((CLOSED, CLEAR), "a", "passes", "passes"),
        ((CLEAR, CLOSED), "b", "passes", "passes"),
        ((CLOSED, HIT), "b", "a", "b"),
        ((HIT, CLOSED), "a", "b", "a"),
        ((CLOSED, CLOSED), "a", "a", "a"),
        ((ABSENT, CLEAR), "passes", "passes", "passes"),
        ((ABSENT, HIT), "b", "b", "b"),
        ((HIT, ABSENT), "a", "a", "a"),
        ((ABSENT, CLOSED), "b", "b", "b"),
        ((ABSENT, ABSENT), "passes", "passes", "passes"),
        ((None, CLEAR), None, "passes", "passes"),
        ((None, HIT), "b", None, "b"),
        ((None, CLOSED), "b", None, None),
        ((None, ABSENT), None, None, None),
        ((None, None), None, None, None),
    ],
)
def test_results_combine_as_the_account_chose(
    votes: tuple[Vote | None, ...], of_any: str | None, of_all: str | None, of_first: str | None
) -> None:
    """The table: any blocks on one hit, all on hits of all that answered, first follows the first answer."""
    assert [concluded(each, *votes) for each in Combination] == [of_any, of_all, of_first]


@pytest.mark.parametrize("combination", Combination)
def test_a_conclusion_is_final(combination: Combination) -> None:
    """Results that come later change neither whether a text passes, nor that it is blocked."""
    for votes in product(Vote, repeat=3):
        for order in permutations(range(3)):
            if combination is FIRST and list(order) != sorted(order):
                continue  # it asks in turn
            seen: list[bool] = []
            for known in range(1, 4):
                partly = [vote if place in order[:known] else None for place, vote in enumerate(votes)]
                if (found := concluded(combination, *partly)) is not None:
                    seen.append(found == "passes")
            assert len(set(seen)) == 1, (votes, order)


@pytest.mark.parametrize("votes", list(product(Vote, repeat=3)))
def test_a_text_is_never_blocked_without_a_reason_nor_passed_unseen(votes: tuple[Vote, ...]) -> None:
    """With all clear it passes; with all hits or closed it never does, in any combination."""
    for each in Combination:
        if set(votes) <= {CLEAR, ABSENT}:
            assert concluded(each, *votes) == "passes"
        if set(votes) <= {HIT, CLOSED}:
            assert concluded(each, *votes) != "passes"


# One event through the pipeline.

ANSWER = Completion(text="We are open from nine to six on weekdays [1].", model="m", tokens=Tokens(prompt=7))
CLEAN = scores(unsafe=0.1)
UNSAFE = ModerationScores(
    scores={"S1": 0.9}, flagged=frozenset({"S1"}), model="guard", tokens=Tokens(prompt=40, completion=3)
)
DOWN = ModerationUnavailable("no result", kind="server_error")
UNREADABLE = ModerationUnavailable("prose", kind="unreadable")
REVOKED = EndpointMisconfigured("key", cause="key", status=401)
API = {"name": OPENAI_MODERATION, "endpoint": OPENAI_MODERATION}


class Panel:
    """Scripted moderators of an account: the API, and classifiers ``a`` and ``b``."""

    def __init__(self, *, api: Any = CLEAN, a: Any = CLEAN, b: Any = CLEAN) -> None:
        self.clock = FakeClock()
        scripts = [each if isinstance(each, list) else [each] for each in (api, a, b)]
        self.api = FakeModerator(scripts[0])
        self.a, self.b = FakeClassifier(scripts[1]), FakeClassifier(scripts[2])

    async def decide(
        self, combination: Combination, *choices: ModeratorChoice, moderates: bool = True, **settings: Any
    ) -> Decision:
        """Run the pipeline once with these moderators."""
        owner = account(moderators=choices, moderation_combination=combination, **settings)
        rules = compile_rules(owner.flagged_keywords, owner.flagged_phrases, version=owner.version)
        case = EventCase(event=event(), account=owner, rules=rules, policy=parse_policy({}))
        ports = Ports(
            clock=self.clock,
            moderator=self.api if moderates else None,
            classifiers={"guard-a": self.a, "guard-b": self.b},
            model=FakeModel([ANSWER]),
            retriever=FakeRetriever([(passage(),)]),
            conversations=FakeConversations(),
        )
        return await decide(case, ports)


def api(failure: FailurePolicy | None = None) -> ModeratorChoice:
    """The moderation API."""
    return ModeratorChoice(name=OPENAI_MODERATION, endpoint=OPENAI_MODERATION, failure=failure)


def chosen(name: str, failure: FailurePolicy = BLOCK, **rest: Any) -> ModeratorChoice:
    """Classifier ``a`` or ``b``."""
    return ModeratorChoice(name=name, endpoint=f"guard-{name}", failure=failure, **rest)


def moderated(decision: Decision, stage: str = "moderation") -> dict[str, str]:
    """Outcome by moderator, as the snapshot has it."""
    snapshot = Snapshot.from_json(snapshot_json(decision))
    found = next(each for each in snapshot.stages if each.stage == stage)
    return {each.name: each.outcome for each in found.moderators}


async def test_message_and_reply_are_moderated_by_every_moderator() -> None:
    """Each is asked about both texts; the classifier gets the policy, and the message with the reply."""
    panel = Panel()
    decision = await panel.decide(ANY, api(), chosen("a", policy="No insults."))

    assert decision.reason_code == Reason.REPLIED
    assert [text for text, _ in panel.api.asked] == [event().text, decision.reply]
    assert panel.a.asked == [
        ClassifierQuestion(text=event().text, policy="No insults."),
        ClassifierQuestion(
            text=str(decision.reply), policy="No insults.", writer=MessageRole.ASSISTANT, message=event().text
        ),
    ]
    assert moderated(decision) == moderated(decision, "moderation_reply") == {
        OPENAI_MODERATION: "clear", "a": "clear",
    }  # fmt: skip


async def test_the_matched_rule_names_the_moderator() -> None:
    """With its category, score and tokens; the other's result stays in the audit."""
    decision = await Panel(a=[CLEAN, UNSAFE]).decide(ANY, api(), chosen("a"))
    snapshot = Snapshot.from_json(snapshot_json(decision))

    assert (decision.reason_code, decision.matched_rule) == (Reason.REPLY_MODERATION_FLAGGED, "a:S1")
    assert decision.reason == "GUARDRAIL_POST_BLOCKED: a: S1 (0.900, flagged by the classifier)"
    assert decision.confidence == 0.9
    assert decision.quarantine
    assert decision.tokens == Tokens(prompt=47, completion=3)
    assert decision.models["moderation a"] == "guard"
    assert [(each.moderator, each.outcome) for each in decision.attempts if each.moderator] == [
        ("a", "completed"),
        ("a", "completed"),
    ]
    assert snapshot.stages[-1].decided_by == "a"
    assert dict(snapshot.stages[-1].highest)["a:S1"].score == 0.9


async def test_thresholds_of_a_classifier_are_its_own() -> None:
    """The account's moderation_thresholds are the API's."""
    over = scores(violence=0.4)
    by_api = await Panel(api=over, a=over).decide(
        ANY, chosen("a"), api(), moderation_thresholds={"violence": 0.3}
    )
    by_a = await Panel(api=over, a=over).decide(ANY, api(), chosen("a", thresholds={"violence": 0.4}))

    assert (by_api.matched_rule, by_a.matched_rule) == ("openai_moderation:violence", "a:violence")


@pytest.mark.parametrize(
    ("a", "failure", "reason"),
    [
        (DOWN, ALLOW, Reason.REPLIED),
        (DOWN, BLOCK, Reason.MODERATION_UNAVAILABLE),
        (DOWN, HOLD, Reason.MODERATION_TIMED_OUT),
        (REVOKED, ALLOW, Reason.MODERATION_MISCONFIGURED),
        (REVOKED, HOLD, Reason.MODERATION_MISCONFIGURED),
        (ModerationRejected("no"), ALLOW, Reason.MODERATION_REJECTED),
        (UNREADABLE, ALLOW, Reason.MODERATION_UNAVAILABLE),
        (UNREADABLE, BLOCK, Reason.MODERATION_UNAVAILABLE),
        (UNREADABLE, HOLD, Reason.MODERATION_UNAVAILABLE),
    ],
)
async def test_each_moderator_has_its_own_failure_policy(
    a: Exception, failure: FailurePolicy, reason: Reason
) -> None:
    """Only an outage lets a text pass; an unreadable answer never does, and is not asked for an hour."""
    panel = Panel(a=a)
    decision = await panel.decide(ANY, api(HOLD), chosen("a", failure), hold_max_s=60.0)

    assert (decision.reason_code, decision.degraded) == (reason, True)
    assert a is not UNREADABLE or len(panel.a.asked) == 3
    assert (decision.reply is not None) == (reason is Reason.REPLIED)


@pytest.mark.parametrize(("failure", "left"), [(None, BLOCK), (ALLOW, ALLOW)])
async def test_a_moderator_without_a_policy_has_the_account_s(
    failure: FailurePolicy | None, left: FailurePolicy
) -> None:
    """The account's moderation_failure is the default of each."""
    (only,) = moderation.panel(
        account(
            moderators=(ModeratorChoice(name="a", endpoint="x", failure=failure),), moderation_failure=BLOCK
        )
    )

    assert only.failure is left


async def test_a_hit_ends_the_wait_for_another_moderator() -> None:
    """Of any: one that hangs in a hold is cancelled, and its record says that it was not needed."""
    panel = Panel(a=DOWN, b=UNSAFE)
    decision = await panel.decide(ANY, chosen("a", HOLD), chosen("b"), hold_max_s=1e6)

    assert decision.matched_rule == "b:S1"
    assert moderated(decision) == {"a": "not_needed", "b": "hit"}


@pytest.mark.parametrize("combination", Combination)
async def test_a_message_too_old_after_a_hold_asks_no_moderator_again(combination: Combination) -> None:
    """However moderators are combined, a hold ends when no reply could be sent any more."""
    panel = Panel(api=[DOWN], a=[DOWN])
    decision = await panel.decide(combination, api(HOLD), chosen("a", HOLD), reply_max_age_s=1.0)

    assert decision.reason_code == Reason.TOO_LATE
    assert len(panel.api.asked) + len(panel.a.asked) <= 5


async def test_all_needs_a_hit_of_each() -> None:
    """One clear result passes a text, without waiting for an outage of the other."""
    both = await Panel(a=UNSAFE, b=UNSAFE).decide(ALL, chosen("a"), chosen("b"))
    one = await Panel(a=UNSAFE).decide(ALL, chosen("a"), chosen("b"))
    held = await Panel(a=DOWN).decide(ALL, chosen("a", HOLD), chosen("b"), hold_max_s=1e6)

    assert (both.matched_rule, [each.matched_rule for each in both.findings]) == ("a:S1", ["a:S1", "b:S1"])
    assert (one.reason_code, held.reason_code) == (Reason.REPLIED, Reason.REPLIED)


async def test_first_asks_the_next_only_when_one_does_not_answer() -> None:
    """A hold does not wait while another can answer; without any answer it waits, and asks both again."""
    answered, fell_back, waited = Panel(), Panel(a=DOWN), Panel(a=[DOWN, CLEAN], b=[DOWN])
    decisions = [
        await panel.decide(FIRST, chosen("a", HOLD), chosen("b")) for panel in (answered, fell_back, waited)
    ]

    assert [each.reason_code for each in decisions] == [Reason.REPLIED] * 3
    assert [each.degraded for each in decisions] == [False, True, True]
    assert [(len(each.a.asked), len(each.b.asked)) for each in (answered, fell_back)] == [(2, 0), (2, 2)]
    assert moderated(decisions[1]) == {"a": "no_result", "b": "clear"}
    assert waited.clock.slept == [0.5]
    assert len(waited.a.asked) == 3


async def test_first_without_any_answer_ends_by_the_strictest_policy() -> None:
    """One that holds is asked until the event is too old; with allow everywhere the text passes."""
    held = await Panel(a=DOWN, b=DOWN).decide(FIRST, chosen("a", ALLOW), chosen("b", HOLD), hold_max_s=30.0)
    passed = await Panel(a=DOWN, b=DOWN).decide(FIRST, chosen("a", ALLOW), chosen("b", ALLOW))
    wrong = await Panel(a=REVOKED, b=DOWN).decide(FIRST, chosen("a", ALLOW), chosen("b", ALLOW))

    assert held.reason_code == Reason.MODERATION_TIMED_OUT
    assert (passed.reason_code, passed.degraded) == (Reason.REPLIED, True)
    assert wrong.reason_code == Reason.MODERATION_MISCONFIGURED
    assert moderated(held) == {"a": "no_result", "b": "no_result"}


async def test_an_endpoint_that_the_deployment_does_not_declare_lets_nothing_pass() -> None:
    """An account names an endpoint, never a URL; an unknown name is a misconfiguration."""
    unknown = ModeratorChoice(name="other", endpoint="http", failure=ALLOW)
    decision = await Panel().decide(ANY, api(), unknown)

    assert decision.reason_code == Reason.MODERATION_MISCONFIGURED
    assert decision.reason == "GUARDRAIL_PRE_BLOCKED: other: this deployment declares no classifier 'http'"


async def test_the_api_is_left_out_where_the_deployment_has_it_switched_off() -> None:
    """The other moderators remain; with no other nothing is moderated, as without a choice."""
    left = await Panel(a=UNSAFE).decide(ANY, api(), chosen("a"), moderates=False)
    none = await Panel().decide(ANY, api(), moderates=False)

    assert left.matched_rule == "a:S1"
    assert "moderation" not in [each.stage for each in none.stages]


async def test_the_default_asks_the_api_alone_and_stores_what_it_did_before() -> None:
    """Without chosen moderators no classifier is called, and no record of moderators is stored."""
    panel = Panel(a=UNSAFE)
    decision = await panel.decide(ANY)
    stage = next(each for each in decision.stages if each.stage == "moderation")

    assert (decision.reason_code, len(panel.api.asked), panel.a.asked) == (Reason.REPLIED, 2, [])
    assert list(stage.detail) == ["highest"]
    assert decision.tokens == ANSWER.tokens


async def test_a_missing_result_of_one_moderator_is_asked_for_later() -> None:
    """Message and reply wait for the late check; nothing waits when all answered, or the text was blocked."""
    partly = await Panel(a=DOWN).decide(ANY, api(), chosen("a", ALLOW))
    whole = await Panel().decide(ANY)
    blocked = await Panel(a=DOWN).decide(ANY, api(), chosen("a", BLOCK))

    assert unmoderated_roles(partly) == (MessageRole.USER, MessageRole.ASSISTANT)
    assert unmoderated_roles(whole) == unmoderated_roles(blocked) == ()


async def test_a_drain_ends_every_moderator() -> None:
    """A cancelled event leaves no call behind."""
    panel = Panel(a=DOWN, b=DOWN)
    deciding = asyncio.create_task(panel.decide(ANY, chosen("a", HOLD), chosen("b", HOLD), hold_max_s=1e9))
    for _ in range(20):
        await asyncio.sleep(0)
    deciding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await deciding

    assert asyncio.all_tasks() == {asyncio.current_task()}
