"""Webhooks of an account as JSON: endpoints and deliveries."""

from __future__ import annotations

from starlette.responses import Response

from db.access_log import LoggedAction
from db.webhooks import deliveries, endpoints
from review.accounts.stored_versions import account_of_path
from review.api.body import json_answer
from review.api.shapes import ShownDelivery, WebhookDeliveries, WebhookEndpoints
from review.http.visit import Visit
from review.webhooks.endpoints_page import delivery_of_path, endpoint_of_path
from worker.webhooks.signing import message_id


async def list_endpoints(visit: Visit) -> Response:
    """The endpoints of an account."""
    user_id = account_of_path(visit)
    found = await endpoints.list_endpoints(visit.store.pool, (user_id,))
    await visit.log(LoggedAction.LIST, user_id=user_id, detail={"webhooks": len(found), "api": True})
    return json_answer(WebhookEndpoints(endpoints=found))


async def list_deliveries(visit: Visit) -> Response:
    """The deliveries of an endpoint; parameters are ``limit`` and ``before``."""
    endpoint, limit, before = await endpoint_of_path(visit), visit.query["limit"], visit.query["before"]
    pool = visit.store.pool
    found = await deliveries.list_deliveries(pool, endpoint.id, limit=limit + 1, before=before)
    detail = {"webhook_deliveries": min(len(found), limit), "api": True}
    await visit.log(LoggedAction.LIST, user_id=endpoint.user_id, detail=detail)
    older = found[limit - 1].id if len(found) > limit else None
    return json_answer(WebhookDeliveries(deliveries=found[:limit], older=older))


async def show_delivery(visit: Visit) -> Response:
    """One delivery with its body; reading it is logged."""
    found = await delivery_of_path(visit)
    detail = {"what": "webhook delivery", "delivery": found.id, "api": True}
    await visit.log(LoggedAction.WEBHOOK, user_id=account_of_path(visit), detail=detail)
    identifier = message_id(found.user_id, found.type, found.key)
    return json_answer(ShownDelivery(webhook_id=identifier, delivery=found))
