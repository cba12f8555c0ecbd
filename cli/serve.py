"""``hushgate migrate``, ``worker`` and ``beat``: thin words for what Alembic and Celery do."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from cli.options import connected
from cli.output import emit, fail
from db import migrate as migrations
from worker.errors import ConfigurationError
from worker.settings import load


def migrate() -> None:
    """Bring the database to the newest migration; safe to repeat and to run from several places at once."""
    before, after = migrations.upgrade(connected().database_url.get_secret_value())
    emit([{"before": before, "after": after}], ["before", "after"])


def worker(context: typer.Context) -> None:
    """Run a worker: the engine inside an ordinary Celery worker. Further options go to Celery.

    The same as `celery -A tasks.app worker`. SIGTERM drains. Run as many as you like on one stream.
    """
    _celery("worker", *context.args)


def beat(context: typer.Context) -> None:
    """Run Celery beat, which asks for the sweeps; one per deployment. Further options go to Celery."""
    _celery("beat", *context.args)


def sandbox(
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port on loopback; 0 for a free one.")] = 0,
) -> None:
    """Run the sandbox: an OpenAI-compatible server on loopback that is no model and needs no key."""
    os.execv(sys.executable, [sys.executable, "-m", "sandbox", "--port", str(port)])  # noqa: S606  # our own module


def _celery(*arguments: str) -> None:
    try:
        load()
    except ConfigurationError as error:
        raise fail(str(error)) from error
    command = [sys.executable, "-m", "celery", "-A", "tasks.app", *arguments]
    os.execv(sys.executable, command)  # noqa: S606  # signals reach Celery itself
