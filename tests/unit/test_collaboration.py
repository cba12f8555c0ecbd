"""Mentions in comments, and identifiers in paths."""

from __future__ import annotations

import pytest

from review.collaboration.pages import mentioned_logins
from review.http.identifiers import CONVERTOR, path_segment


@pytest.mark.parametrize(
    ("text", "logins"),
    [
        ("see @kim, please", {"kim"}),
        ("@Kim@example.org. thanks", {"kim@example.org.", "kim@example.org"}),
        ("mail kim@example.org", set()),
        ("(@kim) and @lee!", {"kim", "lee"}),
        ("@@kim", set()),
        ("no one", set()),
    ],
)
def test_a_comment_mentions_logins_after_an_at_sign(text: str, logins: set[str]) -> None:
    """Addresses of mail are no mentions; the punctuation after a login does not belong to it."""
    assert set(mentioned_logins(text)) == logins


@pytest.mark.parametrize(
    "identifier",
    ["a1", "https://host/a?b=c#d", "..", ".", "~2F", "50%", "chat/7", "ä 新", "a/authors/b", "\\"],
)
def test_any_identifier_is_one_segment_of_a_path(identifier: str) -> None:
    """No slash, no dots alone, nothing that a proxy decodes; it is read back as it was."""
    segment = path_segment(identifier)

    assert CONVERTOR.convert(segment) == identifier
    assert set(segment) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
    assert segment.strip(".")
