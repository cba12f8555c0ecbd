"""Bad input ends as a named outcome under every policy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.assessment.samples import RETURNS, assessed, evidence
from worker.assessment import Evidence, default_policy
from worker.assessment.policies.designs import DESIGNS
from worker.model import Action


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize(
    ("draft", "found", "outcome"),
    [
        ("", evidence(0.9), "empty_reply"),
        (" \n\t", evidence(0.9), "empty_reply"),
        ("[1]", evidence(0.9), "citations_only"),
        ("[1] [2, 3]. ", evidence(0.9), "citations_only"),
        ("🙂", evidence(0.9), "no_words"),
        ("👍👍 !", evidence(0.9), "no_words"),
        ("🙂 [1]", evidence(0.9), "no_words"),
        ("...", evidence(0.9), "no_words"),
        ("It is open.", evidence(0.9, text="x" * 1_000_000), "context_too_large"),
    ],
)
def test_what_cannot_be_assessed_is_never_sent(name: str, draft: str, found: Evidence, outcome: str) -> None:
    """Empty, only citations, a megabyte of context: named, confidence 0, silence or a person."""
    result = assessed(draft, default_policy(name), found)

    assert (result.category, result.confidence) == (outcome, 0.0)
    assert result.action in {Action.SILENCE, Action.ESCALATE}
    assert result.failed_checks == (outcome,)


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize(
    "draft",
    [
        "\ud800 is half a character and 30 days.",
        "a" * 50_000,
        "中文 and English и русский в одном ответе, 30 days.",
        "\u202e\u0000\ufeff 30 days \u200b",
        "🙂 30 days 🙂🙂",
        "[999999999999999999999] 30 days",
        "((((" * 5_000 + " 30 days",
        "\n" * 100_000 + "30 days",
        "[" * 100_000 + "30 days",
        "a@" * 50_000,
        "[1]" * 20_000 + "30 days",
        "1," * 50_000,
        "passage " * 20_000,
        "A" * 100_000 + " 30 days",
        "立" * 100_000,
    ],
)
def test_hostile_text_is_assessed_like_any_other(name: str, draft: str) -> None:
    """Broken code points, long words, brackets: an assessment, at once, as draft and as evidence."""
    found = replace(evidence(0.9, text=draft + RETURNS), languages=("en", "vi"), query_language="en")
    result = assessed(draft, default_policy(name), found, answer=0.9)

    assert 0.0 <= result.confidence <= 1.0
    assert result.tier in {"high", "medium", "low"}


@pytest.mark.parametrize(
    ("draft", "found", "outcome"),
    [
        ("You can return any item within 30 days [4].", evidence(0.9), "invalid_citation"),
        ("You can return any item within 30 days [0].", evidence(0.9), "invalid_citation"),
        ("You can return any item within 30 days.", Evidence(), "no_evidence"),
        ("You can return any item within 30 dауs.", evidence(0.9), "mixed_scripts"),
    ],
)
def test_facts_veto_a_draft_of_the_calibrated_policy(draft: str, found: Evidence, outcome: str) -> None:
    """A passage that does not exist, no passage, look-alike letters: no score outweighs them."""
    result = assessed(draft, default_policy("calibrated"), found)

    assert (result.category, result.tier, result.confidence) == (outcome, "low", 0.0)
    assert outcome in result.failed_checks
    assert result.action is Action.ESCALATE


def test_a_bracketed_number_of_the_evidence_is_a_quotation() -> None:
    """A quotation of text that contains [3], as in encyclopedias, is not an invalid citation."""
    found = evidence(0.9, text="The tower was built in 1887.[3] It is 300 m tall.")
    result = assessed(
        "The tower was built in 1887.[3]",
        default_policy("calibrated"),
        found,
        query="When was the tower built?",
    )

    assert result.category != "invalid_citation"
