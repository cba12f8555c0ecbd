"""``hushgate assess``: assess replies of a file, compare policies on labelled replies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.progress import track

from cli.assess import metrics, suggestions
from cli.assess.cases import (
    COLUMNS,
    HELP,
    MOST_AT_ONCE,
    JudgeOfRow,
    assess_rows,
    case_lines,
    no_judge,
    read_policy,
    recorded_judge,
    table_row,
    with_required_labels,
)
from cli.assess.figures import PolicyOutcome, policy_figures, risk_coverage
from cli.assess.metrics import risk_coverage_svg
from cli.assess.row_format import AssessmentRow
from cli.assess.rows import read_cases, read_readings, read_rows
from cli.optional import add_command
from cli.options import model_settings
from cli.output import emit, errors, fail, stdout_is_terminal
from cli.output_file import Force, output_file, refuse_existing
from worker.adapters import openai_client
from worker.adapters.model_judge import ModelJudge
from worker.adapters.openai_chat import OpenAIChat
from worker.assessment import Policy
from worker.assessment.policies.designs import DEFAULT_DESIGN, DESIGNS, design_name
from worker.model import Action

JUDGE_TOKENS: Final = 2048
"""Longest reading, as in a worker."""

app = typer.Typer(invoke_without_command=True, help=HELP, rich_markup_mode="markdown")

Label = Annotated[str, typer.Option(help="The field that is 1 or true for a reply that is not grounded.")]
Readings = Annotated[
    Path | None,
    typer.Option(help='Recorded answers of a judge, {"id", "reading"}, used where a policy wants a reading.'),
]
LiveJudge = Annotated[
    bool,
    typer.Option("--judge", help="Ask the configured judge; each row that wants a reading costs a call."),
]
REPORT_COLUMNS = (
    "task", "lang", "policy", "rows", "auroc", "f1", "best_f1", "aurc", "coverage_5", "coverage_2",
    "coverage_1", "false_reject_90", "calibration_error", "judge_share", "audited",
)  # fmt: skip


add_command(app, "assess conversations", "cli.assess.conversations:conversations")
app.command("metrics")(metrics.metrics)
app.command("suggestions")(suggestions.suggestions)


@app.callback()
def assess_cases(
    context: typer.Context,
    cases: Annotated[Path | None, typer.Option(help="The rows, .jsonl or .jsonl.gz.")] = None,
    policy: Annotated[
        str, typer.Option(help="A design's name, or a file with a policy as JSON.")
    ] = DEFAULT_DESIGN,
    label: Annotated[str, typer.Option(help="The field of the human label, where a row has one.")] = "label",
    required_label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="A label that a passage must have, such as class=10; for rows without labels of their own.",
        ),
    ] = None,
    readings: Readings = None,
    judge: LiveJudge = False,
) -> None:
    """Assess every row of a file."""
    if context.invoked_subcommand is not None:
        return
    if cases is None:
        raise fail("--cases: expected a file of rows, got nothing (or a command: report)")
    chosen = read_policy(policy)
    rows = with_required_labels(read_cases(cases, label=label), required_label or ())
    lines = case_lines(rows, chosen, chosen_judge(readings, live=judge))
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
    readings: Readings = None,
    judge: LiveJudge = False,
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
    judge_of = chosen_judge(readings, live=judge)
    judged = list(_outcomes(rows, policies, judge_of))
    emit(list(_report_lines(judged)), REPORT_COLUMNS)
    if plot is not None:
        curves: dict[str, list[PolicyOutcome]] = defaultdict(list)
        for item in judged:
            curves[item.policy].append(item.outcome)
        drawn = {name: risk_coverage(outcomes) for name, outcomes in curves.items()}
        with output_file(plot, force) as file:
            file.write(risk_coverage_svg(drawn, f"{len(rows)} labelled replies"))
    if judge_of is no_judge:
        errors.print("No judge was asked (--judge, --readings): drafts that want a reading are held.")


def chosen_judge(readings: Path | None, *, live: bool) -> JudgeOfRow:
    """The judge that the options name: recorded readings, the configured model, or none."""
    if readings is not None and live:
        raise fail("--judge: expected either --judge or --readings, got both")
    if readings is not None:
        return recorded_judge(read_readings(readings))
    return _configured_judge() if live else no_judge


def _configured_judge() -> JudgeOfRow:
    settings = model_settings()
    server = settings.servers.judge or settings.servers.model
    client = openai_client.client(server.url, server.key, connections=MOST_AT_ONCE)
    model = OpenAIChat(client, model=server.model, max_tokens=JUDGE_TOKENS)
    judge = ModelJudge(model, timeout_s=settings.model_timeout_s)
    return lambda _: judge


def _outcomes(
    rows: Sequence[AssessmentRow], policies: Sequence[Policy], judge_of: JudgeOfRow
) -> Iterator[_JudgedRow]:
    for policy in policies:
        name = design_name(policy)
        found = assess_rows(rows, policy, judge_of)
        shown = track(
            zip(rows, found, strict=True),
            total=len(rows),
            description=name,
            console=errors,
            disable=not stdout_is_terminal(),
            transient=True,
        )
        for row, each in shown:
            outcome = PolicyOutcome(
                confidence=each.assessment.confidence,
                ungrounded=bool(row.ungrounded),
                sent=each.assessment.action == Action.SEND,
                judged=each.reading is not None,
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
