"""The grammars of ``grammars.json``: how each language says that it has no answer, or promises an action."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

NEVER: Final = "(?!)"
_PART: Final = re.compile(r"\{([A-Z_]+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """Regular expressions over folded text, in one language.

    Attributes:
        rules: name -> expressions of which each is one way to say it.
        spaced: whether the language writes spaces between words.
    """

    rules: Mapping[str, tuple[str, ...]]
    spaced: bool = True

    def one_of(self, *names: str) -> str:
        """The expressions of rules as one expression, which never matches in a language without them."""
        return "|".join(f"(?:{each})" for name in names for each in self.rules.get(name, ())) or NEVER

    def may_match(self, folded: str) -> bool:
        """Whether folded text can be in the language: none without spaces between words is in ASCII."""
        return self.spaced or not folded.isascii()

    @property
    def word_ends(self) -> tuple[str, str]:
        """What stands before and after a whole word."""
        return (r"(?<!\w)", r"(?!\w)") if self.spaced else ("", "")


@cache
def _loaded() -> dict[str, Any]:
    text = files("worker.assessment.text").joinpath("grammars.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@cache
def grammars(kind: str) -> Mapping[str, Grammar]:
    """The grammars of ``non_answers`` or ``promises`` by language; ``{NAME}`` stands for one of its parts."""
    return {language: _grammar(entry) for language, entry in _loaded()[kind].items()}


@cache
def idioms() -> re.Pattern[str]:
    """Phrases that only look like the admission of having no answer."""
    return re.compile("|".join(_loaded()["idioms"]))


def _grammar(entry: Mapping[str, Any]) -> Grammar:
    parts = entry.get("parts", {})

    def expanded(text: str) -> str:
        while _PART.search(text):
            text = _PART.sub(lambda found: parts[found[1]], text)
        return text

    rules = {name: text for name, text in entry.items() if name not in ("parts", "spaced")}
    return Grammar(
        rules={
            name: tuple(map(expanded, [text] if isinstance(text, str) else text))
            for name, text in rules.items()
        },
        spaced=entry.get("spaced", True),
    )
