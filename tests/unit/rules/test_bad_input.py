"""Broken rules, hostile texts and the checks before saving."""

import pytest

from worker.rules import compile_rules, validate_rules


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("", "nothing to look for"),
        ("   ", "nothing to look for"),
        ("...", "nothing to look for"),
        ("***", "nothing to look for"),
        ("\ud800x", "surrogate"),
        ("a" * 1_000_000, "at most 200"),
        ("/(unclosed", "unterminated"),
        ("/(unclosed/", "not a regex RE2 takes: missing )"),
        ("/a*/", "empty string"),
        ("//", "empty regex"),
        (f"/{'a' * 600}/", "at most 500"),
        ("/(a{1000}){1000}/", "not a regex RE2 takes"),
        ("word {sometimes}", "unknown switch"),
    ],
)
def test_broken_rule_is_reported_and_the_others_work(rule: str, reason: str) -> None:
    """A broken stored rule is disabled with its reason, and the others match."""
    rules = compile_rules([rule, "spam"], version=1)

    assert [hit.rule for hit in rules.match("spam")] == ["spam"]
    assert [reason in problem.message for problem in rules.problems] == [True]


def test_ten_thousand_wildcards_compile_and_match() -> None:
    """Many wildcards are a large set, not an error."""
    rules = compile_rules([f"*word{number}*" for number in range(10_000)], version=1)

    assert {hit.rule for hit in rules.match("awordy word7x")} == {"*word7*"}


def test_hits_of_one_text_are_bounded() -> None:
    """A megabyte of one rule ends with the first hundred hits."""
    rules = compile_rules(["spam"], version=1)

    assert len(rules.match("spam " * 200_000)) == 100


@pytest.mark.parametrize(
    "text",
    ["", "a", "...", "\ud800", "\x00", "a" * 100_000, "a\u0301" * 50_000, "a!" * 50_000, "赌." * 50_000],
)
def test_strange_texts_are_matched_without_an_error(text: str) -> None:
    """No text is too strange to look at."""
    rules = compile_rules(["spam", "赌博", "/sp[a4]m/", "🍆"], ["free money"], version=1)

    assert rules.match(text) == ()


@pytest.mark.parametrize(
    ("keywords", "code"),
    [
        (["*a*"], "too_short"),
        (["x"], "too_short"),
        (["12345"], "digits_only"),
        (["Spam", "spám"], "duplicate"),
        (["spam*", "spammer"], "shadowed"),
        (["/(/"], "bad_regex"),
        (["f*ck"], "inner_wildcard"),
        (["сasino"], "mixed_scripts"),
        ([""], "broken"),
    ],
)
def test_validation_names_the_problem(keywords: list[str], code: str) -> None:
    """Every doubtful rule is named with a stable code."""
    problems = validate_rules(keywords)

    assert code in {problem.code for problem in problems}


def test_rule_that_fires_on_too_much_is_reported_with_its_share() -> None:
    """The account's recent messages tell how often a rule would fire."""
    problems = validate_rules(["hello"], recent_messages=["hello you", "bye"] * 20)

    assert [(problem.code, problem.share) for problem in problems] == [("fires_often", 0.5)]


def test_good_rules_have_no_problems() -> None:
    """A plain list is accepted."""
    problems = validate_rules(["spam", "casino"], ["free money"], allow=["free money order"])

    assert problems == ()


def test_a_keyword_does_not_shadow_the_text_that_it_may_not_stop() -> None:
    """An allowed text is an exception, not another rule; a problem names it as the person wrote it."""
    problems = validate_rules(["ass*", "~assistant"], allow=["assistant", "/(/"])
    found = [(each.rule, each.code, each.number) for each in problems if each.code != "fuzzy_reach"]

    assert found == [("/(/", "bad_regex", 3), ("~assistant", "shadowed", 1)]


def test_circled_number_beside_letters_is_matched_without_an_error() -> None:
    """A character that folds to two digits once broke the comparison."""
    rules = compile_rules(["it", "tip", "st"], version=1)

    assert rules.match("Ş⑰ ⑰t ⑰ 1⑰p") == ()


@pytest.mark.parametrize(
    ("rule", "pattern"),
    [
        ("re:ab+c", "ab+c"),
        ("regex:ab+c {no_leet}", "ab+c"),
        ("/ab+c/i", "ab+c"),
        ("ab.*c", "ab.*c"),
        ("a[a-z]b", "a[a-z]b"),
        ("(foo|bar)", "(foo|bar)"),
        (r"\bword\b", r"\bword\b"),
        ("o{2,}ps", "o{2,}ps"),
        ("^bad", "^bad"),
    ],
)
def test_a_plain_rule_that_looks_like_a_regex_is_remarked(rule: str, pattern: str) -> None:
    """It is taken literally, so a warning shows how a regex is written."""
    for problems in (validate_rules([rule]), validate_rules([], [rule]), validate_rules([], allow=[rule])):
        found = [problem for problem in problems if problem.code == "literal_regex"]

        assert [problem.level for problem in found] == ["warning"]
        assert found[0].message.endswith(f"write /{pattern}/ for a regex")
        assert found[0].number == 0


@pytest.mark.parametrize(
    "rule",
    [
        *("/ab+c/", "/ab+c/ {case}", "c++", "a+b", "watch?v=x", "[free-shipping]", "re: your mail", "pre*"),
        *("*any*", "/r/cars", "wow (really)", "$hell", "fu*ck", "https://x.y/z", "re", "more.", "m{case}"),
    ],
)
def test_a_rule_that_is_no_regex_is_not_remarked(rule: str) -> None:
    """Nor is a regex that is written as one."""
    assert [problem for problem in validate_rules([rule]) if problem.code == "literal_regex"] == []
