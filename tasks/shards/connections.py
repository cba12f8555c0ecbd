"""Connections to Redis that raise a connection error when closed before a command or its answer.

A server or proxy that accepts a connection and resets it at once leaves a closed transport: uvloop raises
RuntimeError on it, asyncio TypeError. A cluster's client closes connections that other tasks use, when a node
is lost: these get AttributeError of None. redis-py translates none of them and no caller expects them; they
ended the engine.
"""

from __future__ import annotations

from asyncio import WriteTransport
from collections.abc import Iterable
from typing import Any, Final

from hiredis import pack_command
from redis.asyncio.connection import AbstractConnection, Connection, SSLConnection, UnixDomainSocketConnection
from redis.exceptions import ConnectionError as ConnectionLost


class _Reporting(AbstractConnection):
    def pack_command(self, *args: Any) -> list[bytes]:
        """A command as Redis reads it, written in C: redis-py does so for threads only."""
        name, *others = args
        return [pack_command((*name.encode().split(), *others))]

    async def send_packed_command(
        self, command: bytes | str | Iterable[bytes], check_health: bool = True
    ) -> None:
        """Send a command; its answer has a time limit.

        A time limit of redis-py for the sending as well would start a task for each command.

        Raises:
            ConnectionLost: the connection was closed before.
        """
        writer = None if self.health_check_interval else self._writer
        if self._writer is not None and self._writer.transport.is_closing():
            await self.disconnect(nowait=True)
            raise ConnectionLost("connection closed before the command")
        try:
            if isinstance(command, list) and writer and _takes_more(writer.transport):
                writer.writelines(command)
            else:
                await super().send_packed_command(command, check_health)
        except RuntimeError as error:
            await self.disconnect(nowait=True)
            raise ConnectionLost(f"connection closed before the command: {error}") from error
        except AttributeError as error:
            raise _lost(error, "command") from error

    async def read_response(self, *args: Any, **options: Any) -> Any:
        """The answer to a command.

        Raises:
            ConnectionLost: the connection was closed meanwhile.
        """
        try:
            return await super().read_response(*args, **options)
        except AttributeError as error:
            raise _lost(error, "answer") from error


def _takes_more(transport: WriteTransport) -> bool:
    """Whether a transport is open and has written all before."""
    return not transport.is_closing() and not transport.get_write_buffer_size()


def _lost(error: AttributeError, awaited: str) -> Exception:
    """The error for a stream that is None because another task closed the connection; others are bugs."""
    return error if error.obj is not None else ConnectionLost(f"connection closed before the {awaited}")


class ReportingConnection(_Reporting, Connection):
    """Over TCP."""


class ReportingSSLConnection(_Reporting, SSLConnection):
    """Over TLS."""


class ReportingUnixConnection(_Reporting, UnixDomainSocketConnection):
    """Over a Unix socket."""


REPORTING: Final[dict[Any, type[AbstractConnection]]] = {
    Connection: ReportingConnection,
    SSLConnection: ReportingSSLConnection,
    UnixDomainSocketConnection: ReportingUnixConnection,
}


def report_closed_of_nodes(cluster: Any) -> None:
    """Give these connections to a cluster's client, whose constructor takes no class."""
    kind = REPORTING[cluster.connection_kwargs["connection_class"]]
    for values in (cluster.connection_kwargs, cluster.nodes_manager.connection_kwargs):
        values["connection_class"] = kind
    for node in cluster.nodes_manager.startup_nodes.values():
        node.connection_class = kind
