"""Log lines at most once a minute: reports of unauthenticated browsers, refreshes of followed lists."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from review.http.log_intervals import LOG_INTERVAL, FollowLog, ReportCounter

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_flood_of_reports_is_one_line_a_minute() -> None:
    """The first report is logged at once, the others are counted in the next line."""
    reports = ReportCounter()
    moments = [START + timedelta(milliseconds=number) for number in range(1000)]
    logged = [reports.count_report(moment) for moment in moments]
    later = reports.count_report(START + LOG_INTERVAL)

    assert logged == [1] + [0] * 999
    assert later == 1000


def test_a_followed_list_is_logged_once_a_minute_for_each_person() -> None:
    """Refreshes of the same list within a minute are not due; another list or person is."""
    log, kim, lee = FollowLog(), UUID(int=1), UUID(int=2)
    within = START + LOG_INTERVAL - timedelta(seconds=1)
    refreshes = [(kim, "a", START), (kim, "a", within), (kim, "b", within), (lee, "a", within)]
    due = [log.due(person, query, now) for person, query, now in refreshes]

    assert due == [True, False, True, True]
    assert log.due(kim, "a", START + LOG_INTERVAL)
