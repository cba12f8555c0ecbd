"""The cost ledger of a fleet: counted once with the decision, and the budgets that rest on it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from db.commits.record import record_decision
from db.commits.stored_event import Recorded
from sandbox.routes import CHAT_MODEL, CLASSIFIER_MODEL
from sandbox.server import SandboxHandle
from tests.support.auditing import decided
from tests.support.running import Running, eventually, running
from tests.support.terminal import shell_at
from worker.model import NANO, CostLine, Tokens

QUESTION = "When are you open on weekdays?"
HOURS = {"Hours": ["We are open from nine to six on weekdays."]}
PRICES = json.dumps([{"model": CHAT_MODEL, "since": "2020-01-01", "prompt": 0.4, "completion": 1.6}])
LLAMA = "Llama-Guard-4-12B"


@pytest.fixture
def engine(database_url: str, redis_url: str, sandbox: SandboxHandle) -> Iterator[Running]:
    """A worker that knows the price of the model and not that of a classifier."""
    guard = {"guard": {"base_url": sandbox.base_url, "model": LLAMA, "format": "llama_guard"}}
    with running(
        database_url, redis_url, sandbox, HUSHGATE_PRICES=PRICES, HUSHGATE_CLASSIFIERS=json.dumps(guard)
    ) as found:
        yield found


def ledger(engine: Running, user_id: str, grain: str = "day") -> dict[str, Any]:
    """What is counted for an account in a grain, by purpose."""
    rows = engine.rows(
        "SELECT purpose, model, sum(decisions)::bigint AS decisions, sum(prompt_tokens)::bigint AS prompt,"
        " sum(completion_tokens)::bigint AS completion, sum(nano_usd)::bigint AS nano_usd,"
        " sum(unpriced_tokens)::bigint AS unpriced FROM account_costs WHERE user_id = %s AND grain = %s"
        " GROUP BY purpose, model",
        user_id,
        grain,
    )
    return {row["purpose"]: row for row in rows}


def cost_of(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The stored cost of a decision."""
    return list(row["snapshot_json"]["costs"])


