"""Cheap signals: words, numbers, times, records and citations as comparable things."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.assessment.samples import passage
from worker.assessment.signals.coefficients import shipped_model
from worker.assessment.signals.grounds import EvidenceKind, evidence_grounds
from worker.assessment.signals.lexical import has_bare_fact, lexical_signals
from worker.assessment.signals.records import doubtful_attributes, record_pairs, record_text
from worker.assessment.text.citations import citation_check
from worker.assessment.text.language import detect_language, main_script, mixed_script_words, wrong_language
from worker.assessment.text.quantities import (
    canonical_number,
    stated_numbers,
    stated_quantities,
    times_of_day,
)
from worker.assessment.text.words import (
    DISCOURSE,
    comparable_unit,
    content_units,
    fact_units,
    normalised_text,
    split_sentences,
    text_units,
    unaccented_unit,
)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("returns", "return", True),
        ("returned", "returning", True),
        ("policies", "policy", True),
        ("hoà", "hòa", True),
        ("thuỷ", "thủy", True),
        ("ma", "mà", False),
        ("glass", "glas", False),
        ("bus", "bu", False),
    ],
)
def test_one_word_in_two_spellings_is_one_unit(one: str, other: str, same: bool) -> None:
    """English endings and the place of a Vietnamese tone mark do not matter; tones do."""
    assert (comparable_unit(one) == comparable_unit(other)) is same


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("立法会共有", ["立法", "法会", "会共", "共有"]),
        ("我", ["我"]),
        ("GoodForGroups", ["good", "for", "group"]),
        ("Phong Nha-Kẻ", ["phong", "nha", comparable_unit("kẻ")]),
        ("70個 seats", ["70", "個", "seat"]),
        ("They’re", ["they"]),
        ("ＦＵＬＬ", ["full"]),
    ],
)
def test_units_are_words_syllables_or_character_bigrams(text: str, found: list[str]) -> None:
    """Scripts without spaces are compared by pairs of characters."""
    assert text_units(normalised_text(text)) == found


def test_grammar_and_numbers_are_no_facts() -> None:
    """Stop words, single letters and bare numbers are no facts here."""
    assert fact_units(text_units("the return of a x 30 parcel và của")) == ["return", "parcel"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "It costs $3.50. Ship now! 你好。它是红色的。",
            ["It costs $3.50.", "Ship now!", "你好。", "它是红色的。"],
        ),
        ("- one item\n* two", ["- one item", "* two"]),
        ("🙂🙂 Ok. Then 😀 yes. Fine.", ["🙂🙂 Ok.", "Then 😀 yes.", "Fine."]),
        ("... !!! \n", []),
    ],
)
def test_sentences_follow_unicode_rules(text: str, found: list[str]) -> None:
    """Full stops of several scripts, list items, characters beyond the basic plane."""
    assert split_sentences(text) == found


@pytest.mark.parametrize(
    ("number", "same"),
    [
        ("1,000", "1000"),
        ("1,000,000", "1000000"),
        ("3.50", "3.5"),
        ("39,1", "39.1"),
        ("007", "7"),
        ("0", "0"),
        ("10", "10"),
    ],
)
def test_a_number_has_one_spelling(number: str, same: str) -> None:
    """Thousands separators, decimal commas and leading zeros are spelling."""
    assert canonical_number(number) == same


def test_numbers_leave_out_what_only_counts_the_text() -> None:
    """List numbers, passage numbers, citations and times of day state no quantity."""
    text = "1. See passage 2 and 3.\n2. At 9:00 PM it costs 15 [4]."

    assert stated_numbers(text) == {"15"}


def test_times_are_compared_as_times() -> None:
    """9 PM, 21:00 and 21:0 are one time."""
    assert times_of_day("9 PM, 21:00, 21:0, 12 a.m., 12:30pm") == {(21, 0), (0, 0), (12, 30)}


def test_quantities_keep_the_unit_beside_the_number() -> None:
    """Percent, money, degrees and words after a number."""
    assert stated_quantities("$3.50, 20%, 30 days, 39,1 °C") == {
        ("3.5", "$"),
        ("20", "%"),
        ("30", "day"),
        ("39.1", "°c"),
    }


def test_json_is_read_as_lines() -> None:
    """Nested objects become paths; prose and broken JSON stay as they are."""
    assert record_text('{"a": {"b": [1, null]}, "c": true}') == "a b: 1\na b: \nc: True"
    assert record_text("{not json") == "{not json"
    assert record_text("[" * 100_000) == "[" * 100_000


def test_only_records_are_records() -> None:
    """Prose with a colon is no record; five key: value lines are."""
    assert record_pairs("Note: this is prose.\nIt goes on.\nAnd on.") == ()
    assert len(record_pairs("a: 1\nb: 2\nc:\nd: no\ne: true")) == 5


def test_attributes_that_are_off_or_blank_are_named_by_their_own_words() -> None:
    """Words shared by many attributes (restaurants) do not name one."""
    record = record_pairs(
        "RestaurantsTakeOut: False\nRestaurantsReservations: None\nRestaurantsTableService: True\n"
        "RestaurantsDelivery: True\nname: X"
    )
    found = {tuple(sorted(a.words)): a.blank for a in doubtful_attributes(record)}

    assert found == {(comparable_unit("take"),): False, (comparable_unit("reservations"),): True}


@pytest.mark.parametrize(
    ("draft", "cited", "invalid", "coverage"),
    [
        ("One [1]. Two [2].", (1, 2), (), 1.0),
        ("One. [1] Two.", (1,), (), 0.5),
        ("One 【1】。 Two [1, 2].", (1, 2), (), 1.0),
        ("One [3]. Two.", (3,), (3,), 0.0),
        ("", (), (), 1.0),
    ],
)
def test_citations_are_checked_sentence_by_sentence(
    draft: str, cited: tuple[int, ...], invalid: tuple[int, ...], coverage: float
) -> None:
    """A citation after the full stop belongs to the sentence before it."""
    found = citation_check(draft, (passage(), passage(number=1)))

    assert (found.cited, found.invalid, round(found.coverage, 9)) == (cited, invalid, coverage)


@pytest.mark.parametrize(
    ("text", "configured", "language"),
    [
        ("Bạn có thể trả hàng trong vòng ba mươi ngày.", ("en", "vi"), "vi"),
        ("You can return it within thirty days.", ("en", "vi"), "en"),
        ("您可以退货", ("en", "zh"), "zh"),
        ("返品できます", ("ja", "zh"), "ja"),
        ("OK", ("en", "vi"), None),
        ("Вы можете вернуть товар", ("en", "vi"), None),
        ("12345", ("en", "vi"), None),
    ],
)
def test_a_language_is_told_among_the_configured_ones(
    text: str, configured: tuple[str, ...], language: str | None
) -> None:
    """By script first, then by the library; None when not sure."""
    assert detect_language(text, configured) == language


def test_a_script_no_configured_language_uses_is_wrong() -> None:
    """Known without any model of a language."""
    assert wrong_language("Вы можете вернуть товар.", "en", ("en",)) == "cyrillic"
    assert main_script("123 !") is None


def test_look_alike_words_are_found() -> None:
    """Cyrillic letters inside a Latin word; two words of two scripts are fine."""
    assert mixed_script_words("free dеlivery in Москва") == ("dеlivery",)


def test_a_question_may_be_repeated_without_evidence() -> None:
    """Words of the question are no claim, with or without their accents."""
    grounds = evidence_grounds("Chinh sach doi tra", "Ba mươi ngày.")
    found = lexical_signals(grounds, "Chính sách đổi trả: ba mươi ngày.")

    assert found["missing_words"] == 0.0
    assert unaccented_unit("đổi") == "doi"


def test_a_relative_of_a_known_word_is_less_new() -> None:
    """Medicine counts 0.35 of a new word when the evidence has medical."""
    grounds = evidence_grounds("q", "medical care")
    near = lexical_signals(grounds, "medicine")["missing_words"]
    far = lexical_signals(grounds, "bicycle")["missing_words"]

    assert 0.0 < near < far


WORDS = st.lists(
    st.sampled_from(["return", "item", "days", "30", "90", "Zaphod", "9:00", "không", "立法会", "[1]", "."]),
    max_size=30,
)


@given(query=WORDS, context=WORDS, draft=WORDS)
def test_a_draft_copied_from_its_evidence_has_no_missing_fact(
    query: list[str], context: list[str], draft: list[str]
) -> None:
    """For any texts every signal is finite and at least 0, and a copy has no missing words."""
    grounds = evidence_grounds(" ".join(query), " ".join(context))
    found = lexical_signals(grounds, " ".join(draft))
    copied = lexical_signals(grounds, " ".join(context))

    assert all(0.0 <= value < 100.0 for value in found.values())
    assert copied["missing_words"] == copied["unsupported_numbers"] == 0.0


@pytest.mark.parametrize("kind", EvidenceKind)
def test_no_signal_lowers_the_risk(kind: EvidenceKind) -> None:
    """Every shipped weight is positive: more of any signal never means more confidence."""
    assert all(weight > 0.0 for weight in shipped_model().kinds[kind].weights.values())


@pytest.mark.parametrize(
    ("draft", "invented"),
    [
        ("Ask Maria Lopez in Porto.", False),
        ("Ask Maria Santos in Porto.", True),
        ("She is Porto's Maria Lopez.", False),
        ("Maria. Santos is not a name across sentences.", False),
    ],
)
def test_a_name_is_a_pair_of_capitalised_words(draft: str, invented: bool) -> None:
    """Known words do not make a known name: the pair must stand in the evidence or the question."""
    grounds = evidence_grounds("q", "Maria Lopez lives in Porto. Ana Santos does not.")

    assert (lexical_signals(grounds, draft)["unsupported_names"] > 0.0) is invented


def test_the_last_sentence_is_looked_at_by_itself() -> None:
    """Summaries often end with a remark that no evidence supports."""
    grounds = evidence_grounds("", "The ferry sank near Bari. Nobody died.")
    found = lexical_signals(grounds, "The ferry sank near Bari. Investors remain thrilled about innovation.")

    assert found["last_sentence"] == found["worst_sentence"] > found["mean_sentence"] > 0.0


def test_known_words_in_new_relations_make_a_weak_sentence() -> None:
    """The sentence has no new word; its neighbours are nowhere near each other in the evidence."""
    evidence = "Ana repaired the old bridge in spring. Much later the town council paid Bruno for paint."
    grounds = evidence_grounds("Who paid?", evidence)
    told = lexical_signals(grounds, "The town council paid Bruno.")
    swapped = lexical_signals(grounds, "The council repaired Bruno in spring paint.")

    assert told["worst_sentence"] == swapped["worst_sentence"] == 0.0
    assert told["weakest_sentence"] == 0.0 < swapped["weakest_sentence"]


def test_neighbours_of_the_question_are_no_new_relation() -> None:
    """A reply may repeat the question's words side by side."""
    evidence = "Bruno sells bicycles, tyres, lamps, bells and helmets. Ana runs a workshop for repair."
    draft = "Bruno offers bicycle repair."
    asked = lexical_signals(evidence_grounds("Bruno offers bicycle repair?", evidence), draft)
    unasked = lexical_signals(evidence_grounds("q", evidence), draft)

    assert asked["weakest_sentence"] == 0.0 < unasked["weakest_sentence"]


