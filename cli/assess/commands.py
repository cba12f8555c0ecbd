"""``hushgate assess``: assess replies of a file, compare policies on labelled replies, fit coefficients."""

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

from cli.assess import metrics, suggestions
from cli.assess.cases import (
    COLUMNS,
    HELP,
    assess_row,
    case_lines,
    read_policy,
    table_row,
    with_required_labels,
)
from cli.assess.plot import risk_coverage_svg
from cli.assess.rows import read_cases, read_rows, read_scores
from cli.exit_codes import ExitCode
from cli.output import emit, emit_json, errors, fail, stdout_is_terminal
from cli.output_file import Force, output_file, refuse_existing
from worker.assessment import Policy
from worker.assessment.policies.designs import DESIGNS, design_name
from worker.assessment.relevance.scoring import draft_relevance_signals
from worker.assessment.signals.coefficients import model_json, shipped_model
from worker.assessment.signals.scoring import score_draft
from worker.assessment.training.evaluation import PolicyOutcome, policy_figures, risk_coverage
from worker.assessment.training.fitting import LabelledReply, TrainingSource, fit_model
from worker.assessment.training.folds import Fitter, Goal
from worker.assessment.training.relevance_fitting import RelevanceExample
from worker.assessment.training.relevance_rows import RelevanceKind, relevance_rows
from worker.assessment.training.rows import AssessmentRow
from worker.assessment.values import DraftCase
from worker.model import Action

app = typer.Typer(invoke_without_command=True, help=HELP, rich_markup_mode="markdown")

Label = Annotated[str, typer.Option(help="The field that is 1 or true for a reply that is not grounded.")]
Scores = Annotated[
    Path | None,
    typer.Option(help='Recorded judge answers {"id","score"}, used wherever a policy needs its judge.'),
]
REPORT_COLUMNS = (
    "task", "lang", "policy", "rows", "auroc", "f1", "best_f1", "aurc", "coverage_5", "coverage_2",
    "coverage_1", "false_reject_90", "calibration_error", "judge_share", "audited",
)  # fmt: skip


app.command("metrics")(metrics.metrics)
app.command("suggestions")(suggestions.suggestions)


