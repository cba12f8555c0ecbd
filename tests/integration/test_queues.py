"""Queues: what is drawn into them, who is dealt what, for how long, and what readers cannot tell."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
import sqlalchemy as sa

from db.connection import Connection
from db.review_store import Store
from db.reviews import (
    claims,
    golden_answers,
    queue_filling,
    queue_items,
    queue_loads,
    queues,
    rulings,
    submission,
    withdrawal,
)
from db.reviews.claims import Claim, ClaimLost
from db.reviews.queue_loads import QueueLoad
from db.reviews.queues import (
    NewQueue,
    Queue,
    QueueKind,
    Sample,
    Stratum,
)
from db.reviews.rulings import (
    Reviewer,
    ReviewRejected,
    ReviewSource,
    Ruling,
)
from db.reviews.submission import StoredReview, Submission
from review.queues import queue_filler
from tests.support.audited import NOW, blocked, escalated, ignored, record, replied, rows
from tests.support.queues import mark_known, new_reviewer, open_queue
from tests.support.reviewing import fill_queues, stored
from worker.errors import StorageUnavailable
from worker.model import Decision
from worker.reasons import Reason

NAMES = iter(f"queue {number}" for number in range(1000))
DAY = datetime(NOW.year, NOW.month, NOW.day, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _nothing_is_known(database_url: str) -> None:
    rows(database_url, "DELETE FROM golden_items")


def queue(
    url: str,
    kind: QueueKind = QueueKind.HAND,
    *,
    holding: Sequence[Decision] = (),
    accounts: Sequence[str] | None = None,
    **more: Any,
) -> Queue:
    """A new queue with these decisions in it."""

    async def change(connection: Connection) -> Queue:
        opening = NewQueue(**{"name": next(NAMES), "kind": kind} | more)
        queue_id = await queues.create_queue(
            connection, opening, accounts=accounts, created_by="lead", now=NOW
        )
        picked = {each.decision_id: each.decided_at for each in holding}
        await queues.add_decisions(connection, queue_id, picked, accounts=None, now=NOW)
        made = await queues.get_queue(connection, queue_id)
        assert made is not None
        return made

    return stored(url, change)


def who(by: Reviewer) -> UUID:
    """The id of a reviewer."""
    assert by.person_id is not None
    return by.person_id


def some(url: str, number: int = 1) -> list[Decision]:
    """Recorded decisions, oldest first."""
    made = [ignored() for _ in range(number)]
    record(url, *made)
    return made


def claim(
    url: str, of: Queue, by: Reviewer, *, at: datetime = NOW, draw: float = 1.0, accounts: Any = None
) -> Claim | None:
    """The item that a person is dealt."""
    return stored(
        url,
        lambda connection: claims.claim_next(connection, of, by, accounts=accounts, draw=draw, now=at),
    )


def answer(
    url: str, decision_id: UUID, by: Reviewer, word: Ruling = Ruling.AGREE, at: datetime = NOW
) -> StoredReview:
    """Answer what one holds."""

    async def change(connection: Connection) -> StoredReview:
        seen = await rulings.last_seen_review(connection, decision_id)
        reason = rulings.RulingReason.SHOULD_ESCALATE if word is Ruling.OVERTURN else None
        given = Submission(decision_id=decision_id, reviewer=by, ruling=word, seen=seen, reason=reason)
        return await submission.submit_review(connection, given, at)

    return stored(url, change)


def test_many_who_claim_at_once_get_different_items(database_url: str) -> None:
    """Claims do not block each other."""
    of = queue(database_url, holding=some(database_url, 8))
    people = [new_reviewer(database_url) for _ in range(8)]

    async def race() -> list[Claim | None]:
        async with Store(database_url, size=8) as store:

            async def one(by: Reviewer) -> Claim | None:
                async with store.writing() as connection:
                    return await claims.claim_next(connection, of, by, accounts=None, draw=1.0, now=NOW)

            return await asyncio.gather(*(one(by) for by in people))

    taken = [each for each in asyncio.run(race()) if each is not None]

    assert len({each.item_id for each in taken}) == 8


def test_a_claim_holds_for_its_lease_and_then_others_may_claim_the_item(database_url: str) -> None:
    """Renewing counts from now; what was taken meanwhile cannot be renewed."""
    of = queue(database_url, holding=some(database_url), lease_s=60)
    one, other = new_reviewer(database_url), new_reviewer(database_url)
    first = claim(database_url, of, one)
    assert first is not None
    waits = [claim(database_url, of, other, at=NOW + timedelta(seconds=s)) for s in (1, 59)]
    until = stored(
        database_url,
        lambda connection: claims.renew_claim(
            connection, first.item_id, who(one), NOW + timedelta(seconds=50)
        ),
    )
    still = claim(database_url, of, other, at=NOW + timedelta(seconds=100))
    taken = claim(database_url, of, other, at=NOW + timedelta(seconds=111))
    with pytest.raises(ClaimLost, match="held by another person"):
        stored(
            database_url,
            lambda connection: claims.renew_claim(connection, first.item_id, who(one), NOW),
        )

    assert waits == [None, None]
    assert until == NOW + timedelta(seconds=110)
    assert still is None
    assert taken is not None
    assert taken.item_id == first.item_id


def test_who_holds_an_item_gets_it_again_before_anything_new(database_url: str) -> None:
    """A closed browser loses nothing."""
    of = queue(database_url, holding=some(database_url, 2))
    by = new_reviewer(database_url)
    taken = [claim(database_url, of, by, at=NOW + timedelta(seconds=s)) for s in (0, 30, 3000)]

    assert len({each.item_id for each in taken if each}) == 1


def test_a_skipped_item_goes_to_others_and_comes_back_when_asked(database_url: str) -> None:
    """Nothing but the item itself knows of it."""
    decided = some(database_url)[0]
    of = queue(database_url, holding=[decided])
    one, other = new_reviewer(database_url), new_reviewer(database_url)
    first = claim(database_url, of, one)
    assert first is not None
    mine = who(one)
    stored(database_url, lambda connection: claims.skip_item(connection, first.item_id, mine))
    for_me, for_other = claim(database_url, of, one), claim(database_url, of, other)
    assert for_other is not None
    theirs = who(other)
    stored(database_url, lambda connection: claims.release_item(connection, for_other.item_id, theirs))
    back = stored(database_url, lambda connection: claims.restore_skipped(connection, of.id, mine))
    again = claim(database_url, of, one)

    assert for_me is None
    assert back == 1
    assert again is not None
    assert (
        rows(database_url, "SELECT 1 FROM decision_reviews WHERE decision_id = %s", decided.decision_id) == []
    )


def load_of(url: str, of: Queue, by: Reviewer) -> QueueLoad:
    """The load of a queue for one person."""
    mine = who(by)
    return stored(
        url,
        lambda connection: queue_loads.load_counts(
            connection, person_id=mine, accounts=None, now=NOW, today=NOW
        ),
    )[of.id]


def let_go(url: str, claimed: Claim | None, by: Reviewer, way: Any) -> None:
    """Skip an item or give it back."""
    assert claimed is not None
    mine = who(by)
    stored(url, lambda connection: way(connection, claimed.item_id, mine))


def test_a_skipped_golden_item_counts_as_skipped_and_is_not_dealt_again(database_url: str) -> None:
    """The number of skipped items does not disclose it, and it is closed when they are restored."""
    counted: dict[str, list[tuple[int, int, int]]] = {"golden": [], "plain": []}
    asked, lead = replied(), new_reviewer(database_url)
    record(database_url, asked)
    mark_known(database_url, asked.decision_id, lead)
    for name, share in (("golden", 1.0), ("plain", 0.0)):
        of, by = (
            queue(database_url, holding=some(database_url, 3), golden_share=share),
            new_reviewer(database_url),
        )
        first = claim(database_url, of, by, draw=0.0)
        let_go(database_url, first, by, claims.skip_item)
        let_go(database_url, claim(database_url, of, by), by, claims.skip_item)
        loads = [load_of(database_url, of, by)]
        mine, here = who(by), of.id
        back = stored(database_url, lambda connection: claims.restore_skipped(connection, here, mine))  # noqa: B023
        loads.append(load_of(database_url, of, by))
        counted[name] = [(back, each.skipped, each.held) for each in loads]
        assert first is not None
        assert (first.decision_id == asked.decision_id) == (name == "golden")
        dealt = claim(database_url, of, by, draw=0.0)
        assert dealt is not None
        assert dealt.decision_id != asked.decision_id

    assert counted["golden"] == counted["plain"] == [(2, 2, 0), (2, 0, 0)]


def test_what_is_given_back_is_not_counted_as_skipped(database_url: str) -> None:
    """Golden or not."""
    asked, lead = replied(), new_reviewer(database_url)
    record(database_url, asked)
    mark_known(database_url, asked.decision_id, lead)
    skipped = []
    for share in (1.0, 0.0):
        of, by = (
            queue(database_url, holding=some(database_url, 2), golden_share=share),
            new_reviewer(database_url),
        )
        let_go(database_url, claim(database_url, of, by, draw=0.0), by, claims.release_item)
        skipped.append(load_of(database_url, of, by).skipped)

    assert skipped == [0, 0]


def test_a_skipped_blind_item_is_not_offered_back(database_url: str) -> None:
    """It would not come: its reader could have looked."""
    decided = some(database_url)[0]
    of = queue(database_url, holding=[decided], second_share=1.0)
    one, two, three = (new_reviewer(database_url) for _ in range(3))
    claim(database_url, of, one)
    answer(database_url, decided.decision_id, one)
    second_queue = open_queue(database_url, QueueKind.SECOND)
    let_go(database_url, claim(database_url, second_queue, two), two, claims.skip_item)
    load = load_of(database_url, second_queue, two)
    claim(database_url, second_queue, three)
    answer(database_url, decided.decision_id, three)

    assert (load.waiting, load.skipped) == (1, 0)


def test_items_of_other_accounts_are_not_dealt(database_url: str) -> None:
    """Nor are they counted for them."""
    foreign = ignored(user_id="umbrella")
    record(database_url, foreign)
    of = queue(database_url, holding=[foreign])
    by = new_reviewer(database_url)
    mine = who(by)
    hidden = claim(database_url, of, by, accounts=("acme",))
    loads = stored(
        database_url,
        lambda connection: queue_loads.load_counts(
            connection, person_id=mine, accounts=("acme",), now=NOW, today=NOW
        ),
    )
    seen = claim(database_url, of, by, accounts=("umbrella",))

    assert hidden is None
    assert of.id not in loads
    assert seen is not None


def test_an_assigned_item_is_dealt_to_whom_it_is_assigned(database_url: str) -> None:
    """It is dealt first, and only to that person."""
    plain, picked = some(database_url, 2)
    of = queue(database_url, holding=[plain])
    one, other = new_reviewer(database_url), new_reviewer(database_url)
    stored(
        database_url,
        lambda connection: queues.add_decisions(
            connection,
            of.id,
            {picked.decision_id: picked.decided_at},
            accounts=None,
            assigned_to=other.person_id,
            now=NOW,
        ),
    )
    dealt = [claim(database_url, of, by) for by in (one, other)]

    assert [each.decision_id for each in dealt if each] == [plain.decision_id, picked.decision_id]


def test_the_item_of_an_erased_decision_is_closed(database_url: str) -> None:
    """Its item closes by itself, and the next one is dealt."""
    gone, there = some(database_url, 2)
    of = queue(database_url, holding=[gone, there])
    with psycopg.connect(database_url) as connection:
        connection.execute("SET LOCAL hushgate.erasing = on")
        connection.execute("DELETE FROM ai_decisions WHERE id = %s", (gone.decision_id,))
    dealt = claim(database_url, of, new_reviewer(database_url))

    assert dealt is not None
    assert dealt.decision_id == there.decision_id


def test_a_review_closes_every_unnecessary_item_and_an_undo_reopens_them(
    database_url: str,
) -> None:
    """A review on the decision's page also answers its queue items."""
    decided = some(database_url)[0]
    one, two = (queue(database_url, holding=[decided]) for _ in range(2))
    by = new_reviewer(database_url)
    claim(database_url, one, by)
    done = answer(database_url, decided.decision_id, by)
    open_items = "SELECT count(*) AS n FROM queue_items WHERE decision_id = %s AND done_at IS NULL"
    closed = rows(database_url, open_items, decided.decision_id)
    stored(database_url, lambda connection: withdrawal.withdraw_review(connection, done.review.id, by, NOW))
    opened = rows(database_url, open_items, decided.decision_id)
    again = claim(database_url, one, by)

    assert done.review.source is ReviewSource.QUEUE
    assert [closed[0]["n"], opened[0]["n"]] == [0, 2]
    assert again is not None
    assert two.id != one.id


