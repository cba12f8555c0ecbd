"""Makes labelled cases for the rule matcher: ``python -m bench.rules_cases [SEED] [--half 0|1]``.

Prints recall and false positives by family and by language, and every wrong case on standard error. The words are
in rules_vocabulary.txt; ``--half`` takes every second rule, so that what was mended on one half is proved on the other.
"""

from __future__ import annotations

import itertools
import random
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import ascii_lowercase as LETTERS  # noqa: N812  # two alphabets, named alike
from string import digits as DIGITS  # noqa: N812  # same

from bench.rules_disguises import (
    CASED,
    LATIN,
    UNCASED,
    Disguise,
    clusters,
    compatibility,
    homoglyphs,
    leet,
    repeats,
    zero_width,
)
from worker.rules import compile_rules

VOCABULARY = Path(__file__).with_name("rules_vocabulary.txt")
SCRIPTS = {"ru": "cased", "uk": "cased", "el": "cased"} | dict.fromkeys(
    ["ar", "he", "fa", "hi", "ko"], "uncased"
)
UNSPACED = {"zh", "ja", "th"}
EDGES = [
    "{}",
    "{}.",
    "¡{}!",
    "({})",
    "“{}”",
    "{}?!",
    "*{}*",
    "{}...",
    "#{}",
    "😀{}😀",
    "{} 🔥",
    "\n{}\n",
    "[{}]",
    "{}, ok",
    "«{}»",
    "{}/",
    "-{}-",
    "_{}_",
    "👉{}👈",
    "～{}～",
]
GAPS = [" ", "  ", "\n", "-", "_", ", ", " - ", "... ", "\u00a0", "/", ". ", "\t", " 👉 "]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
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


def disguises(lang: Language) -> dict[str, tuple[Disguise, ...]]:
    """The families that make sense in this language's script."""
    return {"latin": LATIN, "cased": CASED}.get(lang.script, UNCASED)


def evasions(lang: Language, rng: random.Random, half: int | None) -> Iterator[Case]:
    """Every rule in every family, in a carrier sentence or alone."""
    rules = lang.words + lang.phrases
    for at, rule in enumerate(rules):
        if half is not None and at % 2 != half:
            continue
        for family, steps in disguises(lang).items():
            hidden = rule
            for step in steps:
                hidden = step(hidden, rng)
            if unicodedata.normalize("NFC", hidden) == unicodedata.normalize("NFC", rule) or not sensible(
                rule, family, lang
            ):
                continue
            carrier = rng.choice([*lang.carriers, "{}"])
            yield Case(group="evasion", family=family, lang=lang.code, rule=rule, text=carrier.format(hidden))


def sensible(rule: str, family: str, lang: Language) -> bool:
    """Whether policy wants this case: initials are never spaced words, a phrase of three is not spaced in one go."""
    letters = [len(token) for token in rule.split(" ")]
    if "separators" in family:
        syllables = len(clusters(rule)) if lang.code == "hi" else 3
        return max(letters) > 2 and len(letters) == 1 and syllables > 2
    if family == "repeats" and lang.script == "unspaced":
        return False
    return not ("leet" in family and min(letters) < 3)


def plains(lang: Language, rng: random.Random, half: int | None) -> Iterator[Case]:
    """Every rule as it is: in each carrier, at each edge, and phrases with any gap."""
    for at, rule in enumerate(lang.words + lang.phrases):
        if half is not None and at % 2 != half:
            continue
        for carrier in lang.carriers:
            yield Case(group="plain", family="carrier", lang=lang.code, rule=rule, text=carrier.format(rule))
        for edge in rng.sample(EDGES, 5):
            yield Case(group="plain", family="edge", lang=lang.code, rule=rule, text=edge.format(rule))
        if " " in rule:
            for gap in rng.sample(GAPS, 4):
                yield Case(
                    group="plain",
                    family="gap",
                    lang=lang.code,
                    rule=rule,
                    text=lang.carriers[0].format(rule.replace(" ", gap)),
                )


def fold(text: str) -> str:
    """Small letters without marks, to know which words of a sentence a rule would rightly match."""
    return "".join(c for c in unicodedata.normalize("NFD", text.casefold()) if not unicodedata.combining(c))


