"""Scores labelled cases: ``python -m bench.rules_score CASES.jsonl [--level strict]``.

A case is ``{"keywords", "text", "expect", "kind", "tier"}``; kinds named plain are counted apart.
Prints recall and false positives by tier as JSON, and every wrong case on standard error.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from worker.rules import Level, compile_rules


def counted(lines: list[str], level: Level) -> Counter[tuple[str, str, bool]]:
    """How many cases of each tier and group (plain, evasion, innocent) were judged right or wrong."""
    counts: Counter[tuple[str, str, bool]] = Counter()
    for line in lines:
        case = json.loads(line)
        fired = bool(compile_rules(case["keywords"], version=1, level=level).match(case["text"]))
        group = "innocent" if not case["expect"] else "plain" if "plain" in case["kind"] else "evasion"
        counts[case.get("tier", "core"), group, fired is case["expect"]] += 1
        if fired is not case["expect"]:
            print(ascii(case["keywords"][:5]), ascii(case["text"][:120]), case["kind"], file=sys.stderr)
    return counts


def main() -> None:
    """Prints one JSON object."""
    path = Path(sys.argv[1])
    level = Level.STRICT if "strict" in sys.argv else Level.DEFAULT
    counts = counted(path.read_text(encoding="utf-8").splitlines(), level)
    pairs = sorted({(tier, group) for tier, group, _ in counts})
    figures = {
        f"{tier} {group}": {"right": counts[tier, group, True], "wrong": counts[tier, group, False]}
        for tier, group in pairs
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
