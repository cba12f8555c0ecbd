"""Reports that anybody may send."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from review.csp_reports import BETWEEN, Reports


def test_a_flood_of_reports_is_one_line_a_minute() -> None:
    """The first is told at once, the others are counted in the next line."""
    start, reports = datetime(2026, 1, 1, tzinfo=UTC), Reports()
    moments = [start + timedelta(milliseconds=number) for number in range(1000)]
    told = [reports.came(moment) for moment in moments]
    later = reports.came(start + BETWEEN)

    assert told == [1] + [0] * 999
    assert later == 1000
