"""The figures of the dashboard: counted by hand here, by the tables there."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg_pool import AsyncConnectionPool

from db.connection import Connection
from db.figures import dashboard, hourly
from db.figures.dashboard import DashboardFigures
from db.figures.figure_sql import TIME_BIN
from db.figures.histograms import PER_DOUBLING, TOP
from db.figures.hourly import FilledSpan, Grain, fill_next
from db.figures.reach import FigureFilter
from db.pool import Pool
from review.figures.summary import mean_confidences, summarise
from tests.support.review_rows import decided, store
from tests.support.statements_sent import sent_statements

DAY = datetime(2026, 11, 20, tzinfo=UTC)
HOUR = timedelta(hours=1)
NOON = DAY + 12 * HOUR


@pytest.fixture
async def source(url: str) -> AsyncIterator[Pool]:
    """Connections in the role of the review server."""

    async def as_reviewer(connection: Connection) -> None:
        await connection.execute("SET ROLE hushgate_reviewer")
        await connection.execute("SET TIME ZONE 'Asia/Kolkata'")  # half an hour off: nothing may depend on it

    made: Pool = AsyncConnectionPool(
        url,
        connection_class=Connection,
        kwargs={"autocommit": True},
        configure=as_reviewer,
        min_size=1,
        max_size=8,
        open=False,
    )
    async with made:
        yield made


async def fill(source: Pool, now: datetime) -> list[FilledSpan]:
    """Everything that is due, counted."""
    filled: list[FilledSpan] = []
    while True:
        async with source.connection() as connection, connection.transaction():
            each = await fill_next(connection, now=now)
        if each is None:
            return filled
        filled.append(each)


async def ask(source: Pool, now: datetime, **changes: Any) -> DashboardFigures:
    """The figures of the last 24 hours, in hours."""
    values: dict[str, Any] = {
        "accounts": None,
        "account": None,
        "scope": None,
        "since": now.replace(minute=0) - 23 * HOUR,
        "until": now,
        "step": HOUR,
        "back": 24 * HOUR,
    }
    async with source.connection() as connection:
        return await dashboard.load_figures(connection, FigureFilter(**values | changes), now=now)


def events(rows: tuple[dict[str, Any], ...], *names: str) -> dict[Any, int]:
    """Events by the named columns."""
    found: Counter[Any] = Counter()
    for row in rows:
        found[tuple(row[name] for name in names) if len(names) > 1 else row[names[0]]] += row["events"]
    return dict(found)


async def test_figures_are_those_counted_by_hand(url: str, source: Pool) -> None:
    """Sums per hour and reason, retries, tokens, rechecks: each decision once."""
    failed = [{"number": 1, "outcome": "timeout"}, {"number": 2, "outcome": "completed"}]
    store(
        url,
        [
            decided(NOON - 2 * HOUR),
            decided(NOON - 2 * HOUR, reason_code="FLAGGED_RULE", confidence=0.95),
            decided(
                NOON - HOUR,
                decision="respond",
                reason_code="REPLIED",
                confidence=0.8,
                scope="comment",
                kept={
                    "attempts": failed,
                    "tokens": {"prompt": 100, "completion": 20},
                    "rechecked": [0.4, 0.8],
                    "assessment": {"policy": "calibrated@1"},
                },
            ),
            decided(NOON - HOUR, user_id="other", kept={"rechecked": [0.4, None]}),
        ],
    )
    now = NOON + timedelta(minutes=30)
    await fill(source, now)
    found = await ask(source, now)
    reply = next(row for row in found.counts if row["reason_code"] == "REPLIED")

    assert events(found.counts, "step", "reason_code") == {
        (NOON - 2 * HOUR, "AI_DISABLED"): 1,
        (NOON - 2 * HOUR, "FLAGGED_RULE"): 1,
        (NOON - HOUR, "REPLIED"): 1,
        (NOON - HOUR, "AI_DISABLED"): 1,
    }
    names = ("retried", "attempts", "prompt_tokens", "completion_tokens", "rechecked", "improved")
    assert [reply[name] for name in names] == [1, 2, 100, 20, 1, 1]
    assert sum(row["rechecked"] for row in found.counts) == 2
    assert reply["confidence_sum"] == pytest.approx(0.8)
    assert events(found.spreads, "kind", "bin") == {
        ("total_ms", 72): 4,
        ("work_ms", 66): 4,
        ("waiting_ms", 62): 4,
        ("confidence", 16): 1,
    }
    assert events(found.days, "day") == {DAY: 1}
    assert found.missing == 0


async def test_times_fall_into_the_bins_that_are_promised(source: Pool) -> None:
    """Bin n ends at ``2 ** (n / 8)`` ms, which belongs to it; the first and the last one have no bound."""
    ends = [2 ** (number / PER_DOUBLING) for number in range(0, TOP, 7)]
    times = [0.0, 1.0, 2.0, 1024.0, 1e15, *(end * 0.9999 for end in ends), *(end * 1.0001 for end in ends)]
    query = sa.text(f"SELECT ms, {TIME_BIN} FROM unnest(CAST(:times AS float8[])) AS ms")  # ours
    async with source.connection() as connection:
        rows = list(await connection.execute(query, {"times": times}))
    found: dict[float, int] = {row[0]: row[1] for row in rows}

    assert [found[ms] for ms in (0.0, 1.0, 2.0, 1024.0, 1e15)] == [0, 0, 8, 80, TOP]
    for ms in times[5:]:
        number = found[ms]
        assert ms <= 2 ** (number / PER_DOUBLING)
        assert number == 0 or ms > 2 ** ((number - 1) / PER_DOUBLING)


async def test_totals_are_those_of_the_figures(url: str, source: Pool) -> None:
    """Counted, open, not yet counted and before; nothing else is read for them."""
    now = NOON + timedelta(minutes=20)
    store(url, [decided(NOON - step * HOUR) for step in range(40)])
    await fill(source, now - timedelta(minutes=5))
    store(url, [decided(now - timedelta(minutes=1)), decided(now - timedelta(seconds=1), user_id="other")])
    question = FigureFilter(
        accounts=None, account=None, scope=None, since=NOON - 23 * HOUR, until=now, step=HOUR, back=24 * HOUR
    )

    async with source.connection() as connection:
        with sent_statements() as read:
            brief = await dashboard.load_totals(connection, question, now=now)
    whole = await ask(source, now)

    assert (brief.counts, brief.before) == (whole.counts, whole.before)
    assert (brief.missing, brief.missing_before) == (whole.missing, whole.missing_before)
    assert sum(row["events"] for row in brief.counts) == 26
    assert not [each for each in read if "figure_spreads" in each]


async def test_a_reader_sees_the_accounts_that_are_theirs(url: str, source: Pool) -> None:
    """Before the filling as after it, and not by asking for another one by name."""
    store(url, [decided(NOON, user_id=each) for each in ("acme", "other", "third", "third")])
    now = NOON + timedelta(minutes=30)
    for _ in range(2):
        mine = await ask(source, now, accounts=("acme", "other"))
        theirs = await ask(source, now, accounts=("acme", "other"), account="third")
        every = await ask(source, now)
        no_account = await ask(source, now, accounts=())
        assert sum(events(mine.counts, "reason_code").values()) == 2
        assert theirs.counts == theirs.spreads == no_account.counts == no_account.spreads == ()
        assert sum(events(every.counts, "reason_code").values()) == 4
        await fill(source, now)
    async with source.connection() as connection:
        question = FigureFilter(
            accounts=("acme", "other"),
            account=None,
            scope=None,
            since=NOON - 23 * HOUR,
            until=now,
            step=HOUR,
            back=24 * HOUR,
        )
        table = await dashboard.busiest_accounts(connection, question)

    assert [(row["user_id"], row["events"]) for row in table] == [("acme", 1), ("other", 1)]


async def test_what_came_after_the_last_count_is_counted_as_it_is_read(url: str, source: Pool) -> None:
    """The open hour is whole at every moment, each decision in it once."""
    store(url, [decided(NOON + timedelta(minutes=1), scope="comment")])
    await fill(source, NOON + timedelta(minutes=2))
    store(
        url,
        [decided(NOON + timedelta(minutes=3)), decided(NOON + timedelta(minutes=4), scope="comment")],
    )
    now = NOON + timedelta(minutes=5)
    found = await ask(source, now)
    comments = await ask(source, now, scope="comment")

    assert events(found.counts, "step", "open") == {(NOON, True): 3}
    assert events(found.spreads, "kind")["total_ms"] == 3
    assert events(comments.counts, "step") == {NOON: 2}
    assert events(comments.spreads, "kind")["total_ms"] == 2


async def test_confidence_is_counted_of_assessed_drafts_alone(url: str, source: Pool) -> None:
    """Whether the draft or a prepared text was sent; a greeting raises no mean and stands in no histogram."""
    measured = {"assessment": {"policy": "calibrated@1", "measured": True}}
    unmeasured = {"assessment": {"policy": "calibrated@1", "measured": False}}
    reply = {"decision": "respond", "reason_code": "REPLIED"}
    prepared = {"decision": "respond", "reason_code": "FALLBACK_SENT"}
    store(
        url,
        [
            decided(NOON - HOUR, confidence=0.8, kept=measured, **reply),
            decided(NOON - HOUR, confidence=1.0, kept=unmeasured, **reply),
            decided(NOON - HOUR, confidence=1.0, kept=unmeasured, **prepared),
            decided(NOON - HOUR, confidence=0.1, kept=measured, **prepared),
        ],
    )
    now = NOON + timedelta(minutes=30)
    await fill(source, now)
    found = await ask(source, now)
    bins = {row["bin"]: row["events"] for row in found.spreads if row["kind"] == "confidence"}

    assert summarise(found.counts).mean_confidence == pytest.approx(0.45)
    assert bins == {16: 1, 2: 1}


async def test_the_mean_confidence_is_counted_by_label(url: str, source: Pool) -> None:
    """Of the labels of events, for chosen accounts only; what is no label or too long changes nothing."""

    def look(labels: object, *, measured: bool = True) -> dict[str, Any]:
        return {"assessment": {"policy": "safety@1", "measured": measured}, "metadata": {"labels": labels}}

    long = {"subject": "x" * 200, "number": 7, "list": ["tax"]}
    store(
        url,
        [
            decided(NOON - HOUR, confidence=0.8, kept=look({"subject": "tax", "shop": "north"})),
            decided(NOON - HOUR, confidence=0.4, kept=look({"subject": "tax"}), decision="escalate"),
            decided(NOON - HOUR, confidence=0.0, kept=look({"subject": "tax"}, measured=False)),
            decided(NOON - HOUR, confidence=1.0, kept=look(["tax"])),
            decided(NOON - HOUR, confidence=1.0, kept=look(long)),
            decided(NOON - HOUR, confidence=1.0, kept=look({"subject": "tax"}), user_id="other"),
        ],
    )
    now = NOON + timedelta(minutes=30)
    await fill(source, now)
    store(url, [decided(NOON + timedelta(minutes=30), confidence=0.3, kept=look({"subject": "tax"}))])
    later = now + timedelta(minutes=1)
    chosen = await ask(source, later, accounts=("acme",))
    everything = await ask(source, later)

    assert mean_confidences(chosen.labels, "label") == {
        (NOON - HOUR, "shop=north"): pytest.approx(0.8, abs=0.001),
        (NOON - HOUR, "subject=tax"): pytest.approx(0.6, abs=0.001),
        (NOON, "subject=tax"): pytest.approx(0.3, abs=0.001),
    }
    assert everything.labels == ()


async def test_only_frequent_labels_are_counted(url: str, source: Pool) -> None:
    """A label that names each order would fill the figures; the most frequent twenty of an hour are kept."""

    def look(label: str) -> dict[str, Any]:
        return {"assessment": {"policy": "safety@1"}, "metadata": {"labels": {"order": label}}}

    rows = [decided(NOON - HOUR, confidence=0.5, kept=look(str(number))) for number in range(30)]
    store(url, [*rows, *(decided(NOON - HOUR, confidence=0.5, kept=look("7")) for _ in range(2))])
    await fill(source, NOON + timedelta(minutes=30))
    found = await ask(source, NOON + timedelta(minutes=31), accounts=("acme",))
    with psycopg.connect(url) as connection:
        stored = "FROM figure_spreads WHERE starts_with(kind, 'label ') AND grain = 'hour'"
        kinds = connection.execute(f"SELECT count(DISTINCT kind) {stored}").fetchone()

    assert kinds == (20,)
    assert len({row["label"] for row in found.labels}) == 8
    assert "order=7" in {row["label"] for row in found.labels}


async def test_a_row_that_comes_late_is_counted_on_a_later_round(url: str, source: Pool) -> None:
    """A commit that an outage held up changes the figures of its hour and of its day, once."""
    store(url, [decided(DAY + step * HOUR) for step in range(24)])
    now = DAY + 24 * HOUR + timedelta(minutes=15)
    await fill(source, now)
    store(url, [decided(DAY + 5 * HOUR)])
    unchanged = await ask(source, now, since=DAY, until=DAY + 24 * HOUR, step=24 * HOUR)
    later = DAY + 31 * HOUR
    refilled = await fill(source, later)
    found = await ask(source, later, since=DAY, until=DAY + 24 * HOUR, step=24 * HOUR)

    assert events(unchanged.counts, "step") == {DAY: 24}
    assert FilledSpan(grain=Grain.HOUR, start=DAY + 5 * HOUR, events=2) in refilled
    assert FilledSpan(grain=Grain.DAY, start=DAY, events=25) in refilled
    assert events(found.counts, "step") == {DAY: 25}
    assert events(found.spreads, "kind")["total_ms"] == 25
    assert await fill(source, later) == []


async def test_days_are_the_sum_of_their_hours(url: str, source: Pool) -> None:
    """Whichever of them a question is answered from."""
    store(url, [decided(DAY - 24 * HOUR)])
    store(url, [decided(DAY + (step % 24) * HOUR, user_id=f"account-{step % 3}") for step in range(60)])
    now = DAY + 26 * HOUR
    filled = await fill(source, now)
    whole = {"since": DAY, "until": DAY + 24 * HOUR}
    by_day = await ask(source, now, **whole, step=24 * HOUR)
    by_hour = await ask(source, now, **whole, step=HOUR)

    assert [each for each in filled if each.grain is Grain.DAY and each.start == DAY]
    assert (
        events(by_day.counts, "reason_code") == events(by_hour.counts, "reason_code") == {"AI_DISABLED": 60}
    )
    assert events(by_day.spreads, "kind", "bin") == events(by_hour.spreads, "kind", "bin")
    assert len(by_day.counts) == 1
    assert len(by_hour.counts) == 24


async def test_hours_go_with_their_decisions_and_days_stay(url: str, source: Pool) -> None:
    """Sums of a month that retention took are known by day, and nothing is counted anew."""
    store(url, [decided(DAY - 24 * HOUR), decided(DAY + 50 * HOUR)])
    store(url, [decided(DAY + step * HOUR) for step in range(24)])
    now = DAY + 51 * HOUR
    await fill(source, now)
    whole = {"since": DAY, "until": DAY + 24 * HOUR}
    before = await ask(source, now, **whole, step=24 * HOUR)
    async with source.connection() as connection, connection.transaction():
        early = await hourly.sweep_next(connection)
    with psycopg.connect(url) as owner:
        owner.execute("SET LOCAL hushgate.erasing = on")
        owner.execute("DELETE FROM ai_decisions WHERE created_at < %s", (DAY + 48 * HOUR,))
    swept = []
    for _ in range(4):
        async with source.connection() as connection, connection.transaction():
            swept.append(await hourly.sweep_next(connection))
    after = await ask(source, now, **whole, step=24 * HOUR)
    by_hour = await ask(source, now, **whole, step=HOUR)
    with psycopg.connect(url) as owner:
        left = owner.execute("SELECT min(start) FROM figure_counts WHERE grain = 'hour'").fetchone()

    assert early is None
    assert swept == [DAY - 24 * HOUR, DAY, DAY + 24 * HOUR, None]
    assert left == (DAY + 50 * HOUR,)
    assert (after.counts, after.missing) == (before.counts, 0)
    assert events(by_hour.counts, "step") == {DAY: 24}
    assert await fill(source, now) == []


async def test_the_range_before_is_of_the_same_whole_hours(url: str, source: Pool) -> None:
    """The open hour is left out there, as it would be compared with a whole one."""
    now = NOON + timedelta(minutes=20)
    yesterday = NOON - 24 * HOUR
    store(
        url,
        [decided(yesterday - HOUR), decided(yesterday + timedelta(minutes=5)), decided(NOON - HOUR)],
    )
    store(url, [decided(NOON + timedelta(minutes=5))])
    await fill(source, now)
    found = await ask(source, now)

    assert sum(row["events"] for row in found.before) == 1
    assert events(found.counts, "open") == {False: 1, True: 1}


async def test_many_fillers_at_once_count_each_hour_once(url: str, source: Pool) -> None:
    """Eight of them, on one database; who finds another at work goes away."""
    store(url, [decided(NOON - step * HOUR) for step in range(30)])
    now = NOON + timedelta(minutes=15)
    filled = [each for one in await asyncio.gather(*(fill(source, now) for _ in range(8))) for each in one]
    filled += await fill(source, now)
    hours = Counter(each.start for each in filled if each.grain is Grain.HOUR)
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT sum(events) FROM figure_counts WHERE grain = 'hour' AND user_id = ''"
        ).fetchone()

    assert set(hours.values()) == {1}
    assert len(hours) == 30
    assert row == (30,)


async def test_uncounted_hours_are_reported(url: str, source: Pool) -> None:
    """A page never shows a part as if it were the whole."""
    store(url, [decided(NOON - step * HOUR) for step in range(10)])
    now = NOON + timedelta(minutes=15)
    before = await ask(source, now)
    async with source.connection() as connection, connection.transaction():
        await fill_next(connection, now=now)
    between = await ask(source, now)
    await fill(source, now)
    after = await ask(source, now)

    assert (before.missing, between.missing, after.missing) == (10, 9, 0)


async def test_a_count_that_takes_too_long_leaves_nothing_behind(url: str, source: Pool) -> None:
    """The server cancels it; the hour is due as before."""
    store(url, [decided(NOON) for _ in range(3000)])
    now = NOON + HOUR / 2
    with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
        async with source.connection() as connection, connection.transaction():
            await fill_next(connection, now=now, most_s=0.001)
    found = await fill(source, now)

    assert FilledSpan(grain=Grain.HOUR, start=NOON, events=3000) in found
