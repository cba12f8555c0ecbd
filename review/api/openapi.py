"""The OpenAPI document of the JSON API, made from the route table and the body dataclasses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import orjson
from pydantic import TypeAdapter
from starlette.responses import Response

from review.api.shapes import Problem
from review.http.page_routes import PageRoute
from review.http.visit import Visit
from worker import __version__

PARAMETER: Final = re.compile(r"\{(\w+)(?::\w+)?\}")
REFERENCES: Final = "#/components/schemas/{model}"
REFUSALS: Final = {
    "400": "A parameter cannot be used; the detail names it.",
    "401": "No API token, or one that is no longer valid.",
    "403": "The token's owner does not have the right.",
    "404": "Not found, or on an account that the token's owner may not see.",
    "503": "The database does not answer.",
}
ABOUT: Final = (
    "Reads the data of the review pages. Create an API token at /profile/tokens: it is valid for at most a"
    " year, never has more rights than its owner, and is read-only."
)


async def show_openapi(visit: Visit) -> Response:
    """The document."""
    body = openapi_document(visit.request.app.state.pages, visit.site.settings.review_url)
    return Response(orjson.dumps(body), media_type="application/json")


def openapi_document(pages: Iterable[PageRoute], url: str) -> dict[str, Any]:
    """OpenAPI 3.1 for every route of the JSON API."""
    api = [page for page in pages if page.api]
    bodies = [Problem, *(page.response for page in api if page.response)]
    _, definitions = TypeAdapter.json_schemas(
        [(each.__name__, "serialization", TypeAdapter(each)) for each in bodies], ref_template=REFERENCES
    )
    return {
        "openapi": "3.1.1",
        "info": {"title": "Hushgate review", "version": __version__, "description": ABOUT},
        "servers": [{"url": url.rstrip("/")}],
        "security": [{"key": []}],
        "paths": {described_path(page): {"get": _operation(page)} for page in api},
        "components": {
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "An API token, such as hg_..."}
            },
            "schemas": definitions["$defs"],
        },
    }


def described_path(page: PageRoute) -> str:
    """The path without the converters of its parameters."""
    return PARAMETER.sub(r"{\1}", page.path)


def _operation(page: PageRoute) -> dict[str, Any]:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in PARAMETER.findall(page.path)
    ]
    in_query = [
        {"name": each.name, "in": "query", "description": each.text, "schema": {"type": "string"}}
        for each in page.query
    ]
    body = {"schema": _reference(page.response)} if page.response else {}
    problem = {"application/problem+json": {"schema": _reference(Problem)}}
    return {
        "operationId": page.name,
        "summary": page.summary,
        "parameters": in_path + in_query,
        "responses": {
            "200": {"description": page.summary, "content": {"application/json": body}},
            **{status: {"description": text, "content": problem} for status, text in REFUSALS.items()},
        },
    }


def _reference(body: type) -> dict[str, str]:
    return {"$ref": REFERENCES.format(model=body.__name__)}
