"""The checklist of a new installation on the start page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from starlette.responses import Response

from db.connection import Connection
from db.people.first_steps import FirstSteps, load_account_steps, load_first_steps
from db.people.records import EVERY_ACCOUNT
from db.people.sample_data import SAMPLE_ACCOUNT
from review.access import Right
from review.http.visit import Visit, set_cookie
from review.languages import mark
from worker.settings import ModelRole
from worker.settings.model_servers import ModelServerSettings

Progress: TypeAlias = tuple[tuple[str | None, bool], ...]
"""Link and state of each step of ``TEXTS``."""
COOKIE: Final = "hushgate_first_steps"
HIDDEN: Final = "hidden"
KEPT_S: Final = 365 * 86_400
SANDBOX: Final = "sandbox"
"""The name of the model of `hushgate up` without a server of models: the sandbox, which is no model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstStep:
    """One line of the checklist.

    Attributes:
        link: None while there is no account to open.
        set_by: the variable of the environment that did the step; empty: a person or a program did.
    """

    title: str
    help: str
    link: str | None
    done: bool
    set_by: str = ""


TEXTS: Final = (
    (
        mark("Connect a model"),
        mark("Enter the address and the key of your model's server, and test them."),
    ),
    (mark("Add an account"), mark("An account is one inbox, such as that of a shop.")),
    (
        mark("Add a document"),
        mark("Questions are answered from your documents only."),
    ),
    (
        mark("Write a rule"),
        mark("A message with a word of your rules gets no AI reply."),
    ),
    (
        mark("Send a test message"),
        mark("Watch how a message is decided."),
    ),
    (
        mark("Invite a person"),
        mark("A second person can review decisions too."),
    ),
    (
        mark("Connect a channel"),
        mark("Add a webhook, or an API token that may publish."),
    ),
    (
        mark("Switch on automatic answers"),
        mark("See how the last drafts would have gone, then decide."),
    ),
)
"""Title and help of the steps, in the order of ``_progress``."""


OF_INSTALLATION: Final = 2
"""The first steps of ``TEXTS`` that are no matter of one account."""


async def load_checklist(visit: Visit, connection: Connection) -> tuple[FirstStep, ...]:
    """The steps for administrators of every account; empty when done, hidden, or nothing is new."""
    if visit.request.cookies.get(COOKIE) == HIDDEN or not visit.may(Right.ADMIN, EVERY_ACCOUNT):
        return ()
    found = await load_first_steps(connection)
    if found is None:
        return ()
    model, *others = _steps(_progress(visit, found))
    if set_by := _model_set_by(visit.site.settings):
        model = replace(model, done=True, set_by=set_by)
    steps = (model, *others)
    return () if all(each.done for each in steps) else steps


def _model_set_by(settings: ModelServerSettings) -> str:
    """The variable that names the model's server; empty: none does, or the sandbox answers."""
    model = settings.servers.model
    fixed = settings.fixed_place(ModelRole.MODEL) and model.model != SANDBOX
    return model.url_variable if fixed else ""


async def load_account_checklist(visit: Visit, connection: Connection, account: str) -> tuple[FirstStep, ...]:
    """The steps of one account for its administrators; empty when all are done, or hidden."""
    if visit.request.cookies.get(COOKIE) == HIDDEN or not visit.may(Right.ADMIN, account):
        return ()
    if account == SAMPLE_ACCOUNT:
        return ()
    progress = _progress(visit, await load_account_steps(connection, account))
    steps = _steps(progress)[OF_INSTALLATION:]
    return () if all(each.done for each in steps) else steps


def _steps(progress: Progress) -> tuple[FirstStep, ...]:
    return tuple(
        FirstStep(title=title, help=text, link=link, done=done)
        for (title, text), (link, done) in zip(TEXTS, progress, strict=True)
    )


def _progress(visit: Visit, found: FirstSteps) -> Progress:
    """Link and state of each step."""

    def page(name: str) -> str | None:
        return None if found.account is None else visit.url(name, account=found.account)

    return (
        (visit.url("connect"), found.models),
        (visit.url("accounts"), found.account is not None),
        (page("documents"), found.document),
        (page("rules"), found.rule),
        (page("message_test"), found.message),
        (visit.url("people"), found.person),
        (page("channels"), found.channel),
        (page("automatic"), found.automatic),
    )


async def hide_checklist(visit: Visit) -> Response:
    """Hide the checklist in this browser."""
    response = visit.redirect("home")
    set_cookie(response, COOKIE, HIDDEN, max_age=KEPT_S)
    return response
