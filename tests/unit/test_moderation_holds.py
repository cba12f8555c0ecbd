"""Held events: the places they leave, the room they have, and which accounts are limited meanwhile."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest

from tests.support.samples import event
from worker.moderation_holds import CLOSED_S, Holds


class Places:
    """Counts what holds leave and take again."""

    def __init__(self, most: int, of_account: int) -> None:
        self.free = 0
        self.holds = Holds(most=most, most_of_account=of_account, left=self.left, returned=self.returned)

    def left(self) -> None:
        """One place is free."""
        self.free += 1

    def returned(self) -> None:
        """One place is taken."""
        self.free -= 1

    def hold(self, stack: ExitStack, user_id: str, entry: str, *, leaves: bool = True) -> None:
        """Hold one more call of an event until the stack ends."""
        held = event(user_id=user_id, entry_id=entry)
        stack.enter_context(self.holds.waiting(held, now_s=100.0, leaves=leaves))


def test_a_held_event_leaves_its_place_once() -> None:
    """Two calls of one event are one place; the place is taken again when the last call goes on."""
    places = Places(9, 9)
    with ExitStack() as outer:
        places.hold(outer, "u", "1-1")
        with ExitStack() as inner:
            places.hold(inner, "u", "1-1")
            seen = places.free, places.holds.count, places.holds.events
        after = places.free, places.holds.count

    assert (seen, after) == ((1, 2, 1), (1, 1))
    assert (places.free, places.holds.count, places.holds.events) == (0, 0, 0)


def test_a_short_wait_keeps_its_place() -> None:
    """Only a hold has no limit of attempts."""
    places = Places(0, 0)
    with ExitStack() as stack:
        places.hold(stack, "u", "1-1", leaves=False)

        assert (places.free, places.holds.count, places.holds.open_lanes(100.0)) == (0, 1, {})


@pytest.mark.parametrize(("most", "of_account"), [(2, 9), (9, 2)])
def test_an_event_without_room_is_put_back(most: int, of_account: int) -> None:
    """Its run ends and it keeps no place; its account is limited for as long as it holds other events."""
    places = Places(most, of_account)
    with ExitStack() as stack:
        places.hold(stack, "u", "1-1")
        places.hold(stack, "u", "1-2")
        with pytest.raises(asyncio.CancelledError):
            places.hold(stack, "u", "1-3")
        places.hold(stack, "u", "1-2")

        assert (places.free, places.holds.events) == (2, 2)
        assert places.holds.open_lanes(100.0) == {"u": of_account}

    assert places.holds.open_lanes(100.0) == {}


def test_an_account_without_room_for_any_event_gets_none_for_a_while() -> None:
    """Otherwise its events would be put back again at once."""
    places = Places(1, 9)
    with ExitStack() as stack:
        places.hold(stack, "u", "1-1")
        with pytest.raises(asyncio.CancelledError):
            places.hold(stack, "v", "1-2")

        assert places.holds.open_lanes(100.0) == {"u": 9, "v": 0}
        assert places.holds.open_lanes(100.0 + CLOSED_S) == {"u": 9}


def test_accounts_without_held_events_are_not_limited() -> None:
    """What is held limits its own account only, for as long as it is held."""
    places = Places(9, 3)
    with ExitStack() as stack:
        places.hold(stack, "u", "1-1")

        assert places.holds.open_lanes(100.0) == {"u": 3}

    assert places.holds.open_lanes(100.0) == {}
