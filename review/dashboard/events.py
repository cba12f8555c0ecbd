"""Notes and versions of settings as numbered marks of the plots."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from db.figures.notes import Happening
from review.languages import gettext as _


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedEvent:
    """A note or version with its number on the plots, 1 is the earliest."""

    number: int
    event: Happening

    @property
    def text(self) -> str:
        """What happened, in one sentence or as the note says."""
        found = self.event
        if found.version is None:
            return found.text
        return _("Version %(version)s of the settings of %(account)s") % {
            "version": found.version,
            "account": found.user_id,
        }


def number_events(found: Sequence[Happening]) -> tuple[NumberedEvent, ...]:
    """The events in the order of their time."""
    ordered = sorted(found, key=lambda each: each.at)
    return tuple(NumberedEvent(number=number, event=each) for number, each in enumerate(ordered, start=1))


def place_events(
    found: Sequence[NumberedEvent], starts: Sequence[datetime], step: timedelta
) -> tuple[tuple[int, str, str], ...]:
    """Place of the step, numbers and texts; events of one step are one mark."""
    places: defaultdict[int, list[NumberedEvent]] = defaultdict(list)
    for each in found:
        place = (each.event.at - starts[0]) // step
        if 0 <= place < len(starts):
            places[place].append(each)
    return tuple((place, _numbers(each), _texts(each)) for place, each in sorted(places.items()))


def _numbers(found: Sequence[NumberedEvent]) -> str:
    first, last = found[0].number, found[-1].number
    return str(first) if first == last else f"{first}\N{EN DASH}{last}"


def _texts(found: Sequence[NumberedEvent]) -> str:
    return "; ".join(f"{each.number}: {each.text}" for each in found)
