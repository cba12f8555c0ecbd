"""A proxy that the deployment does not declare: every client then has its address, and shares its limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import structlog
from starlette.requests import Request

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
