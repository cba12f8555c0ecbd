"""False alarms of messages that are moderated with those before them: ``python -m bench.joined_lines``.

Lines of natural customers of one business stand in for a chat; the moderator is the classifier of
alt-profanity-check, which was trained by others. Prints how many messages only the joined text flags.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from itertools import chain
from pathlib import Path
from typing import Final

from profanity_check import predict

from worker.steps.window import MOST_CHARS, MOST_LINES, SHORT_CHARS

CASES: Final = Path("bench/conversations/cases.jsonl")
WINDOWS_OF_A_LINE: Final = 20


def lines_by_business() -> dict[tuple[str, str], set[str]]:
    """Short lines of customers by business and language."""
    found: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for case in map(json.loads, CASES.read_text(encoding="utf-8").splitlines()):
        earlier = (each["text"] for each in case["history"] if each["role"] == "user")
        lines = chain([case["query"]], earlier)
        found[case["domain"], case["lang"]].update(each for each in lines if len(each) <= SHORT_CHARS)
    return found


def main() -> None:
    """Print one line of JSON."""
    draws = random.Random(1)
    windows = []
    for lines in lines_by_business().values():
        for line in sorted(lines) * WINDOWS_OF_A_LINE:
            others = sorted(lines - {line})
            earlier = draws.sample(others, min(len(others), draws.randint(1, MOST_LINES)))
            if earlier and sum(map(len, earlier)) <= MOST_CHARS:
                windows.append((line, earlier))
    alone, before, joined = (
        predict(texts)
        for texts in (
            [line for line, _ in windows],
            ["\n".join(earlier) for _, earlier in windows],
            ["\n".join([*earlier, line]) for line, earlier in windows],
        )
    )
    only_joined = sum(1 for each in zip(alone, before, joined, strict=True) if each == (0, 0, 1))
    found = {"messages": len(windows), "flagged_alone": int(sum(alone)), "only_joined": only_joined}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
