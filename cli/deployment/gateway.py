"""``hushgate gateway``: publishing by HTTP as a process of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.deployment.loopback import GATEWAY_PORT, require_free
from cli.deployment.start import require_servers
from cli.deployment.web_server import LOOPBACK, serve_application
from cli.exit_codes import ExitCode
from cli.options import settings_of
from cli.output import fail, print_message
from db.pool import GATEWAY_ROLE
from gateway.app import build_gateway
from worker.errors import ConfigurationError
from worker.settings import GatewaySettings, Settings


def gateway(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port.")] = GATEWAY_PORT,
    any_interface: Annotated[
        bool,
        typer.Option(help="Listen beyond this machine without https: behind a proxy that ends TLS only."),
    ] = False,
) -> None:
    """Serve POST /api/v1/events and /v1/checks until Ctrl-C, for programs with an API token.

    POST /api/v1/events publishes (scope publish). POST /v1/checks, in other contracts too, judges a program's
    own messages and drafts (scope check), where the variables are those of a worker and hushgate migrate
    had --gateway-checks.
    It serves nothing else but /healthz, /readyz and /api/v1/openapi.json.
    Without Redis or Postgres it answers 503. Run any number of gateways. For example:

        hushgate gateway --port 8086
    """
    known = settings_of(GatewaySettings)
    if host not in LOOPBACK and not any_interface:
        raise fail(
            "--host: expected an address of loopback, or --any-interface behind a proxy with https:"
            " API tokens are sent beyond this machine",
            code=ExitCode.CONFIGURATION,
        )
    require_free(host, port, name="gateway", change="choose another with --port")
    require_servers(known, role=GATEWAY_ROLE)
    serve_application(build_gateway(known, worker_settings()), known, process="gateway", host=host, port=port)


def worker_settings() -> Settings | None:
    """The settings of a worker, for checks; None where they are wrong, which publishing does not need."""
    try:
        return settings_of(Settings)
    except ConfigurationError as error:
        print_message(f"no checks: {error}")
        return None
