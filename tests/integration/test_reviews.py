"""Reviews as they are stored: appended, taken back, with what they do to history and replies."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID, uuid4

import orjson
import pytest
from redis.asyncio import Redis

from db import outbox
from db.connection import Connection
from db.pool import create_pool
from db.review_store import Store
from db.reviews import exchanges, rulings, submission, withdrawal
from db.reviews.remedies import RemedyImpossible, UndoTooLate
from db.reviews.rulings import (
    DecisionGone,
    Effect,
    Remedy,
    Reviewer,
    ReviewRejected,
    ReviewSource,
    Ruling,
    RulingReason,
)
from db.reviews.submission import StaleReview, StoredReview, Submission
from tasks.sending.relay import Relay
from tasks.sending.replies import REPLY_ROWS
from tasks.sending.retractions import RETRACTION_ROWS
from tests.support.audited import blocked, history, ignored, record, replied, rows
from tests.support.queues import new_reviewer
from tests.support.relays import none_sent, send_and_die
from tests.support.reviewing import stored
from tests.support.waiting import waiting_for_locks
from worker.model import Decision, DecisionKind, EventType
from worker.reasons import Reason

NOW = datetime.fromisoformat("2026-11-22T10:00:00+00:00")
SOON = NOW + timedelta(seconds=30)
LATER = NOW + timedelta(seconds=61)


def ruling(decided: Decision, by: Reviewer, word: Ruling = Ruling.AGREE, **more: Any) -> Submission:
    """A review of a decision."""
    values: dict[str, Any] = {"decision_id": decided.decision_id, "reviewer": by, "ruling": word}
    if word is Ruling.OVERTURN:
        values |= {"reason": RulingReason.CONTEXT_MATTERS, "corrected": DecisionKind.ESCALATE}
    return Submission(**values | more)


def submit(url: str, given: Submission, at: datetime = NOW) -> StoredReview:
    """Store a review that has seen everything."""

    async def change(connection: Connection) -> StoredReview:
        seen = given.seen or await rulings.last_seen_review(connection, given.decision_id)
        return await submission.submit_review(connection, replace(given, seen=seen), at)

    return stored(url, change)


def undo(url: str, review_id: UUID, by: Reviewer, at: datetime = SOON) -> rulings.Review:
    """Take a review back."""
    return stored(url, lambda connection: withdrawal.withdraw_review(connection, review_id, by, at))


def standing(url: str, decided: Decision) -> tuple[str, int]:
    """State of a decision and how many reviews stand."""
    found = rows(url, "SELECT state, reviews FROM review_states WHERE decision_id = %s", decided.decision_id)
    return (found[0]["state"], found[0]["reviews"])


def test_reviews_are_appended_and_the_state_follows(database_url: str) -> None:
    """Two people of different minds make a dispute; an unsure one does not."""
    decided = ignored()
    record(database_url, decided)
    first, second, third = (new_reviewer(database_url) for _ in range(3))
    states = []
    for by, word in ((first, Ruling.AGREE), (second, Ruling.UNSURE), (third, Ruling.OVERTURN)):
        submit(database_url, ruling(decided, by, word))
        states.append(standing(database_url, decided))

    assert states == [("agree", 1), ("agree", 2), ("disputed", 3)]


def test_a_second_review_of_the_same_person_withdraws_their_first(database_url: str) -> None:
    """One standing review a person and decision; earlier reviews stay readable."""
    decided = ignored()
    record(database_url, decided)
    by = new_reviewer(database_url)
    submit(database_url, ruling(decided, by))
    submit(database_url, ruling(decided, by, Ruling.OVERTURN), LATER)
    said = stored(database_url, lambda connection: rulings.list_reviews(connection, decided.decision_id))

    assert [(each.ruling, each.standing) for each in said] == [
        ("agree", False),
        ("withdrawn", False),
        ("overturn", True),
    ]
    assert standing(database_url, decided) == ("overturn", 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ruling": Ruling.OVERTURN, "reason": None}, "reason: expected a reason code"),
        ({"corrected": DecisionKind.RESPOND}, "corrected decision: expected only with overturn"),
        (
            {"ruling": Ruling.OVERTURN, "reason": RulingReason.OTHER, "corrected": DecisionKind.IGNORE},
            "expected another",
        ),
        ({"note": "x" * 4001}, "note: expected at most 4000 characters, got 4001"),
        ({"note": "a\0b"}, "NUL"),
        ({"ruling": Ruling.WITHDRAWN}, "ruling: expected agree"),
    ],
)
def test_what_makes_no_sense_is_refused(database_url: str, change: dict[str, Any], message: str) -> None:
    """With a message that names the field, and nothing is stored."""
    decided = ignored()
    record(database_url, decided)
    given = replace(ruling(decided, new_reviewer(database_url)), **change)
    with pytest.raises(ReviewRejected, match=message):
        submit(database_url, given)

    assert rows(database_url, "SELECT 1 FROM review_states WHERE decision_id = %s", decided.decision_id) == []


@pytest.mark.parametrize("decision_id", [uuid4(), UUID(int=2**128 - 1)])
def test_a_decision_that_is_not_there_is_named(database_url: str, decision_id: UUID) -> None:
    """Erased meanwhile, or never one of ours."""
    given = Submission(decision_id=decision_id, reviewer=new_reviewer(database_url), ruling=Ruling.AGREE)
    with pytest.raises(DecisionGone):
        submit(database_url, given)


def test_of_two_who_submit_at_once_one_is_shown_the_other(database_url: str) -> None:
    """Both had read the same page; nothing of the second is stored."""
    decided = ignored()
    record(database_url, decided)
    people = [new_reviewer(database_url) for _ in range(6)]

    async def race() -> list[StoredReview | BaseException]:
        async with Store(database_url, size=6) as store:

            async def one(by: Reviewer) -> StoredReview:
                async with store.writing() as connection:
                    return await submission.submit_review(connection, ruling(decided, by, note=by.login), NOW)

            return await asyncio.gather(*(one(by) for by in people), return_exceptions=True)

    ends = asyncio.run(race())
    won = [end for end in ends if isinstance(end, StoredReview)]
    lost = [end for end in ends if isinstance(end, StaleReview)]

    assert (len(won), len(lost)) == (1, 5)
    assert all([each.note for each in end.reviews] == [won[0].review.note] for end in lost)
    assert standing(database_url, decided) == ("agree", 1)


def test_overturning_a_block_restores_the_message_where_it_was_written(database_url: str) -> None:
    """Between what came before and after it, not at the end."""
    talk = {"conversation_id": "restored"}
    before, sealed, after = (
        ignored(text="one", **talk),
        blocked(text="two", **talk),
        ignored(text="three", **talk),
    )
    record(database_url, before, sealed, after)
    gap = history(database_url, "restored")
    given = ruling(sealed, new_reviewer(database_url), Ruling.OVERTURN, remedy=Remedy.RESTORE)
    done = submit(database_url, given)

    assert [text for _, text in gap] == ["one", "three"]
    assert [text for _, text in history(database_url, "restored")] == ["one", "two", "three"]
    assert done.review.effect is Effect.RESTORED


def test_a_draft_that_was_never_sent_is_left_out_when_asked(database_url: str) -> None:
    """A prompt would otherwise contain a reply that was never sent; the page proposes to leave it sealed."""
    sealed = blocked(rejected_draft="Never said.", conversation_id="half")
    record(database_url, sealed)

    async def look(connection: Connection) -> tuple[Remedy, ...]:
        decided = await exchanges.load_subject(connection, sealed.decision_id)
        assert decided is not None
        place = await exchanges.load_exchange(connection, decided, NOW)
        return exchanges.offered_remedies(decided, Ruling.OVERTURN, place)

    offers = stored(database_url, look)
    given = ruling(sealed, new_reviewer(database_url), Ruling.OVERTURN, remedy=Remedy.RESTORE_MESSAGE)
    submit(database_url, given)
    left = rows(database_url, "SELECT role FROM quarantine WHERE decision_id = %s", sealed.decision_id)

    assert offers == (Remedy.RESTORE_MESSAGE, Remedy.RESTORE)
    assert history(database_url, "half") == [("user", "is this spam?")]
    assert left == [{"role": "assistant"}]


def test_an_undone_restore_is_sealed_again_with_its_old_expiry(database_url: str) -> None:
    """An undo does not extend the retention of the exchange."""
    sealed = blocked(conversation_id="undone", rejected_draft="No.")
    record(database_url, sealed)
    query = "SELECT role, text, created_at, expires_at FROM quarantine WHERE decision_id = %s ORDER BY role"
    before = rows(database_url, query, sealed.decision_id)
    by = new_reviewer(database_url)
    done = submit(database_url, ruling(sealed, by, Ruling.OVERTURN, remedy=Remedy.RESTORE))
    back = undo(database_url, done.review.id, by)

    assert rows(database_url, query, sealed.decision_id) == before
    assert history(database_url, "undone") == []
    assert (back.ruling, back.effect, back.withdraws) == (Ruling.WITHDRAWN, Effect.REMOVED, done.review.id)
    assert standing(database_url, sealed) == ("open", 0)


def test_an_exchange_that_expired_cannot_be_restored_but_its_decision_can_be_reviewed(
    database_url: str,
) -> None:
    """The message says so; the review without the remedy goes through."""
    sealed = blocked()
    record(database_url, sealed)
    given = ruling(sealed, new_reviewer(database_url), Ruling.OVERTURN, remedy=Remedy.RESTORE)
    late = sealed.decided_at + timedelta(days=31)
    with pytest.raises(RemedyImpossible, match="possible without it"):
        submit(database_url, given, late)
    done = submit(database_url, replace(given, remedy=Remedy.NONE), late)

    assert done.review.effect is Effect.NONE


def test_a_remedy_that_does_not_follow_from_the_ruling_is_refused(database_url: str) -> None:
    """Agreeing with a block restores nothing, agreeing with a reply removes nothing."""
    sealed, sent = blocked(), replied()
    record(database_url, sealed, sent)
    by = new_reviewer(database_url)
    for decided, remedy in ((sealed, Remedy.RESTORE), (sent, Remedy.REMOVE)):
        with pytest.raises(RemedyImpossible):
            submit(database_url, ruling(decided, by, remedy=remedy))


async def bodies(redis: Redis, stream: str) -> list[dict[str, Any]]:
    """What a stream holds."""
    entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", await redis.xrange(stream))
    return [orjson.loads(fields[b"data"]) for _, fields in entries]


def after_undo() -> datetime:
    """A moment after the undo windows of this test: those of removals begin by the clock of Postgres."""
    return datetime.now(UTC) + timedelta(minutes=2)


def relayed(url: str, redis_url: str, at: datetime) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Let both relays look once, at a moment; all replies and retractions on the streams."""

    async def run() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        redis = Redis.from_url(redis_url)
        async with create_pool(url, size=1, application="test") as source:
            await Relay(REPLY_ROWS, source, redis, stream="hushgate:replies", now=lambda: at).deliver_batch()
            await Relay(
                RETRACTION_ROWS, source, redis, stream="hushgate:retractions", now=lambda: at
            ).deliver_batch()
        found = [await bodies(redis, f"hushgate:{name}") for name in ("replies", "retractions")]
        await redis.aclose()
        return found[0], found[1]

    return asyncio.run(run())


