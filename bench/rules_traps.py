"""Innocent texts with the letters of a rule: inside words, across words, doubled, in numbers and code."""

from __future__ import annotations

import itertools
import random
import re
import unicodedata
from collections.abc import Iterator
from string import ascii_lowercase, ascii_uppercase, digits, hexdigits

from bench.rules_disguises import compatibility, homoglyphs, leet, repeats, zero_width
from bench.rules_language import Language, RuleCase, plain_letters, tokens


def embedded(lang: Language, rng: random.Random) -> Iterator[RuleCase]:
    """A part of an everyday word as the rule, the sentence plain and that word in disguise."""
    for sentence in lang.benign:
        known = {plain_letters(token) for token in tokens(sentence)}
        for token in tokens(sentence):
            if len(token) < 6:
                continue
            for _ in range(3):
                size = rng.randint(3, 5)
                start = rng.randint(0, len(token) - size)
                rule = token[start : start + size].casefold()
                if token.casefold()[start + size :] in {rule[-1], *"aiuyeosукиоавсηιο"}:
                    continue  # a stretched end, or a word of one letter behind spaced ones: rightly a hit
                if (
                    plain_letters(rule) in known
                    or unicodedata.category(rule[0])[0] == "M"
                    or not rule.isalpha()
                ):
                    continue
                yield RuleCase(group="innocent", family="embedded", lang=lang.code, rule=rule, text=sentence)
                for family, hidden in disguised_words(token, lang, rng):
                    yield RuleCase(
                        group="innocent",
                        family=family,
                        lang=lang.code,
                        rule=rule,
                        text=sentence.replace(token, hidden),
                    )


def disguised_words(token: str, lang: Language, rng: random.Random) -> Iterator[tuple[str, str]]:
    """An innocent word in disguise: its inner rule must stay unseen."""
    yield "embedded zero width", zero_width(token, rng)
    yield "embedded repeats", repeats(token, rng)
    yield "embedded separators", rng.choice([".", "-", "*", "_", "·", " "]).join(token)
    if lang.script == "latin":
        yield "embedded leet", leet(token, rng)
        yield "embedded homoglyph", homoglyphs(token, rng)
        yield "embedded nfkc", compatibility(token, rng)


def crossing(lang: Language, rng: random.Random) -> Iterator[RuleCase]:
    """A rule made of the end of one word and the beginning of the next."""
    for sentence in lang.benign:
        words = tokens(sentence)
        known = {plain_letters(word) for word in words}
        for left, right in itertools.pairwise(words):
            if len(left) + len(right) < 5:
                continue
            cut, end = rng.randint(1, max(1, len(left) - 1)), rng.randint(1, max(1, len(right) - 1))
            rule = plain_letters(left[-cut:] + right[:end])
            if (
                len(rule) >= 3
                and rule.isalpha()
                and rule not in known
                and f"{left[-cut:]} {right[:end]}" != f"{left} {right}"
            ):
                yield RuleCase(group="innocent", family="crossing", lang=lang.code, rule=rule, text=sentence)


def doubled(lang: Language) -> Iterator[RuleCase]:
    """A rule with one letter less than an everyday word with a double letter."""
    for sentence in lang.benign:
        words = tokens(sentence)
        for word in words:
            single = "".join(c for at, c in enumerate(word) if at == 0 or c != word[at - 1]).casefold()
            if (
                len(single) < len(word)
                and len(single) > 2
                and single not in {plain_letters(w) for w in words}
            ):
                yield RuleCase(group="innocent", family="doubled", lang=lang.code, rule=single, text=sentence)


MACHINE = (
    "order 99999 costs $99.99 or 9.999,99 €",
    "v9.9.9-rc9 was out at 9:99 on 99/99/9999",
    "commit hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh and hhhhhhh",
    "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh",
    "DE99 9999 9999 9999 9999 99, GB99 NWBK 9999 9999",
    "https://xxxxxxx.example/xxx99/hhhhhh?q=xx999&s=hhhh",
    "write to xxxxx99@xxxxxx.example or call +99 999 999 99 99",
    "thanks @xxxx_xxxx99 and #xxxxxxxx9",
    "for i in range(99): x[i] += a[9] * b_9 if s != 'x' else 0",
    "9 x 9 = 99; 999 + 999 - 9 | 99 % $ 999",
    "size 9XL, 99kg, 999cm, 9th floor, 9999p, 99GB, USB9, A99, PS9",
    "X.X. Xxxxxxx, x) and x) are fine, see fig. 9x",
)
"""Texts of machines: a 9 is any digit, a run of h hexadecimal, of x letters."""


def machine_texts(rng: random.Random) -> Iterator[str]:
    """Numbers, versions, prices, times, hashes, bank accounts, addresses, handles and code."""
    kinds = {"9": digits, "h": hexdigits[:16], "x": ascii_lowercase, "X": ascii_uppercase}
    for template in MACHINE:
        yield re.sub(
            r"9|h{4,}|\bxx+|(?<=_)xx+|X|\bx\b|(?<=X)x+",
            lambda run: "".join(rng.choices(kinds[run[0][0]], k=len(run[0]))),
            template,
        )


def innocents(langs: list[Language], rng: random.Random) -> Iterator[RuleCase]:
    """All traps."""
    for lang in langs:
        for rule, text in lang.traps:
            yield RuleCase(group="innocent", family="trap", lang=lang.code, rule=rule, text=text)
        if lang.script != "unspaced":
            yield from embedded(lang, rng)
            yield from crossing(lang, rng)
        if lang.script == "latin":
            yield from doubled(lang)
    for lang in langs:
        for rule in lang.words:
            other = rng.choice(langs)
            sentence = rng.choice(other.benign)
            if plain_letters(rule) not in {plain_letters(token) for token in tokens(sentence)}:
                yield RuleCase(
                    group="innocent", family="other sentence", lang=lang.code, rule=rule, text=sentence
                )
            text = rng.choice(list(machine_texts(rng)))
            yield RuleCase(group="innocent", family="machine", lang=lang.code, rule=rule, text=text)
    short = [
        "boob",
        "tits",
        "ass",
        "bib",
        "sos",
        "lol",
        "bad",
        "add",
        "fee",
        "gas",
        "bee",
        "sex",
        "gag",
        "lie",
        "big",
        "bit",
        "hit",
        "set",
    ]
    for _ in range(40):
        for text in machine_texts(rng):
            yield RuleCase(group="innocent", family="machine", lang="en", rule=rng.choice(short), text=text)
