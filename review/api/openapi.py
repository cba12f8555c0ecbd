"""The OpenAPI document of the JSON face, made from the route table and the shapes of its bodies."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import orjson
from pydantic import TypeAdapter
from starlette.responses import Response

from review.api.shapes import Problem
from review.web import Page, Visit
from worker import __version__

PARAMETER: Final = re.compile(r"\{(\w+)(?::\w+)?\}")
REFERENCES: Final = "#/components/schemas/{model}"
REFUSALS: Final = {
    "400": "A parameter cannot be used; the detail names it.",
    "401": "No key, or one that does not work any more.",
    "403": "The key's owner does not have the right.",
    "404": "Not there, or on an account that the key's owner may not see.",
    "503": "The database does not answer.",
}
ABOUT: Final = (
    "Reads what the review pages show. A key is made at /profile/tokens, works for at most a year, never has"
    " more rights than its owner, and changes nothing."
)


async def shown(visit: Visit) -> Response:
    """The document."""
    body = document(visit.request.app.state.pages, visit.site.settings.review_url)
    return Response(orjson.dumps(body), media_type="application/json")


def document(pages: Iterable[Page], url: str) -> dict[str, Any]:
    """OpenAPI 3.1 for every page of the JSON face."""
    schemas: dict[str, Any] = {}
    paths = {page.path: {"get": _operation(page, schemas)} for page in pages if page.api}
    schemas["Problem"] = _schema(Problem, schemas)
    return {
        "openapi": "3.1.1",
        "info": {"title": "Hushgate review", "version": __version__, "description": ABOUT},
        "servers": [{"url": url.rstrip("/")}],
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "A key, such as hg_..."}
            },
            "schemas": schemas,
        },
    }


def _operation(page: Page, schemas: dict[str, Any]) -> dict[str, Any]:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in PARAMETER.findall(page.path)
    ]
    in_query = [
        {"name": each.name, "in": "query", "description": each.text, "schema": {"type": "string"}}
        for each in page.query
    ]
    body = _schema(page.response, schemas) if page.response is not None else {}
    name = page.response.__name__ if page.response is not None else ""
    schemas |= {name: body} if name else {}
    answer = {"schema": {"$ref": REFERENCES.format(model=name)}} if name else {}
    return {
        "operationId": page.name,
        "summary": page.summary,
        "parameters": in_path + in_query,
        "responses": {
            "200": {"description": page.summary, "content": {"application/json": answer}},
            **{status: _refusal(text) for status, text in REFUSALS.items()},
        },
    }


def _refusal(text: str) -> dict[str, Any]:
    problem = {"schema": {"$ref": REFERENCES.format(model="Problem")}}
    return {"description": text, "content": {"application/problem+json": problem}}


def _schema(shape: type, schemas: dict[str, Any]) -> dict[str, Any]:
    """The schema of a body; what it refers to goes beside it."""
    made = TypeAdapter(shape).json_schema(mode="serialization", ref_template=REFERENCES)
    schemas |= made.pop("$defs", {})
    return made
