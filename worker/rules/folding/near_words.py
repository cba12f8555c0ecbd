"""Words at one edit from a listed word: a letter more, less or other, or two neighbours exchanged.

Two such words have a spelling in common once one letter of each is deleted (the deletion neighbourhood of
SymSpell, Garbe 2012), so that a look-up takes as many steps as the word has letters, for any number of words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from worker.rules.folding.scan import Automaton, PatternPlace

MAX_FAR_WORDS = 8_192
"""Most words without a listed neighbour that are remembered, about 1 MB: most words of a language recur."""


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

    A word of a text is looked up once and remembered, so that a usual text costs one set difference.
    """

    def __init__(self, exact: Automaton, forms: Mapping[str, int]) -> None:
        """``forms`` maps the folded letters of each fuzzy rule to its form number."""
        self._exact = exact
        self._forms = forms
        self._index = NearWords(forms)
        self._lengths = range(min(map(len, forms)) - 1, max(map(len, forms)) + 2)
        self._far: set[bytes] = set()

    def find_overlapping(self, haystack: bytes, /) -> list[PatternPlace]:
        """All matches of the patterns, then the words near a fuzzy rule with the spaces around them."""
        found = self._exact.find_overlapping(haystack)
        for word in set(haystack.split()) - self._far:
            letters = word.decode()
            near = self._index.near(letters) if len(letters) in self._lengths else ()
            if not near and len(letters) <= self._lengths.stop:
                if len(self._far) >= MAX_FAR_WORDS:
                    self._far = set()
                self._far.add(word)
            for listed in near:
                found += _places(haystack, b" " + word + b" ", self._forms[listed])
        return found


def _places(haystack: bytes, word: bytes, form: int) -> list[PatternPlace]:
    places, at = [], haystack.find(word)
    while at >= 0:
        places.append((at, at + len(word), form))
        at = haystack.find(word, at + len(word) - 1)
    return places


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
