"""The languages of the pages, and their catalogues: PO files, read once by the process that shows pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from review.languages import ENGLISH
from review.languages.pseudo_locale import PSEUDO, PseudoTranslations

LANGUAGES: Final[Mapping[str, str]] = {"en": "English", "vi": "Tiếng Việt"}
"""Code to the language's own name, in display order; English is the key of every catalogue."""
LOCALES: Final[Mapping[str, str]] = {"en": "en_GB", "vi": "vi", PSEUDO: "en_GB"}
"""The locale of dates and numbers: English with the day before the month."""
FOLDER: Final = Path(__file__).parent
TAG: Final = re.compile(r"<[^>]*>?|&")
PLACE: Final = re.compile(r"%(?:\(\w+\))?[a-zA-Z%]")


@cache
def translations_of(language: str) -> NullTranslations:
    """The catalogue of a language; English, which needs none, for an unknown one."""
    if language == PSEUDO:
        return PseudoTranslations()
    if language == "en" or language not in LANGUAGES:
        return ENGLISH
    compiled = BytesIO()
    write_mo(compiled, usable_part(read_catalogue(language)))
    compiled.seek(0)
    return GNUTranslations(compiled)


def catalogue_path(language: str) -> Path:
    """The PO file of a language."""
    return FOLDER / language / "pages.po"


def read_catalogue(language: str) -> Catalog:
    """The catalogue as stored, with fuzzy and untranslated texts."""
    with catalogue_path(language).open("rb") as file:
        return read_po(file, locale=language)


def usable_part(stored: Catalog) -> Catalog:
    """The catalogue without translations that have other HTML or placeholders than the English text.

    Texts of catalogues are part of the template: their HTML is not escaped. A translation can therefore add
    no element and no attribute.
    """
    for message in list(stored):
        if message.id and not fits(message):
            stored.delete(message.id, message.context)
    return stored


def fits(message: Message) -> bool:
    """Whether every form of a translation has the tags and placeholders of the English text."""
    english, translated = forms_of(message.id), forms_of(message.string)
    tags = {_tags(each) for each in english}
    every = set(PLACE.findall(" ".join(english)))
    fewest = min((set(PLACE.findall(each)) - {"%(num)s"} for each in english), key=len)
    return all(
        not each or (_tags(each) in tags and fewest <= set(PLACE.findall(each)) <= every)
        for each in translated
    )


def forms_of(text: Any) -> tuple[str, ...]:
    """The forms of a text by number: one, unless it has a plural."""
    return tuple(text) if isinstance(text, tuple | list) else (str(text or ""),)


def _tags(text: str) -> frozenset[tuple[str, int]]:
    return frozenset(Counter(TAG.findall(text)).items())
