"""Sign-in at an identity provider: the redirect there, the answer, and the person it means."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import structlog
from starlette.responses import JSONResponse, Response

from db import access_log
from db.access_log import LoggedAction
from db.connection import Connection
from db.people import changes, records, sessions, sign_ins
from db.people.records import Person
from review.auth import form_replay, invitation_page
from review.auth.session_start import start_session
from review.http.named_routes import START, local_path
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.services.openid_provider import LOGOUT_AGE_S, Identity, OpenIdProvider, ProviderLogout
from worker.errors import IdentityRejected, IdentityUnavailable
from worker.rates import RateLimit

log = structlog.get_logger(__name__)

BACK: Final = "/sign-in/oidc/back"
LOGOUT: Final = "/sign-in/oidc/logout"
"""Registered at the provider as the back-channel logout URI."""
BEGUN_SIGN_INS: Final = RateLimit(per_minute=120, burst=120)
"""Sign-ins that one address may begin at the identity provider; an office may share an address."""
NOT_STORED: Final = {"Cache-Control": "no-store"}
VALID_FOR: Final = timedelta(minutes=10)
MOST_IN_PROGRESS: Final = 2000
"""Sign-ins in progress; anyone can begin one, and beyond this many the oldest ones end."""


async def start_oidc(visit: Visit) -> Response:
    """Send the browser to the provider."""
    provider = _provider(visit)
    if wait_s := visit.wait_s(BEGUN_SIGN_INS, visit.network):
        raise Refused(429, "Wait a little", "Too many sign-ins are in progress.", retry_after_s=wait_s)
    kept = form_replay.read_form(visit.request, visit.form.get("carried"))
    try:
        begun = await provider.begin()
    except IdentityUnavailable as error:
        raise _unavailable(error) from error
    data = {
        "nonce": begun.nonce,
        "verifier": begun.verifier,
        "browser": visit.csrf,
        "next": local_path(visit.field("next")),
        "carried": kept.as_text() if kept else "",
    }
    async with visit.store.writing() as connection:
        await sign_ins.add_state(connection, begun.state, data, expires_at=visit.now + VALID_FOR)
        if ended := await sign_ins.keep_newest_states(connection, MOST_IN_PROGRESS):
            log.warning("sign_ins_ended", reason="too many in progress", sign_ins=ended)
    # no redirect: browsers check it against form-action, which allows this site only
    return visit.render("oidc_go.html", url=begun.url, provider=visit.site.settings.oidc_name)


async def finish_oidc(visit: Visit) -> Response:
    """Check the provider's answer, then sign in the person it names."""
    provider, answer = _provider(visit), dict(visit.request.query_params)
    async with visit.store.writing() as connection:
        data = await sign_ins.take_state(connection, answer.get("state", ""), now=visit.now)
    if data is None or data["browser"] != visit.csrf:
        text = _("It has expired, was used, or began in another browser.")
        raise Refused(400, "This sign-in did not begin here", text)
    try:
        identity = await provider.finish(answer, nonce=data["nonce"], verifier=data["verifier"])
    except IdentityUnavailable as error:
        raise _unavailable(error) from error
    except IdentityRejected as error:
        log.warning("identity_rejected", problem=str(error))
        await visit.log(LoggedAction.SIGN_IN_REFUSED, detail={"way": "oidc", "problem": str(error)})
        raise Refused(403, "Not signed in", "The identity provider refused the sign-in.") from error
    async with visit.store.writing() as connection:
        person, next_page = await _known_person(visit, connection, identity), data["next"]
        if person is None:
            person = await invitation_page.join_by_identity(visit, connection, identity, next_page)
            next_page = START
    if person is None or person.disabled:
        await visit.log(LoggedAction.SIGN_IN_REFUSED, detail={"way": "oidc", "login": identity.email[:200]})
        text = _(
            "An administrator must add you first, with the e-mail address that your provider has verified."
        )
        raise Refused(403, "You are not known here", text)
    kept = form_replay.read_form(visit.request, data["carried"])
    return await start_session(
        visit,
        person,
        method="oidc",
        next_page=next_page,
        kept_form=kept,
        provider_session=identity.session,
    )


async def end_by_provider(visit: Visit) -> Response:
    """The provider ends a session here (back-channel logout); the answer says no more than yes or no."""
    provider, form = _provider(visit), await visit.request.form(max_fields=10)
    try:
        ended = await provider.logout(str(form.get("logout_token", "")))
    except IdentityUnavailable as error:
        raise _unavailable(error) from error
    except IdentityRejected as error:
        log.warning("logout_rejected", problem=str(error))
        return JSONResponse({"error": "invalid_request"}, status_code=400, headers=NOT_STORED)
    async with visit.store.writing() as connection:
        await _end_sessions(visit, connection, provider.issuer, ended)
    return Response(status_code=200, headers=NOT_STORED)


async def _end_sessions(visit: Visit, connection: Connection, issuer: str, ended: ProviderLogout) -> None:
    until = visit.now + timedelta(seconds=2 * LOGOUT_AGE_S)
    if not await sign_ins.use_once(connection, f"logout {ended.token_id}", expires_at=until):
        return
    if ended.session is not None:
        found = await sessions.end_provider_sessions(connection, issuer, ended.session, ended.subject)
    else:
        found = await sessions.end_sessions_of_subject(connection, issuer, ended.subject or "")
    detail = {"changed": "signed out by the identity provider", "sessions_ended": found}
    await visit.log(LoggedAction.SIGN_OUT, connection=connection, detail=detail)


def _provider(visit: Visit) -> OpenIdProvider:
    if visit.site.provider is None:
        raise Refused(404, "Not found", "People sign in with a password here.")
    return visit.site.provider


async def _known_person(visit: Visit, connection: Connection, identity: Identity) -> Person | None:
    """The person: by the provider's subject, else by e-mail, once, and linked from then on."""
    person = await records.person_of_identity(connection, identity.issuer, identity.subject)
    if person is None and identity.email:
        await changes.lock_roles(connection)
        found = await records.get_credentials(connection, identity.email)
        linked = found is not None and await changes.link_identity(
            connection, found.person.person_id, identity.issuer, identity.subject
        )
        person = found.person if found and linked else None
        if person is not None and person.password_given_by is not None:
            await _end_given_password(visit, connection, person)
    return person


async def _end_given_password(visit: Visit, connection: Connection, person: Person) -> None:
    """End a password that its giver may know, and all access that it may have opened."""
    await changes.store_own_password(connection, person, None)
    ended = await changes.revoke_access(connection, person.person_id, now=visit.now)
    detail = {"changed": "password ended at the identity provider", "login": person.login} | ended
    entry = visit.entry(LoggedAction.PEOPLE, detail=detail, person=person)
    await access_log.append_entries_for_accounts(connection, entry, person.accounts)


def _unavailable(error: IdentityUnavailable) -> Refused:
    log.warning("identity_unavailable", kind=error.kind, error=str(error))
    text = (
        "Try again in a moment. An administrator can give you a sign-in link: hushgate review sign-in-link."
    )
    return Refused(503, "The identity provider does not answer", text)
