"""One result of a moderation endpoint, in any of the forms that servers give it, as our value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from worker.adapters.vendor_failures import name_of
from worker.errors import ModerationUnavailable
from worker.model import AttemptOutcome, ModerationScores, Tokens

FLAGGED: Final = "flagged"
"""The category of a flagged result that names no category."""
NONE_FLAGGED: Final = frozenset[str]()
HARMLESS: Final = frozenset({"safe", "ok", "none", "neutral", "benign", "normal"})
"""Categories of classifiers behind this API that say that a text is in order."""
MOST_CATEGORIES: Final = 500
ROUNDING: Final = 1e-6
LEVELS: Final = {
    "none": 0.0, "safe": 0.0, "negligible": 0.0, "very_low": 0.0, "low": 1 / 3, "medium": 2 / 3, "high": 1.0,
}  # fmt: skip
"""Words of Azure and Google in place of scores, as their four steps from 0 to 1."""
YES: Final = frozenset({"true", "1", "yes"})


def scores_of_result(result: Any, model: str) -> ModerationScores | ModerationUnavailable:
    """The scores of one result, or why they cannot be used.

    A result that is flagged is a hit, whatever its categories say. One that is not needs categories and
    scores: without them nothing says that the text was checked.

    Raises:
        ValueError, TypeError, AttributeError, LookupError: it is no result of this API.
    """
    is_flagged = _yes(result.get(FLAGGED))
    categories, found = _known(result.get("categories")), _known(result.get("category_scores"))
    hits = (name for name, flag in categories.items() if flag and _yes(flag))
    flagged = frozenset(name for name in hits if name.lower() not in HARMLESS) or NONE_FLAGGED
    scores = (
        {} if is_flagged and not _usable(found) else {name: _score(value) for name, value in found.items()}
    )
    if is_flagged and not flagged:
        scores[FLAGGED], flagged = 1.0, frozenset({FLAGGED})
    if is_flagged or flagged:
        scores |= dict.fromkeys(flagged - scores.keys(), 1.0)
    if not categories and not is_flagged and not (found and result.get("categories") == []):
        return ModerationUnavailable("the result has no categories", kind=AttemptOutcome.MALFORMED)
    if not scores or not all(0 <= score <= 1 for score in scores.values()):
        return ModerationUnavailable("the result has no usable scores", kind=AttemptOutcome.MALFORMED)
    return ModerationScores(scores=scores, flagged=flagged, model=model)


def in_order(results: Sequence[Any]) -> Sequence[Any]:
    """The results in the order of their texts, where the server numbers them."""
    numbers = {each.get("index") for each in results}
    is_numbered = len(numbers) == len(results) and all(type(each) is int for each in numbers)
    return sorted(results, key=lambda each: int(each["index"])) if is_numbered else results


def worst(results: Sequence[ModerationScores]) -> ModerationScores:
    """The highest score per category, and each flag."""
    if len(results) == 1:
        return results[0]
    names = dict.fromkeys(name for result in results for name in result.scores)
    return ModerationScores(
        scores={name: max(result.scores.get(name, 0.0) for result in results) for name in names},
        flagged=frozenset[str]().union(*(result.flagged for result in results)),
        model=results[0].model,
        tokens=sum((result.tokens for result in results), Tokens()),
    )


def _known(block: object) -> dict[str, Any]:
    """Category -> value, such as ``hate/threatening``; nulls left out. A list names flagged categories."""
    if isinstance(block, Mapping | list) and len(block) > MOST_CATEGORIES:
        raise ValueError(f"expected at most {MOST_CATEGORIES} categories, got {len(block)}")
    if isinstance(block, list):
        return {name_of(name): True for name in block if isinstance(name, str)}
    if not isinstance(block, Mapping):
        return {}
    return {name_of(name): value for name, value in block.items() if value is not None}


def _score(value: Any) -> float:
    """A number, per cent or a word; rounding may have taken it out of the range from 0 to 1."""
    if isinstance(value, str):
        said = value.strip().lower()
        value = LEVELS.get(said, said)
        if said.endswith("%"):
            value = float(said[:-1]) / 100
    number = float(value)
    return min(max(number, 0.0), 1.0) if -ROUNDING <= number <= 1 + ROUNDING else number


def _usable(scores: Mapping[str, Any]) -> bool:
    try:
        return all(0 <= number <= 1 for number in map(_score, scores.values()))
    except (TypeError, ValueError):
        return False


def _yes(value: object) -> bool:
    return value is True or (isinstance(value, str | int) and str(value).strip().lower() in YES)
