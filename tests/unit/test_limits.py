"""What is learned from headers, and the figures of limits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.limits.learned import pause_s, quotas
from tasks.limits.quotas import MinuteCount, QuotaReport, summed
from worker.adapters.server_waits import retry_after_s
from worker.errors import ConfigurationError
from worker.settings import load
from worker.settings.calls import CallSettings, Resource, UpstreamKind


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("6m0s", 360.0),
        ("120ms", 0.12),
        ("1.5", 1.5),
        ("7.66s", 7.66),
        ("1h2m3s", 3723.0),
        ("1764000000000", None),
        ("soon", None),
        ("-1", None),
        ("nan", None),
        ("", None),
        (None, None),
    ],
)
def test_spans_of_servers_are_read(text: str | None, seconds: float | None) -> None:
    """OpenAI writes 6m0s, others plain seconds; a time of the day is not a span."""
    assert retry_after_s(text, 0.0) == (None if seconds is None else pytest.approx(seconds))


@given(st.text(max_size=30))
def test_no_header_raises(text: str) -> None:
    """Whatever a server writes."""
    names = ("remaining", "limit", "reset")
    headers = {f"x-ratelimit-{name}-{resource}": text for name in names for resource in Resource}

    assert pause_s({**headers, "retry-after": text}, 429) >= 0
    assert len(quotas(headers)) in {0, 2}


@pytest.mark.parametrize(
    ("headers", "status", "seconds"),
    [
        ({"retry-after": "2"}, 429, 2.0),
        ({"retry-after-ms": "150", "retry-after": "9"}, 429, 0.15),
        ({"retry-after": "2"}, 200, 0.0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s"}, 200, 1.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, 429, 360.0),
        ({"x-ratelimit-remaining-tokens": "1", "x-ratelimit-reset-tokens": "6m0s"}, 200, 0.0),
        ({"retry-after": "9999999"}, 429, 86_400.0),
        ({}, 429, 0.0),
    ],
)
def test_a_pause_is_learned_from_a_refusal_or_a_spent_quota(
    headers: dict[str, str], status: int, seconds: float
) -> None:
    """Other answers ask for none."""
    assert pause_s(headers, status) == pytest.approx(seconds)


def test_a_minute_is_counted_without_a_list_of_calls() -> None:
    """The part of the minute before that is not over counts."""
    now_s = [60.0]
    counted = MinuteCount(lambda: now_s[0])
    counted.add(10)
    seen = []
    for now_s[0] in (119.0, 120.0, 150.0, 179.0, 300.0):
        seen.append(counted.last_minute)

    assert seen == [10, 10, 5, 0, 0]


def test_quotas_of_all_workers_are_summed() -> None:
    """What is left is the lowest figure; how long it lasts follows from what all used."""
    one = QuotaReport(
        account="a",
        upstreams="model",
        resource="requests",
        per_minute=500,
        used=60,
        left=300,
        waiting=1,
        paused_s=0.0,
    )
    (found,) = summed([one, replace(one, used=40, left=200, paused_s=3.0)])

    assert (found.used, found.left, found.waiting, found.paused_s) == (100, 200, 2, 3.0)
    assert found.lasts_s == pytest.approx(120.0)


def test_limits_and_places_are_declared_by_kind_of_upstream() -> None:
    """A wrong name or number is reported with its variable."""
    found = load(
        CallSettings, {"HUSHGATE_LIMITS": '{"model": {"requests": 500}}', "HUSHGATE_CONCURRENT_CALLS": "{}"}
    )
    with pytest.raises(ConfigurationError, match="HUSHGATE_LIMITS"):
        load(CallSettings, {"HUSHGATE_LIMITS": '{"modell": {"requests": 500}}'})
    with pytest.raises(ConfigurationError, match="HUSHGATE_CONCURRENT_CALLS"):
        load(CallSettings, {"HUSHGATE_CONCURRENT_CALLS": '{"judge": 0}'})

    assert list(found.limits[UpstreamKind.MODEL].by_resource()) == [(Resource.REQUESTS, 500)]
