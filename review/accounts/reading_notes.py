"""What the reader of a document noticed, in the words of its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from review.languages import gettext, mark, ngettext
from worker.adapters.document_process import read_note
from worker.documents.model import WARNINGS, Note, NoteCode
from worker.documents.notes import page_ranges

PAGES_SHOWN: Final = 40
TEXTS: Final[Mapping[NoteCode, str]] = {
    NoteCode.LITTLE_TEXT: mark("The document is nearly empty. Letters and digits: %(count)s."),
    NoteCode.ODD_PRICES: mark("Prices look odd. Compare them with the document: %(count)s."),
    NoteCode.NO_VALUES: mark(
        "Formulas without a value: %(count)s. Open the file in a spreadsheet program and save it."
    ),
    NoteCode.WRONG_ENCODING: mark("Letters look damaged: %(count)s. Save the file as UTF-8 again."),
    NoteCode.HIDDEN: mark("Hidden parts: %(count)s"),
    NoteCode.STRUCK: mark("Struck-through texts: %(count)s"),
    NoteCode.PAGE_PARTS: mark("Menus, banners, forms and footers: %(count)s"),
    NoteCode.RUNNING_HEADS: mark("Running headers and footers: %(count)s"),
}
"""Of notes that count no pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownNote:
    """A note as its page shows it.

    Attributes:
        pages: the pages concerned, such as ``2-10, 12``.
        examples: the beginnings of the texts concerned.
    """

    text: str
    pages: str
    examples: tuple[str, ...]
    is_warning: bool


def shown_notes(stored: Sequence[dict[str, Any]]) -> list[ShownNote]:
    """The stored notes of a document, warnings first."""
    notes = [read_note(each) for each in stored]
    shown = [
        ShownNote(
            text=_text(note),
            pages=page_ranges(note.pages[:PAGES_SHOWN]),
            examples=note.examples,
            is_warning=note.code in WARNINGS,
        )
        for note in notes
    ]
    return sorted(shown, key=lambda each: not each.is_warning)


def _text(note: Note) -> str:
    match note.code:
        case NoteCode.NO_TEXT:
            text = ngettext(
                "%(count)s of %(of)s page has no text: run OCR over it.",
                "%(count)s of %(of)s pages have no text: run OCR over them.",
                note.of,
            )
        case NoteCode.UNREADABLE:
            text = ngettext(
                "%(count)s of %(of)s page has letters that cannot be read, and was left out: print it again.",
                "%(count)s of %(of)s pages have letters that cannot be read, and were left out:"
                " print them again.",
                note.of,
            )
        case _:
            text = gettext(TEXTS[note.code])
    return text % {"count": note.count, "of": note.of}
