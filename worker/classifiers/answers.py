"""How the answers of classifiers are read: a table of accepted shapes. Every other answer is no result."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from worker.classifiers.formats import FORMATS, UNSAFE, ClassifierFormat

CATEGORY_CHARS: Final = 100
MOST_CATEGORIES: Final = 20
NO_CATEGORY: Final = frozenset({"", "none", "null", "n/a"})
CATEGORY_KEYS: Final = (
    "category",
    "categories",
    "policy_category",
    "policy_categories",
    "violated_category",
    "violated_categories",
    "rule_ids",
)

QWEN_NAMES: Final = {
    name.casefold(): name
    for name in (
        "Violent",
        "Non-violent Illegal Acts",
        "Sexual Content or Sexual Acts",
        "PII",
        "Suicide & Self-Harm",
        "Unethical Acts",
        "Politically Sensitive Topics",
        "Copyright Violation",
        "Jailbreak",
    )
}
"""The categories of Qwen3Guard, as its model card names them."""

BEFORE: Final = re.compile(r"\s*(?:<think>.*?</think>)?\s*(?:```(?:json)?\s*)?", re.DOTALL | re.IGNORECASE)
"""What a server may leave before an answer: thoughts, and the start of a code block."""
WORD_OF_POLICY: Final = re.compile(
    r"(?:(?:label|output|answer|violation)\s*[:=]\s*)?(?P<word>[01])[\s.`]*", re.IGNORECASE
)
KEY_OF_POLICY: Final = re.compile(
    r'"(?:violation|violates|violates_policy|flagged|label)"\s*:\s*"?(?P<word>true|false|yes|no|1|0)(?=["\s,}])',
    re.IGNORECASE,
)
LLAMA_GUARD: Final = re.compile(
    r"(?P<word>safe|unsafe)(?P<categories>(?:[\s,]+[A-Z]\d{1,2}\b)*)[\s.`]*", re.IGNORECASE
)
QWEN_SAFETY: Final = re.compile(
    r"^[ \t]*safety:[ \t]*(?P<word>safe|unsafe|controversial)\s*?$", re.IGNORECASE | re.MULTILINE
)
QWEN_CATEGORIES: Final = re.compile(
    r"^[ \t]*categor(?:y|ies):(?P<categories>.*)$", re.IGNORECASE | re.MULTILINE
)
SHIELDGEMMA: Final = re.compile(r"[\s*\"'`]*(?P<word>yes|no)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifierAnswer:
    """An answer that was read.

    Attributes:
        level: 0..1, how unsafe the answer's word says the text is.
        categories: as the answer names them, in order; none for a safe text.
        at: place of the word in the answer, in characters.
    """

    level: float
    categories: tuple[str, ...]
    at: int


def read_answer(text: str, form: ClassifierFormat, policy: str = "") -> ClassifierAnswer | None:
    """The answer in a text, or None for a text of another shape.

    Categories are kept that the model or the account's policy has: an answer may repeat words of the text it
    judges, and categories enter rules and logs.
    """
    before = BEFORE.match(text)
    start = before.end() if before else 0
    for shape in SHAPES[form]:
        if (found := shape(text, start)) is not None:
            word, at, named = found
            level = FORMATS[form].words[word.casefold()]
            names = _known_names(named, form, policy) if level else ()
            return ClassifierAnswer(level=level, categories=names, at=at)
    return None


Found = tuple[str, int, list[str]]
"""The deciding word, its place and the named categories."""


def _bare_digit(text: str, start: int) -> Found | None:
    match = WORD_OF_POLICY.fullmatch(text, start)
    return (match["word"], match.start("word"), []) if match else None


def _json_object(text: str, start: int) -> Found | None:
    """One JSON object and nothing else; words that contradict each other are no answer."""
    try:
        document = orjson.loads(text[start:].rstrip().removesuffix("```"))
    except orjson.JSONDecodeError:
        return None
    words = list(KEY_OF_POLICY.finditer(text, start))
    levels = {FORMATS[ClassifierFormat.POLICY].words[match["word"].casefold()] for match in words}
    if not isinstance(document, dict) or len(levels) != 1:
        return None
    return words[0]["word"], words[0].start("word"), _json_categories(document)


def _json_categories(document: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for key in CATEGORY_KEYS:
        value = document.get(key)
        found += [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
    return found


def _llama_guard(text: str, start: int) -> Found | None:
    match = LLAMA_GUARD.fullmatch(text, start)
    if match is None or (match["categories"] and match["word"].casefold() != UNSAFE):
        return None
    return match["word"], match.start("word"), re.split(r"[\s,]+", match["categories"])


def _qwen3guard(text: str, start: int) -> Found | None:
    """One line of safety; further lines are allowed, a second line of safety is not."""
    found = list(QWEN_SAFETY.finditer(text, start))
    if len(found) != 1:
        return None
    named = QWEN_CATEGORIES.search(text, start)
    return found[0]["word"], found[0].start("word"), named["categories"].split(",") if named else []


def _shieldgemma(text: str, start: int) -> Found | None:
    """The first word; an explanation may follow it."""
    match = SHIELDGEMMA.match(text, start)
    return (match["word"], match.start("word"), []) if match else None


SHAPES: Final[Mapping[ClassifierFormat, tuple[Callable[[str, int], Found | None], ...]]] = {
    ClassifierFormat.POLICY: (_bare_digit, _json_object),
    ClassifierFormat.LLAMA_GUARD: (_llama_guard,),
    ClassifierFormat.QWEN3GUARD: (_qwen3guard,),
    ClassifierFormat.SHIELDGEMMA: (_shieldgemma,),
}
"""The accepted shapes of each format, tried in order."""


def _known_names(named: list[str], form: ClassifierFormat, policy: str) -> tuple[str, ...]:
    cleaned = (" ".join(each.split())[:CATEGORY_CHARS] for each in named)
    given = [each for each in cleaned if each.casefold() not in NO_CATEGORY]
    match form:
        case ClassifierFormat.POLICY | ClassifierFormat.SHIELDGEMMA:
            known = " ".join(policy.split()).casefold()
            given = [each for each in given if each.casefold() in known]
        case ClassifierFormat.QWEN3GUARD:
            given = [QWEN_NAMES[each.casefold()] for each in given if each.casefold() in QWEN_NAMES]
        case ClassifierFormat.LLAMA_GUARD:
            given = [each.upper() for each in given]  # the shape allows a letter and digits only
    return tuple(dict.fromkeys(given))[:MOST_CATEGORIES]
