"""Routes of legal holds, erasures, appeals and statements of reasons."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from compliance.appeals import api as appeals_api
from compliance.appeals import entering, link_page
from compliance.appeals import pages as appeal_pages
from compliance.appeals.records import AppealState
from compliance.erasure import api, pages
from compliance.statements import page as statements_page
from review.access import Right
from review.http.page_routes import ACCOUNT, PageRoute, api_get, api_post, get, post
from review.http.parameters import ACCOUNT as ACCOUNT_FILTER
from review.http.parameters import LIMIT, Parameter, cursor
from review.typed.kinds import one_of

HOLDS: Final = ACCOUNT + "/holds"
HOLD: Final = HOLDS + "/{hold_id}"
ERASURES: Final = ACCOUNT + "/erasures"
ERASURE: Final = ERASURES + "/{erasure_id}"
APPEAL: Final = "/appeals/{appeal_id}"
OF_DECISION: Final = "/decisions/{decision_id}"
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
    api_get(HOLDS, "api_holds", api.list_holds, ADMIN, api.HoldsBody, "The legal holds of an account"),
    api_post(
        HOLDS, "api_hold_place", api.place_hold, ADMIN, api.HoldBody, "Place a legal hold",
        body=api.NewHoldBody, status=201,
    ),
    api_post(
        HOLD + "/release", "api_hold_release", api.release_hold, ADMIN, api.HoldBody,
        "Release a legal hold",
    ),
    api_get(
        ERASURES, "api_erasures", api.list_erasures, ADMIN, api.ErasuresBody, "The erasures of an account",
    ),
    api_post(
        ERASURES, "api_erasure_request", api.request_erasure, ADMIN, api.ErasureBody,
        "Request an erasure: a worker counts what it is about", body=api.NewErasureBody, status=201,
    ),
    api_post(
        ERASURE + "/confirm", "api_erasure_confirm", api.confirm_erasure, ADMIN, api.ErasureBody,
        "Let a worker erase what was counted; it cannot be undone",
    ),
    api_post(
        ERASURE + "/cancel", "api_erasure_cancel", api.cancel_erasure, ADMIN, api.ErasureBody,
        "Cancel an erasure that is not confirmed",
    ),
    api_get(
        ERASURE, "api_erasure", api.show_erasure, ADMIN, api.ErasureBody,
        "One erasure with counts, progress and receipt",
    ),
    api_post(
        OF_DECISION + "/appeals", "api_appeal_take", appeals_api.take, PUBLISH, appeals_api.AppealBody,
        "Take an appeal against a decision; the same text again is the same appeal",
        body=appeals_api.NewAppealBody, status=201, also={200: "The same appeal, which was stored before"},
    ),
    api_post(
        OF_DECISION + "/appeal-link", "api_appeal_link", appeals_api.make_link, PUBLISH,
        entering.AppealLink,
        "A signed link with which the author of the message appeals and reads the outcome", status=201,
    ),
    api_get(
        "/appeals", "api_appeals", appeals_api.list_appeals, REVIEW, appeals_api.AppealsBody,
        "Appeals: open ones, the first due first, or decided ones, newest first",
        query=(
            ACCOUNT_FILTER,
            Parameter(name="state", text="State", kind=one_of(*AppealState), default=AppealState.OPEN.value),
            cursor(UUID),
            LIMIT,
        ),
    ),
    api_get(APPEAL, "api_appeal", appeals_api.get_appeal, REVIEW, appeals_api.AppealBody, "One appeal"),
    api_post(
        APPEAL + "/outcome", "api_appeal_outcome", appeals_api.decide, REVIEW, appeals_api.AppealBody,
        "Decide an appeal; people who ruled on the decision cannot", body=appeals_api.NewOutcomeBody,
    ),
)  # fmt: skip
