"""The prepared statements of a connection to Postgres, counted from the messages of its client.

Postgres shows them to their own session only, in ``pg_prepared_statements``.
"""

from __future__ import annotations

import re
import struct
from typing import Final

LENGTH: Final = struct.Struct("!I")
MOST_READ: Final = 1 << 16
"""Bytes of a message that are read: names come first in it."""
DEALLOCATE: Final = re.compile(rb"\s*DEALLOCATE\s+(?:PREPARE\s+)?\"?([^\s\";\0]+)", re.IGNORECASE)


class PreparedStatements:
    """The names that are prepared after the messages until now.

    A statement that Postgres refused to prepare counts too; ``PREPARE`` in SQL does not. The messages are
    those of the manual's chapter "Message Formats", without encryption.
    """

    def __init__(self) -> None:
        self.names: set[bytes] = set()
        self._buffer = bytearray()
        self._skip = 0
        self._kind_bytes = 0  # the first message of a connection has no byte for its kind

    def feed(self, data: bytes) -> None:
        """Read what the client sent next; messages may be cut anywhere."""
        self._buffer += data[self._skip :]
        self._skip = max(0, self._skip - len(data))
        while self._read_message():
            pass

    def _read_message(self) -> bool:
        start = self._kind_bytes
        body = start + LENGTH.size
        if len(self._buffer) < body:
            return False
        end = start + LENGTH.unpack_from(self._buffer, start)[0]
        if len(self._buffer) < min(end, MOST_READ):
            return False
        self._apply(bytes(self._buffer[:start]), bytes(self._buffer[body : min(end, MOST_READ)]))
        self._skip = max(0, end - len(self._buffer))
        del self._buffer[:end]
        self._kind_bytes = 1
        return True

    def _apply(self, kind: bytes, body: bytes) -> None:
        match kind:
            case b"P" if body[:1] != b"\0":
                self.names.add(body.partition(b"\0")[0])
            case b"C" if body[:1] == b"S":
                self.names.discard(body[1:].partition(b"\0")[0])
            case b"Q":
                self._deallocate(body)

    def _deallocate(self, text: bytes) -> None:
        found = DEALLOCATE.match(text)
        if found is not None and found[1].upper() == b"ALL":
            self.names.clear()
        elif found is not None:
            self.names.discard(found[1])
