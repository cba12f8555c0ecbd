"""Drafts that need no fact check, and drafts that cannot be assessed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from worker.assessment.non_answers import is_non_answer
from worker.assessment.text.acknowledgements import is_acknowledgement, only_thanks, waits_for_answer
from worker.assessment.text.citations import has_citations_only, states_something, without_citations
from worker.assessment.text.once import once
from worker.assessment.text.small_talk import all_small_talk, is_small_talk
from worker.assessment.text.wordlists import folded_text, list_pattern
from worker.assessment.text.words import split_sentences, word_tokens
from worker.assessment.values import DraftCase, ReplyKind, UnusableReason
from worker.model import Event, Message, MessageRole

MAX_CONTEXT_CHARS = 200_000
"""Longer evidence is not assessed: a million characters would occupy a worker for a third of a second."""

NEED_NO_CHECK = frozenset({ReplyKind.GREETING, ReplyKind.THANKS, ReplyKind.CLARIFYING_QUESTION})
"""Kinds that state no fact and are sent without a check.

A non-answer is none of them, because it does not help the author, nor is a hand-off, which is not performed.
"""

_STRETCHED = re.compile(r"(\w)\1{2,}")
"""Letters of "heyyy" and "hellooo"."""

_NAME = re.compile(r"(?<=[^\W\d_] )(?!I\b)[A-Z\u00c0-\u00de][\w'’&-]*")
"""A capitalised word after another word."""

_DIGIT = re.compile(r"\d")
_FREE = re.compile(r"(?<!feel )\bfree\b")

_FEW_WORDS_AROUND = 6
"""Most words beside the question whether a person writes; a longer message asks for something else too."""

_FEWEST_REPEATED = 4
"""Words from which a draft that stands in the message is no answer: "On Friday?" may ask back."""

_QUESTION_MARKS = ("?", "？", "؟")

_NAME_WORDS = 2
"""Most words of a clause beside a disclosure that may be a name, or the yes before it."""

_CLAUSE_END = re.compile(r"[,;:()–—，；：、]|\s-\s")
_SIGNS = " \t.!?。！？…'’*"

_FEW_WORDS = 45
"""Most words of a hand-off or a clarifying question; a longer text also says something else."""


def unusable_reason(case: DraftCase) -> UnusableReason | None:
    """Why this draft cannot be assessed, or None."""
    if not case.draft.strip():
        return UnusableReason.EMPTY_REPLY
    if not states_something(case.draft):
        return UnusableReason.CITATIONS_ONLY if has_citations_only(case.draft) else UnusableReason.NO_WORDS
    if _repeats_message(case):
        return UnusableReason.REPEATS_MESSAGE
    if sum(len(passage.text) for passage in case.evidence.passages) > MAX_CONTEXT_CHARS:
        return UnusableReason.CONTEXT_TOO_LARGE
    return None


def needs_no_answer(event: Event, history: Sequence[Message]) -> bool:
    """Whether a message only acknowledges the lines before it.

    It does not when it may answer a question of ours ("ok", "thanks" after "Shall I reserve it?"), or when an
    earlier message of an author is still to be answered with it. A message without a visible character asks
    for nothing either. In doubt the model is asked.
    """
    says_nothing = _is_blank(event.text) or is_acknowledgement(event.text)
    if event.attachments or not says_nothing or _is_greeting(event.text):
        return False
    said = (line for line in reversed(history) if not _is_passed_over(line))
    last = next(said, None)
    if last is None:
        return True
    return last.role is not MessageRole.USER and not waits_for_answer(last.text)


def _is_blank(text: str) -> bool:
    return not any(char.isprintable() and not char.isspace() for char in text)


@once
def needs_no_evidence(query: str) -> bool:
    """Whether the reply to a message rests on no document.

    So to a greeting, thanks, an acknowledgement, and to the question whether a person writes.
    """
    courtesy = reply_kind(query) in (ReplyKind.GREETING, ReplyKind.THANKS)
    return courtesy or is_acknowledgement(query) or _asks_who_writes(query)


def unchecked_kind(case: DraftCase) -> ReplyKind | None:
    """The kind of a draft that states no fact, so that no policy checks it; None for any other."""
    still_waits = _message_waits(case.evidence.history)
    if not still_waits and _asks_who_writes(case.query) and _is_disclosure(case.draft):
        return ReplyKind.DISCLOSURE
    kind = reply_kind(case.draft)
    if kind not in NEED_NO_CHECK and needs_no_evidence(case.query):
        kind = reply_kind(without_names(case.draft))
    if still_waits and kind is not ReplyKind.CLARIFYING_QUESTION:
        return None
    if kind is ReplyKind.THANKS and _agrees(case):
        return None
    return kind if kind in NEED_NO_CHECK else None


def _agrees(case: DraftCase) -> bool:
    """Whether a courtesy may say yes to what was asked: "No problem!" to "Can you cancel my order?"."""
    if list_pattern("agreeing").search(folded_text(case.draft)) is None:
        return False
    return bool(case.query) and not (needs_no_evidence(case.query) or only_thanks(case.query))


def _message_waits(history: Sequence[Message]) -> bool:
    """Whether an earlier message of an author has no answer yet and asks for one.

    "Thank you!" a second after a question is answered together with it: "You are welcome" would lose it.
    """
    said = (line for line in reversed(history) if not _is_passed_over(line))
    last = next(said, None)
    if last is None or last.role is not MessageRole.USER:
        return False
    return reply_kind(last.text) not in (ReplyKind.GREETING, ReplyKind.THANKS)


def _repeats_message(case: DraftCase) -> bool:
    """Whether a draft only says the author's message again, or a question of it."""
    draft = without_citations(case.draft).rstrip()
    said = word_tokens(folded_text(draft))
    asked = word_tokens(folded_text(case.query))
    if len(said) < _FEWEST_REPEATED:
        return False
    starts = range(len(asked) - len(said) + 1)
    part = any(asked[start : start + len(said)] == said for start in starts)
    return part and (said == asked or draft.endswith(_QUESTION_MARKS))


