"""Routes of legal holds, erasures, appeals and statements of reasons."""

from __future__ import annotations

from typing import Any, Final

from compliance.appeals import api as appeals_api
from compliance.appeals import entering, link_page
from compliance.appeals import pages as appeal_pages
from compliance.erasure import api, pages
from compliance.statements import page as statements_page
from review.access import Right
from review.http.page_routes import ACCOUNT, PageHandler, PageRoute, Parameter, get, post

HOLD: Final = ACCOUNT + "/holds/{hold_id}"
ERASURES: Final = ACCOUNT + "/erasures"
ERASURE: Final = ERASURES + "/{erasure_id}"
APPEAL: Final = "/appeals/{appeal_id}"
OF_DECISION: Final = "/decisions/{decision_id}"


def _api(
    path: str, name: str, handler: PageHandler, right: Right, response: type, summary: str, **more: Any
) -> PageRoute:
    """A route of the API: a change with ``body`` or ``methods``, else a read."""
    return PageRoute(
        path="/api/v1" + path,
        name=name,
        handler=handler,
        right=right,
        api=True,
        response=response,
        summary=summary,
        **more,
    )


POST: Final[dict[str, Any]] = {"methods": ("POST",)}
CREATE: Final[dict[str, Any]] = {"methods": ("POST",), "status": 201}
PAGES: Final[tuple[PageRoute, ...]] = (
    get(ACCOUNT + "/holds", "holds", pages.show_holds, Right.ADMIN),
    post(ACCOUNT + "/holds", "holds_post", pages.change_holds, Right.ADMIN),
    post(HOLD + "/release", "hold_release", pages.release_hold, Right.ADMIN),
    post(ERASURE + "/confirm", "erasure_confirm", pages.confirm_erasure, Right.ADMIN),
    post(ERASURE + "/cancel", "erasure_cancel", pages.cancel_erasure, Right.ADMIN),
    get(ERASURE + "/receipt", "erasure_receipt", pages.download_receipt, Right.ADMIN),
    get(ERASURE, "erasure", pages.show_erasure, Right.ADMIN),
    get("/appeal/{link}", "appeal_link", link_page.show_link, None),
    post("/appeal/{link}", "appeal_link_post", link_page.appeal_by_link, None),
    get("/appeals", "appeals", appeal_pages.list_appeals, Right.REVIEW),
    get(APPEAL, "appeal", appeal_pages.show_appeal, Right.REVIEW),
    post(APPEAL + "/reveal", "appeal_reveal", appeal_pages.reveal_texts, Right.REVIEW),
    post(APPEAL + "/outcome", "appeal_outcome", appeal_pages.decide, Right.REVIEW),
    post(APPEAL + "/undo", "appeal_undo", appeal_pages.undo, Right.REVIEW),
    get(OF_DECISION + "/appeal", "decision_appeal", entering.show_form, Right.REVIEW),
    post(OF_DECISION + "/appeal", "decision_appeal_post", entering.enter, Right.REVIEW),
    get(ACCOUNT + "/statements/file", "statements_file", statements_page.download_statements, Right.EXPORT),
    get(ACCOUNT + "/statements", "statements", statements_page.show_statements, Right.EXPORT),
    _api(
        ACCOUNT + "/holds",
        "api_holds",
        api.list_holds,
        Right.ADMIN,
        api.HoldsBody,
        "The legal holds of an account",
    ),
    _api(
        ACCOUNT + "/holds",
        "api_hold_place",
        api.place_hold,
        Right.ADMIN,
        api.HoldBody,
        "Place a legal hold",
        body=api.NewHoldBody,
        **CREATE,
    ),
    _api(
        HOLD + "/release",
        "api_hold_release",
        api.release_hold,
        Right.ADMIN,
        api.HoldBody,
        "Release a legal hold",
        **POST,
    ),
    _api(
        ERASURES,
        "api_erasures",
        api.list_erasures,
        Right.ADMIN,
        api.ErasuresBody,
        "The erasures of an account",
    ),
    _api(
        ERASURES,
        "api_erasure_request",
        api.request_erasure,
        Right.ADMIN,
        api.ErasureBody,
        "Request an erasure: a worker counts what it is about",
        body=api.NewErasureBody,
        **CREATE,
    ),
    _api(
        ERASURE + "/confirm",
        "api_erasure_confirm",
        api.confirm_erasure,
        Right.ADMIN,
        api.ErasureBody,
        "Let a worker erase what was counted; it cannot be undone",
        **POST,
    ),
    _api(
        ERASURE + "/cancel",
        "api_erasure_cancel",
        api.cancel_erasure,
        Right.ADMIN,
        api.ErasureBody,
        "Cancel an erasure that is not confirmed",
        **POST,
    ),
    _api(
        ERASURE,
        "api_erasure",
        api.show_erasure,
        Right.ADMIN,
        api.ErasureBody,
        "One erasure with counts, progress and receipt",
    ),
    _api(
        OF_DECISION + "/appeals",
        "api_appeal_take",
        appeals_api.take,
        Right.PUBLISH,
        appeals_api.AppealBody,
        "Take an appeal against a decision; the same text again is the same appeal",
        body=appeals_api.NewAppealBody,
        **CREATE,
    ),
    _api(
        OF_DECISION + "/appeal-link",
        "api_appeal_link",
        appeals_api.make_link,
        Right.PUBLISH,
        appeals_api.AppealLinkBody,
        "A signed link with which the author of the message appeals and reads the outcome",
        **CREATE,
    ),
    _api(
        "/appeals",
        "api_appeals",
        appeals_api.list_appeals,
        Right.REVIEW,
        appeals_api.AppealsBody,
        "Appeals: open ones, the first due first, or decided ones, newest first",
        query=(
            Parameter(name="account", text="One account"),
            Parameter(name="state", text="open or decided; default open"),
            Parameter(name="cursor", text="From an earlier page: where this page starts"),
            Parameter(name="limit", text="1 to 500, default 50"),
        ),
    ),
    _api(APPEAL, "api_appeal", appeals_api.get_appeal, Right.REVIEW, appeals_api.AppealBody, "One appeal"),
    _api(
        APPEAL + "/outcome",
        "api_appeal_outcome",
        appeals_api.decide,
        Right.REVIEW,
        appeals_api.AppealBody,
        "Decide an appeal; people who ruled on the decision cannot",
        body=appeals_api.NewOutcomeBody,
        **POST,
    ),
)
