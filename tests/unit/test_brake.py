"""The limit of running lanes while the event loop is busy and several accounts send."""

from __future__ import annotations

from tasks.fairness.admission import Admission
from tasks.fairness.brake import LEAST, REMEMBERED_S, STEP_S, Brake, busy_s
from tasks.fairness.shares import account_key
from worker.places import Places


class Loop:
    """A loop that is busy for a share of the time."""

    def __init__(self, most: int = 400) -> None:
        self.now_s = 10.0
        self.busy_s = 1.0
        self.brake = Brake(most, busy_s=lambda: self.busy_s, now_s=lambda: self.now_s)

    def run(self, steps: int, busy: float, running: int | None = None) -> int:
        """The ceiling after some steps; by default as many lanes run as it allows."""
        ceiling = self.brake.ceiling(running or 0)
        for _ in range(steps):
            self.now_s += STEP_S
            self.busy_s += STEP_S * busy
            ceiling = self.brake.ceiling(ceiling if running is None else running)
        return ceiling


def test_a_single_account_is_not_limited() -> None:
    """Without a second account there is none to be fair to."""
    loop = Loop()
    loop.brake.saw(["x"])

    assert loop.run(20, busy=1.0) == 400


def test_a_busy_loop_runs_fewer_lanes_and_a_rested_one_more() -> None:
    """The ceiling falls to its lower end while the loop never rests, and rises while all lanes are in use."""
    loop = Loop()
    loop.brake.saw(["x", "y"])
    risen = loop.run(20, busy=0.3)
    fallen = loop.run(20, busy=1.0)
    risen_again = loop.run(20, busy=0.3)
    unused = loop.run(20, busy=0.3, running=1)

    assert (risen, fallen, risen_again, unused) == (400, 40, 400, 400)
    assert Loop(most=4).run(9, busy=1.0) == 4
    assert LEAST > 4


def test_accounts_are_forgotten() -> None:
    """A minute after the second account's last grant the first one may run everything again."""
    loop = Loop()
    loop.brake.saw(["x", "y"])
    limited = loop.run(4, busy=1.0)
    loop.now_s += REMEMBERED_S
    loop.brake.saw(["x"])

    assert limited == 40
    assert loop.run(1, busy=1.0) == 400


def test_work_is_busy_time() -> None:
    """The share rests on what the operating system counts for this thread."""
    before = busy_s()
    sum(range(2_000_000))

    assert busy_s() > before


def test_the_plan_keeps_one_place_in_ten_free() -> None:
    """Accounts with many lanes share what is free beyond those; held accounts are limited by their key."""
    places, loop = Places(100), Loop(most=100)
    places.take(85)
    reserved = places.reserve(256)
    admission = Admission(places, read_ahead=7, open_lanes=lambda: {"u": 3}, brake=loop.brake)
    plan = admission.plan(reserved)

    assert (reserved, plan.shared, plan.few, plan.most_admitted) == (15, 5, 2, 7)
    assert plan.limited == ((account_key("u"), 3),)
