"""A log for ``bench.learn``: a rollout's decisions, a drawn sample, and what people said of it."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID
from zlib import crc32

import psycopg

from bench.backtest_rows import CLOCK, DECIDED, Answers, decided, fill, say
from db.accounts import store_account
from db.people.records import add_person
from db.pool import Pool
from db.review_store import Store
from db.reviews.queue_filling import SLICE, SLICES, fill_queue
from db.reviews.queues import Drawn, NewQueue, QueueKind, Sample, create_queue, get_queue
from trials.pure.rollouts.bounds import parse_bound
from trials.store.candidates import Author, CandidateSource, add_candidate
from trials.store.rollout_steps import start_rollout
from trials.store.rollouts import Plan
from worker.account_settings import changed
from worker.arms import place_of, places_of
from worker.assessment import ReadingRequest
from worker.model import Account, Completion, Prompt
from worker.ports import Ports

USER: Final = "bench"
CHANGES: Final[dict[str, Any]] = {
    "flagged_keywords": ["casino", *(f"parcel {number}" for number in range(40, 60))]
}
SHARE: Final = 0.25
"""Of the conversations: those of the rollout."""
TURNS: Final = 5
"""Decisions of a conversation."""
SAMPLED: Final = 0.02
"""Share of the decisions that the sample draws."""
UNSUPPORTED: Final = "Our workshop in Lyon repaints lamps [1]."
READERS: Final = ("first@example.org", "second@example.org")
REVIEWS: Final = """
    CREATE TEMP TABLE said AS
        SELECT i.id AS item, i.decision_id, i.decision_at, d.decision, gen_random_uuid() AS review, CASE
            WHEN abs(hashtext(i.decision_id::text)::bigint) %% 100
                < CASE d.decision WHEN 'respond' THEN 6 ELSE 20 END THEN 'overturn' ELSE 'agree' END AS ruling
        FROM queue_items i JOIN ai_decisions d ON d.created_at = i.decision_at AND d.id = i.decision_id
        WHERE i.queue_id = %(queue)s;
    INSERT INTO decision_reviews (id, decision_id, decision_at, user_id, person_id, person, ruling,
            corrected_decision, source, item_id, created_at)
        SELECT review, decision_id, decision_at, %(user)s, people.id, people.login, ruling,
            CASE WHEN ruling = 'agree' THEN NULL WHEN decision = 'respond' THEN 'ignore' ELSE 'respond' END,
            'queue', item, now()
        FROM said JOIN people ON people.login = %(first)s;
    INSERT INTO decision_reviews (id, decision_id, decision_at, user_id, person_id, person, ruling,
            corrected_decision, source, created_at)
        SELECT gen_random_uuid(), decision_id, decision_at, %(user)s, people.id, people.login, ruling,
            CASE WHEN ruling = 'agree' THEN NULL WHEN decision = 'respond' THEN 'ignore' ELSE 'respond' END,
            'blind', now()
        FROM said JOIN people ON people.login = %(second)s WHERE item %% 50 = 0;
    INSERT INTO review_states (decision_id, decision_at, user_id, state, reviews, last_review)
        SELECT decision_id, decision_at, %(user)s, ruling, 1, review FROM said;
    UPDATE queue_items SET done_at = now(), review_id = said.review FROM said WHERE queue_items.id = said.item
"""
"""A first reader of the whole sample, and a second one of a fiftieth, who agrees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnLog:
    """What the log has.

    Attributes:
        fill_s: to write the decisions; ``draw_s``: to draw the sample from them.
        sampled: decisions of the sample, all reviewed.
    """

    candidate_id: UUID
    rollout_id: UUID
    fill_s: float
    draw_s: float
    sampled: int


class VariedAnswers(Answers):
    """Drafts of which one in four says what no passage says."""

    async def complete(self, prompt: Prompt, timeout_s: float) -> Completion:
        """By the question."""
        made = await super().complete(prompt, timeout_s)
        return made if crc32(prompt.question.encode()) % 4 else replace(made, text=UNSUPPORTED)

    async def read(self, request: ReadingRequest) -> Completion:
        """That a draft answers the question, unless no passage supports it; a little different for each."""
        fits = 0.05 if request.sentences[0].strip() in UNSUPPORTED else 0.9
        share = fits + crc32(request.question.encode()) % 100 / 1_000
        quote = request.passages[0][1] if request.passages else ""
        verdict = {"verdict": "supported", "quotes": [quote], "probability": share}
        sentences = [{"number": number, **verdict} for number in range(1, len(request.sentences) + 1)]
        return Completion(text=json.dumps({"sentences": sentences, "relevance": 1.0}), model="bench")