@app.callback()
def assess_cases(
    context: typer.Context,
    cases: Annotated[Path | None, typer.Option(help="The rows, .jsonl or .jsonl.gz.")] = None,
    policy: Annotated[
        str, typer.Option(help="A design's name, or a file with a policy as JSON.")
    ] = "calibrated",
    label: Annotated[str, typer.Option(help="The field of the human label, where a row has one.")] = "label",
    required_label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="A label that a passage must have, such as class=10; for rows without labels of their own.",
        ),
    ] = None,
    judge_scores: Scores = None,
) -> None:
    """Assess every row of a file."""
    if context.invoked_subcommand is not None:
        return
    if cases is None:
        raise fail("--cases: expected a file of rows, got nothing (or a command: report, calibrate)")
    chosen = read_policy(policy)
    scores = read_scores(judge_scores) if judge_scores else None
    rows = with_required_labels(read_cases(cases, label=label), required_label or ())
    lines = case_lines(rows, chosen, scores)
    emit(map(table_row, lines) if stdout_is_terminal() else lines, COLUMNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class _JudgedRow:
    """One row and the outcome of one policy."""

    row: AssessmentRow
    policy: str
    outcome: PolicyOutcome


@app.command()
def report(
    cases: Annotated[list[Path], typer.Option(help="Labelled rows; may be given several times.")],
    label: Label = "label",
    policy: Annotated[
        list[str] | None, typer.Option(help="Only these designs or JSON files; default all of them.")
    ] = None,
    judge_scores: Scores = None,
    plot: Annotated[
        Path | None, typer.Option(help="The file to write risk against coverage to, as SVG.")
    ] = None,
    force: Force = False,
) -> None:
    """Compare policies on labelled replies: a table on a terminal, NDJSON in a pipe.

    For example:

        hushgate assess report --cases replies.jsonl --label label --plot risk.svg
    """
    if plot is not None:
        refuse_existing(plot, force)
    rows = [row for path in cases for row in read_rows(path, label=label)]
    policies = [read_policy(name) for name in policy or DESIGNS]
    scores = read_scores(judge_scores) if judge_scores else None
    judged = list(_outcomes(rows, policies, scores))
    emit(list(_report_lines(judged)), REPORT_COLUMNS)
    if plot is not None:
        curves: dict[str, list[PolicyOutcome]] = defaultdict(list)
        for item in judged:
            curves[item.policy].append(item.outcome)
        drawn = {name: risk_coverage(outcomes) for name, outcomes in curves.items()}
        with output_file(plot, force) as file:
            file.write(risk_coverage_svg(drawn, f"{len(rows)} labelled replies"))
    if scores is None:
        errors.print("No judge was called: all figures are those of the signals only.")


def _outcomes(
    rows: Sequence[AssessmentRow], policies: Sequence[Policy], scores: Mapping[str, Any] | None
) -> Iterator[_JudgedRow]:
    for policy in policies:
        name = design_name(policy)
        for row in track(
            rows, description=name, console=errors, disable=not stdout_is_terminal(), transient=True
        ):
            found, judged = assess_row(row, policy, scores)
            outcome = PolicyOutcome(
                confidence=found.confidence,
                ungrounded=bool(row.ungrounded),
                sent=found.action == Action.SEND,
                judged=judged,
            )
            yield _JudgedRow(row=row, policy=name, outcome=outcome)


def _report_lines(judged: Sequence[_JudgedRow]) -> Iterator[dict[str, Any]]:
    """One line per task, language and policy, then one per policy for all rows when there are several."""
    sets: dict[tuple[str, str, str], list[PolicyOutcome]] = defaultdict(list)
    for item in judged:
        sets[item.row.task, item.row.language, item.policy].append(item.outcome)
    kinds = {(task, lang) for task, lang, _ in sets}
    if len(kinds) > 1:
        for item in judged:
            sets["all", "all", item.policy].append(item.outcome)
    for (task, lang, policy), outcomes in sets.items():
        yield {"task": task, "lang": lang, "policy": policy, **_flat(outcomes)}


def _flat(outcomes: Sequence[PolicyOutcome]) -> dict[str, Any]:
    found = asdict(policy_figures(outcomes))
    coverage = found.pop("coverage_at")
    flat = {name: round(value, 4) if isinstance(value, float) else value for name, value in found.items()}
    flat["false_reject_90"] = flat.pop("false_reject")
    flat |= {f"coverage_{risk * 100:.0f}": round(share, 4) for risk, share in coverage.items()}
    bound = found["sent_ungrounded_at_most"]
    flat["audited"] = f"{found['sent_ungrounded']} of {found['sent']} sent, at most {bound:.1%}"
    return flat


@app.command()
def calibrate(  # one parameter an option
    cases: Annotated[list[Path], typer.Option(help="Labelled rows; may be given several times.")],
    out: Annotated[Path, typer.Option(help="The file to write the coefficients to, as JSON.")],
    data: Annotated[str, typer.Option(help="What the rows are, for the training record.")],
    licence: Annotated[str, typer.Option(help="Licence of the rows, for the training record.")],
    label: Label = "label",
    relevance_cases: Annotated[
        list[Path] | None,
        typer.Option(help="Further labelled rows, for relevance only; may be given several times."),
    ] = None,
    risk: Annotated[
        float,
        typer.Option(help="Largest share of ungrounded replies among those sent without a judge, 0 to 1."),
    ] = 0.1,
    certainty: Annotated[float, typer.Option(help="Probability with which --risk must hold, 0 to 1.")] = 0.9,
    trained_on: Annotated[
        str | None, typer.Option(help="Date for the training record, such as 2026-11-21; default: today.")
    ] = None,
    as_policy: Annotated[
        bool, typer.Option(help="Write a whole policy, for one account's assessment_policy.")
    ] = False,
    force: Force = False,
) -> None:
    """Fit coefficients and certified thresholds from labelled replies (needs the extra `calibrate`).

    For example:

        hushgate assess calibrate --cases replies.jsonl --out policy.json --as-policy --data "our replies of
        October" --licence internal
    """
    refuse_existing(out, force)
    fitter = offline_fitter()
    rows = [row for path in cases for row in read_rows(path, label=label)]
    further = [read_rows(path, label=label) for path in relevance_cases or ()]
    base = shipped_model()
    model = fit_model(
        [labelled_reply(row) for row in rows],
        fitter=fitter,
        goal=Goal(risk=risk, certainty=certainty),
        source=TrainingSource(data=data, licence=licence, trained_on=trained_on or date.today().isoformat()),  # noqa: DTZ011  # the operator's own day
        base=base,
        version=base.version + 1,
        relevance=[each for of_file in (rows, *further) for each in relevance_examples(of_file)],
    )
    fitted = model_json(model)
    written = {"name": "calibrated", "model": fitted} if as_policy else fitted
    with output_file(out, force) as file:
        file.write(json.dumps(written, ensure_ascii=False, indent=2) + "\n")
    emit_json(model.record)


def offline_fitter() -> Fitter:
    """The fitter of the extra ``calibrate``, or an error that says how to install it."""
    try:
        from worker.adapters.sklearn_fitter import SklearnFitter  # noqa: PLC0415  # 120 MB, this command only
    except ImportError as error:
        raise fail(
            f"calibrate: expected the extra `calibrate`, got {error} (pip install 'hushgate[calibrate]')",
            code=ExitCode.CONFIGURATION,
        ) from error
    return SklearnFitter()


def labelled_reply(row: AssessmentRow) -> LabelledReply:
    """A labelled row as a training example: its signals and its kind of evidence."""
    case = DraftCase(query=row.query, evidence=row.evidence, draft=row.response)
    score, _ = score_draft(case, shipped_model(), require_evidence=False, check_relevance=False)
    return LabelledReply(
        group=row.group, kind=score.kind, signals=score.signals, ungrounded=bool(row.ungrounded)
    )


def relevance_examples(rows: Sequence[AssessmentRow]) -> Iterator[RelevanceExample]:
    """Rows about relevance made from labelled replies, as training examples."""
    for row in relevance_rows(rows):
        case = DraftCase(query=row.query, evidence=row.evidence, draft=row.response)
        if (signals := draft_relevance_signals(case)) is not None:
            yield RelevanceExample(group=row.group, made=RelevanceKind(row.task), signals=signals)
