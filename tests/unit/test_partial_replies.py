"""A shortened reply passes the guards of a draft, and its sentences have the words of passages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.fakes import CLEAN
from tests.support.readings import reading, said
from tests.support.samples import account, assessment, passage, scores
from tests.unit.test_pipeline import ANSWER, DOWN, NEXT, SENT, World
from worker.model import Decision, EventType, FailurePolicy, Quote, ReadSentence, Verdict
from worker.reasons import Reason
from worker.reply_sentences import sentences_within, supported_sentences

JET = "Every order travels by private jet and carries a lifetime guarantee since 1987."
HALF = replace(ANSWER, text=f"{ANSWER.text} {JET}")
PARTIAL: dict[str, Any] = {"assessment_policy": {"fallback_levels": ["partial", "policy"]}}


READ = reading(said("supported", SENT), said("not_mentioned", probability=0.0))


async def decided(*moderation: Any, **settings: Any) -> tuple[World, Decision]:
    world = World(model=[HALF], moderation=list(moderation), judge=[READ])
    return world, await world.decide(owner=account(**PARTIAL | settings))


async def test_the_shortened_text_is_moderated_as_it_is_sent() -> None:
    """After the message and the whole draft; both passed."""
    world, decision = await decided(CLEAN)

    assert decision.reason_code == Reason.PARTIAL_REPLY
    assert decision.reply is not None
    assert decision.reply.startswith(f"{SENT}\n")
    assert [text for text, _ in world.moderator.asked][1:] == [f"{SENT} {JET}", decision.reply]


async def test_a_shortened_text_that_moderation_flags_is_not_sent() -> None:
    """The sentence that was left out may be the one that made the rest harmless."""
    _, decision = await decided(CLEAN, CLEAN, scores(("self-harm",), **{"self-harm": 0.9}))

    assert (decision.reason_code, decision.reply) == (Reason.REPLY_MODERATION_FLAGGED, None)
    assert decision.quarantine


async def test_a_shortened_text_that_could_not_be_moderated_is_not_sent() -> None:
    """As the account wants it for every text."""
    _, decision = await decided(CLEAN, CLEAN, DOWN, moderation_failure=FailurePolicy.BLOCK)

    assert (decision.reason_code, decision.reply) == (Reason.REPLY_MODERATION_UNAVAILABLE, None)


async def test_a_message_deleted_while_the_shortened_text_is_moderated_gets_no_reply() -> None:
    """What came meanwhile is looked at after the last call."""
    world, owner = World(model=[HALF], newer=[()], judge=[READ]), account(**PARTIAL)
    deleted = replace(NEXT, type=EventType.MESSAGE_DELETED, message_id="m1")

    def arrive() -> None:
        if len(world.moderator.asked) == 3 and world.arrivals is not None:
            world.arrivals.script = [(deleted,)]

    world.moderator.before = arrive
    decision = await world.decide(owner=owner)

    assert (decision.reason_code, decision.reply) == (Reason.MESSAGE_WITHDRAWN, None)


@pytest.mark.parametrize("judge", [True, False])
async def test_scores_and_supported_sentences_come_in_one_call(*, judge: bool) -> None:
    """For a policy that scores the whole draft; without a judge no part is sent."""
    answer = reading(
        said("supported", SENT),
        said("not_mentioned", probability=0.0),
        scores={"grounding": 0.2, "certainty": 0.2},
    )
    world = World(model=[HALF], judge=[answer] if judge else None)
    policy = {"name": "guardrail", "fallback_levels": ["partial", "policy"]}
    decision = await world.decide(owner=account(assessment_policy=policy))

    assert (decision.reason_code, (decision.reply or "").startswith(SENT)) == (
        (Reason.PARTIAL_REPLY, True) if judge else (Reason.LOW_CONFIDENCE_ESCALATED, False)
    )
    assert [
        (each.wants_verdicts, set(each.aspects)) for each in (world.judge.asked if world.judge else ())
    ] == ([(True, {"grounding", "certainty"})] if judge else [])


HOURS = passage(text="We are open from nine to six on weekdays. Parking is free.")
DRAFT = "We open at nine. [1] Pets may come in. You are welcome!"


def read(sentence: str, verdict: Verdict, support: float | None, *quotes: Quote) -> ReadSentence:
    """A sentence of the draft with its reading."""
    start = DRAFT.index(sentence)
    return ReadSentence(
        start=start, end=start + len(sentence), verdict=verdict, support=support, quotes=quotes
    )


SENTENCES = (
    read("We open at nine. ", Verdict.SUPPORTED, 0.9, Quote(passage=1, start=0, end=24)),
    read("Pets may come in.", Verdict.SUPPORTED, 0.0, Quote(passage=1, start=None, end=None)),
    read("You are welcome!", Verdict.NO_CLAIM, None),
)
LOOK = assessment(sentences=SENTENCES)


def test_a_supported_sentence_has_its_quotes_without_citation_marks() -> None:
    """Sentences that code did not believe, or that state nothing, are not published."""
    sent = "We open at nine. Pets may come in. You are welcome!"
    found = supported_sentences(LOOK, draft=DRAFT, sent=sent, passages=(HOURS,))

    quotes = [{"passage_id": HOURS.passage_id, "number": 1, "text": "We are open from nine to"}]
    assert found == [{"text": "We open at nine.", "support": 0.9, "quotes": quotes}]


def test_a_quote_of_a_title_is_the_title() -> None:
    """It has no place in the text."""
    look = assessment(
        sentences=(read("Pets may come in.", Verdict.SUPPORTED, 0.8, Quote(passage=1, start=None, end=None)),)
    )
    found = supported_sentences(look, draft=DRAFT, sent=DRAFT, passages=(HOURS,))

    assert found is not None
    assert found[0]["quotes"][0]["text"] == HOURS.title  # type: ignore[index, call-overload]


def test_a_text_without_a_reading_publishes_nothing() -> None:
    """A fallback text, and a draft that no judge read."""
    assert supported_sentences(LOOK, draft=None, sent="Sorry.", passages=(HOURS,)) is None
    assert supported_sentences(assessment(), draft=DRAFT, sent=DRAFT, passages=(HOURS,)) is None
    assert supported_sentences(LOOK, draft=DRAFT, sent="Sorry.", passages=(HOURS,)) == []


def test_places_follow_a_draft_into_its_part() -> None:
    """A sentence that the part leaves out has an empty place."""
    part = "You are welcome! We open at nine. [1]"
    one, other, last = sentences_within("We open at nine. [1] You are welcome!", DRAFT, SENTENCES)

    assert (one.start, one.end) == (0, len("We open at nine."))
    assert other.start == other.end
    assert last.end - last.start == len("You are welcome!")
    assert sentences_within(part, DRAFT, SENTENCES)[0].start == part.index("We open")
