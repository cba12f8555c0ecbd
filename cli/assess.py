"""``hushgate assess``: judge replies from a file, compare policies on labelled ones, learn from labels."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import track

from cli import assess_metrics
from cli.assess_plot import risk_coverage_svg
from cli.assess_rows import read_rows, read_scores
from cli.output import emit, emit_json, errors, fail, for_eyes
from worker.assessment import (
    Assessment,
    Policy,
    assess_cheap,
    conclude,
    parse_policy,
    read_answer,
    unavailable,
)
from worker.assessment.cases import Row
from worker.assessment.cheap_look import cheap_look
from worker.assessment.coefficients import model_as_json, shipped_model
from worker.assessment.evaluation import Outcome, figures, risk_coverage
from worker.assessment.policies import DESIGNS, design_of
from worker.assessment.training import Example, Fitter, Goal, Source, trained
from worker.assessment.values import Action, Case
from worker.errors import PolicyRejected

assess_app = typer.Typer(
    invoke_without_command=True, help="How far replies can be trusted: assess, report, calibrate."
)

Cases = Annotated[
    Path,
    typer.Option(help='Rows {"id","query","context","response"}, .jsonl or .jsonl.gz.', show_default=False),
]
Label = Annotated[str, typer.Option(help="The field that is 1 or true for a reply that is not grounded.")]
Scores = Annotated[
    Path | None,
    typer.Option(help='Recorded judge answers {"id","score"}, asked wherever a policy wants its judge.'),
]
REPORT_COLUMNS = (
    "task", "lang", "policy", "rows", "auroc", "f1", "best_f1", "aurc", "coverage_5", "coverage_2",
    "coverage_1", "false_reject_90", "calibration_error", "judge_share", "audited",
)  # fmt: skip


assess_app.command("metrics")(assess_metrics.metrics)


@assess_app.callback()
def assess_cases(
    context: typer.Context,
    cases: Annotated[Path | None, typer.Option(help='Rows {"id","query","context","response"}.')] = None,
    policy: Annotated[
        str, typer.Option(help="A design's name, or a file with a policy as JSON.")
    ] = "calibrated",
    judge_scores: Scores = None,
) -> None:
    """Assess every row of a file: NDJSON {"id","confidence","tier","action","reasons"}."""
    if context.invoked_subcommand is not None:
        return
    if cases is None:
        raise fail("--cases: expected a file of rows, got nothing (or a command: report, calibrate)")
    chosen = read_policy(policy)
    scores = read_scores(judge_scores) if judge_scores else None
    for row in read_rows(cases):
        found, _ = assessed(row, chosen, scores)
        emit_json(
            {
                "id": row.row_id,
                "confidence": round(found.confidence, 6),
                "tier": found.tier,
                "action": found.action,
                "reasons": found.reasons,
            }
        )


def read_policy(name: str) -> Policy:
    """The policy of a name, or of a JSON file that holds one."""
    try:
        if name in DESIGNS:
            return parse_policy({"name": name})
        return parse_policy(json.loads(Path(name).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        names = ", ".join(DESIGNS)
        raise fail(f"--policy: expected one of {names} or a JSON file, got {name!r} ({error})") from error
    except PolicyRejected as error:
        raise fail("\n".join(error.problems)) from error


def assessed(row: Row, policy: Policy, scores: Mapping[str, Any] | None) -> tuple[Assessment, bool]:
    """What a policy says of a row, and whether it wanted a judge; without scores no judge is asked."""
    look = assess_cheap(query=row.query, evidence=row.evidence, draft=row.response, policy=policy)
    if isinstance(look, Assessment):
        return look, False
    answer = unavailable("no judge asked")
    if scores is not None and (recorded := scores.get(row.row_id)) is not None:
        answer = read_answer(recorded)
    return conclude(look, [answer] * len(look.questions)), True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """One row as one policy saw it."""

    row: Row
    policy: str
    outcome: Outcome


@assess_app.command()
def report(
    cases: Annotated[list[Path], typer.Option(help="Labelled rows; may be given several times.")],
    label: Label = "label",
    policy: Annotated[
        list[str] | None, typer.Option(help="Only these designs or JSON files; default all five.")
    ] = None,
    judge_scores: Scores = None,
    plot: Annotated[Path | None, typer.Option(help="Write risk against coverage as SVG.")] = None,
) -> None:
    """Compare policies on labelled replies: a table on a terminal, NDJSON in a pipe."""
    rows = [row for path in cases for row in read_rows(path, label=label)]
    policies = [read_policy(name) for name in policy or DESIGNS]
    scores = read_scores(judge_scores) if judge_scores else None
    judged = list(_outcomes(rows, policies, scores))
    emit(list(_report_lines(judged)), REPORT_COLUMNS)
    if plot is not None:
        curves: dict[str, list[Outcome]] = defaultdict(list)
        for item in judged:
            curves[item.policy].append(item.outcome)
        drawn = {name: risk_coverage(outcomes) for name, outcomes in curves.items()}
        plot.write_text(risk_coverage_svg(drawn, f"{len(rows)} labelled replies"), encoding="utf-8")
    if scores is None:
        errors.print("No judge was asked: every figure is what the cheap signals alone can do.")


def _outcomes(
    rows: Sequence[Row], policies: Sequence[Policy], scores: Mapping[str, Any] | None
) -> Iterator[_Judged]:
    for policy in policies:
        name = design_of(policy)
        for row in track(rows, description=name, console=errors, disable=not for_eyes(), transient=True):
            found, asked = assessed(row, policy, scores)
            outcome = Outcome(
                confidence=found.confidence,
                ungrounded=bool(row.ungrounded),
                sent=found.action == Action.SEND,
                judged=asked,
            )
            yield _Judged(row=row, policy=name, outcome=outcome)


def _report_lines(judged: Sequence[_Judged]) -> Iterator[dict[str, Any]]:
    """One line per task, language and policy, then one per policy for all rows when there are several."""
    sets: dict[tuple[str, str, str], list[Outcome]] = defaultdict(list)
    for item in judged:
        sets[item.row.task, item.row.language, item.policy].append(item.outcome)
    kinds = {(task, lang) for task, lang, _ in sets}
    if len(kinds) > 1:
        for item in judged:
            sets["all", "all", item.policy].append(item.outcome)
    for (task, lang, policy), outcomes in sets.items():
        yield {"task": task, "lang": lang, "policy": policy, **_flat(outcomes)}


def _flat(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    found = asdict(figures(outcomes))
    coverage = found.pop("coverage_at")
    flat = {name: round(value, 4) if isinstance(value, float) else value for name, value in found.items()}
    flat["false_reject_90"] = flat.pop("false_reject")
    flat |= {f"coverage_{risk * 100:.0f}": round(share, 4) for risk, share in coverage.items()}
    bound = found["sent_ungrounded_at_most"]
    flat["audited"] = f"{found['sent_ungrounded']} of {found['sent']} sent, at most {bound:.1%}"
    return flat


@assess_app.command()
def calibrate(  # one parameter an option
    cases: Annotated[list[Path], typer.Option(help="Labelled rows; may be given several times.")],
    out: Annotated[Path, typer.Option(help="Where the coefficients go, as JSON.")],
    data: Annotated[str, typer.Option(help="What the rows are, for the training record.")],
    licence: Annotated[str, typer.Option(help="Licence of the rows, for the training record.")],
    label: Label = "label",
    risk: Annotated[float, typer.Option(help="Largest share ungrounded among replies sent unread.")] = 0.1,
    certainty: Annotated[float, typer.Option(help="How sure that must be.")] = 0.9,
    trained_on: Annotated[str | None, typer.Option(help="Date for the record; default today.")] = None,
    as_policy: Annotated[
        bool, typer.Option(help="Write a whole policy, for one account's assessment_policy.")
    ] = False,
) -> None:
    """Fit coefficients and certified thresholds from labelled replies (needs the extra `calibrate`)."""
    fitter = offline_fitter()
    rows = [row for path in cases for row in read_rows(path, label=label)]
    base = shipped_model()
    model = trained(
        [example_of(row) for row in rows],
        fitter=fitter,
        goal=Goal(risk=risk, certainty=certainty),
        source=Source(data=data, licence=licence, trained_on=trained_on or date.today().isoformat()),  # noqa: DTZ011  # the operator's own day
        base=base,
        version=base.version + 1,
    )
    fitted = model_as_json(model)
    written = {"name": "calibrated", "model": fitted} if as_policy else fitted
    out.write_text(json.dumps(written, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    emit_json(model.record)


def offline_fitter() -> Fitter:
    """The fitter of the extra ``calibrate``, or a refusal that says how to install it."""
    try:
        from worker.adapters.sklearn_fitter import SklearnFitter  # noqa: PLC0415  # 120 MB, this command only
    except ImportError as error:
        raise fail(
            f"calibrate: expected the extra `calibrate`, got {error} (pip install 'hushgate[calibrate]')"
        ) from error
    return SklearnFitter()


def example_of(row: Row) -> Example:
    """A labelled row as a training example: its signals and its kind of evidence."""
    case = Case(query=row.query, evidence=row.evidence, draft=row.response)
    look, _ = cheap_look(case, shipped_model(), require_evidence=False)
    return Example(group=row.group, kind=look.kind, signals=look.signals, ungrounded=bool(row.ungrounded))
