"""Whether a server can listen on a port, checked before the server is started."""

from __future__ import annotations

import socket

from worker.errors import ConfigurationError


def require_free(host: str, port: int) -> None:
    """Return when a server could listen there now.

    Raises:
        ConfigurationError: the port is in use, or the address is not of this machine.
    """
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one that has just ended is no obstacle
        try:
            trial.bind((host, port))
        except OSError as error:
            raise ConfigurationError(
                f"review pages: expected port {port} on {host} to be free, got: {error.strerror};"
                " set HUSHGATE_REVIEW_URL to another port, or stop the process that listens there"
            ) from error
