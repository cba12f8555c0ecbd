"""The answer to a body that is too large, as a problem where the JSON API refused it."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from review.http.error_handlers import ANSWERS, refusal_json
from review.http.visit import Refused


class TooLargeProblem:
    """Replaces the plain text that Starlette's RequestBodyLimitMiddleware sends for any path."""

    def __init__(self, app: ASGIApp, *, under: str = "/api/") -> None:
        self._app, self._under = app, under

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve; refuse bodies that are too large in the JSON API's way."""
        if scope["type"] != "http" or not scope["path"].startswith(self._under):
            await self._app(scope, receive, send)
            return
        replaced = False

        async def send_problem(message: Message) -> None:
            nonlocal replaced
            if message["type"] == "http.response.start" and message["status"] == 413:
                plain = Headers(raw=message["headers"]).get("content-type", "").startswith("text/plain")
                if plain:
                    replaced = True
                    await refusal_json(Refused(413, *ANSWERS[413]))(scope, receive, send)
            if not replaced:
                await send(message)

        await self._app(scope, receive, send_problem)
