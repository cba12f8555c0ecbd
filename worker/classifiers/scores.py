"""The score of an answer: the probability of its deciding word, where the server gives probabilities."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from worker.classifiers.answers import ClassifierAnswer
from worker.classifiers.formats import FORMATS, UNSAFE, ClassifierFormat
from worker.model import ModerationScores, Tokens

NO_WORD: Final = re.compile(r"[\W_]+")
LEAST_MASS: Final = 0.5
"""Probability that the words of the format must have together; with less the token is another word."""


def moderation_scores(
    answer: ClassifierAnswer, probability: float | None, *, model: str, tokens: Tokens
) -> ModerationScores:
    """The scores of an answer: each named category has the same one, without names ``unsafe`` has it."""
    score = answer.level if probability is None else probability
    names = answer.categories or (UNSAFE,)
    return ModerationScores(
        scores=dict.fromkeys(names, score),
        flagged=frozenset(names) if answer.level == 1.0 else frozenset(),
        model=model,
        tokens=tokens,
    )


def unsafe_probability(
    text: str, answer: ClassifierAnswer, logprobs: object, form: ClassifierFormat
) -> float | None:
    """The probability, 0..1, that the model says unsafe; None without usable probabilities.

    It is read at the token that holds the deciding word: each alternative counts with the level of the word
    that it begins, relative to all alternatives that begin one.
    """
    try:
        return _probability(text, answer.at, logprobs, FORMATS[form].words)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return None


def _probability(text: str, at: int, logprobs: Any, words: Mapping[str, float]) -> float | None:
    token = _token_at(text, at, logprobs["content"])
    weighed = [
        (math.exp(float(each["logprob"])), level)
        for each in token["top_logprobs"]
        if (level := _level(str(each["token"]), words)) is not None
    ]
    mass = sum(weight for weight, _ in weighed)
    if not LEAST_MASS <= mass <= 1.01:
        return None
    return min(1.0, sum(weight * level for weight, level in weighed) / mass)


def _token_at(text: str, at: int, tokens: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The token of the answer at this place; earlier tokens may be thoughts, which are not in the text.

    Raises:
        ValueError: the tokens do not hold the text.
        LookupError: no token is there.
    """
    written = [str(token["token"]) for token in tokens]
    place = "".join(written).rindex(text) + at
    for token, part in zip(tokens, written, strict=True):
        if place < len(part):
            return token
        place -= len(part)
    raise LookupError("no token at this place")


def _level(token: str, words: Mapping[str, float]) -> float | None:
    """The level of the only word that a token begins; None for a token that begins no word, or several."""
    begun = NO_WORD.sub("", token).casefold()
    levels = {level for word, level in words.items() if begun and word.startswith(begun)}
    return levels.pop() if len(levels) == 1 else None