def die_after_sending(url: str, redis_url: str) -> None:
    """A relay sends what waits, and is killed before it records that."""

    async def send() -> None:
        redis = Redis.from_url(redis_url)
        async with create_pool(url, size=1, application="test") as source:
            await send_and_die(source, redis, "hushgate:replies", NOW)
        await redis.aclose()

    asyncio.run(send())


def test_a_removed_reply_that_is_not_out_yet_never_goes_out(database_url: str, redis_url: str) -> None:
    """It is held back, and the exchange is sealed."""
    sent = replied(conversation_id="held-back")
    record(database_url, sent)
    given = ruling(sent, new_reviewer(database_url), Ruling.OVERTURN, remedy=Remedy.REMOVE)
    submit(database_url, given)
    replies, asked = relayed(database_url, redis_url, after_undo())

    assert str(sent.decision_id) not in {each["decision_id"] for each in replies}
    assert asked == []
    assert history(database_url, "held-back") == []


def test_a_removal_does_not_wait_for_a_relay_that_waits_for_it(database_url: str) -> None:
    """A relay that cancels the reply deletes the same lines of the history."""
    sent = replied(conversation_id="cancelled-meanwhile")
    record(database_url, sent)
    rows(database_url, "UPDATE outbox SET send_before = %s WHERE decision_id = %s", NOW, sent.decision_id)
    given = ruling(sent, new_reviewer(database_url), Ruling.OVERTURN, remedy=Remedy.REMOVE)

    async def at_once() -> StoredReview:
        reviewing = []

        async def were_sent(events: Sequence[tuple[str, str]]) -> list[UUID | None]:
            reviewing.append(asyncio.ensure_future(asyncio.to_thread(submit, database_url, given, SOON)))
            await waiting_for_locks(database_url, 1)
            return await none_sent(events)

        async with (
            create_pool(database_url, size=1, application="test") as source,
            outbox.waiting_replies(source, 200, SOON, were_sent),
        ):
            pass
        return await reviewing[0]

    assert asyncio.run(at_once()).review.effect is Effect.REMOVED
    assert history(database_url, "cancelled-meanwhile") == []


