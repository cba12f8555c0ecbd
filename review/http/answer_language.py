"""The language and time zone in which a request is answered."""

from __future__ import annotations

from review.http.visit import Visit
from review.languages.choice import LANGUAGE_COOKIE, ZONE_COOKIE, choose_language, choose_zone
from review.languages.reader import NO_READER, PageReader, answer_in


def answer_in_language(visit: Visit, *, english: bool = False) -> None:
    """Choose language and time zone; English and UTC where programs read the answer."""
    if english:
        answer_in(NO_READER)
        return
    headers, cookies, person = visit.request.headers, visit.request.cookies, visit.signed_in
    accepted = headers.get("Accept-Language", "")
    language = choose_language(person.language if person else None, cookies.get(LANGUAGE_COOKIE), accepted)
    zone = choose_zone(person.time_zone if person else None, cookies.get(ZONE_COOKIE))
    answer_in(PageReader(language=language, zone=zone, now=visit.now))
