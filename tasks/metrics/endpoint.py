"""``/metrics`` of a process, on a thread of its own."""

from __future__ import annotations

import threading
from typing import Final
from wsgiref.simple_server import WSGIServer

import structlog
from prometheus_client import CollectorRegistry, start_http_server

from worker.settings.metrics import MetricsSettings

log = structlog.get_logger(__name__)

PORTS_TRIED: Final = 20
"""Processes of one machine that share one setting listen on consecutive ports."""


class MetricsEndpoint:
    """A running endpoint; ``port`` is where it listens."""

    def __init__(self, server: WSGIServer, thread: threading.Thread) -> None:
        self._server = server
        self._thread = thread
        self.port: int = server.server_port

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)


def serve_metrics(registry: CollectorRegistry, settings: MetricsSettings) -> MetricsEndpoint | None:
    """Serve a registry; None without a port in the settings, or when none of the ports can be used.

    A process works without its metrics: the problem is an error in the log.
    """
    if settings.metrics_port is None:
        return None
    first, host = settings.metrics_port, settings.metrics_host
    for port in range(first, min(first + PORTS_TRIED, 65_536)) if first else (0,):
        try:
            server, thread = start_http_server(port, addr=host, registry=registry)
        except OSError as error:
            problem = type(error).__name__
            continue
        found = MetricsEndpoint(server, thread)
        log.info("metrics_served", host=host, port=found.port)
        return found
    log.error("metrics_not_served", host=host, port=first, error=problem)
    return None
