"""Injects the faults of a schedule during the load, and counts those that were seen to happen."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from chaos.faults import FAULTS, Injection
from chaos.fleet.review_client import ReviewClient
from chaos.fleet.world import Interrupted, World
from chaos.kinds import FaultKind
from chaos.observing.recovery import Recoveries
from chaos.plan import FaultThread, ScheduledFault, schedule

LOOK_S: Final = 0.05


class Injector:
    """Two threads of faults, which overlap.

    Attributes:
        injected: how often each kind was begun.
        happened: how often it was seen to happen: an exit code, bytes held back, a refused write.
        failed: what went wrong in the tool itself.
        timeline: when each fault began and ended, UTC, and its kind.
    """

    def __init__(
        self, world: World, recoveries: Recoveries, review_client: ReviewClient, published: Callable[[], int]
    ) -> None:
        self.injected = Counter[FaultKind]()
        self.happened = Counter[FaultKind]()
        self.failed: list[str] = []
        self.timeline: list[str] = []
        self._world = world
        self._recoveries = recoveries
        self._review_client = review_client
        self._published = published
        self.threads = [
            threading.Thread(target=self._run, args=(thread, scheduled), name=thread, daemon=True)
            for thread, scheduled in schedule(world.plan).items()
        ]

    @property
    def is_alive(self) -> bool:
        """Whether further faults come."""
        return any(thread.is_alive() for thread in self.threads)

    def _run(self, thread: FaultThread, scheduled: Sequence[ScheduledFault]) -> None:
        rng = random.Random(f"{self._world.plan.seed}/{thread}")
        injection = Injection(
            world=self._world, rng=rng, recoveries=self._recoveries, review_client=self._review_client
        )
        try:
            for each in scheduled:
                while self._published() < each.after:
                    self._world.pause(LOOK_S)
                self._inject(each.kind, injection)
        except Interrupted:
            pass

    def _inject(self, kind: FaultKind, injection: Injection) -> None:
        self.injected[kind] += 1
        began = datetime.now(UTC)
        try:
            happened, entries = FAULTS[kind](injection)
        except Interrupted:
            raise
        except Exception as error:  # noqa: BLE001  # any error of the tool: the next fault follows
            self.failed.append(f"{kind}: {type(error).__name__}: {error}"[:200])
            return
        finally:
            self.timeline.append(f"{began:%H:%M:%S.%f} to {datetime.now(UTC):%H:%M:%S.%f} {kind}")
        self.happened[kind] += happened
        if happened:
            self._recoveries.watch(kind, entries)
