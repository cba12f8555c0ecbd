"""A hit is true of its text, for any text."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from worker.model import RuleLevel
from worker.rules import compile_rules
from worker.rules.folding.fold import TABLES, Fold
from worker.rules.folding.stream import collapsed_stream, folded_stream

RULES = [
    "spam",
    "ass",
    "kill yourself",
    "赌博",
    "바보",
    "ควาย",
    "сука",
    "a$$",
    "pre*",
    "*any*",
    "/[ab]c+/",
    "🍆",
    "चूतिया",
]
DEFAULT = compile_rules(RULES, version=1)
STRICT = compile_rules(RULES, version=1, level=RuleLevel.STRICT)
PIECES = st.sampled_from(
    [
        *RULES,
        "s p a m",
        "$p4m",
        "ѕрам",
        "sspppaaam",
        "c|ass",
        "\u200b",
        "\u0301",
        "!",
        " ",
        "ß",
        "ﷺ",
        "\ud800",
    ]
)
TEXTS = st.one_of(st.text(), st.lists(st.one_of(PIECES, st.text(max_size=3))).map("".join))


@given(TEXTS)
def test_spans_point_into_the_original_text(text: str) -> None:
    """Every span lies inside the text and cuts out exactly the matched text."""
    hits = (*DEFAULT.match(text), *STRICT.match(text))

    assert all(
        0 <= hit.start < hit.end <= len(text) and text[hit.start : hit.end] == hit.text for hit in hits
    )


@given(TEXTS)
def test_matching_is_repeatable(text: str) -> None:
    """The same text gives the same hits, from the set and from its bytes."""
    again = type(DEFAULT).from_bytes(DEFAULT.to_bytes())

    assert again.match(text) == DEFAULT.match(text)


@given(st.lists(st.text(max_size=30), max_size=8), TEXTS)
def test_any_rules_compile_and_match(keywords: list[str], text: str) -> None:
    """No list of strings stops a set from compiling; hits name rules of the list."""
    rules = compile_rules(keywords, version=1)

    assert {hit.rule for hit in rules.match(text)} <= set(keywords)


@given(st.sampled_from(["spam", "kill yourself", "сука", "바보"]), TEXTS)
def test_plain_word_between_spaces_always_fires(rule: str, text: str) -> None:
    """A rule as written between full stops is found in any context."""
    message = f"{text}. zz {rule} zz .{text}"[:5000]
    hits = DEFAULT.match(f"zz {rule} zz") and DEFAULT.match(message)

    assert len(hits) >= 100 or any(hit.rule == rule for hit in hits)


@given(st.text("!?.,;:…)]}\"'»¡¿«([{ \n", max_size=6), st.text("!?.,;:…)]}\"'» \n", max_size=6))
def test_punctuation_at_its_edges_never_hides_a_word(before: str, after: str) -> None:
    """A word is found between any opening and closing punctuation."""
    assert [hit.text for hit in DEFAULT.match(f"{before}spam{after}")] == ["spam"]


@given(TEXTS, st.sampled_from(Fold))
def test_traced_letters_come_from_where_they_are_said_to(text: str, fold: Fold) -> None:
    """Each letter of a traced text is what the original character at its index folds to."""
    stream = folded_stream(text, fold)

    assert all(
        letter == " " or letter in (TABLES[fold][ord(text[at])] or "")
        for letter, at in zip(stream.chars, stream.starts, strict=True)
    )
    assert "  " not in stream.chars


@given(TEXTS)
def test_collapsed_letters_keep_first_and_last_place(text: str) -> None:
    """A collapsed run begins where its first letter stood and ends where its last one did."""
    stream = folded_stream(text, Fold.LOOKS)
    single = collapsed_stream(stream)

    assert all(left != right for left, right in pairwise(single.chars))
    assert (single.starts[0], single.ends[-1]) == (stream.starts[0], stream.ends[-1])
