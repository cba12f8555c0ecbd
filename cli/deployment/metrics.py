"""``hushgate metrics``: the figures of the whole fleet, once or as an endpoint."""

from __future__ import annotations

import signal
import threading
from importlib.resources import files
from typing import Annotated, Final

import typer
from prometheus_client import generate_latest

from cli.exit_codes import ExitCode
from cli.options import settings_of
from cli.output import fail
from tasks.metrics.endpoint import serve_metrics
from tasks.metrics.fleet import FleetCollector, fleet_collector
from tasks.metrics.names import metrics_table
from tasks.metrics.process import ProcessMetrics
from tasks.process import logs
from worker.settings import FleetSettings

PORT: Final = 9109
DASHBOARDS: Final = ("fleet", "decisions", "upstreams", "people")
HEAD: Final = (
    "# Metrics\n\nMade by `hushgate metrics --names` from [tasks/metrics/names.py](../tasks/metrics/names.py)"
    ". [Install](../deploy/install.md#metrics) says how to collect them.\n\n"
)


def metrics(
    serve: Annotated[bool, typer.Option("--serve", help="Serve /metrics until Ctrl-C.")] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="With --serve: the port; the next free one of 20.")
    ] = PORT,
    names: Annotated[bool, typer.Option("--names", help="Print docs/metrics.md: every metric.")] = False,
    dashboard: Annotated[
        str | None,
        typer.Option("--dashboard", help=f"Print a dashboard for Grafana: {', '.join(DASHBOARDS)}."),
    ] = None,
) -> None:
    """Print the figures of the whole fleet in the format of Prometheus, or serve them: one per deployment.

    With --serve the address is HUSHGATE_METRICS_HOST, or this machine. Workers, beat, review server and
    gateway serve their own metrics when HUSHGATE_METRICS_PORT is set. DATABASE_URL needs the login of the
    review pages.

    Exit 1 when Redis or Postgres did not answer. Examples:

        hushgate metrics

        hushgate metrics --serve
    """
    if names:
        typer.echo(HEAD + metrics_table())
        return
    if dashboard is not None:
        if dashboard not in DASHBOARDS:
            raise fail(f"--dashboard: expected one of {', '.join(DASHBOARDS)}, got {dashboard!r}")
        text = files("tasks.metrics").joinpath("dashboards", f"{dashboard}.json").read_text(encoding="utf-8")
        typer.echo(text, nl=False)
        return
    known = settings_of(FleetSettings)
    collector = fleet_collector(known, known.database_url.get_secret_value())
    if serve:
        _serve(collector, known.model_copy(update={"metrics_port": port}))
        return
    registry = ProcessMetrics("exporter").registry
    registry.register(collector)
    text = generate_latest(registry).decode()
    typer.echo(text, nl=False)
    if (
        'hushgate_server_up{server="postgres"} 0.0' in text
        or 'hushgate_server_up{server="redis"} 0.0' in text
    ):
        raise typer.Exit(ExitCode.NEGATIVE)


def _serve(collector: FleetCollector, known: FleetSettings) -> None:
    logs.configure("INFO", logs.secret_values(known))
    registry = ProcessMetrics("exporter").registry
    registry.register(collector)
    endpoint = serve_metrics(registry, known)
    if endpoint is None:
        raise fail("metrics: no port is free, see the log", code=ExitCode.CONFIGURATION)
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    try:
        ended.wait()
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    finally:
        endpoint.close()
