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

    def one_of(self, name: str) -> str:
        """The expressions of a rule as one expression, which never matches in a language without them."""
        return "|".join(f"(?:{each})" for each in self.rules.get(name, (NEVER,)))

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


def may_say(folded: str, kind: str, *names: str) -> bool:
    """Whether folded text has a form of one of these rules in any language; most texts have none.

    One search for all languages costs a quarter of one search for each.
    """
    spaced, unspaced = (_of_all_languages(kind, names, spaced=each) for each in (True, False))
    return spaced.search(folded) is not None or (not folded.isascii() and unspaced.search(folded) is not None)


@cache
def _of_all_languages(kind: str, names: tuple[str, ...], *, spaced: bool) -> re.Pattern[str]:
    chosen = [each for each in grammars(kind).values() if each.spaced is spaced]
    before, after = chosen[0].word_ends
    forms = "|".join(f"(?:{rule})" for each in chosen for name in names for rule in each.rules.get(name, ()))
    return re.compile(f"{before}(?:{forms}){after}")


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
