"""Which texts stay covered for whom."""

from __future__ import annotations

from typing import Any

import pytest

from review import care


def row(matched_rule: str | None = None, **highest: float) -> dict[str, Any]:
    """A decision with these moderation scores."""
    detail = {"highest": {name: {"score": score, "threshold": None} for name, score in highest.items()}}
    stages = [{"stage": "rules", "detail": {}}, {"stage": "moderation", "detail": detail}]
    return {"matched_rule": matched_rule, "snapshot_json": {"findings": [], "stages": stages}}


@pytest.mark.parametrize(
    ("chosen", "decision", "covered"),
    [
        ((), row("openai_moderation:hate", hate=0.9), ()),
        (("hate",), row("openai_moderation:hate", hate=0.9), ("hate",)),
        (("hate",), row("openai_moderation:hate/threatening"), ("hate/threatening",)),
        (("hate/threatening",), row("openai_moderation:hate"), ()),
        (("sexual",), row("openai_moderation:hate", sexual=0.5), ("sexual",)),
        (("sexual",), row("openai_moderation:hate", sexual=0.49), ()),
        (("violence",), row(None, violence=0.6), ("violence",)),
        (("violence", "hate"), row(None, violence=0.6, hate=0.7), ("hate", "violence")),
        ((care.RULE,), row("flagged_keyword:knife"), (care.RULE,)),
        (("violence",), row("flagged_keyword:knife"), ()),
        (("self-harm",), row("openai_moderation:self-harming"), ()),
    ],
)
def test_a_text_is_covered_by_what_it_was_flagged_for_or_scored_high_in(
    chosen: tuple[str, ...], decision: dict[str, Any], covered: tuple[str, ...]
) -> None:
    """A category covers what is below it, never what is beside it."""
    assert care.cover(chosen, decision) == covered


def test_a_list_without_snapshots_covers_the_same() -> None:
    """The database names the categories there."""
    listed = {"matched_rule": None, "hot_categories": ["violence"]}

    assert care.cover(("violence",), listed) == ("violence",)
    assert care.cover(("violence",), {"matched_rule": None, "hot_categories": None}) == ()


def test_a_rejected_draft_covers_its_decision() -> None:
    """The message was harmless, the draft was not, and both stand on one page."""
    decision = row(None)
    decision["snapshot_json"]["findings"] = [{"matched_rule": "openai_moderation:sexual"}]

    assert care.cover(("sexual",), decision) == ("sexual",)


def test_a_category_we_do_not_know_is_named_as_the_model_named_it() -> None:
    """A newer model may have more of them."""
    assert (care.words("hate"), care.words("gambling")) == ("hate", "gambling")
