"""The endpoints of an account: list, add, rotate the secret, test, disable, enable, remove."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Final

import orjson
from starlette.responses import Response

from db.access_log import LogEntry, LoggedAction
from db.webhooks import deliveries, endpoints
from db.webhooks.deliveries import WholeWebhookDelivery
from db.webhooks.endpoints import NewEndpoint, WebhookEndpoint
from review.accounts.stored_versions import account_of_path
from review.http.numbers import whole_number
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark
from review.typed.problems import button_problem
from worker.webhooks.addresses import AddressRefused, origin_of, parse_url
from worker.webhooks.signing import NEW_SECRET_BYTES, encode_secret, message_id
from worker.webhooks.types import CANCEL_REASONS, DESCRIPTION_CHARS, MOST_ENDPOINTS, URL_CHARS, WebhookType

PAGE: Final = 50
ROTATION: Final = timedelta(hours=24)
"""How long the old secret signs too."""
DONE: Final = {
    "test": mark("The test event waits for a worker; its delivery is listed below."),
    "enabled": mark("Enabled: what waited is sent now."),
    "disabled": mark("Disabled: what waits is kept."),
    "removed": mark("The endpoint and its deliveries were removed."),
}


async def list_endpoints(visit: Visit) -> Response:
    """The endpoints and a form for another."""
    return await _list(visit, account_of_path(visit))


async def add_endpoint(visit: Visit) -> Response:
    """Add an endpoint and show its secret, once."""
    user_id = account_of_path(visit)
    typed = {"url": visit.field("url").strip(), "description": visit.field("description").strip()}
    types = [each for each in WebhookType if each.value in visit.form.getlist("types")]
    if problem := _problem(visit, typed, types):
        return await _list(visit, user_id, typed=typed, types=types, problem=problem, status=422)
    new = NewEndpoint(user_id=user_id, types=types, created_by=visit.person.login, **typed)
    key = secrets.token_bytes(NEW_SECRET_BYTES)
    logged = _entry(visit, user_id, "added", origin=origin_of(typed["url"]))
    if await endpoints.add_endpoint(visit.store.pool, new, key, visit.now, logged=logged) is None:
        full = _("The account has %(num)s endpoints: remove one first.")
        problem = full % {"num": MOST_ENDPOINTS}
        return await _list(visit, user_id, typed=typed, types=types, problem=problem, status=422)
    return await _list(visit, user_id, secret=encode_secret(key))


async def show_endpoint(visit: Visit) -> Response:
    """One endpoint with its deliveries, newest first."""
    return await _show(visit, await endpoint_of_path(visit))


async def rotate_secret(visit: Visit) -> Response:
    """Replace the secret and show the new one, once."""
    endpoint, key = await endpoint_of_path(visit), secrets.token_bytes(NEW_SECRET_BYTES)
    logged = _entry(visit, endpoint.user_id, "secret rotated", endpoint=str(endpoint.id))
    until = visit.now + ROTATION
    await endpoints.rotate_secret(visit.store.pool, endpoint.id, key, until, logged=logged)
    return await _show(visit, await endpoint_of_path(visit), secret=encode_secret(key))


async def send_test(visit: Visit) -> Response:
    """Queue a test event."""
    endpoint = await endpoint_of_path(visit)
    logged = _entry(visit, endpoint.user_id, "test sent", endpoint=str(endpoint.id))
    if await endpoints.send_test(visit.store.pool, endpoint.id, visit.now, logged=logged) is None:
        raise Refused(409, "The endpoint is disabled", "Enable it first.")
    return _back(visit, endpoint, "test")


async def switch_endpoint(visit: Visit) -> Response:
    """Enable or disable an endpoint."""
    endpoint, change = await endpoint_of_path(visit), visit.field("change")
    if change not in {"enabled", "disabled"}:
        raise Refused(400, "Which change?", button_problem())
    logged = _entry(visit, endpoint.user_id, change, endpoint=str(endpoint.id))
    enabled = change == "enabled"
    await endpoints.set_enabled(visit.store.pool, endpoint.id, enabled=enabled, logged=logged)
    return _back(visit, endpoint, change)


async def remove_endpoint(visit: Visit) -> Response:
    """Remove an endpoint with its deliveries, after a confirmation."""
    endpoint = await endpoint_of_path(visit)
    if visit.field("sure") != "yes":
        raise Refused(400, "Not confirmed", "Tick the box to remove the endpoint and its deliveries.")
    detail = {"endpoint": str(endpoint.id), "origin": origin_of(endpoint.url)}
    logged = _entry(visit, endpoint.user_id, "removed", **detail)
    await endpoints.remove_endpoint(visit.store.pool, endpoint.id, logged=logged)
    return visit.redirect("webhooks", "done=removed", account=endpoint.user_id)


async def endpoint_of_path(visit: Visit) -> WebhookEndpoint:
    """The endpoint in the page's address, of the account there; 404 without it."""
    missing = Refused(404, "No such endpoint", "It may have been removed.")
    found = await endpoints.get_endpoint(visit.store.pool, visit.path_id("endpoint_id", missing))
    if found is None or found.user_id != account_of_path(visit):
        raise missing
    return found


