"""``consensus`` over labelled answers of several models: ``python -m bench.consensus --cases FILE``.

Rows are those of ``hushgate assess``; rows of one ``group`` are answers of several models to one question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Annotated, Final

import typer

from cli.assess.rows import read_rows
from worker.assessment import most_central
from worker.assessment.policies.consensus import ConsensusPolicy, assess_draft
from worker.assessment.training.evaluation import PolicyOutcome, auroc, policy_figures
from worker.assessment.training.rows import AssessmentRow
from worker.assessment.values import DraftCase
from worker.model import Action

POLICY: Final = ConsensusPolicy()
MODELS: Final = len(POLICY.models)


def main(
    cases: Annotated[list[Path], typer.Option(help="Labelled rows as for `hushgate assess`.")],
    label: Annotated[
        str, typer.Option(help="The field that is 1 for a reply that is not grounded.")
    ] = "label",
) -> None:
    """Print how every three answers to one question end, and how the first of them would have."""
    groups: dict[str, list[AssessmentRow]] = defaultdict(list)
    for row in (row for path in cases for row in read_rows(path, label=label)):
        groups[row.group].append(row)
    several = [each for rows in groups.values() for each in combinations(rows, MODELS)]
    central = [_outcome(each, most_central([row.response for row in each])) for each in several]
    every = [_outcome(each, place) for each in several for place in range(MODELS)]
    found, alone = policy_figures([o for o, _ in central]), policy_figures([o for o, _ in every])
    print(f"{len(several)} times {MODELS} answers to {len(groups)} questions")
    shares = alone.ungrounded / alone.rows, found.ungrounded / found.rows
    print(f"ungrounded: {shares[0]:.1%} of all, {shares[1]:.1%} of the most central")
    print(f"AUROC of the confidence over all: {alone.auroc or 0:.3f}")
    for signal in ("agreement", "support"):
        one = auroc([replace(outcome, confidence=signals[signal]) for outcome, signals in every])
        print(f"AUROC of {signal} alone: {one or 0:.3f}")
    wrong = found.sent_ungrounded / (found.sent or 1)
    print(f"sent: {found.sent / found.rows:.1%}, ungrounded of these {wrong:.1%}")


def _outcome(rows: Sequence[AssessmentRow], place: int) -> tuple[PolicyOutcome, Mapping[str, float]]:
    """How the policy ends with one of several answers as its candidate, and its signals."""
    row = rows[place]
    others = tuple(each.response for at, each in enumerate(rows) if at != place)
    evidence = replace(row.evidence, other_drafts=others)
    found = assess_draft(DraftCase(query=row.query, evidence=evidence, draft=row.response), POLICY)
    sent = found.action is Action.SEND
    outcome = PolicyOutcome(
        confidence=found.confidence, ungrounded=bool(row.ungrounded), sent=sent, judged=False
    )
    return outcome, {"agreement": 0.0, "support": 0.0} | dict(found.signals)


if __name__ == "__main__":
    typer.run(main)
