"""The OpenAPI document of the JSON API, made from the route table and the body dataclasses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import orjson
from pydantic import TypeAdapter
from starlette.responses import Response

from db.people.api_tokens import TokenScope
from review.access import Right
from review.api.shapes import Document, Problem
from review.http.page_routes import PageRoute, api_get
from review.http.visit import Visit
from worker import __version__
from worker.payload import AccountName, Identifier

PARAMETER: Final = re.compile(r"\{(\w+)(?::(\w+))?\}")
REFERENCES: Final = "#/components/schemas/{model}"
REFUSALS: Final = {
    "400": "A parameter has another value than described, or is unknown; `errors` names each.",
    "401": "No API token, or one that is no longer valid.",
    "403": "The token does not have the scope, or its owner does not have the right.",
    "404": "Not found, or on an account that the token's owner may not see.",
    "422": "Values that fit their descriptions cannot be used; `errors` names each where fields are wrong.",
    "429": "Too many requests; wait for the seconds of Retry-After.",
    "500": "An internal error, which is in the log.",
    "503": "A service that the request needs does not answer, such as the database.",
}
CHANGE_REFUSALS: Final = REFUSALS | {
    "409": "Something changed meanwhile; nothing was stored.",
    "410": "The decision was erased, or never existed.",
    "413": "The body is too large, or has too many parts.",
    "415": "The body has another media type than described.",
}
WAITING: Final = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
CONVERTERS: Final = {"int": {"type": "integer", "minimum": 0}}
PATHS: Final = {
    "account": TypeAdapter(AccountName).json_schema(),
    "conversation": TypeAdapter(Identifier).json_schema(),
}
ABOUT: Final = (
    "Reads the data of the review pages, changes what they change, and takes events. Create an API token at"
    f" /profile/tokens: it is valid for at most a year, may do what its scopes say ({', '.join(TokenScope)}),"
    " and never has more rights than its owner. Changes need an API token; a session is not enough."
)


async def show_openapi(visit: Visit) -> Response:
    """The document; made once, because routes and settings stay the same while the server runs."""
    state = visit.request.app.state
    body: bytes | None = getattr(state, "openapi", None)
    if body is None:
        body = state.openapi = orjson.dumps(openapi_document(state.pages, visit.site.settings.review_url))
    return Response(body, media_type="application/json")


ROUTE: Final = api_get("/openapi.json", "openapi", show_openapi, Right.SIGNED_IN, Document, "This document")


def openapi_document(pages: Iterable[PageRoute], url: str) -> dict[str, Any]:
    """OpenAPI 3.1 for every route of the JSON API."""
    api = [page for page in pages if page.api]
    bodies = dict.fromkeys(
        [
            Problem,
            *(
                each
                for page in api
                for each in (page.response, page.responses, page.body, page.refusal)
                if each is not None
            ),
        ]
    )
    _, definitions = TypeAdapter.json_schemas(
        [(each.__name__, "serialization", TypeAdapter(each)) for each in bodies], ref_template=REFERENCES
    )
    return {
        "openapi": "3.1.1",
        "info": {"title": "Hushgate review", "version": __version__, "description": ABOUT},
        "servers": [{"url": url.rstrip("/")}],
        "security": [{"key": []}],
        "paths": _paths(api),
        "components": {
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "An API token, such as hg_..."}
            },
            "schemas": definitions["$defs"],
        },
    }


def _paths(api: Iterable[PageRoute]) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for page in api:
        operations = paths.setdefault(described_path(page), {})
        operations |= {method.lower(): _operation(page) for method in page.methods}
    return paths


def described_path(page: PageRoute) -> str:
    """The path without the converters of its parameters."""
    return PARAMETER.sub(r"{\1}", page.path)


def _operation(page: PageRoute) -> dict[str, Any]:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": _path_schema(name, converter)}
        for name, converter in PARAMETER.findall(page.path)
    ]
    in_query = [
        {"name": each.name, "in": "query", "description": each.text, "schema": each.schema}
        for each in page.query
    ]
    answers = [_reference(each) for each in (page.response, page.responses) if each is not None]
    schema = answers[0] if len(answers) == 1 else {"anyOf": answers}
    content = {"application/json": {"schema": schema}} if answers else {}
    problem: dict[str, Any] = {"application/problem+json": {"schema": _reference(Problem)}}
    if page.refusal is not None:
        problem |= {"application/json": {"schema": _reference(page.refusal)}}
    refusals = REFUSALS if page.methods == ("GET",) else CHANGE_REFUSALS
    return {
        "operationId": page.name,
        "summary": page.summary,
        "description": f"Scope of the token: `{page.scope}`.",
        "parameters": in_path + in_query,
        **_request_body(page),
        "responses": {
            **{
                str(status): {"description": text} | ({"content": content} if content else {})
                for status, text in {page.status: page.summary, **page.also}.items()
            },
            **{
                status: {"description": text, "content": problem}
                | ({"headers": WAITING} if status in {"429", "503"} else {})
                for status, text in refusals.items()
            },
        },
    }


def _path_schema(name: str, converter: str) -> dict[str, Any]:
    if name.endswith("_id"):
        return {"type": "string", "format": "uuid"}
    return CONVERTERS.get(converter) or PATHS[name]


def _request_body(page: PageRoute) -> dict[str, Any]:
    content: dict[str, Any] = {kind: {"schema": schema} for kind, schema in page.accepts.items()}
    if page.body is not None:
        one: dict[str, Any] = _reference(page.body)
        many = {"oneOf": [one, {"type": "array", "items": one, "minItems": 1}]}
        content["application/json"] = {"schema": many if page.batch else one}
    return {"requestBody": {"required": True, "content": content}} if content else {}


def _reference(body: type) -> dict[str, str]:
    return {"$ref": REFERENCES.format(model=body.__name__)}
