"""Routes of webhooks; an endpoint's URL may contain a secret of its receiver, so all need the same right."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.api import shapes, webhooks
from review.http.page_routes import api_get, get, post
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

WEBHOOKS_API: Final = (
    api_get(
        DELIVERY, "api_webhook_delivery", webhooks.show_delivery, Right.ADMIN, shapes.ShownDelivery,
        "One delivery of a webhook with its body",
    ),
    api_get(
        ENDPOINT + "/deliveries", "api_webhook_deliveries", webhooks.list_deliveries, Right.ADMIN,
        shapes.WebhookDeliveries, "Deliveries to a webhook endpoint, newest first",
        query=(Parameter(name="before", text="Only deliveries with a smaller number", kind=Number), LIMIT),
    ),
    api_get(
        ACCOUNT, "api_webhooks", webhooks.list_endpoints, Right.ADMIN, shapes.WebhookEndpoints,
        "The webhook endpoints of an account",
    ),
)  # fmt: skip
