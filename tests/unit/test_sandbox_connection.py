"""A reset of a connection that the client has closed already."""

from __future__ import annotations

import asyncio
from typing import Any

import uvloop

from sandbox.connection import reset_connection


class _Answering:
    """The request cycle that uvicorn has for a request, as far as a reset needs it."""

    def __init__(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    async def send(self, message: Any) -> None:
        """Send nothing."""


async def _reset_after_close() -> bool:
    accepted: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
    server = await asyncio.start_server(lambda _reader, writer: accepted.put_nowait(writer), "127.0.0.1", 0)
    async with server:
        _reader, client = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer = await accepted.get()
        writer.transport.get_extra_info("socket")  # as uvicorn does for the client's address
        client.close()
        writer.transport.abort()
        await reset_connection(_Answering(writer.transport).send)
        return writer.transport.is_closing()


def test_a_reset_of_a_closed_connection_changes_nothing() -> None:
    """Uvloop has no socket of such a connection any more."""
    assert uvloop.run(_reset_after_close())
