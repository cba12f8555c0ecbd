"""Words of full text search: the same for a document and for what asks for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.documents.words import WORD_CHARS, search_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Where's my Rückgabe?", ["my", "rückgabe", "s", "where"]),
        ("退货政策", ["政策", "货政", "退货"]),
        ("猫", ["猫"]),
        ("iPhone17を買う", ["iphone17", "を買", "買う"]),
        ("ＦＵＬＬ　ｗｉｄｔｈ", ["full", "width"]),
        ("Tiếng Việt", ["tiếng", "việt"]),
        ("हिन्दी", ["हिन्दी"]),
        ("snake_case 1,200 €", ["1", "200", "case", "snake"]),
        ("STRASSE straße", ["strasse"]),
        ("", []),
    ],
)
def test_words_of_every_script_are_found(text: str, expected: list[str]) -> None:
    """Folded by NFKC and case; pairs of characters where a script writes no spaces."""
    assert search_words(text) == expected


@given(st.text(st.characters(codec="utf-8")))
def test_words_can_be_stored_as_lexemes(text: str) -> None:
    """Short, distinct, without blank or quote, and never empty, so that Postgres accepts them unchanged."""
    found = search_words(text)

    assert len(found) == len(set(found))
    assert all(0 < len(word) <= WORD_CHARS and not set(word) & set(" '\\\0") for word in found)
