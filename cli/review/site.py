"""``hushgate review``: the review pages and the people who use them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Final
from urllib.parse import urlsplit

import typer

from cli.deployment.loopback import require_free
from cli.deployment.start import require_servers
from cli.deployment.web_server import LOOPBACK, JobFailures, serve_application
from cli.doctor.embedding import NO_EMBEDDINGS
from cli.doctor.live_calls import live_calls_at_once
from cli.exit_codes import ExitCode
from cli.options import settings_of
from cli.output import fail
from cli.review import people
from db.review_store import REVIEWER_ROLE
from gateway.event_stream import RedisEventStream
from gateway.intake import Intake
from review.app import build_app
from review.services.first_run import FirstRunServices, ModelAnswer
from tasks.limits.account_figures import figures_of
from worker.errors import ConfigurationError
from worker.settings import GatewaySettings, RedisPresence, ReviewSettings, Settings, StoredServer, load

HELP: Final = """
Serve the review pages, and manage the people who use them.

`hushgate review` alone serves until Ctrl-C. Before that, `add-person` prints a first password, which must be
replaced at the first sign-in. Example:

    hushgate review add-person you@example.org --role account_admin --role lead

`list` shows the people, `grant` and `revoke` change their roles, `disable` and `enable` their access. When a
person cannot sign in: `unlock` after too many wrong passwords, `remove-second-factor` when the device is
lost, `reset-password` when the password is lost, `sign-in-link` for one sign-in. `sign-out` ends a person's
sessions.
"""
app = typer.Typer(help=HELP, invoke_without_command=True, rich_markup_mode="markdown")


@app.callback()
def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Port; default: that of HUSHGATE_REVIEW_URL.")
    ] = None,
    any_interface: Annotated[
        bool,
        typer.Option(
            help="Listen beyond this machine without https: in a container published on loopback only."
        ),
    ] = False,
) -> None:
    """Serve the review pages until Ctrl-C; with a subcommand, do that instead."""
    if context.invoked_subcommand is not None:
        return
    known = _settings()
    url = urlsplit(known.review_url)
    if host not in LOOPBACK and url.scheme != "https" and not any_interface:
        raise fail(
            "--host: expected HUSHGATE_REVIEW_URL with https, as passwords are sent beyond this machine",
            code=ExitCode.CONFIGURATION,
        )
    listened = (url.port or 8085) if port is None else port
    require_free(host, listened)
    require_servers(known, role=REVIEWER_ROLE)
    failures = JobFailures()
    if isinstance(known, GatewaySettings):
        intake, figures = (Intake(known).route(),), figures_of(known)
        application = build_app(known, intake, figures, services_of(known), failures)
    else:
        application = build_app(known, first_run=services_of(known), job_failed=failures)
    serve_application(application, known, process="review", host=host, port=listened, failures=failures)


def _settings() -> ReviewSettings:
    """The settings; with REDIS_URL those of publishing by HTTP too."""
    return settings_of(ReviewSettings if load(RedisPresence).redis_url is None else GatewaySettings)


people.add_to(app)


def services_of(known: ReviewSettings) -> FirstRunServices:
    """The services for which this process has the settings; those of the models are the workers' settings."""
    events = RedisEventStream(known) if isinstance(known, GatewaySettings) else None
    try:
        models = load(Settings)
    except ConfigurationError:
        return FirstRunServices(events=events)
    return FirstRunServices(test_servers=partial(model_answers, models), events=events)


def model_answers(settings: Settings, servers: Sequence[StoredServer]) -> Sequence[ModelAnswer]:
    """One real call of each kind, as ``hushgate doctor --live`` makes it, with these stored servers."""
    return tuple(
        ModelAnswer(
            call=each.check,
            answered=each.state == "ok",
            offered=NO_EMBEDDINGS not in each.found,
            found=each.found,
            fix=each.fix,
        )
        for each in live_calls_at_once(settings.with_stored(servers))
    )
