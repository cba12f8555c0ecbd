"""The page on which administrators connect model servers: test with the calls of a worker, then save."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from db.access_log import LoggedAction
from db.model_servers.stored import ServerRow, load_rows, lock_rows, store_servers
from db.people.attempts import AttemptKind
from db.people.first_steps import MODELS_FAILED, MODELS_TESTED
from db.people.records import EVERY_ACCOUNT
from review.access import Right
from review.connect.server_form import RoleForm, stored_forms, typed_servers
from review.first_run.attempts import begin_attempt
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark
from review.services.first_run import ModelAnswer
from review.typed.problems import button_problem
from worker.model import OPENAI_MODERATION
from worker.setting_description import RiskText
from worker.settings import StoredServer

TEST, SAVE, SAVE_ANYWAY = "test", "save", "save_anyway"
CALLS: Final = {
    "live model call": mark("Language model"),
    "live judge call": mark("Judge"),
    "live moderation call": mark("Moderation"),
    "live embedding call": mark("Embeddings"),
}
"""Name of a call -> the role that made it; other calls are those of classifiers."""
IN_WORDS: Final = (
    ("variable of the proxy", mark("The proxy cannot be used. Ask the operator of this server.")),
    ("to a key that the endpoint accepts", mark("The server refuses the key. Enter another key.")),
    ("check the quota", mark("The quota or the rate limit of this key is used up: see the vendor's page.")),
    (
        "redirects to",
        mark("The server sends calls to another address, and Hushgate does not follow. Enter that address."),
    ),
    ("and the network", mark("The server does not answer. Check the address and that the server runs.")),
    ("that answers in JSON", mark("This model does not answer as a judge must. Choose another model.")),
    (
        "check HUSHGATE_",
        mark("The server refuses this call. Check the name of the model, and the address: most end in /v1."),
    ),
)
"""Part of the fix of ``hushgate doctor`` -> what to do on this page."""


async def show_connect(visit: Visit) -> Response:
    """The servers in force, without their keys."""
    _require_everywhere(visit)
    rows = await load_rows(visit.store.pool)
    saved = "saved" in visit.request.query_params
    return _page(visit, stored_forms(visit.site.settings, rows), version=_version(rows), saved=saved)


async def change_connect(visit: Visit) -> Response:
    """Test the typed servers, or save them: those that answer, others with "save anyway" only."""
    _require_everywhere(visit)
    test = visit.site.first_run.test_servers
    if test is None:
        raise Refused(409, _("No models to test"), _("This server has no settings of the workers."))
    if (what := visit.field("what")) not in {TEST, SAVE, SAVE_ANYWAY}:
        raise Refused(400, _("What to do"), button_problem())
    rows = await load_rows(visit.store.pool)
    servers, forms = typed_servers(visit, rows)
    if any(each.problem for each in forms):
        return _page(visit, forms, status=400)
    if problem := _missing(visit, servers):
        return _page(visit, forms, status=400, problem=problem)
    answers: Sequence[ModelAnswer] = ()
    if what != SAVE_ANYWAY:
        try:
            await begin_attempt(visit, AttemptKind.MODEL_TEST, "begun")
        except Refused as refused:  # the form keeps what was typed
            return _page(visit, forms, status=refused.status, problem=refused.text)
        answers = await run_in_threadpool(test, servers)
        failed = sum(not each.answered for each in answers)
        await visit.log(LoggedAction.SETTINGS, detail={MODELS_TESTED: len(answers), MODELS_FAILED: failed})
        risks = _risks(visit, rows, servers)
        if failed or risks or what == TEST:
            return _page(visit, forms, answers=answers, risks=risks)
    if await _save(visit, servers, forms, tested=what == SAVE):
        return visit.redirect("connect", "saved=1")
    problem = _("Another person saved other servers meanwhile. Save again to replace those servers.")
    version = _version(await load_rows(visit.store.pool))
    return _page(visit, forms, status=409, problem=problem, version=version)


async def _save(
    visit: Visit, servers: Sequence[StoredServer], forms: Sequence[RoleForm], *, tested: bool
) -> bool:
    """Store the servers, each with its line in the access log; of a key only whether there is one.

    False: nothing is stored, as another person changed the servers since the form was shown.
    """
    free = {each.role for each in forms if not (each.url_set_by and each.model_set_by)}
    async with visit.store.writing() as connection:
        by, key = visit.person.login, visit.site.settings.secrets_key
        rows = await lock_rows(connection)
        if _version(rows) != visit.field("version") and any(row.changed_by != by for row in rows):
            return False
        changed = [each for each in servers if each.role in free]
        await store_servers(connection, changed, key, changed_by=by)
        for each in changed:
            detail = {
                "model_server": each.role.value,
                "url": each.url or "",
                "model": each.model,
                "key": each.key is not None,
                "tested": tested,
            }
            await visit.log(LoggedAction.SETTINGS, detail=detail, connection=connection)
    return True


def _version(rows: Sequence[ServerRow]) -> str:
    """Which state of the stored servers a form was made from."""
    return max((row.changed_at.isoformat() for row in rows), default="")


def _risks(visit: Visit, rows: Sequence[ServerRow], servers: Sequence[StoredServer]) -> tuple[str, ...]:
    """The risks that a change adds, in the words of the settings of accounts."""
    known = visit.site.settings
    before = known.with_stored(row.opened(known.secrets_key) for row in rows)
    if not before.moderates or known.with_stored(servers).moderates:
        return ()
    return (
        _(RiskText.MODERATOR_GONE) % {"moderator": OPENAI_MODERATION},
        _(RiskText.IMAGES_UNMODERATED) % {"endpoint": OPENAI_MODERATION},
    )


def _missing(visit: Visit, servers: Sequence[StoredServer]) -> str:
    """Why these servers decide no event; empty: nothing is missing."""
    found = visit.site.settings.with_stored(servers)
    if found.models_problem is None:
        return ""
    if found.models_problem == found.moderation_problem:
        return _("Moderation: this server has none, or lacks its key. Name another server, or switch it off.")
    return _("Language model: write the key; this vendor requires a key.")


def _require_everywhere(visit: Visit) -> None:
    """The servers are those of the whole installation, and every account's texts are sent there."""
    if not visit.may(Right.ADMIN, EVERY_ACCOUNT):
        text = _("Only administrators of every account may connect the models of the installation.")
        raise Refused(403, _("Not allowed"), text)


def _page(
    visit: Visit,
    forms: Sequence[RoleForm],
    *,
    status: int = 200,
    answers: Sequence[ModelAnswer] = (),
    risks: Sequence[str] = (),
    problem: str = "",
    saved: bool = False,
    version: str | None = None,
) -> Response:
    return visit.render(
        "connect/connect.html",
        status=status,
        forms=forms,
        answers=[(each, CALLS.get(each.call, ""), _in_words(each)) for each in answers],
        risks=risks,
        problem=problem,
        saved=saved,
        version=visit.field("version") if version is None else version,
        possible=visit.site.first_run.test_servers is not None,
        can_keep_keys=visit.site.settings.secrets_key is not None,
    )


def _in_words(answer: ModelAnswer) -> str:
    """What to do about a call that failed; empty: it answered."""
    if answer.answered:
        return ""
    return next((_(text) for part, text in IN_WORDS if part in answer.fix), answer.fix)
