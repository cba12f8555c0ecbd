"""Words that messages have in common whose replies people overturned: what a rule would have stopped."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Final

from trials.pure.suggestions.model import (
    LearningSuggestion,
    SeenMessage,
    SettingEdit,
    SuggestionKind,
    decision_times,
)
from worker.assessment.text.words import (
    STOP,
    comparable_unit,
    is_unspaced,
    normalised_text,
    word_tokens,
)
from worker.model import Account
from worker.rules import CompiledRules, compile_account_rules

LONGEST: Final = 4
"""Words of the longest run."""


def written_words(text: str) -> list[str]:
    """The words in order, folded; of scripts without spaces every two characters."""
    found: list[str] = []
    for token in word_tokens(normalised_text(text).casefold()):
        found += map("".join, pairwise(token)) if is_unspaced(token) and len(token) > 1 else [token]
    return found


def word_runs(text: str, longest: int = LONGEST) -> frozenset[str]:
    """Runs of two to ``longest`` words as they follow each other, with single spaces."""
    words = [token for token in word_tokens(text.casefold()) if not is_unspaced(token)]
    return frozenset(
        " ".join(words[start : start + size])
        for size in range(2, longest + 1)
        for start in range(len(words) - size + 1)
    )


def telling_words(text: str) -> frozenset[str]:
    """Words and pairs of words that may say what a message is about: no grammar words, no numbers."""
    words = written_words(text)
    pairs = (f"{first} {second}" for first, second in _spaced_pairs(words))
    return frozenset(each for each in words if tells(each)) | frozenset(pairs)


def tells(word: str) -> bool:
    """Whether a word is neither grammar, number nor single letter."""
    return len(word) > 1 and not word.isdigit() and word not in STOP and comparable_unit(word) not in STOP


def _spaced_pairs(words: list[str]) -> Iterable[tuple[str, str]]:
    for first, second in pairwise(words):
        if tells(first) and tells(second) and not is_unspaced(first) and not is_unspaced(second):
            yield first, second


LEAST_Z: Final = 1.96
"""Standard deviations of the log-odds, as in the paper; what chance puts above it is tried as a rule."""
LEAST_MESSAGES: Final = 3
LEAST_AUTHORS: Final = 2
"""A word of a single author could name a person, and one author is no pattern."""
MOST_WORDS: Final = 10
MOST_TRIED: Final = 60
EXAMPLES: Final = 5
PRIOR_WEIGHT: Final = 0.1
"""Weight of the prior, as a part of the messages that it is counted from."""
MOST_STOPPED: Final = 0.5
"""Largest part of upheld messages among the reviewed ones that a proposed word would stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordScore:
    """A word with its log-odds in standard deviations; ``missed`` messages have it."""

    word: str
    z: float
    missed: int


def log_odds(missed: Sequence[frozenset[str]], sent: Sequence[frozenset[str]]) -> tuple[WordScore, ...]:
    """Every word of ``missed`` with its log-odds against ``sent``, the highest first.

    With an informative Dirichlet prior, the counts in both: B. L. Monroe, M. P. Colaresi and K. M. Quinn,
    Political Analysis 16 (2008) 372-403, equations 16, 20 and 22. A message counts a word once.
    """
    here, there = Counter(chain.from_iterable(missed)), Counter(chain.from_iterable(sent))
    both = here + there
    total_here, total_there, total = here.total(), there.total(), both.total()
    mass = max(1.0, PRIOR_WEIGHT * total)
    scores = []
    for word, count in here.items():
        prior = mass * both[word] / total
        a, b = count + prior, there[word] + prior
        delta = math.log(a / (total_here + mass - a)) if total_here + mass > a else math.inf
        delta -= math.log(b / (total_there + mass - b)) if total_there + mass > b else -math.inf
        scores.append(WordScore(word=word, z=delta / math.sqrt(1 / a + 1 / b), missed=count))
    return tuple(sorted(scores, key=lambda each: (-each.z, each.word)))


def word_suggestions(
    account: Account, missed: Sequence[SeenMessage], sent: Sequence[SeenMessage]
) -> tuple[LearningSuggestion, ...]:
    """Words to stop, each one a change and tried by the matcher on the messages that got replies.

    Args:
        account: with the rules in force.
        missed: messages whose replies people overturned.
        sent: other messages with a reply, reviewed or not.
    """
    rules = compile_account_rules(account)
    open_messages = [each for each in missed if not rules.match(each.text)]
    words = {each.decision_id: telling_words(each.text) for each in (*open_messages, *sent)}
    scores = log_odds(
        [words[each.decision_id] for each in open_messages], [words[each.decision_id] for each in sent]
    )
    found: list[LearningSuggestion] = []
    left = open_messages
    for score in _worth_trying(scores):
        rules_alone = _one_rule(account, score.word)
        stopped = tuple(each for each in open_messages if rules_alone.match(each.text))
        ids = {each.decision_id for each in stopped}
        still_open = [each for each in left if each.decision_id not in ids]
        if len(left) - len(still_open) < LEAST_MESSAGES:
            continue
        newly = [each for each in sent if rules_alone.match(each.text)]
        if (suggestion := _suggestion(score, stopped, newly, len(open_messages), len(sent))) is None:
            continue
        left = still_open
        found.append(suggestion)
        if len(found) == MOST_WORDS:
            break
    return tuple(found)


def _suggestion(
    score: WordScore,
    stopped: Sequence[SeenMessage],
    newly: Sequence[SeenMessage],
    of_missed: int,
    of_sent: int,
) -> LearningSuggestion | None:
    """The word as a rule that stops these messages, ``newly`` those with a good reply; None: too many."""
    if len({each.author for each in stopped}) < LEAST_AUTHORS:
        return None
    upheld = sum(each.ruling == "agree" for each in newly)
    if upheld > MOST_STOPPED * (upheld + len(stopped)):
        return None
    return LearningSuggestion(
        kind=SuggestionKind.WORD,
        key=score.word,
        evidence={
            "word": score.word,
            "z": round(score.z, 2),
            "missed": len(stopped),
            "of_missed": of_missed,
            "newly_stopped": len(newly) + len(stopped),
            "of_sent": of_sent + of_missed,
            "upheld": upheld,
            "not_reviewed": sum(not each.ruling for each in newly),
        },
        edits=(_edit(score.word),),
        decisions=decision_times(stopped[:EXAMPLES]),
    )


def _worth_trying(scores: Iterable[WordScore]) -> list[WordScore]:
    named = (each for each in scores if each.z >= LEAST_Z and each.missed >= LEAST_MESSAGES)
    return list(named)[:MOST_TRIED]


def _one_rule(account: Account, word: str) -> CompiledRules:
    keywords, phrases = ((), (word,)) if " " in word else ((word,), ())
    return compile_account_rules(replace(account, flagged_keywords=keywords, flagged_phrases=phrases))


def _edit(word: str) -> SettingEdit:
    return SettingEdit(setting="flagged_phrases" if " " in word else "flagged_keywords", added=(word,))