@pytest.mark.parametrize("deleted", [True, False])
def test_nothing_of_a_deleted_message_returns_to_the_history(database_url: str, deleted: bool) -> None:
    """Neither a restored block nor an undone removal brings it back."""
    flagged = blocked(conversation_id=f"deleted-{deleted}")
    sent = replied(conversation_id=f"deleted-{deleted}")
    record(database_url, flagged, sent)
    by = new_reviewer(database_url)
    removed = submit(database_url, ruling(sent, by, Ruling.OVERTURN, remedy=Remedy.REMOVE))
    if deleted:
        record(database_url, *map(deletion, (flagged, sent)))
    undo(database_url, removed.review.id, by)
    given = ruling(flagged, by, Ruling.OVERTURN, remedy=Remedy.RESTORE_MESSAGE)
    if deleted:
        with pytest.raises(RemedyImpossible, match="deleted the message"):
            submit(database_url, given)
    else:
        submit(database_url, given)

    assert (history(database_url, f"deleted-{deleted}") == []) is deleted


def deletion(of: Decision) -> Decision:
    """The author deletes the message of a decision."""
    made = ignored(
        conversation_id=of.event.conversation_id,
        message_id=of.event.message_id,
        reason_code=Reason.MESSAGE_DELETED,
        remember=False,
    )
    return replace(made, event=replace(made.event, type=EventType.MESSAGE_DELETED))


