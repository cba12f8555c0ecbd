"""Values of a request: the trial of its address, a named candidate, and the person who takes a step."""

from __future__ import annotations

from uuid import UUID

from db.access_log import LoggedAction
from db.identifiers import parsed_id
from db.reviews import queue_items
from review.accounts.stored_versions import account_of_path
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from trials.pure.trial import Trial, TrialKind
from trials.store.candidates import REASON_CHARS, Actor, SettingsCandidate, get_candidate
from trials.store.trials import get_trial


def actor_of(visit: Visit) -> Actor:
    """This person, with the reason of the form."""
    entry, reason = visit.entry(LoggedAction.SETTINGS), visit.field("reason").strip()
    return Actor(made_by=visit.person.login, reason=reason, now=visit.now, entry=entry)


def actor_with_reason(visit: Visit) -> Actor:
    """This person with a reason; a form without a reason is refused (422)."""
    actor = actor_of(visit)
    if not 0 < len(actor.reason) <= REASON_CHARS:
        text = _("Write a reason of 1 to %(most)s characters.") % {"most": REASON_CHARS}
        raise Refused(422, _("A reason is needed"), text)
    return actor


async def hidden_of(visit: Visit) -> frozenset[UUID]:
    """The decisions that this person reviews without seeing how they ended."""
    async with visit.store.reading() as connection:
        return await queue_items.hidden_decisions(connection, visit.person.person_id)


async def trial_of_path(visit: Visit, *kinds: TrialKind) -> Trial:
    """The trial in the page's address; 404 for one of another account, 409 for one of another kind."""
    missing = Refused(404, _("No such trial"), _("Choose a trial of this account."))
    found = await get_trial(visit.store.pool, visit.path_id("trial_id", missing))
    if found is None or found.user_id != account_of_path(visit):
        raise missing
    if found.kind not in kinds:
        raise Refused(409, _("This step cannot be taken"), _("It is a trial of another kind."))
    return found


async def candidate_named(visit: Visit, text: str) -> SettingsCandidate:
    """A candidate of the account in the page's address; 404 for an unknown id, 422 for another text."""
    title, choose = _("No such candidate"), _("Choose a candidate of this account.")
    if (candidate_id := parsed_id(text)) is None:
        raise Refused(422, title, choose)
    found = await get_candidate(visit.store.pool, candidate_id)
    if found is None or found.user_id != account_of_path(visit):
        raise Refused(404, title, choose)
    return found
