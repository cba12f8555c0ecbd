"""Lines of the access log in words."""

from __future__ import annotations

from db.access_log import Action
from review.lists import log_words


def test_every_action_has_words_of_its_own() -> None:
    """Total over the codes, and no two read alike."""
    assert set(log_words.ACTIONS) == set(Action)
    assert len(set(log_words.ACTIONS.values())) == len(Action)
    assert log_words.action("of_another_release") == "of_another_release"


def test_a_detail_is_shown_as_names_and_values() -> None:
    """Nothing is lost but what is empty; hostile values stay texts."""
    values = {
        "live": False,
        "rows": 3,
        "query": "",
        "decisions": ["a", "b"],
        "from": None,
        "by_rule": {"a": 1},
    }

    assert log_words.detail(values) == (
        ("live", "no"),
        ("rows", "3"),
        ("decisions", "a, b"),
        ("from", "none"),
        ("by rule", '{"a":1}'),
    )