def tokens(sentence: str) -> list[str]:
    """The words of a sentence."""
    return "".join(c if c.isalpha() or unicodedata.category(c)[0] == "M" else " " for c in sentence).split()


def embedded(lang: Language, rng: random.Random) -> Iterator[Case]:
    """A part of an everyday word as the rule, the sentence plain and that word in disguise."""
    for sentence in lang.benign:
        known = {fold(token) for token in tokens(sentence)}
        for token in tokens(sentence):
            if len(token) < 6:
                continue
            for _ in range(3):
                size = rng.randint(3, 5)
                start = rng.randint(0, len(token) - size)
                rule = token[start : start + size].casefold()
                if token.casefold()[start + size :] in {rule[-1], *"aiuyeosукиоавсηιο"}:
                    continue  # a stretched end, or a word of one letter behind spaced ones: rightly a hit
                if fold(rule) in known or unicodedata.category(rule[0])[0] == "M" or not rule.isalpha():
                    continue
                yield Case(group="innocent", family="embedded", lang=lang.code, rule=rule, text=sentence)
                for family, hidden in hidden_words(token, lang, rng):
                    yield Case(
                        group="innocent",
                        family=family,
                        lang=lang.code,
                        rule=rule,
                        text=sentence.replace(token, hidden),
                    )


def hidden_words(token: str, lang: Language, rng: random.Random) -> Iterator[tuple[str, str]]:
    """An innocent word in disguise: its inner rule must stay unseen."""
    yield "embedded zero width", zero_width(token, rng)
    yield "embedded repeats", repeats(token, rng)
    yield "embedded separators", rng.choice([".", "-", "*", "_", "·", " "]).join(token)
    if lang.script == "latin":
        yield "embedded leet", leet(token, rng)
        yield "embedded homoglyph", homoglyphs(token, rng)
        yield "embedded nfkc", compatibility(token, rng)


def crossing(lang: Language, rng: random.Random) -> Iterator[Case]:
    """A rule made of the end of one word and the beginning of the next."""
    for sentence in lang.benign:
        words = tokens(sentence)
        known = {fold(word) for word in words}
        for left, right in itertools.pairwise(words):
            if len(left) + len(right) < 5:
                continue
            cut, end = rng.randint(1, max(1, len(left) - 1)), rng.randint(1, max(1, len(right) - 1))
            rule = fold(left[-cut:] + right[:end])
            if (
                len(rule) >= 3
                and rule.isalpha()
                and rule not in known
                and f"{left[-cut:]} {right[:end]}" != f"{left} {right}"
            ):
                yield Case(group="innocent", family="crossing", lang=lang.code, rule=rule, text=sentence)


def doubled(lang: Language) -> Iterator[Case]:
    """A rule with one letter less than an everyday word with a double letter."""
    for sentence in lang.benign:
        words = tokens(sentence)
        for word in words:
            single = "".join(c for at, c in enumerate(word) if at == 0 or c != word[at - 1]).casefold()
            if len(single) < len(word) and len(single) > 2 and single not in {fold(w) for w in words}:
                yield Case(group="innocent", family="doubled", lang=lang.code, rule=single, text=sentence)


