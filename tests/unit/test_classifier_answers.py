"""Which answers of classifiers are read, what they mean, and which are no result."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.classifiers.answers import read_answer
from worker.classifiers.formats import ClassifierFormat
from worker.classifiers.scores import moderation_scores, unsafe_probability
from worker.model import Tokens

POLICY, LLAMA, QWEN, SHIELD = ClassifierFormat


@pytest.mark.parametrize(
    ("form", "text", "level", "categories"),
    [
        (POLICY, "1", 1.0, ()),
        (POLICY, " 0\n", 0.0, ()),
        (POLICY, "Label: 1.", 1.0, ()),
        (POLICY, '{"violation": 1, "category": "Insults"}', 1.0, ("Insults",)),
        (POLICY, '{"violation": 0, "policy_category": "Insults"}', 0.0, ()),
        (POLICY, '{"violation": true, "rule_ids": ["H2", "H3"], "rationale": "x"}', 1.0, ("H2", "H3")),
        (POLICY, '{"violates_policy": "yes", "category": null}', 1.0, ()),
        (POLICY, '```json\n{"flagged": false}\n```', 0.0, ()),
        (POLICY, '<think>It says {"violation": 0}.</think>\n{"violation": 1}', 1.0, ()),
        (POLICY, '{"label": 1, "violation": true}', 1.0, ()),
        (LLAMA, "safe", 0.0, ()),
        (LLAMA, "\n\nsafe\n", 0.0, ()),
        (LLAMA, "unsafe\nS1,S10", 1.0, ("S1", "S10")),
        (LLAMA, "\n\nUnsafe\nS1, S10\n", 1.0, ("S1", "S10")),
        (LLAMA, "unsafe", 1.0, ()),
        (QWEN, "Safety: Unsafe\nCategories: Violent", 1.0, ("Violent",)),
        (
            QWEN,
            "Safety: Unsafe\r\nCategories: Violent, Suicide & Self-Harm\r\nRefusal: No",
            1.0,
            ("Violent", "Suicide & Self-Harm"),
        ),
        (QWEN, "<think>\n\n</think>\nSafety: Controversial\nCategories: PII", 0.5, ("PII",)),
        (QWEN, "Safety: Safe\nCategories: None\nRefusal: Yes", 0.0, ()),
        (SHIELD, "Yes", 1.0, ()),
        (SHIELD, "**No**, the text is harmless. Yes, I am sure.", 0.0, ()),
    ],
)
def test_every_accepted_shape_is_read(
    form: ClassifierFormat, text: str, level: float, categories: tuple[str, ...]
) -> None:
    """The table of shapes, with what servers leave before and after an answer."""
    found = read_answer(text, form, "H2: insults. H3: threats.")

    assert found is not None
    assert (found.level, found.categories) == (level, categories)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (POLICY, '{"violation": 1, "category": "my secret address"}'),
        (QWEN, "Safety: Unsafe\nCategories: my secret address"),
    ],
)
def test_a_category_that_nobody_declared_is_not_kept(form: ClassifierFormat, text: str) -> None:
    """A model may repeat the text it judges, and categories enter rules and logs."""
    found = read_answer(text, form, "No insults.")

    assert found is not None
    assert (found.level, found.categories) == (1.0, ())


@pytest.mark.parametrize(
    ("form", "text"),
    [
        *((form, text) for form in ClassifierFormat for text in ("", "  \n", "I cannot help.", "Maybe")),
        (POLICY, "2"),
        (POLICY, "10"),
        (POLICY, "0 or 1"),
        (POLICY, "safe"),
        (POLICY, '{"violation": 0.7}'),
        (POLICY, '{"violation": null}'),
        (POLICY, '{"category": "Insults"}'),
        (POLICY, '{"violation": 1'),
        (POLICY, '[{"violation": 1}]'),
        (POLICY, '{"violation": 0} {"violation": 1}'),
        (POLICY, '{"violation": 0, "label": 1}'),
        (POLICY, 'The text says {"violation": 0}.'),
        (LLAMA, "safe\nS1"),
        (LLAMA, "safe, I would say"),
        (LLAMA, "unsafe because of the tone"),
        (LLAMA, "S1"),
        (LLAMA, "safe\nunsafe"),
        (QWEN, "Safe"),
        (QWEN, "Safety: Harmless\nCategories: None"),
        (QWEN, "Safety: Safe\nCategories: None\nSafety: Unsafe"),
        (QWEN, "The answer is Safety: Safe"),
        (SHIELD, "Yesterday"),
        (SHIELD, "The answer is No"),
    ],
)
def test_every_other_answer_is_no_result(form: ClassifierFormat, text: str) -> None:
    """Prose, contradictions and numbers in between are neither safe nor unsafe."""
    assert read_answer(text, form) is None


@given(st.text(max_size=60), st.sampled_from(ClassifierFormat))
def test_no_answer_is_an_error(text: str, form: ClassifierFormat) -> None:
    """Reading is total; the deciding word is where the answer says."""
    found = read_answer(text, form)

    assert found is None or text[found.at :][:1].strip()


def token(text: str, **alternatives: float) -> dict[str, Any]:
    """One token with the probabilities of its alternatives."""
    top = [
        {"token": word.replace("_", " "), "logprob": math.log(chance)}
        for word, chance in alternatives.items()
    ]
    return {"token": text, "logprob": 0.0, "top_logprobs": top or [{"token": text, "logprob": 0.0}]}


def probability(form: ClassifierFormat, text: str, *tokens: dict[str, Any]) -> float | None:
    """The probability of an answer with these tokens."""
    found = read_answer(text, form)
    assert found is not None
    return unsafe_probability(text, found, {"content": list(tokens)}, form)


@pytest.mark.parametrize(
    ("form", "text", "tokens", "expected"),
    [
        (LLAMA, "\n\nunsafe\nS1", [token("\n\n"), token("unsafe", unsafe=0.9, safe=0.1), token("\nS1")], 0.9),
        (LLAMA, "\n\nsafe", [token("\n\n"), token("safe", uns=0.3, safe=0.7)], 0.3),
        (QWEN, "Safety: Safe", [token("Safety:"), token(" Safe", _Safe=0.5, _Contro=0.3, _Un=0.2)], 0.35),
        (SHIELD, "Yes", [token("Yes", Yes=0.6, No=0.2, Hm=0.2)], 0.75),
        (POLICY, '{"violation": 1}', [token('{"violation":'), token(" 1", _1=0.8, _0=0.2), token("}")], 0.8),
        (POLICY, "1", [token("So: "), token("1", **{"1": 0.9, "0": 0.1})], 0.9),
    ],
)
def test_the_score_is_the_probability_of_the_deciding_word(
    form: ClassifierFormat, text: str, tokens: list[dict[str, Any]], expected: float
) -> None:
    """Alternatives count by the word they begin, relative to all that begin one; thoughts come before."""
    assert probability(form, text, *tokens) == pytest.approx(expected)


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        {},
        {"content": None},
        {"content": []},
        {"content": [token("other")]},
        {"content": [{"token": "safe"}]},
        {"content": [token("safe", Hm=0.9, safe=0.05)]},
        {"content": [{"token": "safe", "top_logprobs": [{"token": "safe", "logprob": "high"}]}]},
        {"content": [{"token": "safe", "top_logprobs": [{"token": "safe", "logprob": 9.0}]}]},
        {"content": [{"token": "safe", "top_logprobs": [{"token": "safe", "logprob": float("nan")}]}]},
    ],
)
def test_unusable_probabilities_are_none(logprobs: object) -> None:
    """The score is then 1 or 0, as the answer says."""
    found = read_answer("safe", LLAMA)
    assert found is not None

    assert unsafe_probability("safe", found, logprobs, LLAMA) is None


@pytest.mark.parametrize(
    ("text", "given", "scores", "flagged"),
    [
        ("Safety: Unsafe\nCategories: Violent, PII", None, {"Violent": 1.0, "PII": 1.0}, {"Violent", "PII"}),
        ("Safety: Unsafe\nCategories: Violent", 0.8, {"Violent": 0.8}, {"Violent"}),
        ("Safety: Unsafe", None, {"unsafe": 1.0}, {"unsafe"}),
        ("Safety: Controversial\nCategories: PII", None, {"PII": 0.5}, set()),
        ("Safety: Safe\nCategories: None", 0.3, {"unsafe": 0.3}, set()),
        ("Safety: Safe", None, {"unsafe": 0.0}, set()),
    ],
)
def test_categories_share_the_score(
    text: str, given: float | None, scores: dict[str, float], flagged: set[str]
) -> None:
    """Only an unsafe answer flags; a score near a threshold is kept for a safe one too."""
    found = read_answer(text, QWEN)
    assert found is not None
    result = moderation_scores(found, given, model="m", tokens=Tokens(prompt=3))

    assert (dict(result.scores), set(result.flagged), result.tokens.prompt) == (scores, flagged, 3)
