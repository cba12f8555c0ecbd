"""Prints what a verification of the transparency log found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import typer

from cli.exit_codes import ExitCode
from cli.output import emit, print_message
from compliance.audit_log.removals import Removal, RetentionLimit
from compliance.audit_log.verifying import LogProblem, Verification

COLUMNS: Final = ["problem", "subject", "detail"]
FORBIDDEN: Final = "removed since the checkpoint"


def print_result(result: Verification, *, no_removals: bool) -> None:
    """Print problems as rows, then the figures; exits 1 when there is a problem.

    With ``no_removals`` each removal and each new retention limit since the checkpoint is a problem too.
    """
    rows = [_row(each.problem, each.subject, each.detail) for each in result.problems]
    said = [_said(each) for each in result.recent] + [_limited(each) for each in result.limits]
    if no_removals:
        recent = [each.id for each in result.recent] + [each.id for each in result.limits]
        rows += [_row(FORBIDDEN, str(each), detail) for each, detail in zip(recent, said, strict=True)]
    emit(rows, COLUMNS)
    for each in said:
        print_message(f"since the checkpoint of {result.checked_from} leaves: {each}", style="yellow")
    print_message(
        f"{result.leaves} leaves and {result.checkpoints} checkpoints: {result.compared} rows compared,"
        f" {result.deleted} deleted by retention, {result.emptied} emptied by erasures"
        f" ({result.under_way} under way), {len(rows)} problems",
        style="red" if rows else "green",
    )
    if rows:
        raise typer.Exit(ExitCode.NEGATIVE)


def _row(problem: LogProblem | str, subject: str, detail: str) -> Mapping[str, Any]:
    return {"problem": str(problem), "subject": subject, "detail": detail}


def _said(removal: Removal) -> str:
    if removal.subjects is None:
        return f"the {removal.kind}s from {removal.since} until {removal.before} deleted by {removal.reason}"
    cause = removal.reason if removal.erasure_id is None else f"{removal.reason} {removal.erasure_id}"
    return f"{len(removal.subjects)} {removal.kind}s removed by {cause}"


def _limited(limit: RetentionLimit) -> str:
    length = "for ever" if limit.keep_days is None else f"{limit.keep_days} days"
    return f"{limit.table_name} is kept {length} from {limit.created_at} on"
