"""Routes of legal holds and erasures: for administrators of the account."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.api import governance as api
from review.governance import pages
from review.http.page_routes import PageHandler, PageRoute, get, post

ACCOUNT: Final = "/accounts/{account:path}"
HOLD: Final = ACCOUNT + "/holds/{hold_id}"
ERASURES: Final = ACCOUNT + "/erasures"
ERASURE: Final = ERASURES + "/{erasure_id}"
GOVERNANCE: Final = (
    get(ACCOUNT + "/governance", "governance", pages.show_governance, Right.ADMIN),
    post(ACCOUNT + "/governance", "governance_post", pages.change_governance, Right.ADMIN),
    post(HOLD + "/release", "hold_release", pages.release_hold, Right.ADMIN),
    post(ERASURE + "/confirm", "erasure_confirm", pages.confirm_erasure, Right.ADMIN),
    post(ERASURE + "/cancel", "erasure_cancel", pages.cancel_erasure, Right.ADMIN),
    get(ERASURE + "/receipt", "erasure_receipt", pages.download_receipt, Right.ADMIN),
    get(ERASURE, "erasure", pages.show_erasure, Right.ADMIN),
)


def _api(
    path: str,
    name: str,
    handler: PageHandler,
    summary: str,
    response: type,
    *,
    change: bool = False,
    body: type | None = None,
) -> PageRoute:
    return PageRoute(
        path="/api/v1" + path,
        name=name,
        handler=handler,
        right=Right.ADMIN,
        methods=("POST",) if change else ("GET",),
        api=True,
        summary=summary,
        response=response,
        body=body,
        status=201 if body is not None else 200,
    )


GOVERNANCE_API: Final = (
    _api(ACCOUNT + "/holds", "api_holds", api.list_holds, "The legal holds of an account", api.HoldsBody),
    _api(
        ACCOUNT + "/holds",
        "api_hold_place",
        api.place_hold,
        "Place a legal hold",
        api.HoldBody,
        change=True,
        body=api.NewHoldBody,
    ),
    _api(
        HOLD + "/release",
        "api_hold_release",
        api.release_hold,
        "Release a legal hold",
        api.HoldBody,
        change=True,
    ),
    _api(ERASURES, "api_erasures", api.list_erasures, "The erasures of an account", api.ErasuresBody),
    _api(
        ERASURES,
        "api_erasure_request",
        api.request_erasure,
        "Request an erasure: a worker counts what it is about",
        api.ErasureBody,
        change=True,
        body=api.NewErasureBody,
    ),
    _api(
        ERASURE + "/confirm",
        "api_erasure_confirm",
        api.confirm_erasure,
        "Let a worker erase what was counted; it cannot be undone",
        api.ErasureBody,
        change=True,
    ),
    _api(
        ERASURE + "/cancel",
        "api_erasure_cancel",
        api.cancel_erasure,
        "Cancel an erasure that is not confirmed",
        api.ErasureBody,
        change=True,
    ),
    _api(
        ERASURE,
        "api_erasure",
        api.show_erasure,
        "One erasure with counts, progress and receipt",
        api.ErasureBody,
    ),
)
