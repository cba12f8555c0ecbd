"""The kinds of personal data that are masked."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class PersonalKind(StrEnum):
    """A kind of personal data; in capitals it is the word of its placeholders."""

    EMAIL = "email"
    PHONE = "phone"
    CARD = "card"
    IBAN = "iban"


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalSpan:
    """Personal data at ``text[start:end]``."""

    kind: PersonalKind
    start: int
    end: int
