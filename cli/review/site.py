"""``hushgate review``: the review pages and the people who use them."""

from __future__ import annotations

from typing import Annotated, Final
from urllib.parse import urlsplit

import typer
import uvicorn
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from cli.exit_codes import ExitCode
from cli.options import settings_of
from cli.output import fail
from cli.review import people
from cli.stack.loopback import require_free
from review.app import build_app
from review.connections import limited
from tasks import telemetry
from tasks.logs import configure, secret_values
from worker import __version__
from worker.settings import ReviewSettings

HELP: Final = """
Serve the review pages, and manage the people who use them.

`hushgate review` alone serves until Ctrl-C. Before that, `add-person` prints a first password, which must be
replaced at the first sign-in. Example:

    hushgate review add-person you@example.org --role account_admin --role lead

`list` shows the people, `grant` and `revoke` change their roles, `disable` and `enable` their access. When a
person cannot sign in: `unlock` after too many wrong passwords, `reset-password` when the password is lost,
`sign-in-link` for one sign-in. `sign-out` ends a person's sessions.
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
    known = settings_of(ReviewSettings)
    url = urlsplit(known.review_url)
    if host not in LOOPBACK and url.scheme != "https" and not any_interface:
        raise fail(
            "--host: expected HUSHGATE_REVIEW_URL with https, as passwords are sent beyond this machine",
            code=ExitCode.CONFIGURATION,
        )
    listened = (url.port or 8085) if port is None else port
    require_free(host, listened)
    configure("INFO", secret_values(known))
    dsn = known.sentry_dsn
    telemetry.configure(dsn.get_secret_value() if dsn else None, release=f"hushgate@{__version__}")
    uvicorn.run(
        _reported(build_app(known)),
        host=host,
        port=listened,
        access_log=False,  # URLs of pages contain search texts
        log_config=None,
        proxy_headers=bool(known.review_proxies.strip()),
        forwarded_allow_ips=known.review_proxies,
        server_header=False,
        http=limited(),
        ws="none",
        timeout_graceful_shutdown=10,
    )


def _reported(pages: ASGIApp) -> ASGIApp:
    """The pages, with unexpected errors reported to Sentry."""

    async def reported(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await pages(scope, receive, send)
        except ClientDisconnect:
            return  # the client left, or was too slow, before its request was complete
        except Exception as error:
            telemetry.report(error)
            raise

    return reported


people.add_to(app)