def test_an_undone_removal_sends_the_reply_after_all(database_url: str, redis_url: str) -> None:
    """History and outbox are what they were."""
    sent = replied(conversation_id="after-all")
    record(database_url, sent)
    by = new_reviewer(database_url)
    remembered = history(database_url, "after-all")
    done = submit(database_url, ruling(sent, by, Ruling.OVERTURN, remedy=Remedy.REMOVE))
    undo(database_url, done.review.id, by)
    replies, _ = relayed(database_url, redis_url, LATER)

    assert [each["decision_id"] for each in replies].count(str(sent.decision_id)) == 1
    assert history(database_url, "after-all") == remembered
    assert len(remembered) == 2


@pytest.mark.parametrize("is_recorded", [True, False])
@pytest.mark.parametrize("wrong_by", [timedelta(minutes=-10), timedelta(minutes=10)])
def test_a_wrong_clock_of_the_review_pages_neither_shortens_nor_lengthens_the_undo_window(
    database_url: str, redis_url: str, wrong_by: timedelta, is_recorded: bool
) -> None:
    """A retraction waits by the clock of Postgres, as the retractor looks at that."""
    sent = replied()
    record(database_url, sent)
    if is_recorded:
        relayed(database_url, redis_url, NOW)
    else:
        die_after_sending(database_url, redis_url)
    given = ruling(sent, new_reviewer(database_url), Ruling.OVERTURN, remedy=Remedy.REMOVE)
    now = datetime.now(UTC)
    submit(database_url, given, now + wrong_by)
    relayed(database_url, redis_url, now)
    early = relayed(database_url, redis_url, now + timedelta(seconds=59))[1]
    later = relayed(database_url, redis_url, now + timedelta(seconds=90))[1]

    assert (len(early), len(later)) == (0, 1)


def test_a_delivered_reply_is_retracted_once_and_after_the_undo_window(
    database_url: str, redis_url: str
) -> None:
    """Not a second earlier, and not again by a relay that died before it could say so."""
    sent = replied()
    record(database_url, sent)
    relayed(database_url, redis_url, NOW)
    done = submit(
        database_url, ruling(sent, new_reviewer(database_url), Ruling.OVERTURN, remedy=Remedy.REMOVE)
    )
    query = "SELECT not_before FROM retractions WHERE review_id = %s"
    ((ends,),) = (row.values() for row in rows(database_url, query, done.review.id))
    early = relayed(database_url, redis_url, ends - timedelta(seconds=1))[1]
    once = relayed(database_url, redis_url, ends)[1]
    rows(database_url, "UPDATE retractions SET delivered_at = NULL WHERE review_id = %s", done.review.id)
    again = relayed(database_url, redis_url, ends)[1]

    assert early == []
    assert again == once
    assert once == [
        {
            "event_id": sent.event.event_id,
            "user_id": "acme",
            "decision_id": str(sent.decision_id),
            "review_id": str(done.review.id),
            "conversation_id": sent.event.conversation_id,
            "message_id": sent.event.message_id,
            "scope": "chat",
            "retracted_at": NOW.isoformat(),
        }
    ]


