"""What every fault is given, and what it says about itself."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from chaos.fleet.review_client import ReviewClient
from chaos.fleet.world import World
from chaos.observing.recovery import Recoveries


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """The surroundings of one fault."""

    world: World
    rng: random.Random
    recoveries: Recoveries
    review_client: ReviewClient

    def duration_s(self) -> float:
        """How long a fault lasts."""
        return self.rng.uniform(0.3, 1.0) * self.world.plan.fault_s


Fault: TypeAlias = Callable[[Injection], tuple[bool, list[str]]]
"""Injects a fault and ends it; whether it demonstrably happened, and the entries to follow from now on."""
