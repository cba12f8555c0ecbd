"""``hushgate alerts``: what is wrong now, without a Prometheus, and the rules file for one."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from cli.exit_codes import ExitCode
from cli.options import settings_of
from cli.output import emit
from tasks.alerts.declared import ALERTS
from tasks.alerts.rules_file import rules_file
from tasks.alerts.situation import Situation, load_situation
from worker.settings import FleetSettings

app = typer.Typer(no_args_is_help=True, help="Alerts: `check` the deployment now, print the `rules` file.")
Workers = Annotated[int, typer.Option("--workers", min=0, help="How many workers are expected.")]


@app.command()
def check(workers: Workers = 1) -> None:
    """Print each alert that fires now, judged from Redis and Postgres; Prometheus is not needed.

    DATABASE_URL needs the login of the review pages. The conservation check counts whole tables: run the
    command every few minutes, not every second. docs/alerts.md says what to do for each alert.

    Exit 0 when nothing fires, 1 when something does. For example:

        hushgate alerts check --workers 4
    """
    known = settings_of(FleetSettings)
    url = known.database_url.get_secret_value()
    found = list(_findings(asyncio.run(load_situation(known, url, workers=workers))))
    emit(found, ["alert", "severity", "found"])
    if found:
        raise typer.Exit(ExitCode.NEGATIVE)


@app.command()
def rules(workers: Workers = 1) -> None:
    """Print the alerts as a rules file of Prometheus; deploy/alerts/hushgate.yml is the one for one worker.

    For example:

        hushgate alerts rules --workers 4 > /etc/prometheus/rules/hushgate.yml
    """
    typer.echo(rules_file(workers=workers), nl=False)


def _findings(now: Situation) -> list[dict[str, Any]]:
    return [
        {"alert": each.name, "severity": each.severity.value, "found": sentence}
        for each in ALERTS
        for sentence in each.check(now)
    ]
