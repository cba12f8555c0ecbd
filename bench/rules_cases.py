"""Makes labelled cases for the rule matcher: ``python -m bench.rules_cases [SEED] [--half 0|1]``.

Prints recall and false positives by family and by language, and every wrong case on standard error. The
words are in rules_vocabulary.txt; ``--half`` takes every second rule, so that corrections made on one half
are tested on the other.
"""

from __future__ import annotations

import random
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator

from bench.rules_disguises import CASED, LATIN, UNCASED, Disguise, clusters
from bench.rules_language import Language, RuleCase, languages
from bench.rules_traps import innocents
from worker.rules import compile_rules

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


def disguises(lang: Language) -> dict[str, tuple[Disguise, ...]]:
    """The families that make sense in this language's script."""
    return {"latin": LATIN, "cased": CASED}.get(lang.script, UNCASED)


def evasions(lang: Language, rng: random.Random, half: int | None) -> Iterator[RuleCase]:
    """Every rule in every family, in a carrier sentence or without one."""
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
            yield RuleCase(
                group="evasion", family=family, lang=lang.code, rule=rule, text=carrier.format(hidden)
            )


def sensible(rule: str, family: str, lang: Language) -> bool:
    """Whether the case is valid: initials are never spaced words, and only single words are spaced."""
    letters = [len(token) for token in rule.split(" ")]
    if "separators" in family:
        syllables = len(clusters(rule)) if lang.code == "hi" else 3
        return max(letters) > 2 and len(letters) == 1 and syllables > 2
    if family == "repeats" and lang.script == "unspaced":
        return False
    return not ("leet" in family and min(letters) < 3)


def plains(lang: Language, rng: random.Random, half: int | None) -> Iterator[RuleCase]:
    """Every rule without a disguise: in each carrier, at each edge, and phrases with any gap."""
    for at, rule in enumerate(lang.words + lang.phrases):
        if half is not None and at % 2 != half:
            continue
        for carrier in lang.carriers:
            yield RuleCase(
                group="plain", family="carrier", lang=lang.code, rule=rule, text=carrier.format(rule)
            )
        for edge in rng.sample(EDGES, 5):
            yield RuleCase(group="plain", family="edge", lang=lang.code, rule=rule, text=edge.format(rule))
        if " " in rule:
            for gap in rng.sample(GAPS, 4):
                yield RuleCase(
                    group="plain",
                    family="gap",
                    lang=lang.code,
                    rule=rule,
                    text=lang.carriers[0].format(rule.replace(" ", gap)),
                )


def cases(seed: int, half: int | None = None) -> list[RuleCase]:
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