def _asks_who_writes(query: str) -> bool:
    """Whether a message asks for nothing but whether a person or a machine writes."""
    plain = folded_text(query)
    found = list_pattern("bot_questions").search(plain)
    return found is not None and len(word_tokens(plain)) <= _FEW_WORDS_AROUND + len(word_tokens(found[0]))


def _is_disclosure(text: str) -> bool:
    """Whether a draft says that a machine writes, and states nothing else."""
    parts = [folded_text(part) for part in split_sentences(text)]
    said = [part for part in parts if not (is_small_talk(part) or _is_offer(part))]
    short = all(len(word_tokens(part)) <= _FEW_WORDS_AROUND * 3 for part in said)
    plain = not _DIGIT.search(text) and not list_pattern("claims").search(folded_text(text))
    return bool(said) and short and plain and all(map(_names_a_machine, said))


def _names_a_machine(sentence: str) -> bool:
    """Whether a folded sentence says that a machine writes, without a denial or another statement."""
    clauses = [each.strip(_SIGNS) for each in _CLAUSE_END.split(list_pattern("joining").sub(",", sentence))]
    answers = list_pattern("bot_answers")
    named = [answers.sub(" ", each) for each in clauses if answers.search(each)]
    others = [each for each in clauses if not answers.search(each)]
    return bool(named) and not any(map(_denies, named)) and all(map(_states_little, others))


def _states_little(clause: str) -> bool:
    """Whether a clause beside a disclosure is a name, a courtesy, or denies something ("not a person")."""
    count = len(word_tokens(clause))
    return count <= _NAME_WORDS or is_small_talk(clause) or (_denies(clause) and count <= _FEW_WORDS_AROUND)


def _denies(clause: str) -> bool:
    return list_pattern("negating").search(clause) is not None


def _is_offer(part: str) -> bool:
    """Whether a folded sentence asks, or offers help."""
    return part.endswith(("?", "？")) or list_pattern("offers_of_more").search(part) is not None


