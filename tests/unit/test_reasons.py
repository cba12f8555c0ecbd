"""Reason codes in words and in lists."""

from __future__ import annotations

import pytest

from review.lists import reasons
from worker.policy import Reason


def test_every_reason_has_words_of_its_own() -> None:
    """Two endings that read alike could not be told apart in a list."""
    assert set(reasons.WORDS) == set(Reason)
    assert len({reasons.said(name) for name in reasons.NAMES}) == len(reasons.NAMES)


def test_a_code_of_another_release_is_said_as_it_is() -> None:
    """Rather than hidden."""
    assert reasons.said("NEVER_HEARD_OF") == "NEVER_HEARD_OF"


def test_a_list_names_each_reason_once() -> None:
    """In any case, with spaces and empty parts."""
    assert reasons.names_in(" failed ,FAILED,, llm_error") == ("failed", "LLM_ERROR")
    assert reasons.codes_of(("TOO_LATE", "failed"))[0] == "TOO_LATE"
    assert reasons.codes_of(("failed", "TOO_LATE")).count("TOO_LATE") == 1


@pytest.mark.parametrize(("text", "unknown"), [("REPLIED,who", "who"), (",", ","), ("", "")])
def test_what_is_no_reason_is_named(text: str, unknown: str) -> None:
    """So that a long list can be put right."""
    with pytest.raises(reasons.UnknownReason, match=f"^{unknown}$"):
        reasons.names_in(text)
