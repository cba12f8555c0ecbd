"""``hushgate alerts``: what is wrong now, without a Prometheus, and the rules file for one."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from cli.exit_codes import ExitCode
from cli.options import settings_of
from cli.output import emit
from tasks.alerts.declared import ALERTS, rules_file
from tasks.alerts.situation import Situation, load_situation
from tasks.alerts.watch import AlertWatch
from tasks.process import logs, telemetry
from worker import __version__
from worker.settings import FleetSettings

app = typer.Typer(no_args_is_help=True, help="Alerts: `check` the deployment now, print the `rules` file.")
Workers = Annotated[int, typer.Option("--workers", min=0, help="How many workers are expected.")]


@app.command()
def check(
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=0, help="How many workers are expected, not HUSHGATE_ALERTS_WORKERS."),
    ] = None,
    post: Annotated[
        bool,
        typer.Option("--post", help="Post alerts that began or ended since the last check, once each."),
    ] = False,
) -> None:
    """Print each alert that fires now, judged from Redis and Postgres; Prometheus is not needed.

    DATABASE_URL needs the login of the review pages. The conservation check counts whole tables: run the
    command every few minutes, not every second. docs/alerts.md says what to do for each alert.

    With --post an alert whose condition has held for its minutes is posted to HUSHGATE_ALERTS_WEBHOOK, and
    by name only to SENTRY_DSN; again when it ends. Beat does the same with
    HUSHGATE_ALERTS_EVERY_S.

    Exit 0 when nothing fires, 1 when something does. For example:

        hushgate alerts check --workers 4
    """
    known = settings_of(FleetSettings)
    if workers is not None:
        known = known.model_copy(update={"alerts_workers": workers})
    found = list(_findings(_posted(known) if post else _judged(known)))
    emit(found, ["alert", "severity", "found"])
    if found:
        raise typer.Exit(ExitCode.NEGATIVE)


@app.command()
def rules(workers: Workers = 1) -> None:
    """Print the alerts as a rules file of Prometheus; deploy/alerts/hushgate.yml is the file for one worker.

    For example:

        hushgate alerts rules --workers 4 > /etc/prometheus/rules/hushgate.yml
    """
    typer.echo(rules_file(workers=workers), nl=False)


def _judged(known: FleetSettings) -> Situation:
    url = known.database_url.get_secret_value()
    return asyncio.run(load_situation(known, url, workers=known.alerts_workers))


def _posted(known: FleetSettings) -> Situation:
    logs.configure("INFO", logs.secret_values(known))
    if known.sentry_dsn is not None:
        telemetry.configure(known.sentry_dsn.get_secret_value(), release=f"hushgate@{__version__}")
    now = AlertWatch(known).check()
    telemetry.flush()
    return now


def _findings(now: Situation) -> list[dict[str, Any]]:
    return [
        {"alert": each.name, "severity": each.severity.value, "found": sentence}
        for each in ALERTS
        for sentence in each.check(now)
    ]
