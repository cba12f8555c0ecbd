"""What the frame around a page needs: the links, the look, and the address to return to."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request

from review.access import Right
from review.shell.appearance import appearance
from review.shell.navigation import navigation


def page_frame(may: Callable[[Right], bool], request: Request) -> dict[str, object]:
    """The values that ``base.html`` reads on every page."""
    return {
        "nav": navigation(may, request.url.path),
        "look": appearance(request.cookies),
        "page_address": _address(request) if request.method == "GET" else "/",
    }


def _address(request: Request) -> str:
    return f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path
