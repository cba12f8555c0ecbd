"""The cursor of a page: position and direction, as text for a URL."""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from worker.errors import RejectedError

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)
CHECK_BYTES: Final = 5
LENGTH: Final = 1 + 8 + 16 + CHECK_BYTES
NO_ID: Final = UUID(int=0)


class CursorRejected(RejectedError):
    """A page cursor is not one of ours."""


class Direction(StrEnum):
    """The direction of a page from its position."""

    OLDER = "o"
    NEWER = "n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Next to one decision, which itself is not on the page."""

    direction: Direction
    at: datetime
    decision_id: UUID = NO_ID

    def __str__(self) -> str:
        micros = (self.at - EPOCH) // MICROSECOND
        body = self.direction.value.encode() + micros.to_bytes(8) + self.decision_id.bytes
        return base64.urlsafe_b64encode(body + _checksum(body)).decode()


def parse_cursor(cursor: str) -> Position:
    """The position a cursor names.

    Raises:
        CursorRejected: it was not made by an earlier page, or was changed since.
    """
    try:
        raw = base64.b64decode(cursor, altchars=b"-_", validate=True)
        body, checksum = raw[:-CHECK_BYTES], raw[-CHECK_BYTES:]
        if len(raw) != LENGTH or checksum != _checksum(body):
            raise ValueError  # noqa: TRY301  # the same refusal as for other malformed cursors
        return Position(
            direction=Direction(body[:1].decode()),
            at=EPOCH + int.from_bytes(body[1:9]) * MICROSECOND,
            decision_id=UUID(bytes=body[9:]),
        )
    except (ValueError, OverflowError, binascii.Error) as error:
        raise CursorRejected(f"cursor: expected one from an earlier page, got {cursor[:40]!r}") from error


def _checksum(body: bytes) -> bytes:
    """Checksum that detects a changed cursor; without a secret, as a cursor gives no right."""
    return hashlib.blake2b(body, digest_size=CHECK_BYTES).digest()


OLDEST: Final = str(Position(direction=Direction.NEWER, at=EPOCH))
"""The cursor of the last page."""
NEWEST: Final = str(Position(direction=Direction.OLDER, at=datetime(9999, 1, 1, tzinfo=UTC)))
"""The cursor of the last page where the oldest decisions come first."""