def machine_texts(rng: random.Random) -> Iterator[str]:
    """Numbers, versions, prices, times, hashes, bank accounts, addresses, handles and code."""

    def some(alphabet: str, count: int) -> str:
        return "".join(rng.choices(alphabet, k=count))

    digits, hexes, letters = (partial(some, alphabet) for alphabet in (DIGITS, DIGITS + "abcdef", LETTERS))
    yield f"order {digits(5)} costs ${digits(2)}.{digits(2)} or {digits(1)}.{digits(3)},{digits(2)} €"
    yield f"v{digits(1)}.{digits(1)}.{digits(1)}-rc{digits(1)} was out at {digits(1)}:{digits(2)} on {digits(2)}/{digits(2)}/{digits(4)}"
    yield f"commit {hexes(40)} and {hexes(7)}"
    yield f"{hexes(8)}-{hexes(4)}-{hexes(4)}-{hexes(4)}-{hexes(12)}"
    yield f"DE{digits(2)} {digits(4)} {digits(4)} {digits(4)} {digits(4)} {digits(2)}, GB{digits(2)} NWBK {digits(4)} {digits(4)}"
    yield f"https://{letters(7)}.example/{letters(3)}{digits(2)}/{hexes(6)}?q={letters(2)}{digits(3)}&s={hexes(4)}"
    yield f"write to {letters(5)}{digits(2)}@{letters(6)}.example or call +{digits(2)} {digits(3)} {digits(3)} {digits(2)} {digits(2)}"
    yield f"thanks @{letters(4)}_{letters(4)}{digits(2)} and #{letters(8)}{digits(1)}"
    yield f"for i in range({digits(2)}): x[i] += a[{digits(1)}] * b_{digits(1)} if s != '{letters(1)}' else 0"
    yield f"{digits(1)} x {digits(1)} = {digits(2)}; {digits(3)} + {digits(3)} - {digits(1)} | {digits(2)} % $ {digits(3)}"
    yield f"size {digits(1)}XL, {digits(2)}kg, {digits(3)}cm, {digits(1)}th floor, {digits(4)}p, {digits(2)}GB, USB{digits(1)}, A{digits(2)}, PS{digits(1)}"
    yield f"{letters(1).upper()}.{letters(1).upper()}. {letters(6).title()}, {letters(1)}) and {letters(1)}) are fine, see fig. {digits(1)}{letters(1)}"


def innocents(langs: list[Language], rng: random.Random) -> Iterator[Case]:
    """All traps."""
    for lang in langs:
        for rule, text in lang.traps:
            yield Case(group="innocent", family="trap", lang=lang.code, rule=rule, text=text)
        if lang.script != "unspaced":
            yield from embedded(lang, rng)
            yield from crossing(lang, rng)
        if lang.script == "latin":
            yield from doubled(lang)
    for lang in langs:
        for rule in lang.words:
            other = rng.choice(langs)
            sentence = rng.choice(other.benign)
            if fold(rule) not in {fold(token) for token in tokens(sentence)}:
                yield Case(
                    group="innocent", family="other sentence", lang=lang.code, rule=rule, text=sentence
                )
            text = rng.choice(list(machine_texts(rng)))
            yield Case(group="innocent", family="machine", lang=lang.code, rule=rule, text=text)
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
            yield Case(group="innocent", family="machine", lang="en", rule=rng.choice(short), text=text)


def cases(seed: int, half: int | None = None) -> list[Case]:
    """All cases of this seed, without repetition."""
    rng, langs = random.Random(seed), languages()
    made = [case for lang in langs for part in (evasions, plains) for case in part(lang, rng, half)]
    return list(dict.fromkeys([*made, *innocents(langs, rng)]))


def report(counts: Counter[tuple[str, str, bool]], title: str) -> None:
    """One line a key: right, wrong and the share of right."""
    print(f"\n{title}")
    for group, key in sorted({(group, key) for group, key, _ in counts}):
        right, wrong = counts[group, key, True], counts[group, key, False]
        print(f"  {group:9} {key:30} {right:6} {wrong:5} {100 * right / (right + wrong):7.2f} %")


def main() -> None:
    """Prints the tables."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 1
    half = int(sys.argv[sys.argv.index("--half") + 1]) if "--half" in sys.argv else None
    tables: dict[str, Counter[tuple[str, str, bool]]] = {
        "family": Counter(),
        "language": Counter(),
        "all": Counter(),
    }
    for case in cases(seed, half):
        hits = compile_rules([case.rule], version=1).match(case.text)
        right = bool(hits) is (case.group != "innocent")
        for name, key in (("family", case.family), ("language", case.lang), ("all", "all")):
            tables[name][case.group, key, right] += 1
        if not right:
            print(
                case.group,
                case.family,
                case.lang,
                repr(case.rule),
                ascii(case.text),
                case.text,
                [str(hit.how) for hit in hits],
                sep="\t",
                file=sys.stderr,
            )
    for name, counts in tables.items():
        report(counts, name)


if __name__ == "__main__":
    main()
