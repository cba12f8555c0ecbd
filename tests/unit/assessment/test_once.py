"""Values of an event's texts that are computed once, and short ways that give the same values."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st
from icu4py.breakers import SentenceBreaker

from tests.unit.assessment.samples import assessed, evidence
from worker.assessment import TextsReadOnce, default_policy, early_refusal
from worker.assessment.text import language, words
from worker.assessment.text.once import once
from worker.assessment.text.wordlists import folded_text

LINES = st.text(alphabet="aZ1 .!?,;:'\")(]\t\x0b\x0c\x1c-", max_size=12)


def test_a_value_is_computed_once_per_event() -> None:
    """Outside of an event each time, and nothing is kept for the next event."""
    asked: list[str] = []

    @once
    def length(text: str) -> int:
        asked.append(text)
        return len(text)

    for context in (nullcontext(), TextsReadOnce(), TextsReadOnce()):
        with context:
            assert [length("abc"), length("abc"), length("de")] == [3, 3, 2]

    assert asked == ["abc", "abc", "de", "abc", "de", "abc", "de"]


async def test_concurrent_events_do_not_share_values() -> None:
    """Tasks that one event starts do."""
    asked: list[int] = []

    @once
    def same(number: int) -> int:
        asked.append(number)
        return number

    async def read(number: int) -> int:
        await asyncio.sleep(0)
        return same(number)

    async def event(number: int) -> list[int]:
        with TextsReadOnce():
            return await asyncio.gather(*(read(number) for _ in range(3)))

    found = await asyncio.gather(event(1), event(1), event(2))

    assert list(found) == [[1] * 3, [1] * 3, [2] * 3]
    assert sorted(asked) == [1, 1, 2]


@given(text=LINES.filter(lambda text: re.search(r"\b1{1,2}\.", text) is None))
def test_a_line_that_is_not_divided_is_one_sentence_for_icu_too(text: str) -> None:
    """Lines in ASCII whose stops stand at the end are not given to ICU; the number of an item ends none."""
    expected, start = [], 0
    for piece in SentenceBreaker(text, "en"):
        if any(char.isalnum() for char in piece):
            expected.append((start, start + len(piece)))
        start += len(piece)

    assert list(words.sentence_spans(text)) == expected


@given(text=st.text(alphabet=st.characters(max_codepoint=127)))
def test_text_in_ascii_is_read_as_any_other(text: str) -> None:
    """What needs no Unicode tables gives what they would give."""
    long_way = unicodedata.normalize("NFC", text).casefold().replace("\u2019", "'")

    assert folded_text(text) == long_way
    assert words.encodable_text(text) == text.encode("utf-16").decode("utf-16")
    assert language.mixed_script_words(text) == ()
    assert language.main_script(text) == ("latin" if any(char.isalpha() for char in text) else None)
    assert words.text_units(text) == [
        unit for token in words._SPACED_TOKEN.findall(long_way) for unit in words._units_of(token)
    ]


@given(text=st.text(alphabet="aA zB\u00c9\u00e9\uff21\uff41\u01c5."))
def test_text_without_inner_capitals_has_no_names_to_divide(text: str) -> None:
    """Titlecase and wide letters are capitals too."""
    plain = unicodedata.normalize("NFKC", text)

    assert words.normalised_text(text) == words._CAMEL.sub(r"\1 ", plain)


@pytest.mark.parametrize(
    "query", ["When are you open?", "Wann habt ihr offen? Und wo?", "Khi n\u00e0o m\u1edf c\u1eeda?"]
)
def test_an_assessment_does_not_depend_on_what_was_read_before(query: str) -> None:
    """Early refusal and assessment of one event share what they read."""
    found = []
    for context in (nullcontext(), TextsReadOnce()):
        with context:
            policy, given_evidence = default_policy("calibrated"), evidence(0.9, text="At nine.")
            refused = early_refusal(query=query, evidence=given_evidence, policy=policy)
            looks = [
                assessed(draft, policy, given_evidence, query=query, answer=0.97)
                for draft in ("From nine [1]. Until six.", "At ten.")
            ]
            found.append((refused, looks))

    assert found[0] == found[1]
