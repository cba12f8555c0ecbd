"""Serving an application with uvicorn: the review pages and the gateway."""

from __future__ import annotations

from typing import Final

import uvicorn
from prometheus_client import CollectorRegistry, Counter
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from review.connections import limited
from tasks.metrics import names
from tasks.metrics.endpoint import serve_metrics
from tasks.metrics.process import ProcessMetrics, counter
from tasks.metrics.web import measured
from tasks.process import telemetry
from tasks.process.garbage import spare_the_collector
from tasks.process.logs import configure, secret_values
from tasks.process.open_files import allow_many_connections
from worker import __version__
from worker.settings import ReviewSettings

LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
STOP_S: Final = 10
"""Running requests end within it after SIGTERM."""


class JobFailures:
    """Reports bugs in background tasks, and counts them where metrics are served."""

    def __init__(self) -> None:
        self._count: Counter | None = None

    def count_in(self, registry: CollectorRegistry) -> None:
        """Count from now on."""
        self._count = counter(names.JOB_FAILURES, registry)

    def __call__(self, job: str, error: Exception) -> None:
        """Report one bug."""
        telemetry.report(error)
        if self._count is not None:
            self._count.labels(job).inc()


def serve_application(
    application: ASGIApp,
    settings: ReviewSettings,
    *,
    process: str,
    host: str,
    port: int,
    failures: JobFailures | None = None,
) -> None:
    """Serve until Ctrl-C or SIGTERM; running requests are finished first. ``process`` names it in metrics."""
    configure("INFO", secret_values(settings))
    dsn = settings.sentry_dsn
    telemetry.configure(dsn.get_secret_value() if dsn else None, release=f"hushgate@{__version__}")
    served = _reported(application)
    if settings.metrics_port is not None:
        metrics = ProcessMetrics(process)
        served = measured(served, metrics.registry)
        if failures is not None:
            failures.count_in(metrics.registry)
        serve_metrics(metrics.registry, settings)
    allow_many_connections()
    spare_the_collector()
    uvicorn.run(
        served,
        host=host,
        port=port,
        access_log=False,  # URLs of pages contain search texts
        log_config=None,
        proxy_headers=bool(settings.review_proxies.strip()),
        forwarded_allow_ips=settings.review_proxies,
        server_header=False,
        http=limited(),
        ws="none",
        timeout_graceful_shutdown=STOP_S,
    )


def _reported(pages: ASGIApp) -> ASGIApp:
    """The application, with unexpected errors reported to Sentry."""

    async def reported(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await pages(scope, receive, send)
        except ClientDisconnect:
            return  # the client left, or was too slow, before its request was complete
        except Exception as error:
            telemetry.report(error)
            raise

    return reported