def test_decisions_are_counted_once_by_concurrent_workers(
    engine: Running, database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """Day and month hold the sum of all decisions' costs, with a repeated entry counted once."""
    user_id = engine.account(documents=HOURS)
    with running(database_url, redis_url, sandbox, HUSHGATE_PRICES=PRICES) as other:
        events = [engine.publish(user_id, QUESTION) for _ in range(30)]
        with ThreadPoolExecutor(1) as twice:
            twice.submit(engine.publish, user_id, QUESTION, event_id=events[0]).result()
        rows = [other.decided(user_id, each) for each in events]
        eventually(lambda: engine.row("SELECT 1 FROM duplicates WHERE user_id = %s", user_id), "a duplicate")
    costs = [line for row in rows for line in cost_of(row) if line["purpose"] == "completion"]
    day, month = (ledger(engine, user_id, grain)["completion"] for grain in ("day", "month"))

    assert {line["model"] for line in costs} == {CHAT_MODEL}
    assert day["decisions"] == month["decisions"] == len(costs) == 30
    assert day["nano_usd"] == month["nano_usd"] == round(sum(line["usd"] for line in costs) * NANO) > 0
    assert day["prompt"] == sum(line["prompt"] for line in costs)
    assert costs[0]["usd"] == pytest.approx((costs[0]["prompt"] * 0.4 + costs[0]["completion"] * 1.6) / 1e6)


def test_a_commit_that_is_repeated_counts_once(engine: Running) -> None:
    """As after an answer of Postgres that was lost: the decision is stored already, and so is its cost."""
    line = CostLine(purpose="completion", model="m", tokens=Tokens(prompt=5, completion=2), nano_usd=7)
    decision = decided(at=datetime.now(UTC), costs=(line, replace(line, purpose="judge", nano_usd=None)))
    pool = engine.runtime.parts.pool
    outcomes = [engine.runtime.call(record_decision(pool, decision)) for _ in range(3)]
    found = ledger(engine, decision.event.user_id, "month")

    assert outcomes == [Recorded.NEW, Recorded.ALREADY, Recorded.ALREADY]
    assert (found["completion"]["decisions"], found["completion"]["nano_usd"]) == (1, 7)
    assert (found["judge"]["nano_usd"], found["judge"]["unpriced"]) == (0, 7)


def test_a_model_without_a_price_has_an_unknown_cost(engine: Running, tmp_path: Path) -> None:
    """Its tokens are counted apart, and command, table and CSV say so."""
    user_id = engine.account(documents=HOURS, moderators=[{"name": "guard", "endpoint": "guard"}])
    row = engine.decide(user_id, QUESTION)
    lines = {line["purpose"]: line for line in cost_of(row)}
    shell = shell_at(tmp_path, DATABASE_URL=engine.url)
    told = {
        each["purpose"]: each
        for each in shell.run("costs", "--by", "purpose,model", "--account", user_id).rows
    }
    printed = list(
        csv.DictReader(io.StringIO(shell.run("costs", "--by", "account", "-a", user_id, "--csv").out))
    )
    wrong = shell.run("costs", "--by", "colour")
    lately = shell.run("costs", "--by", "account", "-a", user_id, "--since", "1d")
    before = shell.run("costs", "--by", "account", "-a", user_id, "--until", "2d")

    assert (lines["moderation"]["model"], lines["moderation"]["usd"]) == (CLASSIFIER_MODEL, None)
    assert lines["completion"]["usd"] > 0
    assert (told["moderation"]["usd"], told["moderation"]["unpriced_tokens"]) == (
        None,
        lines["moderation"]["prompt"] + lines["moderation"]["completion"],
    )
    assert told["completion"]["usd"] == pytest.approx(lines["completion"]["usd"])
    assert float(printed[0]["usd"]) == pytest.approx(lines["completion"]["usd"] + lines["judge"]["usd"])
    assert int(printed[0]["unpriced_tokens"]) == told["moderation"]["unpriced_tokens"]
    assert (wrong.code, "colour" in wrong.err) == (2, True)
    assert (len(lately.rows), before.rows) == (1, [])


@pytest.mark.parametrize(
    ("action", "reason", "calls"),
    [("alert", "REPLIED", 2), ("suggest", "HELD_FOR_BUDGET", 2), ("silence", "BUDGET_SPENT", 1)],
)
def test_a_spent_budget_acts_on_the_next_event(engine: Running, action: str, reason: str, calls: int) -> None:
    """The event that spends it ends as usual; the crossing is stored once and the alert names the account."""
    user_id = engine.account(documents=HOURS, budget_day_usd=0.000001, budget_action=action)
    first = engine.decide(user_id, QUESTION)
    crossing = eventually(
        lambda: engine.row("SELECT * FROM budget_crossings WHERE user_id = %s", user_id), "the crossing"
    )
    second = engine.decide(user_id, QUESTION)
    third = engine.decide(user_id, "And on Sunday, are you open then?")
    crossings = engine.rows("SELECT * FROM budget_crossings WHERE user_id = %s", user_id)
    shell = shell_at(Path("/tmp"), DATABASE_URL=engine.url, REDIS_URL=engine.redis_url)
    alerts = [each for each in shell.run("alerts", "check").rows if user_id in str(each)]

    assert (first["reason_code"], second["reason_code"]) == ("REPLIED", reason)
    assert engine.sandbox.calls("chat") >= calls
    assert (third["reason_code"] == "BUDGET_SPENT") == (action == "silence")
    assert len(crossings) == 1
    assert (crossing["grain"], crossing["action"]) == ("day", action)
    assert crossing["start"] == datetime.now(UTC).date()
    assert len(alerts) == 1


@pytest.mark.parametrize("held", [False, True])
def test_messages_at_once_spend_little_more_than_a_silent_budget(engine: Running, *, held: bool) -> None:
    """Those whose cost is not known yet, also after a hold by moderation, wait for one another."""
    guard = {"name": "guard", "endpoint": "guard", "failure": "hold"}
    first = engine.decide(engine.account(documents=HOURS), QUESTION)
    cost = sum(line["usd"] for line in cost_of(first))
    limits = {"budget_action": "silence", "budget_day_usd": 9 * cost}
    user_id = engine.account(documents=HOURS, moderators=[guard] if held else [], **limits)
    engine.decide(user_id, QUESTION)
    engine.sandbox.set_latency(chat=0.3)
    rule = engine.sandbox.add_rule("classifier", "503")
    events = [engine.publish(user_id, QUESTION, conversation_id=f"c-{number}") for number in range(40)]
    if held:
        eventually(lambda: engine.runtime.parts.holds.events > len(events) / 2, "held messages")
    engine.sandbox.drop_rules(rule)
    reasons = [engine.decided(user_id, each)["reason_code"] for each in events]

    assert set(reasons) == {"REPLIED", "BUDGET_SPENT"}
    assert 8 <= reasons.count("REPLIED") <= 12


def test_a_silent_budget_limits_only_what_costs_money(engine: Running) -> None:
    """Before the first draft some messages at once, then what half of the rest pays for; any at no cost."""
    user_id = engine.account(budget_action="silence", budget_day_usd=8.0)
    account = engine.runtime.call(engine.runtime.parts.rulebooks.get(user_id)).account
    line = CostLine(purpose="completion", model="m", tokens=Tokens(prompt=5, completion=2), nano_usd=0)
    pool, spending = engine.runtime.parts.pool, engine.runtime.parts.spending
    found = []
    for cost in (None, line, replace(line, nano_usd=2 * NANO)):
        if cost is not None:
            decision = decided(at=datetime.now(UTC), user_id=user_id, costs=(cost,))
            engine.runtime.call(record_decision(pool, decision))
        found.append(engine.runtime.call(spending.state(account)).at_once)

    assert found == [10, None, 3]


def test_a_reply_held_for_its_budget_waits_for_a_person(engine: Running) -> None:
    """Its text is kept, and nothing is sent."""
    user_id = engine.account(documents=HOURS, budget_month_usd=0.000001, budget_action="suggest")
    engine.decide(user_id, QUESTION)
    eventually(
        lambda: engine.row("SELECT 1 FROM budget_crossings WHERE user_id = %s", user_id), "the crossing"
    )
    row = engine.decide(user_id, QUESTION)
    kept = engine.row("SELECT kind, text FROM held_drafts WHERE decision_id = %s", row["id"])

    assert row["reason_code"] == "HELD_FOR_BUDGET"
    assert "its budget for the month" in row["reason"]
    assert kept is not None
    assert (kept["kind"], bool(kept["text"])) == ("reply", True)
    assert engine.row("SELECT 1 FROM outbox WHERE decision_id = %s", row["id"]) is None
