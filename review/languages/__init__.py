"""Page texts in the language of the reader: the functions that mark and translate them.

In templates ``{{ _("Sign out") }}``, ``{{ ngettext("%(num)s reply", "%(num)s replies", count) }}`` and
``{% trans %}``; in Python ``from review.languages import gettext as _``. A constant of a module is marked
with ``mark`` and translated where it is shown: in Python with ``gettext``, in templates with the filter
``translated``, never with ``_()``, which takes its text for part of the template. English texts are the keys
of the catalogues.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from gettext import NullTranslations
from typing import Any, Final

ENGLISH: Final = NullTranslations()
catalogue: Final[ContextVar[NullTranslations]] = ContextVar("catalogue", default=ENGLISH)
"""The catalogue of the request that is answered."""


def mark(message: str) -> str:
    """The text itself, marked for extraction; ``gettext`` translates it where it is shown."""
    return message


def gettext(message: str) -> str:
    """A text in the reader's language, or itself without a translation."""
    return catalogue.get().gettext(message) if message else ""


def worded(texts: Mapping[Any, str]) -> Callable[[Any], str]:
    """A function from a code to its text in the reader's language; an unknown code is unchanged."""
    return lambda code: gettext(texts.get(code, code))


def ngettext(singular: str, plural: str, number: int) -> str:
    """A text in the reader's language, in the plural form of the number."""
    return catalogue.get().ngettext(singular, plural, number)
