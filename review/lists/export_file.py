"""The file of an export as it is stored: parts that join to one gzip stream, and its exact length.

Several gzip members under one ``Content-Encoding`` are not one stream: browsers stop after the first member
and report no error. Each part is therefore a run of deflate blocks that ends on a byte, refers to no earlier
part and is not marked as the last; the stream's header and end are added when the file is sent.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Final, Self

GZIP_HEAD: Final = b"\x1f\x8b\x08" + b"\0" * 6 + b"\xff"
"""Deflate, no name, no time, unknown system (RFC 1952)."""
LAST_BLOCK: Final = b"\x03\x00"
"""An empty deflate block that is marked as the last (RFC 1951)."""
GZIP_EXTRA: Final = len(GZIP_HEAD) + len(LAST_BLOCK) + 8
RAW: Final = -zlib.MAX_WBITS
LEVEL: Final = 5


class ExportRefused(Exception):
    """The person cannot have this export; the text gives the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """How far a file is written.

    Attributes:
        parts: stored parts, numbered from 1.
        checksum: CRC-32 of the text in all parts.
        size_bytes: length of the text in all parts.
        cursor: where the next part begins in the audit; empty at the start and at the end.
    """

    parts: int = 0
    checksum: int = 0
    size_bytes: int = 0
    cursor: str = ""

    @classmethod
    def read(cls, position: str | None) -> Self:
        """The value of a job's stored position; raises ValueError."""
        if position is None:
            return cls()
        *numbers, cursor = position.split(":", 3)
        parts, checksum, size_bytes = map(int, numbers)
        return cls(parts=parts, checksum=checksum, size_bytes=size_bytes, cursor=cursor)

    def __str__(self) -> str:
        """The position as a job stores it."""
        return f"{self.parts}:{self.checksum}:{self.size_bytes}:{self.cursor}"

    def followed_by(self, text: bytes, *, cursor: str) -> Written:
        """The value after one more part."""
        return Written(
            parts=self.parts + 1,
            checksum=zlib.crc32(text, self.checksum),
            size_bytes=self.size_bytes + len(text),
            cursor=cursor,
        )

    @property
    def gzip_end(self) -> bytes:
        """What ends the gzip stream after the last part."""
        return LAST_BLOCK + struct.pack("<II", self.checksum, self.size_bytes & 0xFFFFFFFF)


def packed(text: bytes) -> bytes:
    """One part as it is stored."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, RAW)
    return packer.compress(text) + packer.flush(zlib.Z_FULL_FLUSH)


def unpacked(part: bytes) -> bytes:
    """The text of a part."""
    return zlib.decompressobj(RAW).decompress(part)


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether a client takes gzip (RFC 9110, 12.5.3); weight 0 refuses it."""
    for each in accept_encoding.split(","):
        name, _, weight = each.replace(" ", "").partition(";")
        if name.lower() in ("gzip", "x-gzip"):
            return weight.rstrip("0").lower() not in ("q=", "q=0.")
    return False
