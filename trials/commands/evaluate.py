"""``hushgate trials eval``: settings and models tried on a golden set, with bounds for CI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.exit_codes import ExitCode
from cli.options import model_settings
from cli.output import fail, print_message, progress_bar
from cli.output_file import Force, output_file, refuse_existing
from db.pool import Pool
from trials.commands.evaluation_report import junit_xml, print_json, print_report
from trials.commands.shared import (
    CandidateId,
    actor,
    changes_of,
    found_set,
    log_reading,
    run,
    tried_settings,
)
from trials.jobs.evaluation import EvaluatedArm, EvaluationArm, estimated_usd, evaluate_arm
from trials.jobs.model_calls import Budget
from trials.pure.evaluation.figures import EvaluationBound, bounds_of
from trials.pure.evaluation.items import GoldenItem, GoldenRejected, GoldenSet
from trials.pure.trial import TrialKind, TrialState
from trials.store.candidates import TriedSettings
from trials.store.golden_sets import load_items
from trials.store.trials import new_trial, store_trial
from worker.settings import Settings


def evaluate(
    account: Annotated[str, typer.Option("--account", "-a", help="The account (user_id).")],
    set_name: Annotated[str, typer.Option("--set", "-s", help="Name of the golden set.")],
    candidate: CandidateId = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set-option", help="Decide with this setting, as NAME=JSON, such as hold_max_s=60."),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="A model: a name of HUSHGATE_MODELS, or as its server names it; may be repeated. Default"
            ": HUSHGATE_MODEL."
        ),
    ] = None,
    least: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="A bound, 0 to 1: precision, recall, accuracy, reasons or decided; with _low the lower end"
            " of its interval. Without one of decided, it is decided=1.",
        ),
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="The file to write a JUnit report to.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object with items and arms.")] = False,
    budget_usd: Annotated[
        float | None,
        typer.Option("--budget", min=0, help="End and fail when so much is spent, US dollars."),
    ] = None,
    at_once: Annotated[int, typer.Option("--at-once", min=1, max=200, help="Items decided together.")] = 4,
    timeout_s: Annotated[
        float, typer.Option("--timeout", min=1, max=3600, help="For one item, seconds; then it has failed.")
    ] = 120.0,
    force: Force = False,
) -> None:
    """Decide a golden set with the settings in force or a candidate, and with one or several models.

    The models are asked; nothing is sent to authors. It ends with code 1 when a bound is not met, also when
    a model or moderation failed, or the budget ended it. JUnit has no texts of messages. Examples:

        hushgate trials eval --account acme --set refunds --least precision=0.95 --junit report.xml

        hushgate trials eval -a acme -s refunds --model openai/gpt-4.1-mini --model small --budget 2
    """
    if candidate and changes:
        raise fail("--candidate: expected it without --set-option, got both")
    bounds = _bounds(least or ())
    if junit is not None:
        refuse_existing(junit, force)
    settings = model_settings()
    names = [settings.further_models.get(each, each) for each in model or [settings.servers.model.model]]
    if len(set(names)) < len(names):
        raise fail(f"--model: expected each once, got {', '.join(names)}")
    asked = changes_of(changes or (), option="--set-option")

    async def work(source: Pool) -> tuple[EvaluatedArm, ...]:
        golden = await found_set(source, account, set_name)
        tried, arms = await _arms(source, account, candidate, asked, names)
        items = await _items(source, golden)
        _print_estimate(settings, arms, items)
        budget, found = Budget(most=budget_usd), []
        with progress_bar() as bar:
            for arm in arms:  # one after another, so that each one's latency is its own
                advance = partial(bar.advance, bar.add_task(arm.label, total=len(items)))
                found.append(
                    await evaluate_arm(
                        settings, source, arm, items, budget=budget, at_once=at_once, timeout_s=timeout_s,
                        progress=advance,
                    )
                )  # fmt: skip
        await _store(source, golden, tried, found)
        return tuple(found)

    try:
        found = run(work)
    except KeyboardInterrupt:
        print_message("cancelled; no result was stored", style="dim")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    if junit is not None:
        with output_file(junit, force) as file:
            file.write(junit_xml(set_name, found, bounds))
    (print_json if json else print_report)(set_name, found)
    _judge(found, bounds)


def _bounds(texts: Sequence[str]) -> tuple[EvaluationBound, ...]:
    try:
        return bounds_of(texts)
    except GoldenRejected as error:
        raise fail(f"--least: {error}") from None


async def _items(source: Pool, golden: GoldenSet) -> Sequence[GoldenItem]:
    """The items of a set, and a line of the access log."""
    await log_reading(source, golden, golden.items)
    if items := await load_items(source, golden):
        return items
    raise fail(f"--set: expected one with items, got {golden.name!r} without any", code=ExitCode.NEGATIVE)


async def _arms(
    source: Pool, user_id: str, candidate: str | None, changes: Mapping[str, Any], models: Sequence[str]
) -> tuple[TriedSettings, tuple[EvaluationArm, ...]]:
    """The settings once a model."""
    tried, account = await tried_settings(source, user_id, candidate, changes)
    named = f"version {tried.base_version}"
    if tried.candidate_id:
        named = "candidate"
    elif changes:
        named += " with " + ", ".join(sorted(changes))
    details = {"settings": named, "candidate_id": tried.candidate_id and str(tried.candidate_id)}
    account = replace(account, user_id=user_id)
    return tried, tuple(
        EvaluationArm(label=f"{named}, {each}", account=account, model=each, details=details)
        for each in models
    )


def _print_estimate(settings: Settings, arms: Sequence[EvaluationArm], items: Sequence[GoldenItem]) -> None:
    """Print what the evaluation may cost."""
    day = datetime.now(UTC).date()
    for arm in arms:
        usd = estimated_usd(settings, arm, items, day)
        cost = f"about {usd:.4f} USD" if usd is not None else "unknown, HUSHGATE_PRICES lacks the model"
        print_message(f"{arm.label}: {len(items)} items; cost: {cost}", style="dim")


async def _store(
    source: Pool, golden: GoldenSet, tried: TriedSettings, found: Sequence[EvaluatedArm]
) -> None:
    """Store the figures of all arms, which have the same settings."""
    by = actor()
    trial = new_trial(
        TrialKind.EVALUATION,
        tried,
        by.now,
        state=TrialState.FINISHED,
        set_id=golden.set_id,
        plan={"set_version": golden.version},
        arms=[each.json for each in found],
    )
    await store_trial(source, trial, by)


def _judge(found: Sequence[EvaluatedArm], bounds: Sequence[EvaluationBound]) -> None:
    """End with code 1 when an arm is outside a bound or did not try every item."""
    problems = []
    for each in found:
        problems += [
            f"{each.arm.label}: {problem}" for bound in bounds if (problem := bound.problem(each.figures))
        ]
        if each.ended:
            tried = len(each.results)
            problems.append(
                f"{each.arm.label}: --budget: ended after {tried} of {each.figures.items} items: {each.ended}"
            )
    if problems:
        print_message("\n".join(problems))
        raise typer.Exit(ExitCode.NEGATIVE)
