"""Routes of webhooks; an endpoint's URL may contain a secret of its receiver, so all need the same right."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.api import shapes, webhooks
from review.http.page_routes import PageRoute, get, post
from review.http.parameters import LIMIT, Parameter
from review.typed.kinds import Number
from review.webhooks import endpoints_page

ACCOUNT: Final = "/accounts/{account:path}/webhooks"
DELIVERY: Final = ACCOUNT + "/deliveries/{delivery:int}"
ENDPOINT: Final = ACCOUNT + "/{endpoint_id}"
WEBHOOKS: Final = (
    get(DELIVERY, "webhook_delivery", endpoints_page.show_delivery, Right.ADMIN),
    post(DELIVERY + "/replay", "webhook_replay", endpoints_page.replay_delivery, Right.ADMIN),
    post(ENDPOINT + "/rotate", "webhook_rotate", endpoints_page.rotate_secret, Right.ADMIN),
    post(ENDPOINT + "/test", "webhook_test", endpoints_page.send_test, Right.ADMIN),
    post(ENDPOINT + "/state", "webhook_state", endpoints_page.switch_endpoint, Right.ADMIN),
    post(ENDPOINT + "/remove", "webhook_remove", endpoints_page.remove_endpoint, Right.ADMIN),
    get(ENDPOINT, "webhook", endpoints_page.show_endpoint, Right.ADMIN),
    get(ACCOUNT, "webhooks", endpoints_page.list_endpoints, Right.ADMIN),
    post(ACCOUNT, "webhooks_post", endpoints_page.add_endpoint, Right.ADMIN),
)

API: Final = "/api/v1"
WEBHOOKS_API: Final = (
    PageRoute(
        path=API + DELIVERY,
        name="api_webhook_delivery",
        handler=webhooks.show_delivery,
        right=Right.ADMIN,
        api=True,
        summary="One delivery of a webhook with its body",
        response=shapes.ShownDelivery,
    ),
    PageRoute(
        path=API + ENDPOINT + "/deliveries",
        name="api_webhook_deliveries",
        handler=webhooks.list_deliveries,
        right=Right.ADMIN,
        api=True,
        summary="Deliveries to a webhook endpoint, newest first",
        query=(
            Parameter(name="before", text="Only deliveries with a smaller number", kind=Number),
            LIMIT,
        ),
        response=shapes.WebhookDeliveries,
    ),
    PageRoute(
        path=API + ACCOUNT,
        name="api_webhooks",
        handler=webhooks.list_endpoints,
        right=Right.ADMIN,
        api=True,
        summary="The webhook endpoints of an account",
        response=shapes.WebhookEndpoints,
    ),
)
