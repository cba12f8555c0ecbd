"""Paths of pages by name: a page has dozens of links, and Starlette tries every route for each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import quote, urlsplit

from starlette.applications import Starlette
from starlette.routing import NoMatchFound, Route, replace_params

KEPT: Final = 512
"""Routes that are found without a search; more than there are pages."""


def page_path(app: Starlette, name: str, parameters: Mapping[str, object]) -> str:
    """The path of a page; an account's name may hold any character.

    Raises:
        NoMatchFound: no page has this name and these parameters.
    """
    quoted = {key: quote(str(value), safe="") for key, value in parameters.items()}
    route = _named_route(app, name, frozenset(quoted))
    path, _ = replace_params(route.path_format, route.param_convertors, quoted)
    return path


@lru_cache(maxsize=KEPT)
def _named_route(app: Starlette, name: str, parameters: frozenset[str]) -> Route:
    for route in app.routes:
        if isinstance(route, Route) and route.name == name and route.param_convertors.keys() == parameters:
            return route
    raise NoMatchFound(name, dict.fromkeys(parameters))


START: Final = "/"


def local_path(target: str | None) -> str:
    """The target when it is a path of this site, else the start page."""
    if not target or not target.startswith("/") or target.startswith(("//", "/\\")):
        return START
    parts = urlsplit(target)
    return START if parts.scheme or parts.netloc or "\\" in target or not target.isprintable() else target
