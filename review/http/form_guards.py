"""Checks of every form: text only, from this site, with the session's CSRF token."""

from __future__ import annotations

from review.http.visit import Refused, Visit, csrf_matches


def check_text(visit: Visit) -> None:
    """Refuse NUL (400): Postgres cannot store it, and no person types it."""
    request = visit.request
    texts = [*request.path_params.values(), *request.query_params.values(), *visit.form.values()]
    if any(isinstance(text, str) and "\0" in text for text in texts):
        raise Refused(400, "Not text", "A field holds the character U+0000, which cannot be stored.")


def check_origin(visit: Visit) -> None:
    """Refuse a form of another site (403), by the headers that browsers send."""
    headers = visit.request.headers
    fetch_site, origin = headers.get("Sec-Fetch-Site"), headers.get("Origin")
    own_origins = (visit.site.settings.review_url.rstrip("/"), str(visit.request.base_url).rstrip("/"))
    if fetch_site not in (None, "same-origin") or (origin is not None and origin not in own_origins):
        raise Refused(403, "Not from this site", "The form came from another site and was not used.")


def check_token(visit: Visit) -> None:
    """Refuse a form without the token of this session (403)."""
    shown = visit.form.get("csrf") or visit.request.headers.get("X-CSRF-Token")
    if not csrf_matches(visit.token, shown):
        text = "The form belongs to another session. Go back, reload and send it again."
        raise Refused(403, "The form is out of date", text)
