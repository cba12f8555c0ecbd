"""The control routes: set faults and latency at run time, and read the counts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from itertools import islice
from typing import TypeAlias
from urllib.parse import urlsplit

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Path

from sandbox.ledger import CallRecord
from sandbox.listen import is_loopback
from sandbox.routes import ROUTE_NAMES, Route
from sandbox.scenario import latencies_json, parse_latencies, rules_json
from sandbox.state import Sandbox
from sandbox.vendors.table import VENDORS

ControlHandler: TypeAlias = Callable[[Sandbox, Request], Awaitable[object]]
NEWEST_TEXTS = 1000
"""Texts listed in the statistics by default; ``texts=N`` changes it."""

NEWEST_REQUESTS = 100
"""Requests listed by default; ``last=N`` changes it."""


def control_routes(sandbox: Sandbox) -> list[Path]:
    """The routes under ``/control``; every one refuses a Host or Origin that is not loopback."""
    return [
        _path(sandbox, "/control/rules", _rules, "GET", "POST", "DELETE"),
        _path(sandbox, "/control/rules/{name}", _rules, "DELETE"),
        _path(sandbox, "/control/vendor", _vendor, "GET", "POST"),
        _path(sandbox, "/control/latency", _latency, "GET", "POST", "DELETE"),
        _path(sandbox, "/control/conversations", _conversations, "GET", "POST"),
        _path(sandbox, "/control/stats", _stats, "GET"),
        _path(sandbox, "/control/requests", _requests, "GET"),
        _path(sandbox, "/control/reset", _reset, "POST"),
    ]


async def _rules(sandbox: Sandbox, request: Request) -> object:
    if request.method == "POST":
        document = orjson.loads(await request.body())
        listed = document.get("rules", document) if isinstance(document, dict) else document
        return rules_json(sandbox.add_rules(listed).faults)
    if request.method == "DELETE":
        name = request.path_params.get("name")
        sandbox.drop_rules(ROUTE_NAMES.get(name, name) if name else None)
    return rules_json(sandbox.rules.faults)


async def _vendor(sandbox: Sandbox, request: Request) -> object:
    if request.method == "POST":
        document = orjson.loads(await request.body())
        name = document.get("name") if isinstance(document, dict) else document
        if not isinstance(name, str) or name not in VENDORS:
            raise ValueError(f"name: expected one of {', '.join(VENDORS)}, got {name!r}")
        sandbox.vendor = VENDORS[name]
    return {"name": sandbox.vendor.name, "forms": [each.name for each in sandbox.vendor.forms]}


async def _latency(sandbox: Sandbox, request: Request) -> object:
    if request.method == "POST":
        sandbox.set_latency(parse_latencies(orjson.loads(await request.body())))
    if request.method == "DELETE":
        sandbox.drop_latency()
    return latencies_json(sandbox.rules.latency)


async def _conversations(sandbox: Sandbox, request: Request) -> object:
    if sandbox.known is None:
        raise ValueError("conversations: expected a sandbox started with --conversations")
    if request.method == "POST":
        sandbox.known = sandbox.known.changed(orjson.loads(await request.body()))
    return sandbox.known.shape


async def _stats(sandbox: Sandbox, request: Request) -> object:
    ledger = sandbox.ledger
    text = request.query_params.get("text")
    if text is not None:
        return _counts(ledger.calls_about(text))
    listed = islice(reversed(ledger.texts.items()), _number(request, "texts", NEWEST_TEXTS))
    return {
        "calls": {str(route): ledger.calls[route] for route in Route},
        "outcomes": {str(route): dict(counts) for route, counts in ledger.outcomes.items()},
        "in_flight": {str(route): ledger.in_flight[route] for route in Route},
        "in_flight_peak": {str(route): ledger.in_flight_peak[route] for route in Route},
        "texts": {key: _counts(by_route) for key, by_route in listed},
        "texts_known": len(ledger.texts),
        "texts_forgotten": ledger.texts_forgotten,
    }


async def _requests(sandbox: Sandbox, request: Request) -> object:
    """The newest request bodies, newest first; ``route`` and ``contains`` filter the stored ones.

    ``oldest_number`` and ``newest_number`` are of all stored requests: older ones have left the ring.
    """
    name = request.query_params.get("route")
    contains = request.query_params.get("contains", "")
    if name is not None and name not in ROUTE_NAMES:
        raise ValueError(f"route: expected one of {', '.join(ROUTE_NAMES)}, got {name!r}")
    chosen = (
        record
        for record in sandbox.ledger.newest()
        if (name is None or record.route is ROUTE_NAMES[name]) and _contains(record, contains)
    )
    listed = [_record_json(record) for record in islice(chosen, _number(request, "last", NEWEST_REQUESTS))]
    numbers = {"oldest_number": sandbox.ledger.oldest_number, "newest_number": sandbox.ledger.number}
    return {"count": len(listed), **numbers, "requests": listed}


async def _reset(sandbox: Sandbox, _: Request) -> object:
    sandbox.reset()
    return {"reset": True}


def json_response(document: object, status: int = 200) -> Response:
    """A response with a JSON body."""
    return Response(orjson.dumps(document), status_code=status, media_type="application/json")


def _path(sandbox: Sandbox, path: str, handler: ControlHandler, *methods: str) -> Path:
    async def guarded(request: Request) -> Response:
        foreign = _foreign_origin(request)
        if foreign is not None:
            return json_response({"error": f"Host and Origin: expected loopback, got {foreign!r}"}, 403)
        try:
            return json_response(await handler(sandbox, request))
        except ValueError as error:
            return json_response({"error": str(error)}, 400)

    return Path(path, guarded, methods=methods)


def _foreign_origin(request: Request) -> str | None:
    """The Host or Origin that is not loopback, as from a page in a browser, or None."""
    origin = request.headers.get("origin")
    named = [urlsplit(f"//{request.headers.get('host', '')}").hostname]
    named += [] if origin is None else [urlsplit(origin).hostname]
    return next((name or "" for name in named if not is_loopback(name or "")), None)


def _counts(by_route: Mapping[Route, int]) -> dict[str, int]:
    return {str(route): number for route, number in by_route.items()}


def _contains(record: CallRecord, text: str) -> bool:
    """Whether a text is in a request body, with any JSON escaping."""
    if not text:
        return True
    return text.encode() in record.body or orjson.dumps(text)[1:-1] in orjson.dumps(_body(record))


def _record_json(record: CallRecord) -> dict[str, object]:
    return {
        "number": record.number,
        "route": record.route,
        "text_key": record.key,
        "outcome": record.outcome,
        "body": _body(record),
    }


def _body(record: CallRecord) -> object:
    """The body as JSON, or as text if it is not JSON."""
    try:
        return orjson.loads(record.body)
    except orjson.JSONDecodeError:
        return record.body.decode("utf-8", "replace")


def _number(request: Request, name: str, default: int) -> int:
    word = request.query_params.get(name, str(default))
    if not word.isdecimal():
        raise ValueError(f"{name}: expected a whole number, got {word!r}")
    return int(word)
