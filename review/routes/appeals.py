"""Routes of appeals and statements of reasons."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.api import appeals as api
from review.appeals import entering, link_page, pages, statements_page
from review.http.page_routes import PageHandler, PageRoute, Parameter, get, post

ACCOUNT: Final = "/accounts/{account:path}"
APPEAL: Final = "/appeals/{appeal_id}"
OF_DECISION: Final = "/decisions/{decision_id}"
APPEALS: Final = (
    get("/appeal/{link}", "appeal_link", link_page.show_link, None),
    post("/appeal/{link}", "appeal_link_post", link_page.appeal_by_link, None),
    get("/appeals", "appeals", pages.list_appeals, Right.REVIEW),
    get(APPEAL, "appeal", pages.show_appeal, Right.REVIEW),
    post(APPEAL + "/reveal", "appeal_reveal", pages.reveal_texts, Right.REVIEW),
    post(APPEAL + "/outcome", "appeal_outcome", pages.decide, Right.REVIEW),
    post(APPEAL + "/undo", "appeal_undo", pages.undo, Right.REVIEW),
    get(OF_DECISION + "/appeal", "decision_appeal", entering.show_form, Right.REVIEW),
    post(OF_DECISION + "/appeal", "decision_appeal_post", entering.enter, Right.REVIEW),
    get(ACCOUNT + "/statements/file", "statements_file", statements_page.download_statements, Right.EXPORT),
    get(ACCOUNT + "/statements", "statements", statements_page.show_statements, Right.EXPORT),
)


def _api(
    path: str,
    name: str,
    handler: PageHandler,
    right: Right,
    *,
    summary: str,
    response: type,
    body: type | None = None,
    method: str = "GET",
    status: int = 200,
    query: tuple[Parameter, ...] = (),
) -> PageRoute:
    return PageRoute(
        path="/api/v1" + path,
        name=name,
        handler=handler,
        right=right,
        methods=(method,),
        api=True,
        summary=summary,
        response=response,
        body=body,
        status=status,
        query=query,
    )


APPEALS_API: Final = (
    _api(
        OF_DECISION + "/appeals",
        "api_appeal_take",
        api.take,
        Right.PUBLISH,
        summary="Take an appeal against a decision; the same text again is the same appeal",
        response=api.AppealBody,
        body=api.NewAppealBody,
        method="POST",
        status=201,
    ),
    _api(
        OF_DECISION + "/appeal-link",
        "api_appeal_link",
        api.make_link,
        Right.PUBLISH,
        summary="A signed link with which the author of the message appeals and reads the outcome",
        response=api.AppealLinkBody,
        method="POST",
        status=201,
    ),
    _api(
        "/appeals",
        "api_appeals",
        api.list_appeals,
        Right.REVIEW,
        summary="Appeals: open ones, the first due first, or decided ones, newest first",
        response=api.AppealsBody,
        query=(
            Parameter(name="account", text="One account"),
            Parameter(name="state", text="open or decided; default open"),
            Parameter(name="cursor", text="From an earlier page: where this page starts"),
            Parameter(name="limit", text="1 to 500, default 50"),
        ),
    ),
    _api(APPEAL, "api_appeal", api.get_appeal, Right.REVIEW, summary="One appeal", response=api.AppealBody),
    _api(
        APPEAL + "/outcome",
        "api_appeal_outcome",
        api.decide,
        Right.REVIEW,
        summary="Decide an appeal; people who ruled on the decision cannot",
        response=api.AppealBody,
        body=api.NewOutcomeBody,
        method="POST",
    ),
)
