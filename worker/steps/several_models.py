"""Several models asked for one draft each, and the most central of their drafts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from worker.assessment import drafting_models, most_central
from worker.endings import Draft, Ending, silent_ending
from worker.escalation import decision_kind
from worker.model import DecisionKind, Json
from worker.reasons import Reason
from worker.steps.run import Run
from worker.steps.second_draft import named_model


def model_names(run: Run) -> tuple[str, ...]:
    """The models that the policy asks; empty for every policy that asks one."""
    return drafting_models(run.case.policy)


def run_with(run: Run, name: str) -> Run | None:
    """The run with another model; None for a model that the deployment does not declare."""
    model = named_model(run.ports, name)
    return None if model is None else replace(run, ports=replace(run.ports, model=model))


def chosen(run: Run, names: Sequence[str], made: Sequence[Draft | Ending | None]) -> Draft | Ending:
    """The most central draft with the others beside it; without any draft the gravest of the endings."""
    drafts = [each for each in made if isinstance(each, Draft)]
    ends = [each for each in made if isinstance(each, Ending)]
    run.trace.degraded = run.trace.degraded or None in made or any(each.degraded for each in ends)
    if not drafts:
        return min(ends, key=lambda each: _rank(run, each)) if ends else _undeclared(names)
    central = drafts[most_central([each.text for each in drafts])]
    others = tuple(each.text for each in drafts if each is not central)
    asked = tuple(_entry(name, each, central=each is central) for name, each in zip(names, made, strict=True))
    return replace(central, others=others, models_asked=asked)


def _rank(run: Run, ending: Ending) -> int:
    """0 for the gravest: a flagged draft is sealed and a call for people is heard before a failure counts."""
    if ending.quarantine:
        return 0
    case = run.case
    kind = decision_kind(case.event, case.account, case.conversation, ending)
    return 1 if kind is DecisionKind.ESCALATE else 2


def _undeclared(names: Sequence[str]) -> Ending:
    sentence = f"the deployment declares none of the models {', '.join(names)}"
    return silent_ending(Reason.LLM_REJECTED, sentence, confidence=0.0, degraded=True)


def _entry(name: str, made: Draft | Ending | None, *, central: bool) -> dict[str, Json]:
    """What one model was asked for and what came of it, for the audit."""
    if made is None:
        return {"model": name, "outcome": "unknown_model"}
    if isinstance(made, Ending):
        return {"model": name, "outcome": made.reason_code.value, **_cost(made.draft)}
    outcome = "central_draft" if central else "draft"
    return {"model": name, "outcome": outcome, "answered_by": made.model, **_cost(made)}


def _cost(draft: Draft) -> dict[str, Json]:
    return {"prompt_tokens": draft.tokens.prompt, "completion_tokens": draft.tokens.completion}
