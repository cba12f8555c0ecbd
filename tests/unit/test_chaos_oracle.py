"""The oracle of chaos runs: each law, broken in a recorded run, is reported."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from chaos.breaches import MUTATIONS, PROJECT
from chaos.kinds import FaultKind, Law
from chaos.laws.observations import (
    EventKind,
)
from chaos.laws.oracle import breaches
from chaos.observing.prompt_watch import foreign_marks
from chaos.plan import FaultThread, Plan, schedule, thread_of
from tests.support.chaos_changes import BREACHES, Change
from tests.support.chaos_runs import (
    AFTER,
    ANSWERED,
    FLAGGED,
    HANDED,
    RIGHT,
    decision,
    event,
    key,
    line,
    opened,
    with_person,
    with_reason,
)


def test_a_right_run_breaks_no_law() -> None:
    """Every law is judged, and none is broken."""
    found = breaches(RIGHT)

    assert set(found) == set(Law)
    assert not any(found.values())


@pytest.mark.parametrize(("reason", "is_breach"), [("LLM_ERROR", False), ("REPLIED", True)])
def test_a_message_without_a_draft_may_stay_in_the_history(reason: str, *, is_breach: bool) -> None:
    """Only its draft would have been flagged; a draft that passed is a breach."""
    seen = replace(
        RIGHT,
        published={**RIGHT.published, "e8": event("e8", "m", EventKind.BAD_DRAFT)},
        entries={**RIGHT.entries, "12-0": "e8"},
        keys=(*RIGHT.keys, key("e8", "12-0", 17)),
        decisions=(*RIGHT.decisions, decision("e8", "ignore", reason)),
        history=(*RIGHT.history, line("m", "e8", "zqf8q")),
    )

    assert bool(breaches(seen)[Law.RESIDUE]) == is_breach


def test_a_message_to_people_who_have_the_conversation_may_wait_for_them_too() -> None:
    """It is ignored by the AI, and opens an escalation of its own after the first one was closed."""
    further = event("e7", "h", EventKind.QUESTION)
    seen = replace(
        RIGHT,
        published={**RIGHT.published, "e7": further},
        entries={**RIGHT.entries, "11-0": "e7"},
        keys=(*RIGHT.keys, key("e7", "11-0", 16)),
        decisions=(*RIGHT.decisions, decision("e7", "ignore", "OWNED_BY_PEOPLE")),
        escalations=(*RIGHT.escalations, opened("d-e7")),
        history=(*RIGHT.history, line("h", "e7", "And today?")),
    )

    assert not any(breaches(seen).values())


def test_a_person_may_write_after_a_reply() -> None:
    """The reply was on the stream in the same millisecond, or before."""
    assert not any(breaches(with_person(RIGHT, wrote_ms=51)).values())


@pytest.mark.parametrize(
    ("law", "change"), [pytest.param(law, c, id=f"{law}: {what}") for law, what, c in BREACHES]
)
def test_each_breach_is_reported(law: Law, change: Change) -> None:
    """A recorded run with one breach is reported under its law."""
    assert breaches(change(RIGHT))[law]


def test_people_and_waiting_webhooks_keep_a_reply_back() -> None:
    """A reply cancelled by a takeover that the run itself made, its webhook, and one with a later attempt."""
    cancelled = replace(RIGHT, replies=RIGHT.replies[1:], outbox=with_reason(RIGHT, "taken_over"))
    without_webhook = replace(cancelled, webhooks=RIGHT.webhooks[1:])
    by_webhook = replace(RIGHT, webhooks=RIGHT.webhooks[1:], webhooks_cancelled={ANSWERED: "taken_over"})
    later = replace(RIGHT, taken={}, webhooks=RIGHT.webhooks[1:], webhooks_later=frozenset({ANSWERED}))

    for seen in (without_webhook, by_webhook, later):
        assert not breaches(seen)[Law.NOT_SENT]


def test_every_law_has_a_planted_breach() -> None:
    """The table of breaches is total."""
    assert {law for law, _, _ in BREACHES} == set(Law)


def test_every_law_has_a_defect_to_plant_in_the_code() -> None:
    """Each replaces one text that the code has once."""
    places = [(PROJECT / each.file).read_text().count(each.right) for each in MUTATIONS]

    assert {each.law for each in MUTATIONS} == set(Law)
    assert places == [1] * len(MUTATIONS)


def test_an_attempt_without_an_answer_may_have_been_an_entry() -> None:
    """An unknown entry of an event whose publication was repeated breaks no law; a second one does."""
    once = replace(RIGHT, duplicates=(*RIGHT.duplicates, ("9-9", AFTER)), unacknowledged={AFTER: 1})
    twice = replace(once, duplicates=(*once.duplicates, ("9-8", AFTER)))

    assert not any(breaches(once).values())
    assert breaches(twice)[Law.INVENTED]


def test_where_people_own_a_conversation_only_rules_flag() -> None:
    """A text that moderation would have flagged stays in the history of people."""
    people = replace(RIGHT.published[HANDED], conversation="m")
    seen = replace(
        RIGHT,
        published={**RIGHT.published, HANDED: people},
        history=(*RIGHT.history, line("m", FLAGGED, "zqf3q")),
    )

    assert not breaches(seen)[Law.RESIDUE]


def test_marks_of_the_own_message_are_no_residue() -> None:
    """Only marks of earlier messages count."""
    earlier = {"role": "user", "content": "kill zqf7q"}
    own = {"role": "user", "content": "hours? zqf8q"}

    assert foreign_marks({"messages": [earlier, own]}) == {"7"}


def test_a_schedule_is_spread_and_repeatable() -> None:
    """The same seed gives the same faults, as many of each kind as planned, within the load."""
    plan = Plan(events=1000, workers=2, seed=3, counts={FaultKind.WORKER_KILL: 5, FaultKind.RESET: 2})
    found = schedule(plan)

    assert found == schedule(plan)
    assert [len(found[thread]) for thread in FaultThread] == [5, 2]
    assert all(0 <= each.after < 1000 for scheduled in found.values() for each in scheduled)
    assert {thread_of(kind) for kind in FaultKind} == set(FaultThread)


def test_faults_of_the_warm_up_come_in_its_share() -> None:
    """They come besides the others, which stay where they were."""
    counts = {FaultKind.WORKER_KILL: 5, FaultKind.RESET: 2}
    plan = Plan(events=1000, workers=2, seed=3, counts=counts)
    warm = replace(plan, warm_counts={FaultKind.RESET: 4}, warm_share=0.1)
    alone, both = (Counter(schedule(each)[FaultThread.SURROUNDINGS]) for each in (plan, warm))
    early = both - alone

    assert early.total() == 4
    assert all(each.after < 100 for each in early)
    assert alone <= both
    assert warm.planned == {FaultKind.WORKER_KILL: 5, FaultKind.RESET: 6}
