"""The types of the route table: pages, forms and the addresses of the JSON API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeAlias

from starlette.responses import Response

from db.people.api_tokens import TokenScope
from review.access import WRITE_SCOPES, Right
from review.http.error_handlers import refusal_json
from review.http.parameters import Parameter
from review.http.visit import BODY_BYTES, Refused, Visit

ACCOUNT: Final = "/accounts/{account:path}"
"""The address of the pages of one account."""
API: Final = "/api/v1"
"""Start of the addresses of the JSON API."""
PageHandler: TypeAlias = Callable[[Visit], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRoute:
    """One line of the route table.

    Attributes:
        right: the right that the page requires: on the account when the path has ``{account}``, else on any
            account, and then the handler checks the object. None: no sign-in needed.
        api: True for the JSON API, which takes API tokens, for changes nothing else, and refuses in JSON.
        csrf: False only for reports that browsers send automatically.
        summary: for the OpenAPI document of the JSON API; so are ``query`` and ``response``.
        response: the dataclass of the body; ``responses`` of that for an array, where it has another one.
        body: the model of a JSON body, for the OpenAPI document.
        batch: True when the body may be an array of such models too.
        accepts: other media types of the body, with their JSON Schemas.
        status: of the answer to a request that worked.
        also: further statuses of such answers, with their descriptions.
        token_scope: the scope that an API token needs, where neither method nor right say it.
        refuse: makes the answer to a refusal, where a contract has a form of its own; ``refusal`` is its
            dataclass.
        body_bytes: largest form; more than ``BODY_BYTES`` only for signed-in people.
    """

    path: str
    name: str
    handler: PageHandler
    right: Right | None
    methods: tuple[str, ...] = ("GET",)
    api: bool = False
    csrf: bool = True
    summary: str = ""
    query: tuple[Parameter, ...] = ()
    response: type | None = None
    responses: type | None = None
    body: type | None = None
    batch: bool = False
    accepts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    status: int = 200
    also: Mapping[int, str] = field(default_factory=dict)
    token_scope: TokenScope | None = None
    refuse: Callable[[Refused], Response] = refusal_json
    refusal: type | None = None
    body_bytes: int = BODY_BYTES

    @property
    def scope(self) -> TokenScope:
        """The scope that an API token needs."""
        if self.token_scope is not None:
            return self.token_scope
        if self.right is None or self.methods == ("GET",):
            return TokenScope.READ
        return WRITE_SCOPES[self.right]


def get(path: str, name: str, handler: PageHandler, right: Right | None) -> PageRoute:
    """The route of a page."""
    return PageRoute(path=path, name=name, handler=handler, right=right)


def post(
    path: str, name: str, handler: PageHandler, right: Right | None, *, body_bytes: int = BODY_BYTES
) -> PageRoute:
    """The route of a form."""
    return PageRoute(
        path=path, name=name, handler=handler, right=right, methods=("POST",), body_bytes=body_bytes
    )


def api_get(  # noqa: PLR0917  # a row of the route table
    path: str, name: str, handler: PageHandler, right: Right, response: type, summary: str, **more: Any
) -> PageRoute:
    """A read of the JSON API at a path below ``API``; ``more`` are other attributes of the route."""
    return PageRoute(
        path=API + path,
        name=name,
        handler=handler,
        right=right,
        api=True,
        response=response,
        summary=summary,
        **more,
    )


api_post: Final = partial(api_get, methods=("POST",))
api_delete: Final = partial(api_get, methods=("DELETE",))
