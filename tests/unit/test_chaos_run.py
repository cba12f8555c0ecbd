"""A chaos run ends automatically, and misses nothing that was broken or lost."""

from __future__ import annotations

import threading
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest

from chaos import run
from chaos.faults import FAULTS
from chaos.faults.injector import Injector
from chaos.fleet.review_client import AskedJob, ReviewClient
from chaos.fleet.world import World
from chaos.kinds import FaultKind, Role
from chaos.laws.observations import EventKind, JobKind, Observations, PublishedEvent
from chaos.ledger import Ledger
from chaos.observing.leaks import MOST_KEYS, Growth, most_postgres, unmarked_keys
from chaos.plan import Plan
from chaos.run import Progress, Run, judged

MAX_CONNECTIONS = 100
"""Of Postgres by default, three of them for its superusers."""


class Parts:
    """A run of which the test sets what was accepted, broken and left."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s, self.left, self.entries = 0.0, 10, 0
        monkeypatch.setattr("chaos.run.time.monotonic", lambda: self.now_s)
        monkeypatch.setattr(run, "unfinished_entries", lambda _: self.left)
        ledger = SimpleNamespace(entries=[])
        self.run = SimpleNamespace(
            publisher=SimpleNamespace(ledger=ledger),
            injector=SimpleNamespace(injected=SimpleNamespace(total=lambda: 0)),
            world=SimpleNamespace(plan=SimpleNamespace(patience_s=120.0)),
            say=lambda _: None,
            stalled=False,
        )
        self.progress = Progress(cast("Run", self.run))


def test_a_load_without_progress_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries that are never finished are stuck also while the load lasts."""
    parts = Parts(monkeypatch)
    found = []
    for parts.now_s in (0.0, 119.0, 121.0):
        found.append(parts.progress.is_missing())

    assert found == [False, False, True]
    assert parts.run.stalled


def test_each_finished_entry_is_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow fleet is not a stuck one."""
    parts = Parts(monkeypatch)
    for parts.now_s, parts.left in ((0.0, 10), (119.0, 9), (238.0, 8)):
        assert not parts.progress.is_missing()


@pytest.mark.parametrize(("accepted", "unpublished"), [(480, 20), (500, 0), (539, 0)])
def test_planned_events_that_were_not_published_are_reported(accepted: int, unpublished: int) -> None:
    """A publisher that ends early tests less than planned; the last batch of one may exceed the plan."""
    plan = Plan(events=500, workers=1, seed=1, counts={})
    world = SimpleNamespace(
        plan=plan, receiver=SimpleNamespace(again=0), processes=SimpleNamespace(ended={}, last_lines=[])
    )
    parts = SimpleNamespace(
        world=world,
        publisher=SimpleNamespace(ledger=Ledger()),
        injector=SimpleNamespace(happened=Counter(), failed=[], timeline=[]),
        prompts=SimpleNamespace(looked_at=0),
        growth=Growth(),
        interrupted=False,
    )
    question = PublishedEvent(name="e1", conversation="c", kind=EventKind.QUESTION)
    seen = Observations(published={"e1": question}, entries={f"{n}-0": "e1" for n in range(accepted)})

    assert judged(cast("Run", parts), seen, "make chaos", 1.0).unpublished == unpublished


def test_a_fault_that_cannot_be_made_does_not_end_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any error of the tool is reported, and the fault did not happen."""

    def break_tool(_: Any) -> tuple[bool, list[str]]:
        raise LookupError("no such process")

    monkeypatch.setitem(FAULTS, FaultKind.RESET, break_tool)
    monkeypatch.setitem(FAULTS, FaultKind.LATENCY, lambda _: (True, []))
    counts = {FaultKind.RESET: 3, FaultKind.LATENCY: 2}
    world = SimpleNamespace(
        plan=Plan(events=10, workers=1, seed=1, counts=counts), stopping=threading.Event()
    )
    recoveries = SimpleNamespace(watch=lambda *_: None)
    made = Injector(cast("World", world), cast("Any", recoveries), cast("Any", None), lambda: 10)
    for thread in made.threads:
        thread.start()
        thread.join(10)

    assert made.injected == counts
    assert made.happened == {FaultKind.LATENCY: 2}
    assert made.failed == ["connection_reset: LookupError: no such process"] * 3


@pytest.mark.parametrize("is_acknowledged", [True, False])
def test_a_job_whose_request_was_answered_must_be_stored(*, is_acknowledged: bool) -> None:
    """One without an answer may have been lost."""
    review_client = ReviewClient(cast("World", SimpleNamespace(rows=lambda *_: [])))
    review_client.asked.append(AskedJob(kind=JobKind.BULK_REVIEW, mark="m", expected=frozenset({"d"})))
    if is_acknowledged:
        review_client._acknowledged.add("m")

    assert [each.state for each in review_client.seen()] == ["lost"] * is_acknowledged


def test_more_connections_than_allowed_can_be_reached() -> None:
    """Otherwise Postgres would refuse the connection before the law were broken."""
    fleet = [*[Role.WORKER] * 3, Role.DELIVERER, Role.BEAT, Role.GATEWAY, Role.REVIEW]

    assert most_postgres(fleet) < MAX_CONNECTIONS - 3


def test_keys_of_what_was_sent_are_no_leak() -> None:
    """They are deleted by age; all others are few when nothing is unfinished."""
    keys = {"{hushgate:replies}:sent": 9_000, "{hushgate:events}:workers": 1, "hushgate": 3}

    assert unmarked_keys(keys) == 4
    assert unmarked_keys(keys | {"{hushgate:events}:lane": MOST_KEYS}) > MOST_KEYS
