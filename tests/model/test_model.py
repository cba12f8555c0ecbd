"""The model holds its invariants, and each planted mistake breaks the invariant that it is about."""

from __future__ import annotations

import pytest

from tests.model.explore import ENDS, INVARIANTS, explore
from tests.model.steps import Breach, Kind, Model

ORDER, ONCE, OWNER, LOSS, FOUND = INVARIANTS
CAUGHT = {
    Breach.NEWEST_FIRST: (ORDER, 4),
    Breach.NO_KEY: (ONCE, 4),
    Breach.OWNED_TAKEN: (OWNER, 9),
    Breach.UNFENCED: (OWNER, 7),
    Breach.FINISH_FIRST: (LOSS, 3),
    Breach.UNQUEUED: (FOUND, 4),
    Breach.UNAUDITED: (ENDS, 3),
}


def test_every_state_of_a_small_fleet_keeps_order_ownership_and_entries() -> None:
    """Three workers, two conversations, two entries; ``python -m tests.model`` explores four entries."""
    found = explore(3, Model(entries=2))

    assert (found.broken, found.trace) == ("", ())
    assert found.states == 16_310
    assert set(found.steps) == set(Kind)


@pytest.mark.parametrize("breach", Breach, ids=lambda breach: breach.name)
def test_a_planted_mistake_is_found_with_the_shortest_trace(breach: Breach) -> None:
    """An invariant that no mistake breaks would prove nothing."""
    small = breach is Breach.UNAUDITED  # found after all states only, and two workers may both be killed
    found = explore(3 if small else 2, Model(entries=1 if small else 2, breach=breach))

    assert found.broken == CAUGHT[breach][0]
    assert len(found.trace) == CAUGHT[breach][1]
