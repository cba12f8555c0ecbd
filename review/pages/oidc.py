"""Signing in at an identity provider: the way there, the way back, and who that is here."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import structlog
from starlette.responses import Response

from db import people, people_changes, sign_ins
from db.access_log import Action
from db.people import Person
from review.people import carried
from review.people.entering import enter, local
from review.web import Refused, Visit
from worker.adapters.openid_provider import Identity, OpenIdProvider
from worker.errors import IdentityRejected, IdentityUnavailable

log = structlog.get_logger(__name__)

BACK: Final = "/sign-in/oidc/back"
LASTS: Final = timedelta(minutes=10)
MOST_UNDER_WAY: Final = 2000
"""Strangers may begin sign-ins; beyond this many they wait for older ones to end."""


async def begin(visit: Visit) -> Response:
    """Send the browser to the provider.

    Raises:
        Refused: 404 without a provider; 429; 503.
    """
    provider = _provider(visit)
    kept = carried.from_text(visit.request, visit.form.get("carried"))
    try:
        begun = await provider.begin()
    except IdentityUnavailable as error:
        raise _away(error) from error
    data = {
        "nonce": begun.nonce,
        "verifier": begun.verifier,
        "browser": visit.csrf,
        "next": local(str(visit.form.get("next", ""))),
        "carried": kept.as_text() if kept else "",
    }
    async with visit.store.writing() as connection:
        if await sign_ins.count_states(connection) >= MOST_UNDER_WAY:
            raise Refused(429, "Wait a little", "Too many sign-ins are under way.", retry_after_s=60)
        await sign_ins.add_state(connection, begun.state, data, expires_at=visit.now + LASTS)
    # not by a redirect: browsers hold it against form-action, which knows this site only
    return visit.render("oidc_go.html", url=begun.url, provider=visit.site.settings.oidc_name)


async def back(visit: Visit) -> Response:
    """Somebody comes back from the provider: check everything, then sign in.

    Raises:
        Refused: 400 when this is not what we sent away; 403 when nobody here is meant; 503.
    """
    provider, answer = _provider(visit), dict(visit.request.query_params)
    async with visit.store.writing() as connection:
        data = await sign_ins.take_state(connection, answer.get("state", ""), now=visit.now)
    if data is None or data["browser"] != visit.csrf:
        raise Refused(
            400, "This sign-in did not begin here", "It is too old, was used, or began in another browser."
        )
    try:
        identity = await provider.finish(answer, nonce=data["nonce"], verifier=data["verifier"])
    except IdentityUnavailable as error:
        raise _away(error) from error
    except IdentityRejected as error:
        log.warning("identity_rejected", problem=str(error))
        await visit.log(Action.SIGN_IN_REFUSED, detail={"way": "oidc", "problem": str(error)})
        raise Refused(403, "Not signed in", "The identity provider did not let you in.") from error
    person = await _known(visit, identity)
    if person is None:
        raise Refused(
            403,
            "You are not known here",
            "An administrator has to add you first, with the e-mail address that your provider has verified.",
        )
    return await _entered(visit, person, data)


def _provider(visit: Visit) -> OpenIdProvider:
    if visit.site.provider is None:
        raise Refused(404, "Not found", "People sign in with a password here.")
    return visit.site.provider


async def _known(visit: Visit, identity: Identity) -> Person | None:
    """The person: by what the provider calls them, else by e-mail, once, and linked from then on."""
    async with visit.store.writing() as connection:
        person = await people.by_subject(connection, identity.issuer, identity.subject)
        if person is None and identity.email:
            found = await people.by_login(connection, identity.email)
            linked = found is not None and await people_changes.link_identity(
                connection, found.person.person_id, identity.issuer, identity.subject
            )
            person = found.person if found and linked else None
    if person is None or person.disabled:
        await visit.log(Action.SIGN_IN_REFUSED, detail={"way": "oidc", "login": identity.email[:200]})
        return None
    return person


async def _entered(visit: Visit, person: Person, data: dict[str, Any]) -> Response:
    kept = carried.from_text(visit.request, data["carried"])
    return await enter(visit, person, way="oidc", next_page=data["next"], carried=kept)


def _away(error: IdentityUnavailable) -> Refused:
    log.warning("identity_unavailable", kind=error.kind)
    return Refused(
        503,
        "The identity provider does not answer",
        "Try again in a moment. An administrator can give you a link for once: hushgate review sign-in-link.",
    )
