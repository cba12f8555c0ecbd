"""The ASGI application of ``hushgate gateway``: publishing by HTTP without the review pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import structlog
from redis.exceptions import RedisError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from db.people.api_tokens import use_token_at_gateway
from db.pool import GATEWAY_ROLE
from db.review_store import Store
from db.schema.rights import session_login
from gateway.check_intake import CheckIntake
from gateway.checks import Checks
from gateway.contracts.agentgateway import AgentGatewayDoor
from gateway.contracts.dify import DifyDoor
from gateway.contracts.litellm import LiteLlmDoor
from gateway.contracts.moderations import ModerationsDoor
from gateway.intake import Intake
from review.api import openapi
from review.app import guarded_route
from review.http.error_handlers import TooLargeProblem, problem_of, with_allowed
from review.http.headers import SecurityHeaders
from review.http.page_routes import PageRoute, get
from review.http.templating import Templates
from review.http.visit import Site, Visit
from worker.errors import StorageUnavailable
from worker.places import PlacesByKey
from worker.settings import GatewaySettings, Settings

log = structlog.get_logger(__name__)

AT_ONCE: Final = 16
"""Concurrent requests of one person's tokens; more than the store's connections would only wait there."""
WAITING: Final = 240


def build_gateway(settings: GatewaySettings, worker: Settings | None = None) -> Starlette:
    """The application, which connects at its start; without the settings of a worker it makes no checks."""
    intake, checks = Intake(settings), Checks(worker)
    site = Site(
        settings=settings,
        store=Store(settings.database_url.get_secret_value(), role=GATEWAY_ROLE),
        use_token=use_token_at_gateway,
        takes_sessions=False,
        templates=Templates(),
        requests=PlacesByKey(AT_ONCE, most_waiting=WAITING),
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with site.store, checks.running():
            yield
        intake.redis.close()

    pages = gateway_pages(intake, checks)
    app = Starlette(
        routes=[guarded_route(site, page) for page in pages],
        exception_handlers={HTTPException: _problem, Exception: _problem},
        lifespan=lifespan,
    )
    app.middleware_stack = SecurityHeaders(
        TooLargeProblem(app.build_middleware_stack(), under="/"), https=False
    )
    app.state.site, app.state.pages = site, pages
    return app


def gateway_pages(intake: Intake, checks: Checks) -> tuple[PageRoute, ...]:
    """The route table: publishing, checks (in other contracts too), their description, two health checks."""

    async def show_readiness(visit: Visit) -> Response:
        """Whether an event could be published now."""
        try:
            await run_in_threadpool(intake.redis.ping)
            await session_login(visit.store.pool)
        except (RedisError, OSError, StorageUnavailable) as error:
            log.warning("gateway_not_ready", error=type(error).__name__)
            return PlainTextResponse("not ready\n", status_code=503)
        return PlainTextResponse("ready\n")

    made = CheckIntake(checks, intake.rates)
    return (
        get("/healthz", "health", _show_health, None),
        get("/readyz", "readiness", show_readiness, None),
        intake.route(),
        made.route(),
        LiteLlmDoor(made).route(),
        ModerationsDoor(made).route(),
        DifyDoor(made).route(),
        *AgentGatewayDoor(made).routes(),
        openapi.ROUTE,
    )


async def _show_health(_: Visit) -> Response:
    """The process answers; Redis and Postgres are not asked."""
    return PlainTextResponse("ok\n")


async def _problem(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return with_allowed(request, problem_of(request.scope, status))
