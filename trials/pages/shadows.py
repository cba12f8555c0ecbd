"""Shadows on pages: start and stop one, and open a queue of what it found."""

from __future__ import annotations

from starlette.responses import Response

from db.access_log import LoggedAction
from db.reviews import queues
from db.reviews.queues import NewQueue, QueueKind
from db.reviews.rulings import ReviewRejected
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.typed.numbers import typed_number
from review.typed.problems import number_problem
from trials.pages.request_values import actor_with_reason, candidate_named, trial_of_path
from trials.pure.trial import TrialKind
from trials.store import shadows
from trials.store.candidates import TrialRefused
from trials.store.differences import fill_queues_of
from worker.account_settings import AccountRejected


async def start(visit: Visit) -> Response:
    """Start a shadow and lead to its page."""
    candidate = await candidate_named(visit, visit.field("candidate"))
    actor, usd = actor_with_reason(visit), _usd(visit)
    try:
        started = await shadows.start_shadow(visit.store.pool, candidate.candidate_id, actor, usd_a_day=usd)
    except (TrialRefused, AccountRejected) as refused:
        raise Refused(409, _("The shadow was not started"), str(refused)) from refused
    return visit.redirect("trial", account=candidate.user_id, trial_id=started.trial_id)


async def stop(visit: Visit) -> Response:
    """Stop a shadow."""
    shadow = await trial_of_path(visit, TrialKind.SHADOW)
    try:
        await shadows.stop_shadow(visit.store.pool, shadow.trial_id, actor_with_reason(visit))
    except TrialRefused as refused:
        raise Refused(409, _("The shadow was not stopped"), str(refused)) from refused
    return visit.redirect("trial", account=shadow.user_id, trial_id=shadow.trial_id)


async def open_queue(visit: Visit) -> Response:
    """Open a queue with what a shadow would have ended otherwise; later differences are added."""
    shadow = await trial_of_path(visit, TrialKind.SHADOW)
    account = shadow.user_id
    name = _("Shadow of %(account)s, %(id)s") % {"account": account, "id": str(shadow.trial_id)[-6:]}
    try:
        async with visit.store.writing() as connection:
            queue_id = await queues.create_queue(
                connection,
                NewQueue(name=name[:100], kind=QueueKind.HAND),
                accounts=(account,),
                created_by=visit.person.login,
                now=visit.now,
                shadow=shadow.trial_id,
            )
            detail = {"opened": str(queue_id), "shadow": str(shadow.trial_id)}
            await visit.log(LoggedAction.QUEUE, user_id=account, detail=detail, connection=connection)
    except ReviewRejected as rejected:
        raise Refused(409, _("The queue was not opened"), str(rejected)) from rejected
    await fill_queues_of(visit.store.pool, shadow.trial_id)
    return visit.redirect("queues")


def _usd(visit: Visit) -> float:
    text = visit.field("usd_a_day").strip() or "0"
    try:
        return typed_number(text)
    except ValueError as error:
        raise Refused(422, _("The shadow was not started"), number_problem(text)) from error
