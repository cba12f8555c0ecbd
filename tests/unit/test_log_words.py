"""Lines of the access log in words."""

from __future__ import annotations

from db.access_log import LoggedAction
from review.words import access_log as wording


def test_every_action_has_words_of_its_own() -> None:
    """Total over the codes, and no two read alike."""
    assert set(wording.ACTIONS) == set(LoggedAction)
    assert len(set(wording.ACTIONS.values())) == len(LoggedAction)
    assert wording.action_wording("of_another_release") == "of_another_release"


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

    assert wording.detail_wording(values) == (
        ("live", "no"),
        ("rows", "3"),
        ("decisions", "a, b"),
        ("from", "none"),
        ("by rule", '{"a":1}'),
    )
