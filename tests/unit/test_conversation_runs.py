"""A run publishes its questions as fast as they are decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from cli.assess import conversation_runs
from cli.assess.conversation_fleet import MeasuredPolicy
from cli.assess.conversation_runs import IN_FLIGHT, MeasuredRun
from sandbox.cases import Case, Writes

RUN = MeasuredRun(
    name="run", policy=MeasuredPolicy(label="default", setting=None), judge="perfect", writes=Writes.RIGHT
)
CASES = {
    f"run-{number}": Case(
        case_id=str(number), domain="shop", kind="question", query="Open?", answer="We open at nine."
    )
    for number in range(3 * IN_FLIGHT + 1)
}


@dataclass
class _Fleet:
    """Decides three published questions at every look."""

    published: list[bytes] = field(default_factory=list)
    decided: int = 0
    most_waiting: int = 0

    def publish(self, _url: str, payloads: Sequence[bytes]) -> None:
        self.published += payloads
        self.most_waiting = max(self.most_waiting, len(self.published) - self.decided)

    async def count(self, _source: Any, _run: str) -> int:
        self.decided = min(self.decided + 3, len(self.published))
        return self.decided


@dataclass
class _Running:
    stack: Any = None

    @property
    def redis_url(self) -> str:
        return "redis://nowhere"

    def ended_output(self) -> None:
        return None


async def test_at_most_so_many_questions_wait_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A burst of all questions would measure which of them an embedding server answers in time."""
    fleet, running = _Fleet(), _Running()
    running.stack = running
    monkeypatch.setattr(conversation_runs, "_publish", fleet.publish)
    monkeypatch.setattr(conversation_runs, "count_decided", fleet.count)
    advanced: list[int] = []
    await conversation_runs._ask(cast("Any", None), cast("Any", running), RUN, CASES, advanced.append)

    assert len(fleet.published) == sum(advanced) == len(CASES)
    assert fleet.most_waiting == IN_FLIGHT
