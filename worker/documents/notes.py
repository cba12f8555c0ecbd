"""Notes of a reading in English, for the command line and the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from worker.documents.model import Note, NoteCode

SENTENCES: Final[Mapping[NoteCode, str]] = {
    NoteCode.NO_TEXT: "{count} of {of} pages have no text: run OCR over them",
    NoteCode.UNREADABLE: "{count} of {of} pages have letters that cannot be read, and were left out:"
    " print the file to PDF again, or run OCR",
    NoteCode.LITTLE_TEXT: "nearly empty: {count} letters and digits",
    NoteCode.ODD_PRICES: "prices look odd, compare them with the document: {count}",
    NoteCode.NO_VALUES: "cells whose formula has no value or an error: {count}; open the file in a spread"
    "sheet"
    " program and save it",
    NoteCode.WRONG_ENCODING: "letters look damaged, such as Ã¤ for ä: {count}; save the file as UTF-8 again",
    NoteCode.HIDDEN: "hidden parts left out: {count}",
    NoteCode.STRUCK: "struck texts left out: {count}",
    NoteCode.PAGE_PARTS: "menus, banners and footers left out: {count}",
    NoteCode.RUNNING_HEADS: "running headers and footers left out: {count}",
}


def note_text(note: Note) -> str:
    """A note as one sentence, with the pages or texts concerned."""
    text = SENTENCES[note.code].format(count=note.count, of=note.of)
    if note.pages:
        text += f" (pages {page_ranges(note.pages)})"
    if note.examples:
        text += ": " + "; ".join(f'"{example}"' for example in note.examples)
    return text


def page_ranges(pages: Sequence[int]) -> str:
    """Numbers of pages in order, such as ``2-10, 12``."""
    ranges: list[list[int]] = []
    for page in pages:
        if ranges and page == ranges[-1][1] + 1:
            ranges[-1][1] = page
        else:
            ranges.append([page, page])
    return ", ".join(f"{first}-{last}" if last > first else f"{first}" for first, last in ranges)
