"""Prices by model and day, and what a spent budget does."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from decimal import Decimal
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.costs.report import Spender
from review.words.decisions import percent, usd
from tests.support.samples import account
from worker import scope
from worker.endings import Ending
from worker.errors import ConfigurationError
from worker.held_texts import for_approval
from worker.model import (
    BudgetAction,
    BudgetPeriod,
    BudgetReached,
    ModelPrice,
    PriceTable,
    ReplyMode,
    Tokens,
    Usage,
)
from worker.reasons import Reason
from worker.settings import load
from worker.settings.prices import PriceSettings, list_prices, price_table

TODAY = date(2026, 11, 22)
READ = date(2026, 11, 27)
"""The day on which the list prices were read."""
DECLARED = """[
    {"model": "big", "since": "2026-01-01", "prompt": 2.5, "completion": 10},
    {"model": "big", "since": "2026-11-22", "prompt": 1.25, "completion": 5},
    {"model": "free", "since": "2026-01-01", "prompt": 0}
]"""

TWICE = '{"model": "m", "since": "2026-01-01", "prompt": 1}'


def declared(text: str = DECLARED) -> PriceTable:
    """The prices of a variable."""
    return price_table(load(PriceSettings, {"HUSHGATE_PRICES": text}))


def spent(action: BudgetAction) -> BudgetReached:
    """A budget of the day that is spent."""
    return BudgetReached(period=BudgetPeriod.DAY, start=TODAY, budget_usd=1.0, spent_usd=1.25, action=action)


@pytest.mark.parametrize(
    ("model", "day", "nano_usd"),
    [
        ("big", date(2026, 11, 21), 1000 * 2500 + 100 * 10_000),
        ("big", TODAY, 1000 * 1250 + 100 * 5000),
        ("big-2026-04-14", TODAY, 1000 * 1250 + 100 * 5000),
        ("big-20260414", TODAY, 1000 * 1250 + 100 * 5000),
        ("big", date(2025, 12, 31), None),
        ("bigger", TODAY, None),
        ("free", TODAY, 0),
    ],
)
def test_the_price_of_the_day_counts_and_an_unknown_one_is_not_zero(
    model: str, day: date, nano_usd: int | None
) -> None:
    """A model that costs nothing is declared with 0; one without a price has no cost."""
    used = [Usage(purpose="completion", model=model, tokens=Tokens(prompt=1000, completion=100))]

    assert [line.nano_usd for line in declared().lines(used, day)] == [nano_usd]


@pytest.mark.parametrize(
    ("model", "day", "usd"),
    [
        ("gpt-4.1-mini", READ, 2.0),
        ("gpt-4.1-mini-2025-04-14", READ, 2.0),
        ("openai/gpt-4.1-mini", READ, 2.0),
        ("gemini-4-argon", READ, 12.0),
        ("gemini-4-argon", date(2026, 12, 1), 24.0),
        ("gpt-4.1-mini", date(2026, 11, 26), None),
        ("Qwen/Qwen2.5-7B-Instruct", READ, None),
        ("gpt-4.1-mini-by-us", READ, None),
        ("sandbox", READ, None),
    ],
)
def test_common_models_have_their_list_price_from_the_day_it_was_read(
    model: str, day: date, usd: float | None
) -> None:
    """No price is guessed: neither for an earlier day nor for another name."""
    found = declared("[]").price(model, day)

    assert (float(found.prompt + found.completion) if found else None) == usd


def test_a_declared_price_replaces_the_list_price() -> None:
    """Also on days before it begins, and with dates in the name."""
    text = '[{"model": "gpt-4.1-mini", "since": "2027-01-01", "prompt": 1, "completion": 1}]'
    found = [declared(text).price("gpt-4.1-mini-2025-04-14", day) for day in (READ, date(2027, 1, 1))]

    assert [each.prompt if each else None for each in found] == [None, 1]


def test_list_prices_name_their_source_and_occur_once() -> None:
    """A pair of price for each model and day; a free model is declared, not listed."""
    listed = list_prices()
    vendors = json.loads(files("worker.settings").joinpath("list_prices.json").read_text())["vendors"]

    assert all(each["source"].startswith("https://") for each in vendors)
    assert len({(each.model, each.since) for each in listed}) == len(listed)
    assert all(0 < each.prompt < 100 and 0 <= each.completion < 500 for each in listed)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=20))
def test_a_sum_of_costs_is_within_half_a_billionth_for_each_call(calls: list[tuple[int, int]]) -> None:
    """Rounding does not add up to money."""
    price = ModelPrice(model="m", since=TODAY, prompt=Decimal("0.0375"), completion=Decimal("0.15"))
    each = sum(price.nano_usd(Tokens(prompt=prompt, completion=answer)) for prompt, answer in calls)
    together = price.nano_usd(
        Tokens(prompt=sum(prompt for prompt, _ in calls), completion=sum(answer for _, answer in calls))
    )

    assert abs(each - together) <= (len(calls) + 1) / 2


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[1]",
        '[{"model": "m", "since": "2026-01-01", "prompt": -1}]',
        '[{"model": "m", "since": "soon", "prompt": 1}]',
        '[{"model": "m", "since": "2026-01-01", "prompt": 1, "answer": 2}]',
        f"[{TWICE}, {TWICE}]",
    ],
)
def test_prices_that_cannot_be_used_are_named(text: str) -> None:
    """The variable is named, and the worker does not start."""
    with pytest.raises(ConfigurationError, match="HUSHGATE_PRICES"):
        declared(text)


@pytest.mark.parametrize(
    ("action", "mode", "reason"),
    [
        (BudgetAction.ALERT, ReplyMode.AUTO, Reason.REPLIED),
        (BudgetAction.SILENCE, ReplyMode.AUTO, Reason.REPLIED),
        (BudgetAction.SUGGEST, ReplyMode.AUTO, Reason.HELD_FOR_BUDGET),
        (BudgetAction.SUGGEST, ReplyMode.SUGGEST, Reason.HELD_FOR_APPROVAL),
    ],
)
def test_a_spent_budget_holds_replies_only_with_suggest(
    action: BudgetAction, mode: ReplyMode, reason: Reason
) -> None:
    """A reply that waits for approval anyway keeps that reason."""
    ready = Ending(reason_code=Reason.REPLIED, reason="", confidence=0.9, reply="Nine.")
    found = for_approval(ready, account(reply_mode=mode), spent(action))

    assert found.reason_code is reason


@pytest.mark.parametrize("action", BudgetAction)
def test_only_silence_ends_events_before_the_model(action: BudgetAction) -> None:
    """The reason names what was spent and the budget."""
    ending = scope.budget_ending(spent(action))

    assert (ending is not None) == (action is BudgetAction.SILENCE)
    assert ending is None or "spent 1.2500 USD since 2026-11-22, its budget for the day is 1" in ending.reason


def test_a_cost_without_a_known_price_is_unknown() -> None:
    """Not 0.00 USD; a part of the tokens with a price is a cost."""
    free = Spender(
        user_id="a",
        day_usd=0.0,
        month_usd=0.0,
        unpriced_tokens=0,
        budget_day_usd=None,
        budget_month_usd=None,
        budget_action=None,
    )
    unpriced = replace(free, unpriced_tokens=7)
    partly = replace(unpriced, month_usd=0.5)

    assert (unpriced.known_day_usd, unpriced.known_month_usd) == (None, None)
    assert partly.known_month_usd == 0.5
    assert (free.known_day_usd, free.known_month_usd) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.5, "1.50 USD"),
        (0.834_218, "0.83 USD"),
        (0.0, "0.00 USD"),
        (0.034_56, "0.035 USD"),
        (0.000_042, "0.000042 USD"),
        (None, "unknown"),
    ],
)
def test_a_cost_is_shown_in_cents_where_it_has_any(number: float | None, text: str) -> None:
    """Six digits of 0.834218 USD say no more than two; a cost of less than ten cents keeps two that count."""
    assert usd(number) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0.0 %"), (0.0964, "9.6 %"), (0.5, "50 %"), (0.9964, "99.6 %"), (1.0, "100 %")]
)
def test_a_share_is_no_whole_where_a_part_is_missing(share: float, text: str) -> None:
    """Beside "100 %" stood 0.2 % of others."""
    assert percent(share) == text
