"""Notes of a reading have a sentence each, in the command line and on the page."""

from __future__ import annotations

import pytest

from review.accounts.reading_notes import shown_notes
from worker.documents.model import WARNINGS, Note, NoteCode
from worker.documents.notes import note_text, page_ranges


@pytest.mark.parametrize("code", NoteCode)
def test_every_note_has_a_sentence_with_its_count(code: NoteCode) -> None:
    """No code is shown as such."""
    note = Note(code=code, count=7, of=9, pages=(1, 2, 4), examples=("an example",))
    stored = {"code": code.value, "count": 7, "of": 9, "pages": [1, 2, 4], "examples": ["an example"]}
    (shown,) = shown_notes([stored])

    assert "7" in shown.text
    assert "7" in note_text(note)
    assert (shown.pages, shown.examples, shown.is_warning) == ("1-2, 4", ("an example",), code in WARNINGS)


@pytest.mark.parametrize(
    ("pages", "text"), [((), ""), ((3,), "3"), ((1, 2, 3), "1-3"), ((1, 3, 4, 9), "1, 3-4, 9")]
)
def test_pages_are_named_as_ranges(pages: tuple[int, ...], text: str) -> None:
    """As people write them."""
    assert page_ranges(pages) == text
