"""Routes of legal holds, erasures, appeals and statements of reasons."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from compliance.appeals import api as appeals_api
from compliance.appeals import entering, link_page
from compliance.appeals import pages as appeal_pages
from compliance.appeals.records import AppealState
from compliance.erasure import api, pages
from compliance.statements import page as statements_page
from review.access import Right
from review.http.page_routes import ACCOUNT, PageHandler, PageRoute, get, post
from review.http.parameters import ACCOUNT as ACCOUNT_FILTER
from review.http.parameters import LIMIT, Parameter, cursor
from review.typed.kinds import one_of

HOLDS: Final = ACCOUNT + "/holds"
HOLD: Final = HOLDS + "/{hold_id}"
ERASURES: Final = ACCOUNT + "/erasures"
ERASURE: Final = ERASURES + "/{erasure_id}"
APPEAL: Final = "/appeals/{appeal_id}"
OF_DECISION: Final = "/decisions/{decision_id}"


def _api(
    right: Right, path: str, name: str, handler: PageHandler, response: type, summary: str, **more: Any
) -> PageRoute:
    """A route of the API: a change with ``body`` or ``methods``, else a read."""
    return PageRoute(
        path="/api/v1" + path, name=name, handler=handler, right=right, api=True, response=response,
        summary=summary, **more,
    )  # fmt: skip


def _change(
    right: Right, path: str, name: str, handler: PageHandler, response: type, summary: str, **more: Any
) -> PageRoute:
    """A POST that answers with the changed values."""
    return _api(right, path, name, handler, response, summary, methods=("POST",), **more)


ADMIN, REVIEW, PUBLISH = Right.ADMIN, Right.REVIEW, Right.PUBLISH
PAGES: Final[tuple[PageRoute, ...]] = (
    get(HOLDS, "holds", pages.show_holds, ADMIN),
    post(HOLDS, "holds_post", pages.change_holds, ADMIN),
    post(HOLD + "/release", "hold_release", pages.release_hold, ADMIN),
    post(ERASURE + "/confirm", "erasure_confirm", pages.confirm_erasure, ADMIN),
    post(ERASURE + "/cancel", "erasure_cancel", pages.cancel_erasure, ADMIN),
    get(ERASURE + "/receipt", "erasure_receipt", pages.download_receipt, ADMIN),
    get(ERASURE, "erasure", pages.show_erasure, ADMIN),
    get("/appeal/{link}", "appeal_link", link_page.show_link, None),
    post("/appeal/{link}", "appeal_link_post", link_page.appeal_by_link, None),
    get("/appeals", "appeals", appeal_pages.list_appeals, REVIEW),
    get(APPEAL, "appeal", appeal_pages.show_appeal, REVIEW),
    post(APPEAL + "/reveal", "appeal_reveal", appeal_pages.reveal_texts, REVIEW),
    post(APPEAL + "/outcome", "appeal_outcome", appeal_pages.decide, REVIEW),
    post(APPEAL + "/undo", "appeal_undo", appeal_pages.undo, REVIEW),
    get(OF_DECISION + "/appeal", "decision_appeal", entering.show_form, REVIEW),
    post(OF_DECISION + "/appeal", "decision_appeal_post", entering.enter, REVIEW),
    get(ACCOUNT + "/statements/file", "statements_file", statements_page.download_statements, Right.EXPORT),
    get(ACCOUNT + "/statements", "statements", statements_page.show_statements, Right.EXPORT),
    _api(ADMIN, HOLDS, "api_holds", api.list_holds, api.HoldsBody, "The legal holds of an account"),
    _change(
        ADMIN, HOLDS, "api_hold_place", api.place_hold, api.HoldBody, "Place a legal hold",
        body=api.NewHoldBody, status=201,
    ),
    _change(
        ADMIN, HOLD + "/release", "api_hold_release", api.release_hold, api.HoldBody, "Release a legal hold"
    ),
    _api(ADMIN, ERASURES, "api_erasures", api.list_erasures, api.ErasuresBody, "The erasures of an account"),
    _change(
        ADMIN, ERASURES, "api_erasure_request", api.request_erasure, api.ErasureBody,
        "Request an erasure: a worker counts what it is about", body=api.NewErasureBody, status=201,
    ),
    _change(
        ADMIN, ERASURE + "/confirm", "api_erasure_confirm", api.confirm_erasure, api.ErasureBody,
        "Let a worker erase what was counted; it cannot be undone",
    ),
    _change(
        ADMIN, ERASURE + "/cancel", "api_erasure_cancel", api.cancel_erasure, api.ErasureBody,
        "Cancel an erasure that is not confirmed",
    ),
    _api(
        ADMIN, ERASURE, "api_erasure", api.show_erasure, api.ErasureBody,
        "One erasure with counts, progress and receipt",
    ),
    _change(
        PUBLISH, OF_DECISION + "/appeals", "api_appeal_take", appeals_api.take, appeals_api.AppealBody,
        "Take an appeal against a decision; the same text again is the same appeal",
        body=appeals_api.NewAppealBody, status=201, also={200: "The same appeal, which was stored before"},
    ),
    _change(
        PUBLISH, OF_DECISION + "/appeal-link", "api_appeal_link", appeals_api.make_link,
        entering.AppealLink,
        "A signed link with which the author of the message appeals and reads the outcome", status=201,
    ),
    _api(
        REVIEW, "/appeals", "api_appeals", appeals_api.list_appeals, appeals_api.AppealsBody,
        "Appeals: open ones, the first due first, or decided ones, newest first",
        query=(
            ACCOUNT_FILTER,
            Parameter(name="state", text="State", kind=one_of(*AppealState), default=AppealState.OPEN.value),
            cursor(UUID),
            LIMIT,
        ),
    ),
    _api(REVIEW, APPEAL, "api_appeal", appeals_api.get_appeal, appeals_api.AppealBody, "One appeal"),
    _change(
        REVIEW, APPEAL + "/outcome", "api_appeal_outcome", appeals_api.decide, appeals_api.AppealBody,
        "Decide an appeal; people who ruled on the decision cannot", body=appeals_api.NewOutcomeBody,
    ),
)  # fmt: skip
