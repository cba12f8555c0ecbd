"""The reader of the request that is answered: language, time zone and the present time."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from review.languages import catalogue
from review.languages.catalogues import LANGUAGES, LOCALES, translations_of
from review.languages.choice import UTC_ZONE


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReader:
    """How the reader of a page sees texts and times.

    Attributes:
        now: when the request began; None outside requests, which then show no relative times.
    """

    language: str = "en"
    zone: ZoneInfo = UTC_ZONE
    now: datetime | None = None

    @property
    def locale(self) -> str:
        """The locale of dates and numbers, as Babel names it."""
        return LOCALES[self.language]


NO_READER: Final = PageReader()
reader: Final[ContextVar[PageReader]] = ContextVar("reader", default=NO_READER)


def load_languages() -> None:
    """Read every catalogue, so that no request waits for it."""
    for language in LANGUAGES:
        translations_of(language)


def midnight(now: datetime) -> datetime:
    """When the reader's day began, UTC."""
    local = now.astimezone(reader.get().zone)
    return local.replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)


def answer_in(found: PageReader) -> None:
    """Answer the rest of this request in the reader's language and time zone."""
    reader.set(found)
    catalogue.set(translations_of(found.language))
