"""The words and sentences that labelled cases are made of, by language, and what a case is."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from pathlib import Path

VOCABULARY = Path(__file__).with_name("rules_vocabulary.txt")
SCRIPTS = {"ru": "cased", "uk": "cased", "el": "cased"} | dict.fromkeys(
    ["ar", "he", "fa", "hi", "ko"], "uncased"
)
UNSPACED = {"zh", "ja", "th"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCase:
    """One labelled case: does ``rule`` match ``text``?"""

    group: str
    """evasion, plain or innocent"""
    family: str
    lang: str
    rule: str
    text: str


@dataclass(frozen=True, slots=True)
class Language:
    """The lists of one language."""

    code: str
    words: list[str]
    phrases: list[str]
    carriers: list[str]
    benign: list[str]
    traps: list[tuple[str, str]]

    @property
    def script(self) -> str:
        """latin, cased, uncased or unspaced: which disguises make sense."""
        return "unspaced" if self.code in UNSPACED else SCRIPTS.get(self.code, "latin")


def languages() -> list[Language]:
    """The vocabulary file, parsed."""
    blocks = VOCABULARY.read_text(encoding="utf-8").split("\n[")[1:]
    found = []
    for block in blocks:
        code, _, body = block.partition("]")
        rows = {
            key: [part.strip() for part in row.split(" | ")]
            for key, _, row in (line.partition(": ") for line in body.splitlines() if line)
        }
        traps = [
            (rule.strip(), text.strip())
            for rule, _, text in (trap.partition(" > ") for trap in rows["traps"])
        ]
        found.append(Language(code, rows["words"], rows["phrases"], rows["carriers"], rows["benign"], traps))
    return found


def plain_letters(text: str) -> str:
    """Small letters without marks, to know which words of a sentence a rule would rightly match."""
    return "".join(c for c in unicodedata.normalize("NFD", text.casefold()) if not unicodedata.combining(c))


def tokens(sentence: str) -> list[str]:
    """The words of a sentence."""
    return "".join(c if c.isalpha() or unicodedata.category(c)[0] == "M" else " " for c in sentence).split()
