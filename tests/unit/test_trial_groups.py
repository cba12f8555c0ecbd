"""The titles of the groups into which trials count decisions."""

from __future__ import annotations

from trials.pages.wording import TITLES
from trials.pure.replay.groups import GROUPS


def test_every_group_has_a_title() -> None:
    """A new group without one fails here."""
    assert TITLES.keys() == set(GROUPS)
