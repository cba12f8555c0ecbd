"""Figures of the dashboard that several people ask for at once."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from review.figures.reused import ReusedFigures

NOW = datetime(2026, 3, 2, tzinfo=UTC)


class Count:
    """A count that takes until it is released."""

    def __init__(self, problem: Exception | None = None) -> None:
        self.runs = 0
        self.released = asyncio.Event()
        self.problem = problem

    async def run(self) -> int:
        """The number of runs."""
        self.runs += 1
        await self.released.wait()
        if self.problem is not None:
            raise self.problem
        return self.runs


async def asked(figures: ReusedFigures, count: Count, people: int) -> list[asyncio.Task[object]]:
    """Requests that wait for the count."""
    tasks = [asyncio.create_task(_value(figures, count)) for _ in range(people)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


async def _value(figures: ReusedFigures, count: Count) -> object:
    return (await figures.get("week", NOW, count.run)).value


async def test_people_who_ask_at_once_share_one_count() -> None:
    """Ten people who open the dashboard run one query; one who leaves does not end it for the others."""
    figures, count = ReusedFigures(), Count()
    tasks = await asked(figures, count, 10)
    tasks[0].cancel()
    count.released.set()
    found = await asyncio.gather(*tasks[1:])

    assert found == [1] * 9
    assert count.runs == 1


async def test_a_failed_count_fails_for_all_that_wait_and_is_repeated() -> None:
    """The failure is not kept."""
    figures, count = ReusedFigures(), Count(KeyError("a bug"))
    tasks = await asked(figures, count, 2)
    count.released.set()
    failed = await asyncio.gather(*tasks, return_exceptions=True)
    count.problem = None

    assert [type(each) for each in failed] == [KeyError, KeyError]
    assert await _value(figures, count) == 2


async def test_after_a_change_nothing_counted_before_is_shown() -> None:
    """A request after the change counts anew, also while the earlier count is under way."""
    figures, count = ReusedFigures(), Count()
    (before,) = await asked(figures, count, 1)
    figures.forget()
    (after,) = await asked(figures, count, 1)
    count.released.set()
    await asyncio.gather(before, after)

    assert count.runs == 2


async def test_quick_figures_are_counted_for_each_request() -> None:
    """Only figures that took long are kept."""
    figures, count = ReusedFigures(), Count()
    count.released.set()

    assert [await _value(figures, count), await _value(figures, count)] == [1, 2]
