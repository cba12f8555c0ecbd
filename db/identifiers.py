"""UUIDv7: identifiers that contain their time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

import uuid_utils

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
NEVER: Final = datetime(9999, 12, 30, tzinfo=UTC)
NEAR: Final = timedelta(milliseconds=2)


def parsed_id(text: str) -> UUID | None:
    """The id in a text; None for another text."""
    try:
        return UUID(text)
    except ValueError:
        return None


def uuid_at(at: datetime) -> UUID:
    """A UUIDv7 whose time is ``at``, to the millisecond."""
    return UUID(int=uuid_utils.uuid7(nanoseconds=(at - EPOCH) // timedelta(microseconds=1) * 1000).int)


def uuid_time_bounds(decision_id: UUID) -> tuple[datetime, datetime]:
    """Earliest and latest time of a decision by the time in its id; of an id that is not ours, any time."""
    try:
        at = EPOCH + timedelta(milliseconds=decision_id.int >> 80)
        return at - NEAR, at + NEAR
    except OverflowError:  # after the year 9999
        return NEVER, NEVER
