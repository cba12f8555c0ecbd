"""Questions with passages that cannot answer them: ``python -m bench.retrieval_relevance --cases FILE``.

Every question of the rows is put once to its own passages, once to those of another group, and once to
those of the other group that have most of its words. Nothing is random, no model is asked. Printed per file:
how many are refused before a model call at several values of ``min_asked``, and how many before it or after
it, when the draft is the reply that belongs to the wrong passages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from cli.assess.cases import assess_row
from cli.assess.rows import read_rows
from worker.assessment import default_policy, early_refusal
from worker.assessment.policies.calibrated_policy import CalibratedPolicy
from worker.assessment.relevance.asked import question_weights
from worker.assessment.relevance.matching import Words, missing_share
from worker.assessment.text.words import normalised_text, text_units
from worker.assessment.training.rows import AssessmentRow
from worker.model import Action

LEVELS = (0.1, 0.2, 0.3, 0.4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Posed:
    """A question with the passages and the reply of another row; ``own`` when they are its own."""

    own: bool
    row: AssessmentRow


def posed_questions(rows: Sequence[AssessmentRow]) -> list[Posed]:
    """Each question three times: with its own passages, with another group's, with the nearest group's."""
    firsts = list({row.query: row for row in rows if not row.ungrounded and row.query.strip()}.values())
    words = [Words(text_units(normalised_text(_text(row)))) for row in firsts]
    found: list[Posed] = []
    for number, row in enumerate(firsts):
        weights = question_weights(row.query)
        others = [at for at, each in enumerate(firsts) if each.group != row.group]
        far = firsts[others[(number + len(others) // 2) % len(others)]]
        near = firsts[min(others, key=lambda at: missing_share(weights, words[at]))]
        found.append(Posed(own=True, row=row))
        found += [Posed(own=False, row=replace(each, query=row.query)) for each in (far, near)]
    return found


def _text(row: AssessmentRow) -> str:
    return " ".join(passage.text for passage in row.evidence.passages)


def main(cases: Annotated[list[Path], typer.Option(help="Labelled rows as for `hushgate assess`.")]) -> None:
    """Print the shares refused per file and level."""
    for path in cases:
        posed = posed_questions(read_rows(path, label="label"))
        own, wrong = [p.row for p in posed if p.own], [p.row for p in posed if not p.own]
        print(f"{path.name}: {len(own)} questions, {len(wrong)} times wrong passages")
        for level in LEVELS:
            policy = CalibratedPolicy(min_asked=level)
            lost, early = _refused(own, policy), _refused(wrong, policy)
            print(f"  min_asked {level}: refused early {early / len(wrong):.1%}, lost {lost / len(own):.1%}")
        sent = sum(_is_sent(row) and not _is_refused(row, CalibratedPolicy()) for row in wrong)
        print(f"  refused before or after the model call: {1 - sent / len(wrong):.1%}")


def _refused(rows: Sequence[AssessmentRow], policy: CalibratedPolicy) -> int:
    return sum(_is_refused(row, policy) for row in rows)


def _is_refused(row: AssessmentRow, policy: CalibratedPolicy) -> bool:
    return early_refusal(query=row.query, evidence=row.evidence, policy=policy) is not None


def _is_sent(row: AssessmentRow) -> bool:
    return assess_row(row, default_policy("calibrated"), None)[0].action is Action.SEND


if __name__ == "__main__":
    typer.run(main)