def varied_ports() -> Ports:
    """The ports of the log."""
    each = VariedAnswers()
    return Ports(clock=CLOCK, moderator=each, model=each, retriever=each, conversations=each, judge=each)


async def fill_log(source: Pool, url: str, number: int) -> LearnLog:
    """Fill it: a rollout decided a quarter of its conversations, and people reviewed a fiftieth of all."""
    account = changed(
        Account(user_id=USER, version=0),
        {"ai_control_enabled": True, "ai_enabled_for_chats": True, "flagged_keywords": ["casino"]},
    )
    version = await store_account(source, account, changed_by="bench")
    before = datetime.now(UTC) - timedelta(milliseconds=number, hours=1)
    made = await add_candidate(
        source, USER, CHANGES, now=before, made_by=CandidateSource.PERSON, created_by="bench"
    )
    plan = Plan(share=SHARE, bounds=(parse_bound("blocks<=0.001"),))
    author = Author(made_by="bench", reason="measured", now=before)
    rollout = await start_rollout(source, made.candidate_id, plan, author)
    started = time.perf_counter()
    live = await decided(replace(account, version=version), range(0, DECIDED, 2), varied_ports)
    tried = await decided(
        replace(changed(account, CHANGES), version=version), range(1, DECIDED, 2), varied_ports
    )
    everything = [*live, *(replace(each, candidate_id=made.candidate_id) for each in tried)]

    def pick(place: int) -> int:
        arm, first = (live, 0)
        if place_of(rollout.rollout_id, f"talk-{place // TURNS}") < places_of(SHARE):
            arm, first = (tried, len(live))
        return first + place % len(arm)

    own = {"conversation_id": f"'talk-' || place / {TURNS}"}
    await fill(source, everything, number, pick=pick, own=own)
    async with source.connection() as connection:
        await connection.set_autocommit(True)
        await connection.execute("VACUUM ANALYZE")
        await connection.set_autocommit(False)
    filled = time.perf_counter()
    queue_id = await _draw(url, number)
    drawn = time.perf_counter()
    sampled = _review(url, queue_id)
    return LearnLog(
        candidate_id=made.candidate_id,
        rollout_id=rollout.rollout_id,
        fill_s=round(filled - started, 1),
        draw_s=round(drawn - filled, 1),
        sampled=sampled,
    )


async def _draw(url: str, number: int) -> UUID:
    """Draw the sample as the page of a queue does, call by call."""
    now = datetime.now(UTC)
    sample = Sample(share=SAMPLED, most=100_000, drawn=Drawn.ALL)
    async with Store(url, size=1) as store:
        async with store.writing() as connection:
            new = NewQueue(name="Sample", kind=QueueKind.SAMPLE, sample=sample)
            queue_id = await create_queue(connection, new, created_by="bench", now=now)
            for login in READERS:
                await add_person(
                    connection, CLOCK.new_id(now), login=login, name=login, password_hash=None,
                    must_change_password=False, created_by="bench",
                )  # fmt: skip
        for _ in range(2 + number // (SLICE * SLICES)):
            async with store.writing() as connection:
                queue = await get_queue(connection, queue_id)
                assert queue is not None  # it was made above
                await fill_queue(connection, queue, now)
    return queue_id


def _review(url: str, queue_id: UUID) -> int:
    values = {"queue": queue_id, "user": USER, "first": READERS[0], "second": READERS[1]}
    with psycopg.connect(url, autocommit=True) as connection:
        for each in REVIEWS.split(";\n"):
            connection.execute(each.encode(), values)
        connection.execute("ANALYZE")
        row = connection.execute("SELECT count(*) FROM said").fetchone()
    say(f"{row[0] if row else 0:,} decisions are reviewed")
    return int(row[0]) if row else 0
