"""The head of an HTTP answer, whose status counts also when the rest is unusable."""

from __future__ import annotations

import asyncio
import re
from contextvars import ContextVar
from typing import Final

from aiohttp.client_proto import ResponseHandler

HEAD_BYTES: Final = 262_144
"""How much of an answer is kept; a head may have 34 kB in one header."""
STATUS: Final = re.compile(rb"HTTP/1\.[01] ([1-9]\d\d)(?:[ \t][^\r\n]*)?\r?\n")
HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
RETRY_AFTER: Final = re.compile(rb"\nretry-after:[ \t]*([^\r\n]*)", re.IGNORECASE)


class AnswerHead:
    """The first bytes of the answer to one request."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def add(self, data: bytes) -> None:
        """More bytes of the answer."""
        if len(self._bytes) < HEAD_BYTES:
            self._bytes += data[: HEAD_BYTES - len(self._bytes)]

    @property
    def is_full(self) -> bool:
        """Whether as much was recorded as is kept: an answer ends within that, or never."""
        return len(self._bytes) >= HEAD_BYTES

    @property
    def status(self) -> int | None:
        """The status of the answer; None before its line is complete, and for interim answers."""
        found = STATUS.match(self._bytes, self._start())
        return int(found[1]) if found and not 100 <= int(found[1]) < 200 else None

    @property
    def retry_after(self) -> str | None:
        """The header ``Retry-After``; None without one."""
        head = bytes(self._bytes[self._start() : self._body_start()])
        found = RETRY_AFTER.search(head)
        return found[1].decode("latin-1") if found else None

    def body(self, most_bytes: int) -> bytes:
        """The beginning of the body, as transferred."""
        start = self._body_start()
        return bytes(self._bytes[start : start + most_bytes])

    def _start(self) -> int:
        """Where the answer begins, behind interim answers such as 100 and 103."""
        at = 0
        while (found := STATUS.match(self._bytes, at)) and 100 <= int(found[1]) < 200:
            end = HEAD_END.search(self._bytes, at)
            if end is None:
                return at
            at = end.end()
        return at

    def _body_start(self) -> int:
        end = HEAD_END.search(self._bytes, self._start())
        return end.end() if end else len(self._bytes)


CURRENT: Final[ContextVar[AnswerHead]] = ContextVar("answer_head")
"""Where connections of the current request record their answer."""


class RecordingHandler(ResponseHandler):
    """A connection of aiohttp that records the head of its answer before it is parsed."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._head = CURRENT.get()

    def data_received(self, data: bytes) -> None:
        """Record, then parse; parsing an endless answer would take all the time of the process."""
        self._head.add(data)
        super().data_received(data)
        if self._head.is_full and self.transport is not None:
            self.transport.abort()
