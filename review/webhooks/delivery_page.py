"""One delivery: what is sent, the last answer, and sending it again."""

from __future__ import annotations

import orjson
from starlette.responses import Response

from db.access_log import LoggedAction
from db.webhooks import deliveries, endpoints
from db.webhooks.deliveries import WholeWebhookDelivery
from review.accounts.stored_versions import account_of_path
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from worker.webhooks.signing import message_id
from worker.webhooks.types import CANCEL_REASONS


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