def test_the_weakest_sentences_are_the_mean_of_two() -> None:
    """One weak sentence counts half when the other one copies the evidence."""
    grounds = evidence_grounds("q", "The ferry sank near Bari.")
    found = lexical_signals(grounds, "The ferry sank near Bari. Investors remain thrilled.")

    assert found["two_weakest_sentences"] == found["weakest_sentence"] / 2 > 0.0


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("Theo thông tin được cung cấp, phí giao thông cao.", ["phí", "giao", "thông", "cao"]),
        ("Information provided in the context.", []),
    ],
)
def test_framing_words_of_two_syllables_state_nothing(text: str, units: list[str]) -> None:
    """Vietnamese frames a text with words of two syllables; a syllable of them alone keeps its meaning."""
    found = [u for u in fact_units(content_units(text)) if u not in DISCOURSE]

    assert found == [comparable_unit(u) for u in units]


@pytest.mark.parametrize(
    ("draft", "bare"),
    [("Until 6 pm.", False), ("Until 7 pm.", True), ("Until 18:00.", False), ("For 20 euros.", True)],
)
def test_a_time_of_day_that_no_passage_has_is_a_bare_fact(draft: str, bare: bool) -> None:
    """It is no number to compare; without this rule wrong opening hours would be sent unread."""
    grounds = evidence_grounds("How long are you open?", "We are open until 6 pm.")

    assert has_bare_fact(lexical_signals(grounds, draft)) is bare
