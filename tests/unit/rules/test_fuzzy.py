"""Fuzzy rules: one edit of a whole word, what they refuse, and what they show before they are saved."""

from __future__ import annotations

import itertools

import pytest

from worker.model import RuleLevel
from worker.rules import CompiledRules, compile_rules, validate_rules
from worker.rules.compiler import MAX_FUZZY_RULES
from worker.rules.folding.near_words import NearWords
from worker.rules.formats import RuleList, RuleListFormat, read_rules, write_rules


def found(rules: list[str], text: str, **more: object) -> list[tuple[str, str]]:
    """Matched text and method of each hit."""
    compiled = compile_rules(rules, version=1, **more)  # type: ignore[arg-type]
    return [(hit.text, hit.how) for hit in compiled.match(text)]


@pytest.mark.parametrize(
    ("rule", "text", "matched", "how"),
    [
        ("~viagra", "buy viagra", "viagra", "exact"),
        ("~viagra", "buy viagr now", "viagr", "typo"),
        ("~viagra", "buy iagra now", "iagra", "typo"),
        ("~viagra", "buy viaggra now", "viaggra", "typo"),
        ("~viagra", "buy xviagra!!", "xviagra", "typo"),
        ("~viagra", "buy wiagra, now", "wiagra", "typo"),
        ("~viagra", "buy vaigra", "vaigra", "typo"),
        ("~viagra", "buy viarga", "viarga", "typo"),
        ("~viagra", "buy ivagra", "ivagra", "typo"),
        ("~viagra", "buy vigara", "vigara", "typo"),
        ("~viagra", "buy v i a g a", "v i a g a", "separated+typo"),
        ("~viagra", "buy v.i.a.q.r.a", "v.i.a.q.r.a", "separated+typo"),
        ("~viagra", "buy vi@gro", "vi@gro", "leet+typo"),
        ("~viagra", "buy v1@gr", "v1@gr", "leet+typo"),
        ("~viagra", "VIAGRO", "VIAGRO", "case+typo"),
        ("~viagra", "viiiiaggga", "viiiiaggga", "repeat+typo"),
        ("~viagra", "vi\u200bag\u200bro", "vi\u200bag\u200bro", "invisible+typo"),
        ("~viagra", "ｖｉａｇｒｏ", "ｖｉａｇｒｏ", "width+typo"),
        ("~casino", "the сasinp", "сasinp", "homoglyph+typo"),
        ("~casino", "caslno", "caslno", "typo"),
        ("~résumé", "resune", "resune", "accent+typo"),
        ("~зайчик", "мой зайчк", "зайчк", "typo"),
        ("~καλημέρα", "καλημρέα", "καλημρέα", "typo"),
        ("~كازينو", "كازينر", "كازينر", "typo"),
        ("~नमस्ते", "नमसते", "नमसते", "typo"),
        ("~#casino", "see #casin0p", "casin0p", "leet+typo"),
    ],
)
def test_one_edit_matches_in_any_disguise(rule: str, text: str, matched: str, how: str) -> None:
    """A letter more, less or other, or two neighbours exchanged, combined with each other disguise."""
    assert found([rule], text) == [(matched, how)]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("viagra", "viagr"),
        ("~viagra", "viag"),
        ("~viagra", "vaigrra"),
        ("~viagra", "vioqra"),
        ("~viagra", "viagras9"),
        ("~viagra", "viagra9"),
        ("~windows", "windows7"),
        ("~viagra", "myviagra"),
        ("~viagra", "via gra"),
        ("~viagra", "viagrxx"),
        ("~yellow", "yeiiow"),
        ("~casino", "рot"),
        ("~#casino", "casinp"),
        ("~casino {full}", "a casinp"),
        ("~casino {no_leet}", "c4sinp"),
        ("~casino {no_spacing}", "c a s i n p"),
        ("~resume {exact_accents}", "résumé"),
    ],
)
def test_more_than_one_edit_does_not_match(rule: str, text: str) -> None:
    """Two edits, digits as edits, parts of words and forbidden disguises are no hits."""
    assert found([rule], text) == []