def test_a_sample_stays_whole_when_its_decisions_are_reviewed_elsewhere(database_url: str) -> None:
    """Neither a page nor a bulk review takes out of it what they look at; escalations are done by both."""
    before, after, waiting = ignored(), ignored(), escalated()
    record(database_url, before, after, waiting)
    by, sample = new_reviewer(database_url), Sample(share=1.0, most=100_000)
    answer(database_url, before.decision_id, by)
    drawn_from = queue(database_url, QueueKind.SAMPLE, sample=sample)
    escalations = queue(database_url, QueueKind.ESCALATIONS)
    for of in (drawn_from, escalations):
        refill(database_url, of)
    for each in (after, waiting):
        answer(database_url, each.decision_id, by)
    left = "SELECT decision_id FROM queue_items WHERE queue_id = %s AND done_at IS NULL"
    in_sample, in_escalations = (
        {row["decision_id"] for row in rows(database_url, left, of.id)} for of in (drawn_from, escalations)
    )

    assert {before.decision_id, after.decision_id} <= in_sample
    assert waiting.decision_id not in in_escalations


def test_the_item_taken_last_is_the_one_that_is_answered(database_url: str) -> None:
    """A claim that ran out in another queue does not stand before it."""
    decided = some(database_url)[0]
    first, second = (queue(database_url, holding=[decided]) for _ in range(2))
    by = new_reviewer(database_url)
    claim(database_url, first, by)
    much_later = NOW + timedelta(days=2)
    claim(database_url, second, by, at=much_later)
    person = who(by)
    held = stored(
        database_url, lambda connection: queue_items.held_item(connection, decided.decision_id, person)
    )

    assert held is not None
    assert held.queue_id == second.id