def _problem(visit: Visit, typed: dict[str, str], types: list[WebhookType]) -> str:
    """What cannot be used, as a sentence; empty when everything can."""
    if not types:
        return _("Choose at least one type of event.")
    if len(typed["description"]) > DESCRIPTION_CHARS:
        return _("Write a note of at most %(most)s characters.") % {"most": DESCRIPTION_CHARS}
    try:
        parse_url(typed["url"], loopback=visit.site.settings.webhook_loopback)
    except AddressRefused as error:
        return f"{error}."
    return ""


def _entry(visit: Visit, user_id: str, change: str, **detail: str) -> LogEntry:
    return visit.entry(LoggedAction.WEBHOOK, user_id=user_id, detail={"change": change} | detail)


def _back(visit: Visit, endpoint: WebhookEndpoint, done: str) -> Response:
    return visit.redirect("webhook", f"done={done}", account=endpoint.user_id, endpoint_id=endpoint.id)


async def _list(visit: Visit, user_id: str, *, status: int = 200, **values: object) -> Response:
    typed = {"url": "", "description": ""}
    empty: dict[str, object] = {"typed": typed, "types": list(WebhookType), "problem": "", "secret": ""}
    return visit.render(
        "webhooks.html",
        status=status,
        account=user_id,
        endpoints=await endpoints.list_endpoints(visit.store.pool, (user_id,)),
        every_type=list(WebhookType),
        url_chars=URL_CHARS,
        description_chars=DESCRIPTION_CHARS,
        done=DONE.get(visit.request.query_params.get("done", ""), ""),
        tab="webhooks",
        **empty | values,
    )


async def _show(visit: Visit, endpoint: WebhookEndpoint, *, secret: str = "") -> Response:
    before = whole_number(visit.request.query_params.get("before", "")) or None
    found = await deliveries.list_deliveries(visit.store.pool, endpoint.id, limit=PAGE + 1, before=before)
    return visit.render(
        "webhook.html",
        account=endpoint.user_id,
        endpoint=endpoint,
        deliveries=found[:PAGE],
        older=found[PAGE - 1].id if len(found) > PAGE else None,
        secret=secret,
        done=DONE.get(visit.request.query_params.get("done", ""), ""),
        rotation_hours=round(ROTATION.total_seconds() / 3600),
        tab="webhooks",
    )


async def show_delivery(visit: Visit) -> Response:
    """The delivery with its body; reading it is logged."""
    found = await delivery_of_path(visit)
    detail = {"what": "webhook delivery", "delivery": found.id}
    await visit.log(LoggedAction.WEBHOOK, user_id=account_of_path(visit), detail=detail)
    return visit.render(
        "webhook_delivery.html",
        account=account_of_path(visit),
        delivery=found,
        identifier=message_id(found.user_id, found.type, found.key),
        body=orjson.dumps(found.body, option=orjson.OPT_INDENT_2).decode(),
        done="replayed" if visit.request.query_params.get("done") == "replayed" else "",
        tab="webhooks",
    )


async def replay_delivery(visit: Visit) -> Response:
    """Send a delivery again, with the same id."""
    found, account = await delivery_of_path(visit), account_of_path(visit)
    logged = visit.entry(
        LoggedAction.WEBHOOK, user_id=account, detail={"change": "replayed", "delivery": found.id}
    )
    refused = await deliveries.replay_delivery(visit.store.pool, found.id, visit.now, logged=logged)
    if refused == deliveries.UNDER_WAY:
        raise Refused(409, "An attempt is under way", "Wait for its end, then open the delivery again.")
    if refused is not None:
        stays = _("Reason: %(reason)s. The delivery stays as it is.")
        text = stays % {"reason": _(CANCEL_REASONS[refused])}
        raise Refused(409, "It must not be sent any more", text)
    return visit.redirect("webhook_delivery", "done=replayed", account=account, delivery=found.id)


async def delivery_of_path(visit: Visit) -> WholeWebhookDelivery:
    """The delivery in the page's address, to an endpoint of the account there; 404 without it."""
    missing = Refused(
        404, "No such delivery", "Deliveries are removed with their endpoint, and by retention."
    )
    number = int(visit.request.path_params["delivery"])
    found = await deliveries.get_delivery(visit.store.pool, number) if number < 2**63 else None
    endpoint = await endpoints.get_endpoint(visit.store.pool, found.endpoint_id) if found else None
    if found is None or endpoint is None or endpoint.user_id != account_of_path(visit):
        raise missing
    return found
