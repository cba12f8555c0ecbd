"""A golden set decided by one arm: settings of an account with one model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final

from db.pool import Pool
from tasks.upstreams import policy_defaults
from trials.jobs.model_calls import Budget, cost_of, live_ports
from trials.pure.evaluation.deciding import decide_item
from trials.pure.evaluation.figures import EvaluationFigures, ItemResult, figures_json, figures_of
from trials.pure.evaluation.items import GoldenItem, GoldenRejected
from worker.assessment import design_name, drafting_models
from worker.model import NANO, Account, Tokens
from worker.ports import Ports
from worker.settings import Settings
from worker.settings.prices import price_table
from worker.steps.run import PinnedSettings, pinned_settings

CHARS_A_TOKEN: Final = 4
"""For the estimate: OpenAI's rule of thumb for English; other languages have fewer."""
FIXED_CHARS: Final = 3000
"""For the estimate: the instructions around every prompt."""
COMPLETION_TOKENS: Final = 150
"""For the estimate: a reply of some hundred words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationArm:
    """What decides.

    Attributes:
        label: names it in tables and reports.
        model: as the server of the models names it.
        details: what is stored beside its figures.
    """

    label: str
    account: Account
    model: str
    details: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedArm:
    """What an arm came to.

    Attributes:
        results: of the items that were tried, in their order.
        ended: why not every item was tried; empty when all were.
    """

    arm: EvaluationArm
    results: tuple[ItemResult, ...]
    figures: EvaluationFigures
    ended: str = ""

    @property
    def json(self) -> dict[str, Any]:
        """The figures with what the arm is."""
        head = {"arm": self.arm.label, "model": self.arm.model, **self.arm.details}
        return {**head, "ended": self.ended, **figures_json(self.figures)}


def model_settings(settings: Settings, model: str) -> Settings:
    """The settings of a deployment whose language model is another one; its judge stays."""
    judge = settings.judge_name or settings.servers.model.model
    return settings.model_copy(update={"model_name": model, "judge_name": judge})


def estimated_usd(
    settings: Settings, arm: EvaluationArm, items: Sequence[GoldenItem], day: date
) -> float | None:
    """About what one draft for each item costs, by the lengths of its texts; None without a price."""
    if (price := price_table(settings).price(arm.model, day)) is None:
        return None
    prompts = sum((FIXED_CHARS + len(arm.account.prompt) + _chars(each)) // CHARS_A_TOKEN for each in items)
    tokens = Tokens(prompt=prompts, completion=COMPLETION_TOKENS * len(items))
    return price.nano_usd(tokens) / NANO


async def evaluate_arm(
    settings: Settings,
    source: Pool,
    arm: EvaluationArm,
    items: Sequence[GoldenItem],
    *,
    budget: Budget,
    at_once: int,
    timeout_s: float,
    progress: Callable[[], None],
) -> EvaluatedArm:
    """Decide every item with an arm, ``at_once`` at the same time; nothing is sent or stored.

    Raises:
        GoldenRejected: the arm's policy asks models that it names itself, so no model can be chosen for it.
    """
    chosen = model_settings(settings, arm.model)
    version = await asyncio.to_thread(pinned_settings, arm.account, policy_defaults(chosen))
    if arm.model != settings.servers.model.model and drafting_models(version.policy):
        raise GoldenRejected(
            "model: expected settings whose policy asks the deployment's model, got the policy"
            f" {design_name(version.policy)}"
        )
    results: list[ItemResult] = []
    waiting = iter(items)
    async with AsyncExitStack() as stack:
        ports = await stack.enter_async_context(live_ports(chosen, source))

        async def work() -> None:
            for item in waiting:
                if budget.is_spent:
                    return
                results.append(await _decided(chosen, item, version, ports, timeout_s=timeout_s))
                budget.add(results[-1].usd, results[-1].unpriced)
                progress()

        async with asyncio.TaskGroup() as group:
            for _ in range(min(at_once, len(items))):
                group.create_task(work())
    order = {each.row_id: place for place, each in enumerate(items)}
    results.sort(key=lambda each: order[each.row_id])
    return EvaluatedArm(
        arm=arm,
        results=tuple(results),
        figures=figures_of(results, items=len(items)),
        ended=budget.why if len(results) < len(items) or budget.is_exceeded else "",
    )


async def _decided(
    settings: Settings, item: GoldenItem, version: PinnedSettings, ports: Ports, *, timeout_s: float
) -> ItemResult:
    result, decision = await decide_item(item, version, ports, timeout_s=timeout_s)
    if decision is None:
        return result
    usd, unpriced = cost_of(settings, decision, ports.clock.now().date())
    return replace(result, usd=usd, unpriced=tuple(sorted(unpriced)))


def _chars(item: GoldenItem) -> int:
    content = item.content
    texts = [content.event.text, *(each.text for each in content.history)]
    return sum(map(len, texts)) + sum(len(each.text) for each in content.passages or ())