def test_escalations_are_all_filled_and_once(database_url: str) -> None:
    """Late commits included; decisions reviewed already are left out."""
    made = [escalated(at=NOW - timedelta(minutes=20, seconds=number)) for number in range(5)]
    record(database_url, *made)
    answer(database_url, made[0].decision_id, new_reviewer(database_url))
    of = queue(database_url, QueueKind.ESCALATIONS)
    refill(database_url, of)
    late = escalated(at=NOW - timedelta(seconds=30))
    record(database_url, late)
    refill(database_url, of)
    refill(database_url, of)
    inside = drawn(database_url, of)

    assert inside == {each.decision_id for each in (*made[1:], late)}


@pytest.mark.parametrize("error", [ValueError("a bug"), StorageUnavailable("too slow", may_be_input=True)])
def test_a_queue_that_cannot_be_filled_stops_no_other(
    database_url: str, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """A slow statement of one account's queue must not leave the queues of other accounts empty."""
    stuck, other = (queue(database_url, QueueKind.ESCALATIONS) for _ in range(2))
    made = escalated()
    record(database_url, made)
    fill = queue_filler.fill

    async def filled(store: Store, of: Queue, now: datetime) -> None:
        if of.id == stuck.id:
            raise error
        await fill(store, of, now)

    monkeypatch.setattr(queue_filler, "fill", filled)
    fill_queues(database_url)

    assert drawn(database_url, stuck) == set()
    assert made.decision_id in drawn(database_url, other)


def refill(url: str, of: Queue, at: datetime = NOW) -> None:
    """Let a queue look at the audit."""

    async def change(connection: Connection) -> None:
        await queue_filling.fill_queue(connection, of, at)

    stored(url, change)


def drawn(url: str, of: Queue) -> set[UUID]:
    """Decisions in a queue."""
    return {
        row["decision_id"]
        for row in rows(url, "SELECT decision_id FROM queue_items WHERE queue_id = %s", of.id)
    }


def chances(url: str, of: Queue) -> set[tuple[str, float]]:
    """With which chance each stratum was drawn."""
    query = "SELECT DISTINCT stratum, chance FROM queue_items WHERE queue_id = %s"
    return {(row["stratum"], row["chance"]) for row in rows(url, query, of.id)}


def test_a_queue_that_is_being_filled_takes_decisions(database_url: str) -> None:
    """A person's transaction that waited for the filler would wait for ever where that waits for an item."""
    one = escalated()
    record(database_url, one)
    opened = queue(database_url, QueueKind.ESCALATIONS)

    async def add_while_filling(filling: Connection) -> int:
        await queue_filling.fill_queue(filling, opened, NOW - timedelta(days=1))
        async with Store(database_url, size=1) as store, store.writing() as connection:
            await connection.execute(sa.text("SET LOCAL lock_timeout = '5s'"))
            return await queues.add_decisions(
                connection, opened.id, {one.decision_id: one.decided_at}, accounts=None, now=NOW
            )

    assert stored(database_url, add_while_filling) == 1


def test_a_sample_is_repeatable_and_unbiased(database_url: str) -> None:
    """A share of each stratum within what chance allows; facts of settings and checked messages are not."""
    at = NOW - timedelta(hours=3)
    rules = {f"flagged_keyword:{name}": number for name, number in (("often", 1500), ("rare", 500))}
    made = [
        blocked(at=at + timedelta(milliseconds=number), matched_rule=rule, user_id="sampled")
        for rule, wanted in rules.items()
        for number in range(wanted)
    ]
    facts = [Reason.AI_DISABLED, Reason.MESSAGE_CHECKED] * 25
    off = [ignored(at=at, reason_code=reason, user_id="sampled") for reason in facts]
    record(database_url, *made, *off)
    sample = Sample(share=0.2, per=Stratum.MATCHED_RULE, most=100_000, seed=7)
    one, two = (queue(database_url, QueueKind.SAMPLE, sample=sample) for _ in range(2))
    other = queue(database_url, QueueKind.SAMPLE, sample=Sample(share=0.2, most=100_000, seed=8))
    for of in (one, two, other):
        refill(database_url, of)
    strata = Counter(
        row["stratum"]
        for row in rows(database_url, "SELECT stratum FROM queue_items WHERE queue_id = %s", one.id)
    )

    assert {chance for _, chance in chances(database_url, one)} == {0.2}
    assert drawn(database_url, one) == drawn(database_url, two) != drawn(database_url, other)
    assert not drawn(database_url, one) & {each.decision_id for each in off}
    # five standard deviations of a binomial draw
    assert abs(strata["flagged_keyword:often"] - 300) < 5 * (1500 * 0.2 * 0.8) ** 0.5
    assert abs(strata["flagged_keyword:rare"] - 100) < 5 * (500 * 0.2 * 0.8) ** 0.5


def test_a_stratified_sample_takes_as_many_of_the_rare_as_of_the_common(database_url: str) -> None:
    """Of every whole day; a day that is not over is left for later."""
    yesterday = DAY - timedelta(hours=12)
    made = [
        blocked(at=yesterday + timedelta(seconds=number), matched_rule=f"flagged_phrase:{name}")
        for name, wanted in (("common", 30), ("rare", 3))
        for number in range(wanted)
    ]
    today = [blocked(at=DAY, matched_rule="flagged_phrase:today")]
    record(database_url, *made, *today)
    of = queue(database_url, QueueKind.SAMPLE, sample=Sample(each=3, per=Stratum.MATCHED_RULE))
    noon = DAY + timedelta(hours=12)
    for _ in range(9):
        refill(database_url, of, noon)
    strata = Counter(
        row["stratum"]
        for row in rows(database_url, "SELECT stratum FROM queue_items WHERE queue_id = %s", of.id)
    )

    found = {(stratum, chance) for stratum, chance in chances(database_url, of) if "phrase" in stratum}
    assert found == {("flagged_phrase:common", 0.1), ("flagged_phrase:rare", 1.0)}
    assert strata["flagged_phrase:common"] == strata["flagged_phrase:rare"] == 3
    assert strata["flagged_phrase:today"] == 0


def test_a_full_sample_waits_for_its_readers(database_url: str) -> None:
    """And goes on where it stopped."""
    of = queue(database_url, QueueKind.SAMPLE, sample=Sample(share=1.0, most=1), holding=some(database_url))
    refill(database_url, of)
    held_back = drawn(database_url, of)
    rows(database_url, "UPDATE queue_items SET done_at = now() WHERE queue_id = %s", of.id)
    refill(database_url, of)

    assert len(held_back) == 1
    assert len(drawn(database_url, of)) > 1


@pytest.mark.parametrize(
    "wrong", [{}, {"share": 1.5}, {"share": 0.1, "each": 3}, {"each": 5000}, {"share": 0.1, "most": 0}]
)
def test_a_sample_that_cannot_be_drawn_is_refused(wrong: dict[str, Any]) -> None:
    """With the field's name."""
    with pytest.raises(ReviewRejected, match="expected"):
        Sample(**wrong)


def test_queue_names_are_taken_once(database_url: str) -> None:
    """Closed queues keep theirs: their items refer to it."""
    of = queue(database_url)
    stored(database_url, lambda connection: queues.close_queue(connection, of.id, NOW))
    with pytest.raises(ReviewRejected, match="no other queue of these accounts has"):
        queue(database_url, name=of.name)


def test_a_queue_name_says_nothing_about_other_accounts(database_url: str) -> None:
    """Two accounts may use one name, so that a refusal never shows what another account has."""
    mine, theirs, name = (next(NAMES) for _ in range(3))
    first = queue(database_url, name=name, accounts=[mine])

    assert queue(database_url, name=name, accounts=[theirs]).name == first.name
    with pytest.raises(ReviewRejected, match="no other queue of these accounts has"):
        queue(database_url, name=name, accounts=[mine])


def test_a_fresh_install_has_queues_to_work_in(database_url: str) -> None:
    """Escalations, a sample of what was silently ignored, and second readings."""
    made = stored(database_url, queues.list_open_queues)

    assert {(each.name, each.kind) for each in made if each.created_by == "hushgate"} == {
        ("Handoffs to check", QueueKind.ESCALATIONS),
        ("Silent ignores, a sample", QueueKind.SAMPLE),
        ("Objections", QueueKind.OBJECTIONS),
        ("Second readings", QueueKind.SECOND),
    }


def test_a_golden_item_looks_like_any_other_until_it_is_answered(database_url: str) -> None:
    """Then the known answer is shown; the decision's review state does not change."""
    asked, plain = replied(), some(database_url)[0]
    record(database_url, asked)
    lead, by = new_reviewer(database_url), new_reviewer(database_url)
    mark_known(database_url, asked.decision_id, lead)
    of = queue(database_url, holding=[plain], golden_share=0.5)
    dealt = claim(database_url, of, by, draw=0.1)
    assert dealt is not None
    mine = who(by)
    hidden = stored(database_url, lambda connection: queue_items.hidden_decisions(connection, mine))
    done = answer(database_url, dealt.decision_id, by, Ruling.OVERTURN)
    with pytest.raises(ReviewRejected, match="known answer"):
        stored(
            database_url, lambda connection: withdrawal.withdraw_review(connection, done.review.id, by, NOW)
        )
    after = claim(database_url, of, by, draw=0.1)

    assert dealt.decision_id == asked.decision_id
    assert set(Claim.__slots__) == {"item_id", "queue_id", "decision_id", "user_id", "claimed_until"}
    assert hidden == {asked.decision_id}
    assert done.review.source is ReviewSource.GOLDEN
    assert done.known is not None
    assert (done.known.ruling, done.known.note) == (Ruling.AGREE, "because")
    assert rows(database_url, "SELECT 1 FROM review_states WHERE decision_id = %s", asked.decision_id) == []
    assert after is not None
    assert after.decision_id == plain.decision_id


def test_golden_items_are_not_dealt_to_their_author_nor_in_an_empty_queue(database_url: str) -> None:
    """Who knows the answer is no test, and a queue with nothing else in it would give them away."""
    asked = replied()
    record(database_url, asked)
    lead, by = new_reviewer(database_url), new_reviewer(database_url)
    mark_known(database_url, asked.decision_id, lead)
    plain = some(database_url)[0]
    of = queue(database_url, holding=[plain], golden_share=1.0)
    empty = queue(database_url, golden_share=1.0)
    for_lead = claim(database_url, of, lead, draw=0.0)
    dealt_in_empty = claim(database_url, empty, by, draw=0.0)
    stored(database_url, lambda connection: golden_answers.forget_known_answer(connection, asked.decision_id))
    forgotten = claim(database_url, of, by, draw=0.0)

    assert for_lead is not None
    assert for_lead.decision_id == plain.decision_id
    assert dealt_in_empty is None
    assert forgotten is None


def test_a_second_reading_is_blind_and_goes_to_another_person(database_url: str) -> None:
    """The second reader is never the first, sees nothing before the answer, and is not held to be stale."""
    decided = some(database_url)[0]
    of = queue(database_url, holding=[decided], second_share=1.0)
    one, two = new_reviewer(database_url), new_reviewer(database_url)
    claim(database_url, of, one)
    first = answer(database_url, decided.decision_id, one)
    second_queue = open_queue(database_url, QueueKind.SECOND)
    for_first = claim(database_url, second_queue, one)
    for_second = claim(database_url, second_queue, two)
    assert for_second is not None
    theirs = who(two)
    hidden = stored(database_url, lambda connection: queue_items.hidden_decisions(connection, theirs))
    given = Submission(
        decision_id=decided.decision_id,
        reviewer=two,
        ruling=Ruling.OVERTURN,
        reason=rulings.RulingReason.SHOULD_ANSWER,
    )
    blind = stored(database_url, lambda connection: submission.submit_review(connection, given, NOW))
    shown = stored(database_url, lambda connection: queue_items.hidden_decisions(connection, theirs))

    assert for_first is None
    assert hidden == {decided.decision_id}
    assert shown == frozenset()
    assert blind.review.source is ReviewSource.BLIND
    assert blind.item is not None
    assert blind.item.first_review == first.review.id
    state = rows(database_url, "SELECT state FROM review_states WHERE decision_id = %s", decided.decision_id)
    assert state == [{"state": "disputed"}]


def test_a_blind_item_does_not_come_back_to_who_gave_it_back(database_url: str) -> None:
    """Between the two they could have looked."""
    decided = some(database_url)[0]
    of = queue(database_url, holding=[decided], second_share=1.0)
    one, two = new_reviewer(database_url), new_reviewer(database_url)
    claim(database_url, of, one)
    answer(database_url, decided.decision_id, one)
    second_queue = open_queue(database_url, QueueKind.SECOND)
    dealt = claim(database_url, second_queue, two)
    assert dealt is not None
    theirs = who(two)
    stored(database_url, lambda connection: claims.release_item(connection, dealt.item_id, theirs))

    assert claim(database_url, second_queue, two) is None


def test_loads_tell_what_waits_and_who_holds_it(database_url: str) -> None:
    """Golden items are not counted: their number would give them away."""
    made = some(database_url, 3)
    asked = replied()
    record(database_url, asked)
    one, two, lead = (new_reviewer(database_url) for _ in range(3))
    mark_known(database_url, asked.decision_id, lead)
    of = queue(database_url, holding=made, golden_share=1.0)
    claim(database_url, of, one, draw=0.0)
    held = claim(database_url, of, two)
    assert held is not None
    load = load_of(database_url, of, two)
    answer(database_url, held.decision_id, two)
    done = load_of(database_url, of, two)

    assert (load.waiting, load.held, load.done_today) == (2, 1, 0)
    assert [each.decision_id for each in load.holders] == [held.decision_id]
    assert load.oldest == made[0].decided_at
    assert (done.waiting, done.held, done.done_today) == (2, 0, 1)


@pytest.mark.parametrize(("most", "expected"), [(9, 2), (1, 1)])
def test_items_for_a_person_are_counted_up_to_a_number(database_url: str, most: int, expected: int) -> None:
    """Of open queues, without what another person holds; a closed queue has none."""
    account = f"counted-{most}"
    made = [ignored(user_id=account) for _ in range(3)]
    record(database_url, *made)
    one, two = new_reviewer(database_url), new_reviewer(database_url)
    of, closed = (queue(database_url, holding=made) for _ in range(2))
    claim(database_url, of, one)
    stored(database_url, lambda connection: queues.close_queue(connection, closed.id, NOW))
    theirs = who(two)
    found = stored(
        database_url,
        lambda connection: queue_loads.count_for_person(
            connection, person_id=theirs, accounts=(account,), now=NOW, most=most
        ),
    )

    assert found == expected
