"""``hushgate migrate``, ``worker`` and ``beat``: thin commands over Alembic and Celery."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from cli.deployment import logins
from cli.options import database_url
from cli.output import emit
from db import migrate as migrations
from worker.settings import Settings, load


def migrate(
    create_logins: Annotated[
        bool,
        typer.Option(
            "--create-logins",
            help="Also create hushgate_worker_login and hushgate_review_login, or set their passwords.",
        ),
    ] = False,
) -> None:
    """Upgrade the database to the newest migration; safe to repeat and to run on several machines at once.

    Needs DATABASE_URL only, with the login of the database's owner. Workers, beat and review pages use other
    logins, which own nothing; --create-logins creates them. Their passwords are read from
    HUSHGATE_DB_WORKER_PASSWORD and HUSHGATE_DB_REVIEW_PASSWORD. Without a password, a new login gets a
    generated one, printed once as part of its DATABASE_URL, and an existing login keeps its password.
    """
    url = database_url()
    before, after = migrations.upgrade(url)
    emit([{"before": before, "after": after}], ["before", "after"])
    if create_logins:
        logins.create(url)


def worker(context: typer.Context) -> None:
    """Run a worker: the engine inside an ordinary Celery worker. Further options go to Celery.

    The same as `celery -A tasks.app worker`. On SIGTERM the worker takes no further events and finishes
    the running ones. Run as many workers as you need on one stream. For example:

        hushgate worker -n worker-1@%h
    """
    _celery("worker", *context.args)


def beat(context: typer.Context) -> None:
    """Run Celery beat, which schedules periodic tasks; one per deployment. Further options go to Celery."""
    _celery("beat", *context.args)


def sandbox(
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port on loopback; 0 for a free one.")] = 0,
) -> None:
    """Run the sandbox: an OpenAI-compatible server on loopback. It is not a model and needs no key.

    For example:

        hushgate sandbox --port 8090
    """
    os.execv(sys.executable, [sys.executable, "-m", "sandbox", "--port", str(port)])  # noqa: S606  # our own module


def _celery(*arguments: str) -> None:
    load(Settings)
    command = [sys.executable, "-m", "celery", "-A", "tasks.app", *arguments]
    os.execv(sys.executable, command)  # noqa: S606  # signals reach Celery itself
