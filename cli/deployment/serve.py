"""``hushgate worker``, ``beat`` and ``sandbox``: each becomes the process that it names."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.deployment.start import require_servers
from db.pool import WORKER_ROLE
from worker import extras
from worker.settings import Settings, load


def worker(context: typer.Context) -> None:
    """Run a worker: the engine inside an ordinary Celery worker. Further options go to Celery.

    The same as `celery -A tasks.app worker`. On SIGTERM the worker takes no further events and finishes
    the running ones. Run as many workers as you need on one stream. For example:

        hushgate worker -n worker-1@%h
    """
    _celery("worker", *context.args, role=WORKER_ROLE)


def beat(context: typer.Context) -> None:
    """Run Celery beat, which schedules periodic tasks; one per deployment. Further options go to Celery."""
    _celery("beat", *context.args, role=None)


def sandbox(
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port on loopback; 0 for a free one.")] = 0,
    conversations: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="A set of conversations (docs/conversations-set.md): model and judge then know its truth.",
        ),
    ] = None,
    writes: Annotated[
        str | None, typer.Option(help="What the model writes about it: right, wrong or invented.")
    ] = None,
    judge: Annotated[
        str | None, typer.Option(help="How the judge judges it: perfect, noisy:SHARE or off.")
    ] = None,
    embeddings: Annotated[
        str | None,
        typer.Option(help="Who answers embeddings: none, or another server, http://127.0.0.1:PORT/v1."),
    ] = None,
    vendor: Annotated[
        str, typer.Option("--as", metavar="VENDOR", help="Speak the forms of this vendor, such as gemini.")
    ] = "openai",
) -> None:
    """Run the sandbox: an OpenAI-compatible server on loopback. It is not a model and needs no key.

    For example:

        hushgate sandbox --port 8090

        hushgate sandbox --as mistral
    """
    extras.load("uvicorn", needed_by="hushgate sandbox")
    given = {
        "--as": vendor,
        "--conversations": conversations,
        "--writes": writes,
        "--judge": judge,
        "--embeddings": embeddings,
    }
    more = [word for name, value in given.items() if value is not None for word in (name, str(value))]
    os.execv(sys.executable, [sys.executable, "-P", "-m", "sandbox", "--port", str(port), *more])  # noqa: S606  # our own module


def _celery(*arguments: str, role: str | None) -> None:
    require_servers(load(Settings), role=role)
    command = [sys.executable, "-P", "-m", "tasks", *arguments]
    os.execv(sys.executable, command)  # noqa: S606  # signals reach Celery itself
