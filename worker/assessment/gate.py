"""Which drafts need no fact check, and which cannot be checked at all."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from worker.assessment.citations import states_something
from worker.assessment.figures import numbers
from worker.assessment.values import Case, ReplyKind, Unusable
from worker.assessment.wordlists import folded, pattern_of, words_of
from worker.assessment.words import is_unspaced, sentences, tokens

MAX_CONTEXT_CHARS = 200_000
"""Evidence beyond this is not assessed: a million characters would hold a worker for a third of a second."""

_FEW_WORDS = 45
"""A hand-off or clarifying question longer than this says more than that."""


def unusable(case: Case) -> Unusable | None:
    """Why this draft cannot be assessed at all, or None."""
    if not case.draft.strip():
        return Unusable.EMPTY_REPLY
    if not states_something(case.draft):
        return Unusable.CITATIONS_ONLY
    if sum(len(passage.text) for passage in case.evidence.passages) > MAX_CONTEXT_CHARS:
        return Unusable.CONTEXT_TOO_LARGE
    return None


def kind_of(text: str) -> ReplyKind:
    """What a draft, or a message of an author, does. When in doubt it is an answer and will be checked."""
    found = tokens(folded(text))
    if not found or len(found) > _FEW_WORDS or numbers(text):
        return ReplyKind.ANSWER
    kinds = ((kind, test) for kind, test in _TESTS if test(text))
    return next((kind for kind, _ in kinds), ReplyKind.ANSWER)


def _is_greeting(text: str) -> bool:
    words = folded(text).lstrip()
    return pattern_of("greeting_heads").match(words) is not None and _all_small_talk(tokens(words))


def _is_thanks(text: str) -> bool:
    words = folded(text)
    return pattern_of("thanks_heads").search(words) is not None and _all_small_talk(tokens(words))


def _is_refusal(text: str) -> bool:
    return _each_matches("refusals", text) and _is_plain(text)


def _is_handoff(text: str) -> bool:
    return _each_matches("handoffs", text) and _is_plain(text) and not _claims(text)


def _is_plain(text: str) -> bool:
    """Whether no clause adds anything to what a sentence says first."""
    return pattern_of("contrasts").search(folded(text)) is None


def _is_clarifying(text: str) -> bool:
    return _each_matches("questions", text) and _only_asks(text) and not _claims(text)


def _only_asks(text: str) -> bool:
    return all(part.endswith(("?", "？")) for part in sentences(folded(text)) if not _small(part))


_TESTS: tuple[tuple[ReplyKind, Callable[[str], bool]], ...] = (
    (ReplyKind.GREETING, _is_greeting),
    (ReplyKind.THANKS, _is_thanks),
    (ReplyKind.REFUSAL, _is_refusal),
    (ReplyKind.HANDOFF, _is_handoff),
    (ReplyKind.CLARIFYING_QUESTION, _is_clarifying),
)


def _all_small_talk(found: list[str]) -> bool:
    """Whether nothing is said but words of greetings, thanks and offers of help."""
    return all(
        token in _small_talk() or (is_unspaced(token) and _segmented(token, _small_talk(), _longest()))
        for token in found
    )


@cache
def _small_talk() -> frozenset[str]:
    return words_of("greetings") | words_of("thanks") | words_of("offers")


@cache
def _longest() -> int:
    return max(len(word) for word in _small_talk())


def _segmented(run: str, allowed: frozenset[str], longest: int) -> bool:
    """Whether a run of an unspaced script is made of allowed words alone."""
    reachable = {0}
    for start in range(len(run)):
        if start in reachable:
            reachable.update(
                end
                for end in range(start + 1, min(start + longest, len(run)) + 1)
                if run[start:end] in allowed
            )
    return len(run) in reachable


def _each_matches(name: str, text: str) -> bool:
    """Whether every sentence carries a phrase of the list, small talk around it aside."""
    pattern = pattern_of(name)
    if pattern.search(folded(text)) is None:
        return False  # most texts: what no phrase is in need not be cut into sentences
    telling = [part for part in sentences(folded(text)) if not _small(part)]
    return bool(telling) and all(pattern.search(part) for part in telling)


def _small(part: str) -> bool:
    found = tokens(part)
    return _all_small_talk(found) or found == ["sorry"]


def _claims(text: str) -> bool:
    """Whether a courtesy carries a promise, a claim or a name with it: then it is checked as an answer."""
    return pattern_of("claims").search(folded(text)) is not None or _states_names(text)


def _states_names(text: str) -> bool:
    """Whether a capitalised word stands inside a sentence: it may name somebody or something."""
    inner = (token for part in sentences(text) for token in tokens(part)[1:])
    return any(token[0].isupper() and token not in {"I", "I'm", "I'll", "I'd", "I've"} for token in inner)
