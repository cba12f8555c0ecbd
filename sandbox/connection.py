"""Connection control beyond ASGI: send a TCP reset, and test whether the client has disconnected."""

from __future__ import annotations

import asyncio
import socket
import struct

from starlette.types import Send

LINGER_NONE = struct.pack("ii", 1, 0)
"""``struct linger`` that makes close() send RST and drop unsent bytes."""

FLUSH_S = 0.02
"""Time for bytes already written to reach the client before the reset overtakes them."""


async def reset_connection(send: Send) -> None:
    """Reset the client's connection after the bytes already sent; unless the client closed it before."""
    transport = getattr(_cycle(send), "transport", None)
    if transport is None:
        raise TypeError(f"expected uvicorn's own send with a transport, got {send!r}")
    await asyncio.sleep(FLUSH_S)
    peer = transport.get_extra_info("socket")
    if peer is not None and not transport.is_closing():
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NONE)
    transport.abort()


def client_is_gone(send: Send) -> bool:
    """Whether the client closed the connection before the answer was ready."""
    return bool(getattr(_cycle(send), "disconnected", False))


def _cycle(send: Send) -> object:
    # uvicorn passes the bound method of its request cycle; goes when ASGI has an extension for aborting.
    return getattr(send, "__self__", None)
