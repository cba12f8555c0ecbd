"""Security headers on every answer, and proxies that the deployment does not declare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import structlog
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SOURCES: Final = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "report-uri /csp-report",
)
HEADERS: Final = {
    "Content-Security-Policy": "; ".join(SOURCES),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "X-Robots-Tag": "noindex, nofollow",
}
CACHED_FOREVER: Final = "public, max-age=31536000, immutable"


class SecurityHeaders:
    """Adds the headers; browsers cache static files only.

    Args:
        https: whether browsers must use HTTPS only (HSTS).
    """

    def __init__(self, app: ASGIApp, *, https: bool) -> None:
        self._app = app
        self._headers = HEADERS | (
            {"Strict-Transport-Security": "max-age=63072000; includeSubDomains"} if https else {}
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve, with headers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(self._headers)
                cached = scope["path"].startswith("/static/") and message["status"] == 200
                headers["Cache-Control"] = CACHED_FOREVER if cached else "no-store"
            await send(message)

        await self._app(scope, receive, send_with)


log = structlog.get_logger(__name__)

FORWARDING: Final = ("x-forwarded-for", "forwarded")


@dataclass(slots=True)
class UndeclaredProxy:
    """Warns once.

    Attributes:
        declared: ``HUSHGATE_REVIEW_PROXIES``.
    """

    declared: str
    warned: bool = False

    def look(self, request: Request) -> None:
        """Warn when a request came through a proxy and none is declared."""
        if self.warned or self.declared.strip():
            return
        if any(name in request.headers for name in FORWARDING):
            self.warned = True
            address = request.client.host if request.client else ""
            log.warning("proxy_not_declared", setting="HUSHGATE_REVIEW_PROXIES", address=address)
