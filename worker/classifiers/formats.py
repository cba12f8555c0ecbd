"""The formats of classifiers: how a model is asked, and what its answer looks like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

UNSAFE: Final = "unsafe"
"""The category of an answer without category, and of the score of a text found safe."""


class ClassifierFormat(StrEnum):
    """How a classifier is asked and answers."""

    POLICY = "policy"
    LLAMA_GUARD = "llama_guard"
    QWEN3GUARD = "qwen3guard"
    SHIELDGEMMA = "shieldgemma"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatSpec:
    """All facts about one format.

    Attributes:
        models: models that answer so.
        reads_policy: the account's policy text is part of the prompt; else the model has its own categories.
        max_tokens: longest answer paid for; a model that reasons first needs room for its thoughts.
        words: first word of an answer -> how unsafe it says the text is, 0..1.
    """

    models: str
    reads_policy: bool
    max_tokens: int
    words: Mapping[str, float]


FORMATS: Final[Mapping[ClassifierFormat, FormatSpec]] = {
    ClassifierFormat.POLICY: FormatSpec(
        models="gpt-oss-safeguard, or any instruction-following model",
        reads_policy=True,
        max_tokens=2048,
        words={"1": 1.0, "true": 1.0, "yes": 1.0, "0": 0.0, "false": 0.0, "no": 0.0},
    ),
    ClassifierFormat.LLAMA_GUARD: FormatSpec(
        models="Llama Guard 3 and 4", reads_policy=False, max_tokens=32, words={UNSAFE: 1.0, "safe": 0.0}
    ),
    ClassifierFormat.QWEN3GUARD: FormatSpec(
        models="Qwen3Guard-Gen",
        reads_policy=False,
        max_tokens=64,
        words={UNSAFE: 1.0, "controversial": 0.5, "safe": 0.0},
    ),
    ClassifierFormat.SHIELDGEMMA: FormatSpec(
        models="ShieldGemma", reads_policy=True, max_tokens=4, words={"yes": 1.0, "no": 0.0}
    ),
}
"""The formats; prompts are in ``prompts``, shapes of answers in ``answers``."""
