"""The ASGI application: the OpenAI routes directly, all other routes through Starlette."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route as Path
from starlette.types import ASGIApp, Receive, Scope, Send

from sandbox.calls import serve_call
from sandbox.control import control_routes, json_response
from sandbox.routes import ANY_MODEL, CHAT_MODEL, EMBEDDING_MODEL, MODERATION_MODEL, PATHS
from sandbox.state import Sandbox

ABOUT = """This is the Hushgate sandbox. It is no model and knows nothing.

It answers like an OpenAI-compatible API, on loopback only, so that Hushgate can be tried, tested and
load-tested without an API key. Chat answers are sentences of the passages in the prompt; moderation is a
list of words; embeddings are hashes. Faults and delays are available on demand. Never use it for real
decisions.

  POST /v1/chat/completions  /v1/moderations  /v1/embeddings     GET /v1/models  /healthz
  /control/rules  /control/latency  /control/stats  /control/requests  /control/reset

`python -m sandbox --help` explains faults, markers and control.
"""


def make_app(sandbox: Sandbox) -> ASGIApp:
    """The application of one sandbox.

    The three OpenAI routes bypass Starlette: its middleware wraps ``send``, and a TCP reset needs uvicorn's
    own ``send`` (``sandbox/connection.py``).
    """
    pages = Starlette(
        routes=[
            Path("/", _about, methods=["GET"]),
            Path("/healthz", _healthz, methods=["GET"]),
            Path("/v1/models", _models, methods=["GET"]),
            *control_routes(sandbox),
        ]
    )

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        route = PATHS.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if route is None:
            await pages(scope, receive, send)
        else:
            await serve_call(sandbox, route, receive, send)

    return app


async def _about(_: Request) -> Response:
    return PlainTextResponse(ABOUT)


async def _healthz(_: Request) -> Response:
    return json_response({"status": "ok", "model": None, "note": "a sandbox, no model"})


async def _models(_: Request) -> Response:
    models = [
        {"id": name, "object": "model", "created": 0, "owned_by": "sandbox"}
        for name in (CHAT_MODEL, MODERATION_MODEL, EMBEDDING_MODEL, ANY_MODEL)
    ]
    return json_response({"object": "list", "data": models})
