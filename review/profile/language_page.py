"""The form that chooses language and time zone, for visitors before the sign-in too."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from starlette.responses import RedirectResponse, Response

from db.people import changes
from review.http.local_paths import local_path
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages.catalogues import LANGUAGES
from review.languages.choice import LANGUAGE_COOKIE, zone_names

YEAR_S: Final = 31_536_000


async def choose(visit: Visit) -> Response:
    """Store the fields that the form has: ``language`` and ``time_zone``, empty for the browser's own.

    ``next`` is the page to return to. Without a sign-in only a cookie is set.
    """
    language, zone = _field(visit, "language", LANGUAGES), _field(visit, "time_zone", zone_names())
    given = {"language": language, "time_zone": zone}
    chosen = {name: value or None for name, value in given.items() if value is not None}
    if visit.signed_in is not None and chosen:
        async with visit.store.writing() as connection:
            await changes.set_columns(connection, visit.signed_in.person_id, **chosen)
    response = RedirectResponse(local_path(visit.field("next")), status_code=303)
    if language is not None:
        response.set_cookie(
            LANGUAGE_COOKIE, language, YEAR_S if language else 0, secure=True, httponly=True, samesite="lax"
        )
    return response


def _field(visit: Visit, name: str, known: Container[str]) -> str | None:
    """The choice of a field: empty for the browser's own, None where the form has no such field."""
    if name not in visit.form:
        return None
    value = visit.field(name)
    if value and value not in known:
        text = _("Choose one of the list.")
        raise Refused(400, _("Unknown language or time zone"), text)
    return value
