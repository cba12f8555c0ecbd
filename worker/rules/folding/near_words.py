"""Words at one edit from a listed word: a letter more, less or other, or two neighbours exchanged.

Two such words have a spelling in common once one letter of each is deleted (the deletion neighbourhood of
SymSpell, Garbe 2012), so that a look-up takes as many steps as the word has letters, for any number of words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import daachorse

from worker.rules.folding.scan import Automaton, PatternPlace

KNOWN_WORDS = 1_024
"""Words of texts whose comparison is kept for any rule set, about 150 bytes each."""
KNOWN_WORDS_PER_FORM = 16
"""Words that are kept in addition for each form of a fuzzy rule: more forms have more candidates."""
MAX_WORD_BYTES = 200
"""Longest word of a text that is compared: fuzzy rules are far shorter."""


class NearWords:
    """Listed words, indexed by their letters and by their letters with one deleted.

    Attributes:
        by_spelling: a word, or a word with one letter deleted -> the listed words with that spelling.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.by_spelling: dict[str, list[str]] = {}
        for word in words:
            for spelling in _spellings(word):
                self.by_spelling.setdefault(spelling, []).append(word)

    def near(self, letters: str) -> set[str]:
        """The listed words at exactly one edit from these letters."""
        spellings = _spellings(letters)
        if self.by_spelling.keys().isdisjoint(spellings):
            return set()
        found = {word for spelling in spellings for word in self.by_spelling.get(spelling, ())}
        return {word for word in found if len(word) != len(letters) or _one_apart(letters, word)}


class FuzzyAutomaton:
    """An automaton that also finds whole words at one edit from the forms of fuzzy rules.

    One edit leaves the first or the last half of a word as it was. A second automaton finds these halves at
    word edges; only the words around them are compared.
    """

    def __init__(self, exact: Automaton, forms: Mapping[str, int]) -> None:
        """``forms`` maps the folded letters of each fuzzy rule to its form number."""
        self._exact = exact
        self._forms = forms
        self._index = NearWords(forms)
        heads = {head for form in forms for head in _heads(form)}
        tails = {form[len(form) // 2 :] + " " for form in forms}
        patterns = [half.encode() for half in (*sorted(heads), *sorted(tails))]
        self._halves: Automaton = daachorse.DoubleArrayAhoCorasick(patterns)
        self._tails_from = len(heads)
        self._known: dict[bytes, tuple[int, ...]] = {}

    def find_overlapping(self, haystack: bytes, /) -> list[PatternPlace]:
        """All matches of the patterns, then the words near a fuzzy rule with the spaces around them."""
        found = self._exact.find_overlapping(haystack)
        halves = self._halves.find_overlapping(haystack)
        for start, end in {self._word_around(haystack, place) for place in halves}:
            near = self._forms_near(haystack[start:end])
            found += ((start - 1, end + 1, form) for form in near)
        return found

    def _word_around(self, haystack: bytes, place: PatternPlace) -> tuple[int, int]:
        start, end, number = place
        if number < self._tails_from:
            return start + 1, haystack.find(b" ", end)
        return haystack.rfind(b" ", 0, start) + 1, end - 1

    def _forms_near(self, word: bytes) -> tuple[int, ...]:
        """The forms at one edit from a word; kept, as most words of a language recur."""
        if (known := self._known.get(word)) is not None:
            return known
        if len(word) > MAX_WORD_BYTES:
            return ()
        if len(self._known) >= KNOWN_WORDS + KNOWN_WORDS_PER_FORM * len(self._forms):
            self._known = {}
        near = tuple(self._forms[form] for form in self._index.near(word.decode()))
        self._known[word] = near
        return near


def _heads(form: str) -> tuple[str, str]:
    """The first half of a word, also with its last letter exchanged for the next one."""
    half = len(form) // 2
    return f" {form[:half]}", f" {form[: half - 1]}{form[half]}{form[half - 1]}"


def _spellings(word: str) -> set[str]:
    """The word, and the word with each of its letters deleted."""
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}


def _one_apart(left: str, right: str) -> bool:
    """Whether two words of equal length differ by one letter or by two exchanged neighbours."""
    differ = [at for at in range(len(left)) if left[at] != right[at]]
    if len(differ) == 1:
        return True
    return (
        len(differ) == 2
        and differ[1] == differ[0] + 1
        and (left[differ[0]], left[differ[1]]) == (right[differ[1]], right[differ[0]])
    )
