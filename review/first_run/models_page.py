"""The live test of the models: one real call of each kind with the settings of the deployment."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from db.access_log import LoggedAction
from db.people.attempts import AttemptKind
from db.people.first_steps import MODELS_FAILED, MODELS_TESTED
from db.people.records import EVERY_ACCOUNT
from review.access import Right
from review.first_run.attempts import begin_attempt
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.services.first_run import ModelAnswer


async def show_model_test(visit: Visit) -> Response:
    """What the test does, with its button."""
    _require_everywhere(visit)
    return _page(visit, None)


async def run_model_test(visit: Visit) -> Response:
    """Make the calls and show what answered."""
    _require_everywhere(visit)
    call_models = visit.site.first_run.call_models
    if call_models is None:
        raise Refused(409, _("No models to test"), _("This server has no settings of the models."))
    await begin_attempt(visit, AttemptKind.MODEL_TEST, "begun")
    answers = await run_in_threadpool(call_models)
    failed = sum(not each.answered for each in answers)
    await visit.log(LoggedAction.SETTINGS, detail={MODELS_TESTED: len(answers), MODELS_FAILED: failed})
    return _page(visit, answers)


def _require_everywhere(visit: Visit) -> None:
    """The calls are paid by the installation, and their errors name its endpoints."""
    if not visit.may(Right.ADMIN, EVERY_ACCOUNT):
        text = _("Only administrators of every account may test the models of the installation.")
        raise Refused(403, _("Not allowed"), text)


def _page(visit: Visit, answers: Sequence[ModelAnswer] | None) -> Response:
    return visit.render(
        "first_run/models.html", answers=answers, possible=visit.site.first_run.call_models is not None
    )