def test_every_single_edit_of_a_word_is_found() -> None:
    """All deletions, insertions, substitutions and exchanges, and nothing at two deletions."""
    word, letters = "bathroom", "bxz"
    cuts = range(len(word) + 1)
    edits = {word[:at] + word[at + 1 :] for at in cuts}
    edits |= {word[:at] + new + word[at:] for at in cuts for new in letters}
    edits |= {word[:at] + new + word[at + 1 :] for at in range(len(word)) for new in letters}
    edits |= {word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1)}
    compiled = compile_rules([f"~{word}"], version=1)

    assert [edit for edit in sorted(edits) if not compiled.match(f"a {edit} b")] == []

    twice = {word[:a] + word[a + 1 : b] + word[b + 1 :] for a, b in itertools.combinations(range(8), 2)}
    assert [each for each in sorted(twice - edits) if compiled.match(each)] == []


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("~idiot", "expected a fuzzy rule of 6 to 40 letters, got 5"),
        ("~" + "a" * 41, "got 41"),
        ("~free money", "one word"),
        ("~don't", "one word"),
        ("~赌博网站平台", "got 赌 (Hani)"),
        ("~カジノサイト", "(Kana)"),
        ("~바보바보바보", "(Hang)"),
        ("~ควายควาย", "(Thai)"),
        ("~casino*", "without *"),
        ("~/casino/", "not a regex"),
        ("~casino {case}", "got case"),
        ("~casino {allow}", "got allow"),
        ("~casino {starts}", "got starts"),
    ],
)
def test_a_rule_that_cannot_be_fuzzy_is_an_error(rule: str, message: str) -> None:
    """Short words, several words, other scripts, wildcards and contradicting switches are refused by name."""
    (problem,) = validate_rules([rule])

    assert (problem.level, problem.code) == ("error", "broken")
    assert message in problem.message


@pytest.mark.parametrize("rule", ["~", "~~", "~^_^~"])
def test_signs_without_letters_stay_literal(rule: str) -> None:
    """A tilde before signs is one of them."""
    assert found([rule], f"so {rule} it is") == [(rule, "exact")]


def test_too_many_fuzzy_rules_are_refused() -> None:
    """Their number is bounded, on saving and in a stored set."""
    rules = [f"~{'abcdefghij'[at // 100]}{'klmnopqrst'[at // 10 % 10]}{at % 10}word" for at in range(1000)]
    rules.append("~onemore")

    assert [problem.code for problem in validate_rules(rules) if problem.level == "error"] == [
        "too_many_fuzzy"
    ]

    compiled = compile_rules(rules, version=1)
    assert [problem.rule for problem in compiled.problems] == ["~onemore"]
    assert len(compiled.fuzzy_rules()) == MAX_FUZZY_RULES


def test_the_reach_of_a_fuzzy_rule_is_shown() -> None:
    """Everyday words and recent messages one edit away, without those that are allowed."""
    recent = ["two lovers", "those lasers", "hello", "Losers"] * 10
    problems = validate_rules(["casino", "~losers"], allow=["lovers"], recent_messages=recent)

    (shown,) = [problem for problem in problems if problem.code == "fuzzy_reach"]
    assert (shown.rule, shown.number) == ("~losers", 1)
    assert "3 everyday words (loses, lasers, lowers); 10 of the last 40 messages" in shown.message


def test_a_rule_without_neighbours_has_no_remark() -> None:
    """Nothing is shown where nothing else matches."""
    assert validate_rules(["~zyprexolan"], recent_messages=["nothing here"] * 30) == ()


