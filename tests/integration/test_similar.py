"""Similar decisions: the same rule and near text, on the same account, around the same time."""

from __future__ import annotations

from datetime import timedelta

from db.audit import similar
from tests.support.audited import NOW, blocked, ignored, record
from tests.support.reviewing import stored


def test_near_texts_of_the_same_rule_come_nearest_first(database_url: str) -> None:
    """Other rules, other accounts, other months and other texts stay away."""
    text = "cheap viagra from our pharmacy, order today"
    asked = blocked(text=text)
    same = blocked(text=text + "!", at=NOW - timedelta(days=2))
    near = blocked(text="cheap viagra from my pharmacy, order it today", at=NOW - timedelta(days=1))
    away = (
        blocked(text=text, matched_rule="flagged_keyword:viagra"),
        blocked(text=text, user_id="umbrella"),
        blocked(text=text, at=NOW - timedelta(days=60)),
        blocked(text="Zwölf Boxkämpfer jagen Viktor"),
        ignored(text=text),
    )
    record(database_url, asked, same, near, *away)
    found = stored(database_url, lambda connection: similar.similar_to(connection, asked.decision_id))

    assert [each.row["id"] for each in found] == [same.decision_id, near.decision_id]
    assert found[0].similarity > found[1].similarity > 0.3
    assert {each.state for each in found} == {"open"}


def test_without_a_rule_the_reason_counts(database_url: str) -> None:
    """And a decision that is not there has none."""
    asked, near = (ignored(text=f"when do you open on a sunday {name}") for name in ("morning", "evening"))
    record(database_url, asked, near)
    found = stored(database_url, lambda connection: similar.similar_to(connection, asked.decision_id))
    gone = ignored()
    nothing = stored(database_url, lambda connection: similar.similar_to(connection, gone.decision_id))

    assert near.decision_id in {each.row["id"] for each in found}
    assert nothing == ()
