"""Counting the requests of an ASGI application: no paths, which hold ids and search texts."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tasks.metrics import names
from tasks.metrics.process import counter, histogram

UNANSWERED = "none"
"""The client left before an answer began."""


def measured(application: ASGIApp, registry: CollectorRegistry) -> ASGIApp:
    """The application; the registry counts its requests by class of status."""
    requests = counter(names.HTTP_REQUESTS, registry)
    duration = histogram(names.HTTP_DURATION, registry)

    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await application(scope, receive, send)
            return
        started, status = time.perf_counter(), UNANSWERED

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = f"{message['status'] // 100}xx"
            await send(message)

        try:
            await application(scope, receive, noted)
        finally:
            requests.labels(status).inc()
            duration.observe(time.perf_counter() - started)

    return counted