def test_a_plain_rule_is_shadowed_by_the_fuzzy_one() -> None:
    """The fuzzy rule matches wherever the plain one does; they are no duplicates."""
    assert [(p.rule, p.code) for p in validate_rules(["casino", "~casino"], allow=["casing"])] == [
        ("casino", "shadowed")
    ]


@pytest.mark.parametrize(
    "rules", [["*casino*", "~casino"], ["casino", "~#casino"], ["casino", "~casino {full}"]]
)
def test_a_rule_that_matches_more_is_not_shadowed(rules: list[str]) -> None:
    """A wildcard, and a fuzzy rule with a sign or a switch."""
    assert [p.rule for p in validate_rules(rules) if p.code == "shadowed" and p.rule == rules[0]] == []


def test_fuzzy_rules_survive_serialisation() -> None:
    """A set loaded from bytes matches the same."""
    compiled = compile_rules(["~viagra", "casino", "~зайчик"], version=3)
    loaded = CompiledRules.from_bytes(compiled.to_bytes())

    for text in ("viagro", "зайчк", "casinp", "v1agro casino"):
        assert loaded.match(text) == compiled.match(text)
    assert loaded.fuzzy_rules() == ("~viagra", "~зайчик")


@pytest.mark.parametrize("level", RuleLevel)
def test_the_label_names_the_fuzzy_rule(level: RuleLevel) -> None:
    """The label keeps the sign, at both levels."""
    (hit,) = compile_rules(["~viagra"], version=1, level=level).match("my vigra")

    assert (hit.label, hit.start, hit.end) == ("flagged_keyword:~viagra", 3, 8)


@pytest.mark.parametrize("fmt", [RuleListFormat.LIST, RuleListFormat.CSV, RuleListFormat.JSON])
def test_own_formats_keep_fuzzy_rules(fmt: RuleListFormat) -> None:
    """What is exported is imported again."""
    rules = RuleList(keywords=("casino", "~viagra", "~casino {full}"))

    assert read_rules(write_rules(rules, fmt), fmt) == rules


def test_other_tools_get_and_give_no_fuzzy_rules() -> None:
    """A fuzzy rule is left out of their files, and their tilde is not read as ours."""
    rules = RuleList(keywords=("casino", "~viagra"))

    assert write_rules(rules, RuleListFormat.DISCORD) == "casino\n"
    written = write_rules(rules, RuleListFormat.AUTOMODERATOR)
    assert "# fuzzy: ~viagra" in written
    assert read_rules(written, RuleListFormat.AUTOMODERATOR).keywords == ("casino",)
    for fmt, text in (
        (RuleListFormat.DISCORD, "casino, ~viagra"),
        (RuleListFormat.AUTOMODERATOR, "body (includes-word): [casino, ~viagra]"),
    ):
        read = read_rules(text, fmt)
        assert read.keywords == ("casino",)
        assert "~viagra" in read.skipped[0]


def test_a_comment_of_the_automoderator_file_stays_on_its_line() -> None:
    """A line break inside an allowed text adds no setting to the file."""
    written = write_rules(RuleList(allow=("free\naction: approve",)), RuleListFormat.AUTOMODERATOR)

    assert written == "# allowed: free action: approve\n"


def test_near_words_are_those_at_one_edit() -> None:
    """The index finds exactly the words that the definition does, by brute force over short words."""
    words = ["".join(each) for size in (2, 3) for each in itertools.product("abc", repeat=size)]
    index = NearWords(words)

    for letters in ("ab", "abc", "aab", "abca", "a", "cba"):
        expected = {word for word in words if word != letters and _edits(letters) & {word}}
        assert index.near(letters) == expected


def _edits(word: str) -> set[str]:
    cuts = range(len(word) + 1)
    made = {word[:at] + word[at + 1 :] for at in cuts}
    made |= {word[:at] + new + word[at:] for at in cuts for new in "abc"}
    made |= {word[:at] + new + word[at + 1 :] for at in range(len(word)) for new in "abc"}
    return made | {word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1)}
