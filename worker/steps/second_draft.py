"""A second draft by another model or prompt, when the first draft is not trusted enough."""

from __future__ import annotations

from dataclasses import replace

from worker.assessment import DEFAULT_MODEL, RetryWith
from worker.endings import Draft
from worker.model import Action, Assessment, Json
from worker.ports import LanguageModel, Ports
from worker.steps import guards
from worker.steps.run import Run


def is_needed(run: Run, first: Draft) -> bool:
    """Whether the account wants a second draft; never in test mode, nor when it would come too late."""
    rule, policy = run.case.delivery.retry_with, run.case.policy
    if rule is None or not policy.enabled or policy.test_mode:
        return False
    if first.assessed.action is Action.HOLD:  # no judge has read it, and none would read another one
        return False
    return first.assessed.confidence < rule.below and guards.too_late_ending(run) is None


def other_run(run: Run) -> Run | None:
    """The run with the rule's model and prompt; None when the deployment does not declare the model."""
    rule = run.case.delivery.retry_with
    model = named_model(run.ports, rule.model if rule else "")
    if rule is None or model is None:
        return None
    account = replace(run.case.account, prompt=rule.prompt) if rule.prompt.strip() else run.case.account
    return replace(run, ports=replace(run.ports, model=model), case=replace(run.case, account=account))


def named_model(ports: Ports, name: str) -> LanguageModel | None:
    """A model of the deployment by the name that accounts use, or None."""
    return ports.model if name in {"", DEFAULT_MODEL} else ports.models.get(name)


def before_draft(first: Draft) -> Draft:
    """What the second draft rests on: the passages found, without the first draft."""
    return Draft(passages=first.passages, search_failure=first.search_failure, rechecked=first.rechecked)


def better(run: Run, first: Draft, second: Draft | None) -> Draft:
    """The better assessed of two drafts: one that may be sent, then the more trusted; equal: the first."""
    rule = run.case.delivery.retry_with
    if rule is None:
        return first
    wins = second is not None and _rank(second.assessed) > _rank(first.assessed)
    chosen = second if second is not None and wins else first
    found = chosen.assessed
    if found.action is Action.RECHECK:  # there is no recheck after it
        found = replace(found, action=Action.SEND)
    after = second.assessed.confidence if second else None
    record = _record(rule, first.assessed.confidence, after, used=wins)
    return replace(
        chosen,
        loser=first if wins else second,
        assessment=replace(
            found,
            diagnostics={**found.diagnostics, "retried_with": record},
            explanation=f"{found.explanation} {_sentence(rule, first.assessed.confidence, after, used=wins)}",
        ),
    )


def _rank(found: Assessment) -> tuple[bool, float]:
    return found.action in (Action.SEND, Action.RECHECK), found.confidence


def _record(rule: RetryWith, before: float, after: float | None, *, used: bool) -> dict[str, Json]:
    return {
        "model": rule.model or DEFAULT_MODEL,
        "own_prompt": bool(rule.prompt.strip()),
        "below": rule.below,
        "before": before,
        "after": after,
        "used": used,
    }


def _sentence(rule: RetryWith, before: float, after: float | None, *, used: bool) -> str:
    """What a reviewer reads: by which model, why, and which draft counts."""
    prompt = " with a prompt of its own" if rule.prompt.strip() else ""
    why = f"because {before:.2f} is below {rule.below:.2f}"
    asked = f"A second draft by the model {rule.model or DEFAULT_MODEL}{prompt} was asked for {why};"
    if after is None:
        return f"{asked} there is none, so the first stands."
    return f"{asked} it has {after:.2f} and {'is used' if used else 'is not better, so the first stands'}."
