"""Reports from unauthenticated browsers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from review.http.csp_reports import LOG_INTERVAL, ReportCounter


def test_a_flood_of_reports_is_one_line_a_minute() -> None:
    """The first report is logged at once, the others are counted in the next line."""
    start, reports = datetime(2026, 1, 1, tzinfo=UTC), ReportCounter()
    moments = [start + timedelta(milliseconds=number) for number in range(1000)]
    logged = [reports.count_report(moment) for moment in moments]
    later = reports.count_report(start + LOG_INTERVAL)

    assert logged == [1] + [0] * 999
    assert later == 1000