def test_an_undone_removal_of_a_delivered_reply_is_not_retracted(database_url: str, redis_url: str) -> None:
    """The channel gets no request."""
    sent = replied(conversation_id="never-asked")
    record(database_url, sent)
    relayed(database_url, redis_url, NOW)
    by = new_reviewer(database_url)
    done = submit(database_url, ruling(sent, by, Ruling.OVERTURN, remedy=Remedy.REMOVE))
    undo(database_url, done.review.id, by)

    assert relayed(database_url, redis_url, after_undo())[1] == []
    assert len(history(database_url, "never-asked")) == 2


def test_an_undo_comes_too_late_when_the_channel_was_asked(database_url: str, redis_url: str) -> None:
    """Nothing changes, and the message says what is left to do. Pages with a slow clock still offer it."""
    sent = replied(conversation_id="too-late")
    record(database_url, sent)
    relayed(database_url, redis_url, NOW)
    by = new_reviewer(database_url)
    done = submit(database_url, ruling(sent, by, Ruling.OVERTURN, remedy=Remedy.REMOVE))
    relayed(database_url, redis_url, after_undo())
    with pytest.raises(UndoTooLate, match="new review"):
        undo(database_url, done.review.id, by)

    assert history(database_url, "too-late") == []


def test_a_relay_at_work_and_a_reviewer_never_pass_each_other(database_url: str, redis_url: str) -> None:
    """While a relay holds the outbox a removal waits, and then finds the reply delivered."""
    sent = replied()
    record(database_url, sent)
    given = ruling(sent, new_reviewer(database_url), Ruling.OVERTURN, remedy=Remedy.REMOVE)

    async def run() -> None:
        from db import outbox

        async with (
            create_pool(database_url, size=1, application="test") as source,
            Store(database_url) as store,
        ):

            async def remove() -> None:
                async with store.writing() as connection:
                    await submission.submit_review(connection, given, NOW)

            async with outbox.waiting_replies(source, 200, NOW, none_sent) as batch:
                assert batch is not None
                removing = asyncio.create_task(remove())
                done, _ = await asyncio.wait({removing}, timeout=0.5)
                assert not done
                await batch.delivered([each.row_id for each in batch.rows], NOW)
            await removing

    asyncio.run(run())
    ends = "SELECT delivered_at IS NOT NULL AS out, cancelled_at FROM outbox WHERE decision_id = %s"

    assert rows(database_url, ends, sent.decision_id) == [{"out": True, "cancelled_at": None}]
    asked = rows(database_url, "SELECT 1 FROM retractions WHERE decision_id = %s", sent.decision_id)
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("whose", "at", "message"),
    [("another", SOON, "your own"), ("mine", LATER, "got an older one"), ("mine", SOON, "")],
)
def test_only_the_author_takes_a_review_back_and_only_for_a_while(
    database_url: str, whose: str, at: datetime, message: str
) -> None:
    """Other people, and later the author, store a new review instead."""
    decided = ignored()
    record(database_url, decided)
    by = new_reviewer(database_url)
    done = submit(database_url, ruling(decided, by))
    who = by if whose == "mine" else new_reviewer(database_url)
    if message:
        with pytest.raises(ReviewRejected, match=message):
            undo(database_url, done.review.id, who, at)
    else:
        undo(database_url, done.review.id, who, at)
        with pytest.raises(ReviewRejected, match="already"):
            undo(database_url, done.review.id, who, at)


def test_a_new_review_reverses_what_an_old_one_did(database_url: str, redis_url: str) -> None:
    """After the window a restored block can be sealed again, and a removed message can come back."""
    sealed, sent = blocked(conversation_id="again"), replied(conversation_id="back")
    record(database_url, sealed, sent)
    by, other = new_reviewer(database_url), new_reviewer(database_url)
    submit(database_url, ruling(sealed, by, Ruling.OVERTURN, remedy=Remedy.RESTORE))
    submit(database_url, ruling(sent, by, Ruling.OVERTURN, remedy=Remedy.REMOVE))
    submit(database_url, ruling(sealed, other, remedy=Remedy.REMOVE), LATER)
    submit(database_url, ruling(sent, other, remedy=Remedy.RESTORE_MESSAGE), LATER)
    replies, _ = relayed(database_url, redis_url, LATER)

    assert history(database_url, "again") == []
    assert history(database_url, "back") == [("user", sent.event.text)]
    assert str(sent.decision_id) not in {each["decision_id"] for each in replies}


def test_the_command_line_s_person_is_known_by_login(database_url: str) -> None:
    """Two logins are two people, one login is one."""
    decided = ignored()
    record(database_url, decided)
    ann, bob = (Reviewer(person_id=None, login=name) for name in ("ann", "bob"))
    for by in (ann, bob, ann):
        submit(database_url, ruling(decided, by, source=ReviewSource.CLI))

    assert standing(database_url, decided) == ("agree", 2)
