"""The route table: every address, what it needs, who answers. Tests walk it with every role."""

from __future__ import annotations

from typing import Final

from review import filters, log_filters
from review.access import Right
from review.api import access_log as api_log
from review.api import decisions as api
from review.api import openapi, shapes
from review.pages import (
    access_log,
    decisions,
    home,
    jobs,
    oidc,
    password,
    people,
    profile,
    sign_in,
    sign_in_link,
    tokens,
    views,
)
from review.web import Page, Parameter

CURSOR: Final = Parameter(name="cursor", text="From an earlier page: where this one goes on")
DECISION_FILTERS: Final = (
    *(Parameter(name=each.name, text=each.title) for each in filters.FIELDS),
    CURSOR,
    Parameter(name="limit", text="1 to 500, 50 unless given"),
)
LOG_FILTERS: Final = (*(Parameter(name=each, text=each.title()) for each in log_filters.FIELDS), CURSOR)

PAGES: Final = (
    Page(path="/healthz", name="health", handler=home.health, right=None),
    Page(
        path="/csp-report",
        name="csp_report",
        handler=home.csp_report,
        right=None,
        methods=("POST",),
        csrf=False,
    ),
    # signing in
    Page(path="/sign-in", name="sign_in", handler=sign_in.form, right=None),
    Page(path="/sign-in", name="sign_in_post", handler=sign_in.submit, right=None, methods=("POST",)),
    Page(path="/sign-in/link", name="sign_in_link", handler=sign_in_link.ask, right=None),
    Page(
        path="/sign-in/link",
        name="sign_in_link_post",
        handler=sign_in_link.use,
        right=None,
        methods=("POST",),
    ),
    Page(
        path="/sign-out", name="sign_out", handler=sign_in.sign_out, right=Right.SIGNED_IN, methods=("POST",)
    ),
    Page(path="/sign-in/oidc", name="oidc_start", handler=oidc.begin, right=None, methods=("POST",)),
    Page(path=oidc.BACK, name="oidc_back", handler=oidc.back, right=None),
    # one's own
    Page(path="/profile", name="profile", handler=profile.show, right=Right.SIGNED_IN),
    Page(
        path="/profile", name="profile_post", handler=profile.save, right=Right.SIGNED_IN, methods=("POST",)
    ),
    Page(path="/profile/password", name="password", handler=password.form, right=Right.SIGNED_IN),
    Page(
        path="/profile/password",
        name="password_post",
        handler=password.change,
        right=Right.SIGNED_IN,
        methods=("POST",),
    ),
    Page(
        path="/profile/sessions",
        name="session_end",
        handler=profile.end_session,
        right=Right.SIGNED_IN,
        methods=("POST",),
    ),
    Page(path="/profile/tokens", name="tokens", handler=tokens.show, right=Right.SIGNED_IN),
    Page(
        path="/profile/tokens",
        name="tokens_post",
        handler=tokens.add,
        right=Right.SIGNED_IN,
        methods=("POST",),
    ),
    Page(
        path="/profile/tokens/revoke",
        name="token_revoke",
        handler=tokens.revoke,
        right=Right.SIGNED_IN,
        methods=("POST",),
    ),
    # the pages
    Page(path="/", name="home", handler=home.home, right=Right.VIEW),
    # the list of decisions, views, exports
    Page(path="/decisions", name="decisions", handler=decisions.listed, right=Right.VIEW),
    Page(path="/views", name="views", handler=views.listed, right=Right.VIEW),
    Page(path="/views", name="view_keep", handler=views.keep, right=Right.VIEW, methods=("POST",)),
    Page(path="/views/{view_id}", name="view", handler=views.change, right=Right.VIEW, methods=("POST",)),
    Page(
        path="/views/{view_id}/delete",
        name="view_delete",
        handler=views.delete,
        right=Right.VIEW,
        methods=("POST",),
    ),
    Page(path="/exports", name="export", handler=jobs.start_export, right=Right.EXPORT, methods=("POST",)),
    Page(path="/jobs", name="jobs", handler=jobs.listed, right=Right.VIEW),
    Page(path="/jobs/{job_id}", name="job", handler=jobs.watched, right=Right.VIEW),
    Page(
        path="/jobs/{job_id}/cancel",
        name="job_cancel",
        handler=jobs.cancel,
        right=Right.VIEW,
        methods=("POST",),
    ),
    Page(path="/jobs/{job_id}/file", name="job_file", handler=jobs.file, right=Right.EXPORT),
    # the JSON face
    Page(
        path="/api/v1/decisions",
        name="api_decisions",
        handler=api.listed,
        right=Right.VIEW,
        api=True,
        summary="Decisions, newest first",
        query=DECISION_FILTERS,
        response=shapes.Decisions,
    ),
    Page(
        path="/api/v1/decisions/{decision_id}",
        name="api_decision",
        handler=api.one,
        right=Right.VIEW,
        api=True,
        summary="One decision with its trace",
        response=shapes.WholeDecision,
    ),
    Page(
        path="/api/v1/access-log",
        name="api_access_log",
        handler=api_log.listed,
        right=Right.AUDIT,
        api=True,
        summary="Lines of the access log, newest first",
        query=LOG_FILTERS,
        response=shapes.AccessLog,
    ),
    Page(
        path="/api/v1/openapi.json",
        name="openapi",
        handler=openapi.shown,
        right=Right.SIGNED_IN,
        api=True,
        summary="This document",
        response=shapes.Document,
    ),
    # people
    Page(path="/people", name="people", handler=people.listed, right=Right.ADMIN),
    Page(path="/people", name="people_post", handler=people.add, right=Right.ADMIN, methods=("POST",)),
    Page(path="/people/{person_id}", name="person", handler=people.show, right=Right.ADMIN),
    Page(
        path="/people/{person_id}/grant",
        name="person_grant",
        handler=people.grant,
        right=Right.ADMIN,
        methods=("POST",),
    ),
    Page(
        path="/people/{person_id}/revoke",
        name="person_revoke",
        handler=people.revoke,
        right=Right.ADMIN,
        methods=("POST",),
    ),
    Page(
        path="/people/{person_id}/manage",
        name="person_manage",
        handler=people.manage,
        right=Right.ADMIN,
        methods=("POST",),
    ),
    # the log
    Page(path="/access-log", name="access_log", handler=access_log.listed, right=Right.AUDIT),
)
