"""``hushgate review``: the review pages and the people who use them."""

from __future__ import annotations

from typing import Annotated, Final
from urllib.parse import urlsplit

import typer
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from cli import review_people
from cli.output import fail
from cli.review_settings import review_settings
from review.app import build
from tasks import telemetry
from tasks.logs import configure, secret_values
from worker import __version__

HELP: Final = """
Serve the review pages, and manage who may use them.

`hushgate review` alone serves until Ctrl-C. Before that: `hushgate review add-person you@example.org --role
account_admin --role lead` prints a first password, which has to be replaced at the first sign-in.

Somebody cannot come in? `hushgate review unlock LOGIN` after too many wrong passwords, `reset-password LOGIN`
when it is lost, `sign-in-link LOGIN` for once.
"""
app = typer.Typer(help=HELP, invoke_without_command=True, rich_markup_mode="markdown")
LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


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
    known = review_settings()
    url = urlsplit(known.review_url)
    if host not in LOOPBACK and url.scheme != "https" and not any_interface:
        raise fail("--host: beyond this machine HUSHGATE_REVIEW_URL has to be https, as passwords pass by")
    configure("INFO", secret_values(known))
    dsn = known.sentry_dsn
    telemetry.configure(dsn.get_secret_value() if dsn else None, release=f"hushgate@{__version__}")
    uvicorn.run(
        _reported(build(known)),
        host=host,
        port=(url.port or 8085) if port is None else port,
        access_log=False,  # addresses of pages hold what people searched for
        log_config=None,
        proxy_headers=True,
        forwarded_allow_ips=known.review_proxies,
        server_header=False,
        timeout_graceful_shutdown=10,
    )


def _reported(pages: ASGIApp) -> ASGIApp:
    """The pages; what nobody foresaw goes to Sentry as well as to the log."""

    async def reported(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await pages(scope, receive, send)
        except Exception as error:
            telemetry.report(error)
            raise

    return reported


review_people.add_to(app)