def without_names(draft: str) -> str:
    """A draft without capitalised words inside its sentences: names, in the reply to a greeting."""
    return _NAME.sub("", draft)


def _is_passed_over(line: Message) -> bool:
    """Whether a stored line is an acknowledgement, which needs no answer."""
    return line.role is MessageRole.USER and is_acknowledgement(line.text)


@once
def reply_kind(text: str) -> ReplyKind:
    """The kind of a draft or of an author's message; in doubt an answer, which is checked."""
    if is_non_answer(text):
        return ReplyKind.REFUSAL
    found = word_tokens(folded_text(text))
    if not found and _is_greeting(text):
        return ReplyKind.GREETING
    if not found or len(found) > _FEW_WORDS or _DIGIT.search(without_citations(text)):
        return ReplyKind.ANSWER
    kinds = ((kind, test) for kind, test in _TESTS if test(text))
    return next((kind for kind, _ in kinds), ReplyKind.ANSWER)


def _is_greeting(text: str) -> bool:
    words = _STRETCHED.sub(r"\1", folded_text(text).lstrip(" \t\r\n¡¿"))
    return list_pattern("greeting_heads").match(words) is not None and _is_courtesy(words)


def _is_thanks(text: str) -> bool:
    words = folded_text(text)
    return list_pattern("thanks_heads").search(words) is not None and _is_courtesy(words)


def _is_courtesy(words: str) -> bool:
    """Whether folded text has only words of small talk; "feel free to ask", not "free today"."""
    return all_small_talk(word_tokens(words)) and _FREE.search(words) is None


def _is_handoff(text: str) -> bool:
    return _each_matches("handoffs", text) and _is_plain(text) and not _claims(text)


def _is_plain(text: str) -> bool:
    """Whether no sentence has a clause of contrast."""
    return list_pattern("contrasts").search(folded_text(text)) is None


def _is_clarifying(text: str) -> bool:
    if not (_each_matches("questions", text) and _only_asks(text)) or _claims(text):
        return False
    return not any(map(_is_answered, split_sentences(folded_text(text))))


def _is_answered(part: str) -> bool:
    """Whether a folded sentence says yes or no, and so answers despite a question after it."""
    return any(list_pattern(name).match(part) is not None for name in ("yes_heads", "no_heads"))


def _only_asks(text: str) -> bool:
    parts = split_sentences(folded_text(text))
    return all(part.endswith(("?", "？")) or _is_opening(part) for part in parts)


def _is_opening(part: str) -> bool:
    """Whether a folded sentence beside a question is a greeting, thanks or regret."""
    heads = any(list_pattern(name).match(part) for name in ("greeting_heads", "thanks_heads", "courtesies"))
    return heads and is_small_talk(part)


_TESTS: tuple[tuple[ReplyKind, Callable[[str], bool]], ...] = (
    (ReplyKind.GREETING, _is_greeting),
    (ReplyKind.THANKS, _is_thanks),
    (ReplyKind.CLARIFYING_QUESTION, _is_clarifying),
    (ReplyKind.HANDOFF, _is_handoff),
)


def _each_matches(name: str, text: str) -> bool:
    """Whether every sentence except small talk contains a phrase of the list."""
    pattern = list_pattern(name)
    if pattern.search(folded_text(text)) is None:
        return False  # most texts: without a phrase they need not be split into sentences
    parts = [part for part in split_sentences(folded_text(text)) if not is_small_talk(part)]
    return bool(parts) and all(pattern.search(part) for part in parts)


def _claims(text: str) -> bool:
    """Whether a courtesy also contains a promise, a claim or a name: then it is checked as an answer."""
    return list_pattern("claims").search(folded_text(text)) is not None or _states_names(text)


def _states_names(text: str) -> bool:
    """Whether a capitalised word, possibly a name, occurs inside a sentence."""
    inner = (token for part in split_sentences(text) for token in word_tokens(part)[1:])
    return any(token[0].isupper() and token not in {"I", "I'm", "I'll", "I'd", "I've"} for token in inner)
