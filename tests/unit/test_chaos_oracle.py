"""The oracle of chaos runs: each law, broken in a recorded run, is reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from chaos.breaches import MUTATIONS, PROJECT
from chaos.kinds import FaultKind, Law
from chaos.observations import (
    DecisionRow,
    EventKind,
    HistoryRow,
    KeyRow,
    Observations,
    OutboxRow,
    PublishedEvent,
    SeenEscalation,
    SeenJob,
    SeenReply,
    SeenWebhook,
)
from chaos.oracle import GRACE_MS, breaches
from chaos.plan import FaultThread, Plan, schedule, thread_of
from chaos.prompt_watch import foreign_marks

ANSWERED, SECOND, FLAGGED, HANDED, AFTER, BROKEN = "e1", "e2", "e3", "e4", "e5", "e6"


def event(name: str, conversation: str, kind: EventKind) -> PublishedEvent:
    return PublishedEvent(name=name, conversation=conversation, kind=kind)


def reply(stream_id: str, name: str, conversation: str, *, handoff: bool = False) -> SeenReply:
    return SeenReply(stream_id=stream_id, name=name, conversation=conversation, handoff=handoff)


def webhook(identifier: str, name: str, *, handoff: bool = False) -> SeenWebhook:
    return SeenWebhook(identifier=identifier, name=name, conversation="c", handoff=handoff)


def key(name: str, entry_id: str, commit: int) -> KeyRow:
    return KeyRow(name=name, entry_id=entry_id, decision_id=f"d-{name}", commit=commit)


def opened(decision_id: str) -> SeenEscalation:
    return SeenEscalation(decision_id=decision_id, closed=False)


def line(conversation: str, name: str, text: str) -> HistoryRow:
    return HistoryRow(conversation=conversation, name=name, by_author=True, text=text)


def with_job(seen: Observations, **changes: Any) -> Observations:
    return replace(seen, jobs=(replace(seen.jobs[0], **changes),))


def with_ending(seen: Observations, kind: str, reason: str) -> Observations:
    return replace(seen, decisions=(decision(ANSWERED, kind, reason), *seen.decisions[1:]))


def failures(seen: Observations, count: int) -> Observations:
    """A run in which the model failed for so many further questions."""
    names = [f"f{number}" for number in range(count)]
    return replace(
        seen,
        published={**seen.published, **{name: event(name, name, EventKind.QUESTION) for name in names}},
        entries={**seen.entries, **{f"{100 + n}-0": name for n, name in enumerate(names)}},
        keys=(*seen.keys, *(key(name, f"{100 + n}-0", 100 + n) for n, name in enumerate(names))),
        decisions=(*seen.decisions, *(decision(name, "ignore", "LLM_ERROR") for name in names)),
    )


def late_webhook(seen: Observations) -> SeenWebhook:
    return replace(seen.webhooks[0], last_ms=70 + GRACE_MS + 1)


def with_reason(seen: Observations, reason: str) -> tuple[OutboxRow, ...]:
    return (replace(seen.outbox[0], cancelled=reason), *seen.outbox[1:])


def decision(name: str, kind: str, reason: str = "") -> DecisionRow:
    return DecisionRow(decision_id=f"d-{name}", name=name, decision=kind, reason=reason)


RIGHT: Final = Observations(
    published={
        each.name: each
        for each in (
            event(ANSWERED, "c", EventKind.QUESTION),
            event(SECOND, "c", EventKind.QUESTION),
            event(FLAGGED, "m", EventKind.MODERATED),
            event(HANDED, "h", EventKind.HANDOFF),
            event(AFTER, "t", EventKind.AFTER_TAKEOVER),
            event(BROKEN, "", EventKind.MALFORMED),
        )
    },
    entries={"1-1": ANSWERED, "1-2": SECOND, "1-3": SECOND, "2-0": FLAGGED, "3-0": HANDED, "4-0": AFTER}
    | {"10-0": BROKEN},
    taken={"c": "60-0"},
    keys=(
        key(ANSWERED, "1-1", 11),
        key(SECOND, "1-2", 12),
        key(FLAGGED, "2-0", 13),
        key(HANDED, "3-0", 14),
        key(AFTER, "4-0", 15),
    ),
    decisions=(
        decision(ANSWERED, "respond", "REPLIED"),
        decision(SECOND, "respond", "REPLIED"),
        decision(FLAGGED, "ignore", "MODERATION_FLAGGED"),
        decision(HANDED, "escalate", "LOW_CONFIDENCE_ESCALATED"),
        decision(AFTER, "ignore", "OWNED_BY_PEOPLE"),
    ),
    duplicates=(("1-3", SECOND),),
    dead=(("10-0", BROKEN),),
    history=(line("c", ANSWERED, "When?"), line("c", SECOND, "Where?"), line("h", HANDED, "A human")),
    outbox=(
        OutboxRow(name=ANSWERED, handoff=False),
        OutboxRow(name=SECOND, handoff=False),
        OutboxRow(name=HANDED, handoff=True),
    ),
    replies=(
        reply("50-0", ANSWERED, "c"),
        reply("51-0", SECOND, "c"),
        reply("52-0", HANDED, "h", handoff=True),
    ),
    escalations=(
        SeenEscalation(decision_id="d-e4", closed=False),
        SeenEscalation(decision_id="d-e4", closed=True),
    ),
    webhooks=(webhook("w1", ANSWERED), webhook("w2", SECOND), webhook("w3", HANDED, handoff=True)),
    jobs=(
        SeenJob(
            name="export",
            state="done",
            expected=frozenset({"d-e1"}),
            allowed=frozenset({"d-e1", "d-e2"}),
            processed=("d-e1", "d-e2"),
        ),
    ),
)

Change = Callable[[Observations], Observations]
BREACHES: Final[tuple[tuple[Law, str, Change], ...]] = (
    (Law.LOST, "an entry without an end", lambda o: replace(o, duplicates=())),
    (
        Law.LOST,
        "an event without a decision",
        lambda o: replace(o, keys=o.keys[:4], decisions=o.decisions[:4]),
    ),
    (
        Law.TWICE,
        "an entry that ended twice",
        lambda o: replace(o, duplicates=(*o.duplicates, ("4-0", AFTER))),
    ),
    (
        Law.TWICE,
        "a second decision",
        lambda o: replace(o, decisions=(*o.decisions, decision(AFTER, "ignore"))),
    ),
    (Law.INVENTED, "an end of no entry", lambda o: replace(o, duplicates=(*o.duplicates, ("9-9", AFTER)))),
    (Law.INVENTED, "a decision without its key", lambda o: replace(o, keys=o.keys[1:])),
    (Law.DEAD_LETTERS, "an event as dead letter", lambda o: replace(o, dead=(*o.dead, ("4-0", AFTER)))),
    (Law.DEAD_LETTERS, "no dead letter", lambda o: replace(o, dead=())),
    (Law.ORDER, "commits", lambda o: replace(o, keys=(replace(o.keys[0], commit=19), *o.keys[1:]))),
    (Law.ORDER, "two in one commit", lambda o: replace(o, keys=(replace(o.keys[0], commit=12), *o.keys[1:]))),
    (Law.ORDER, "history", lambda o: replace(o, history=o.history[::-1])),
    (Law.ORDER, "replies", lambda o: replace(o, replies=o.replies[::-1])),
    (Law.ORDER, "a later entry", lambda o: replace(o, keys=(o.keys[0], key(SECOND, "1-3", 12), *o.keys[2:]))),
    (Law.NOT_SENT, "a reply", lambda o: replace(o, replies=o.replies[1:])),
    (Law.NOT_SENT, "an outbox row", lambda o: replace(o, outbox=o.outbox[1:])),
    (Law.NOT_SENT, "an escalation", lambda o: replace(o, escalations=())),
    (Law.NOT_SENT, "a webhook", lambda o: replace(o, webhooks=o.webhooks[1:])),
    (
        Law.NOT_SENT,
        "cancelled for people who never came",
        lambda o: replace(o, taken={}, replies=o.replies[1:], outbox=with_reason(o, "taken_over")),
    ),
    (
        Law.NOT_SENT,
        "cancelled as too late",
        lambda o: replace(o, replies=o.replies[1:], outbox=with_reason(o, "too_late")),
    ),
    (
        Law.NOT_SENT,
        "a webhook cancelled for people who never came",
        lambda o: replace(o, taken={}, webhooks=o.webhooks[1:], webhooks_cancelled={ANSWERED: "taken_over"}),
    ),
    (
        Law.NOT_SENT,
        "a webhook cancelled as too late",
        lambda o: replace(o, webhooks=o.webhooks[1:], webhooks_cancelled={ANSWERED: "too_late"}),
    ),
    (
        Law.UNAPPROVED,
        "a blocked one",
        lambda o: replace(o, replies=(*o.replies, reply("53-0", FLAGGED, "m"))),
    ),
    (Law.UNAPPROVED, "by webhook", lambda o: replace(o, webhooks=(*o.webhooks, webhook("w4", FLAGGED)))),
    (Law.UNAPPROVED, "no decision", lambda o: replace(o, replies=(*o.replies, reply("53-0", HANDED, "h")))),
    (Law.UNAPPROVED, "an escalation", lambda o: replace(o, escalations=(*o.escalations, opened("d-e1")))),
    (Law.UNAPPROVED, "by nobody", lambda o: replace(o, escalations=(*o.escalations, opened("d-e9")))),
    (Law.SENT_TWICE, "a reply", lambda o: replace(o, replies=(*o.replies, reply("53-0", SECOND, "c")))),
    (
        Law.SENT_TWICE,
        "another webhook id",
        lambda o: replace(o, webhooks=(*o.webhooks, webhook("w9", ANSWERED))),
    ),
    (Law.SENT_TWICE, "an escalation", lambda o: replace(o, escalations=(o.escalations[0], *o.escalations))),
    (Law.SENT_TWICE, "closed, then opened", lambda o: replace(o, escalations=o.escalations[::-1])),
    (Law.AFTER_TAKEOVER, "a late reply", lambda o: replace(o, taken={"c": "50-0"})),
    (
        Law.AFTER_TAKEOVER,
        "a late webhook",
        lambda o: replace(o, taken={"c": "70-0"}, webhooks=(late_webhook(o), *o.webhooks[1:])),
    ),
    (
        Law.AFTER_TAKEOVER,
        "a later event",
        lambda o: replace(o, replies=(*o.replies, reply("53-0", AFTER, "t"))),
    ),
    (Law.RESIDUE, "in the history", lambda o: replace(o, history=(*o.history, line("m", FLAGGED, "zqf3q")))),
    (Law.RESIDUE, "in a prompt", lambda o: replace(o, residue=(FLAGGED,))),
    (
        Law.RESIDUE,
        "flagged text under another name",
        lambda o: replace(o, history=(*o.history, line("c", "other", "zqf3q"))),
    ),
    (Law.RESIDUE, "prompts unseen", lambda o: replace(o, prompts_missed=1)),
    (Law.ENDING, "a question without an answer", lambda o: with_ending(o, "ignore", "NO_ANSWER")),
    (
        Law.ENDING,
        "left to people who were not called",
        lambda o: with_ending(replace(o, taken={}), "ignore", "OWNED_BY_PEOPLE"),
    ),
    (Law.ENDING, "most calls failed", lambda o: failures(o, 30)),
    (Law.JOBS, "failed", lambda o: with_job(o, state="failed", processed=())),
    (Law.JOBS, "left out", lambda o: with_job(o, processed=("d-e2",))),
    (Law.JOBS, "twice", lambda o: with_job(o, processed=("d-e1", "d-e1"))),
    (Law.JOBS, "beyond its list", lambda o: with_job(o, processed=("d-e1", "d-e3"))),
    (Law.STUCK, "an entry", lambda o: replace(o, left={"entries on the stream": 1})),
    (Law.CRASH, "a worker", lambda o: replace(o, ended={"worker 1": 2})),
    (Law.LEAK, "a lane", lambda o: replace(o, leaks=("1 lane without entries",))),
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
    )

    assert not any(breaches(seen).values())


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
