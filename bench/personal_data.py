"""Recall and false alarms of the masking of personal data: ``python -m bench.personal_data [SEED]``.

A value counts as found when nothing but the value is masked. National phone formats are read as an account
of that country reads them, then as an account with ten countries does. Wrong rows go to standard error.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from bench.personal_data_rows import PersonalRow, innocent_rows, personal_rows
from worker.masking import personal_spans

TEN: Final = ("de", "fr", "es", "it", "gb", "us", "vn", "cn", "br", "pl")


def main() -> None:
    """Print the tables."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    personal, innocent = personal_rows(seed), innocent_rows(seed)
    print(f"seed {seed}: {len(personal)} rows with personal data, {len(innocent)} without")
    own: Callable[[PersonalRow], Sequence[str]] = lambda row: (row.country,) if row.family == "phone" else ()  # noqa: E731
    _recall("found, own country", personal, own)
    _recall("found, ten countries", personal, lambda _: TEN)
    _alarms("false alarms, no country", innocent, ())
    _alarms("false alarms, de", innocent, ("de",))
    _alarms("false alarms, vn", innocent, ("vn",))
    _alarms("false alarms, us", innocent, ("us",))
    _alarms("false alarms, ten countries", innocent, TEN)


def _recall(
    title: str, rows: Sequence[PersonalRow], countries: Callable[[PersonalRow], Sequence[str]]
) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    begun = time.process_time()
    for row in rows:
        masked = [row.text[span.start : span.end] for span in personal_spans(row.text, countries(row))]
        result = "exact" if masked == [row.value] else "covered" if _covered(row, masked) else "missed"
        for family in (row.family, f"{row.family} {row.country}", "all"):
            counts[family, result] += 1
        if result != "exact":
            print(title, result, row.family, row.country, repr(row.text), masked, sep="\t", file=sys.stderr)
    spent_ms = (time.process_time() - begun) * 1000 / len(rows)
    print(f"\n{title:28} exact covered missed  ({spent_ms:.2f} ms CPU a row)")
    for family in dict.fromkeys(family for family, _ in counts):
        exact, covered, missed = (counts[family, each] for each in ("exact", "covered", "missed"))
        share = 100 * (exact + covered) / (exact + covered + missed)
        print(f"  {family:26} {exact:5} {covered:7} {missed:6}  {share:5.1f} %")


def _covered(row: PersonalRow, masked: Sequence[str]) -> bool:
    """Whether nothing of the value is left, and something beside it was masked too."""
    return any(row.value in each for each in masked)


def _alarms(title: str, rows: Sequence[PersonalRow], countries: Sequence[str]) -> None:
    counts: Counter[tuple[str, bool]] = Counter()
    for row in rows:
        found = bool(personal_spans(row.text, countries))
        for family in (row.family, "all"):
            counts[family, found] += 1
        if found:
            print(title, row.family, repr(row.text), sep="\t", file=sys.stderr)
    print(f"\n{title:28} alarms rows")
    for family in dict.fromkeys(family for family, _ in counts):
        alarms, rest = counts[family, True], counts[family, False]
        print(f"  {family:26} {alarms:6} {alarms + rest:4}  {100 * alarms / (alarms + rest):5.1f} %")


if __name__ == "__main__":
    main()
