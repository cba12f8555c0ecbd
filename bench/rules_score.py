"""Scores labelled cases: ``python -m bench.rules_score CASES.jsonl [--level strict] [--fuzzy]``.

A case is ``{"keywords", "text", "expect", "kind", "tier"}``; kinds named plain are counted apart.
With ``--fuzzy`` every keyword that may be fuzzy is.
Prints recall and false positives by tier as JSON, and every wrong case on standard error.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from worker.errors import RuleRejected
from worker.model import RuleLevel
from worker.rules import RuleKind, compile_rules, parse_rule


def as_fuzzy(keyword: str) -> str:
    """The keyword as a fuzzy rule, or as it is when it cannot be one."""
    try:
        return parse_rule(f"~{keyword}", RuleKind.KEYWORD).written
    except RuleRejected:
        return keyword


def counted(lines: list[str], level: RuleLevel, *, fuzzy: bool) -> Counter[tuple[str, str, bool]]:
    """How many cases of each tier and group (plain, evasion, innocent) were judged right or wrong."""
    counts: Counter[tuple[str, str, bool]] = Counter()
    for line in lines:
        case = json.loads(line)
        rules = [as_fuzzy(each) if fuzzy else each for each in case["keywords"]]
        fired = bool(compile_rules(rules, version=1, level=level).match(case["text"]))
        group = "innocent" if not case["expect"] else "plain" if "plain" in case["kind"] else "evasion"
        counts[case.get("tier", "core"), group, fired is case["expect"]] += 1
        if fired is not case["expect"]:
            print(ascii(case["keywords"][:5]), ascii(case["text"][:120]), case["kind"], file=sys.stderr)
    return counts


def main() -> None:
    """Prints one JSON object."""
    path = Path(sys.argv[1])
    level = RuleLevel.STRICT if "strict" in sys.argv else RuleLevel.DEFAULT
    counts = counted(path.read_text(encoding="utf-8").splitlines(), level, fuzzy="--fuzzy" in sys.argv)
    pairs = sorted({(tier, group) for tier, group, _ in counts})
    figures = {
        f"{tier} {group}": {"right": counts[tier, group, True], "wrong": counts[tier, group, False]}
        for tier, group in pairs
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
