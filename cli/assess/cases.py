"""``hushgate assess --cases``: one assessment per row."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from cli.assess.row_format import AssessmentRow
from cli.assess.rows import parsed_json
from cli.exit_codes import ExitCode
from cli.output import fail
from worker.assessment import (
    Assessment,
    Judge,
    JudgedAssessment,
    Policy,
    ReadingRequest,
    assess,
    parse_policy,
)
from worker.assessment.policies.designs import DESIGNS
from worker.errors import ModelUnavailable, PolicyRejected
from worker.model import AttemptOutcome, Completion

MOST_AT_ONCE: Final = 16
"""Rows that a judge reads at the same time."""

HELP: Final = """The confidence in replies.

`hushgate assess --cases FILE` assesses the replies of a file. `report` compares policies on labelled
replies, `conversations` measures which answers are sent to the questions of a folder, `metrics` prints
figures of each policy from the audit, `suggestions` topics that the documents of an account do not cover. A
policy that needs a judge's reading gets it from the configured model with --judge, or from a file with
--readings; without either its drafts are held.

For example:

    hushgate assess --cases replies.jsonl --policy safety

A row is one JSON object on a line of a .jsonl or .jsonl.gz file:

    {"id": "7", "query": "Can I return it?", "response": "Within 30 days [1].",
     "context": "You can return any item within 30 days."}

- "id", "response": required. "query": what was asked.

- "context": one text or a list of texts. Or "passages": objects with "text" and, if known, "id", "title",
  "similarity" (0 to 1; without it 1), "rerank" (a reranker's score) and "labels", such as
  {"subject": "Biology"}.

- "labels": labels that a passage must have, such as {"subject": "Biology"}, as in an event's metadata;
  "expected_class": the label "class" that it must have. For rows without any:
  --required-label subject=Biology.

- "history": the turns before the question, oldest first: objects with "role" (author or reply) and "text",
  or bare texts in turn, the author's first. A follow-up question is read with them.

- "drafts": what other models answered, as a list of texts; for a policy that compares them.

- "label": the human label, 1 or true for a reply that is not grounded. Another field: --label NAME.

- "lang": language of the row, "task": kind of work, "group": rows that share their evidence; for the report.

The output has "id", "confidence", "support", "relevance" (how far the reply is supported and answers the
question; null where the policy does not measure it), "tier", "action", "category", "passed_checks",
"failed_checks", "reasons", "explanation" and "label" (null without one): NDJSON in a pipe; on a terminal a
table without reasons and explanation.
"""
COLUMNS: Final = (
    "id", "confidence", "support", "relevance", "tier", "action", "category", "passed_checks",
    "failed_checks", "label",
)  # fmt: skip


def read_policy(name: str) -> Policy:
    """The policy of a name or of a JSON file."""
    try:
        if name in DESIGNS:
            return parse_policy({"name": name})
        return parse_policy(parsed_json(Path(name).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        names = ", ".join(DESIGNS)
        code = ExitCode.USAGE if isinstance(error, OSError) else ExitCode.REJECTED
        shown = f"--policy: expected one of {names} or a JSON file, got {name!r} ({error})"
        raise fail(shown, code=code) from error
    except PolicyRejected as error:
        raise fail("\n".join(error.problems), code=ExitCode.REJECTED) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedJudge:
    """A judge that answers one row with what a file has for it.

    Attributes:
        answer: as a model would write it; None: nothing was recorded.
    """

    answer: str | None

    async def read(self, _: ReadingRequest) -> Completion:
        """The recorded answer.

        Raises:
            ModelUnavailable: nothing was recorded.
        """
        if self.answer is None:
            raise ModelUnavailable("no reading recorded", kind=AttemptOutcome.EMPTY)
        return Completion(text=self.answer, model="recorded")


JudgeOfRow = Callable[[AssessmentRow], Judge | None]


def no_judge(_: AssessmentRow) -> Judge | None:
    """No row is read."""
    return None


def recorded_judge(readings: Mapping[str, str]) -> JudgeOfRow:
    """A judge for each row, by its id."""
    return lambda row: RecordedJudge(answer=readings.get(row.row_id))


def assess_rows(
    rows: Sequence[AssessmentRow], policy: Policy, judge_of: JudgeOfRow = no_judge
) -> Iterator[JudgedAssessment]:
    """The assessment of each row, in order."""
    with asyncio.Runner() as runner:
        for at in range(0, len(rows), MOST_AT_ONCE):
            yield from runner.run(_batch(rows[at : at + MOST_AT_ONCE], policy, judge_of))


async def _batch(
    rows: Sequence[AssessmentRow], policy: Policy, judge_of: JudgeOfRow
) -> list[JudgedAssessment]:
    return await asyncio.gather(
        *(
            assess(
                query=row.query,
                evidence=row.evidence,
                draft=row.response,
                policy=policy,
                judge=judge_of(row),
            )
            for row in rows
        )
    )


def with_required_labels(rows: Sequence[AssessmentRow], given: Sequence[str]) -> tuple[AssessmentRow, ...]:
    """The rows; those without labels of their own require the given ones, each ``NAME=VALUE``."""
    labels: dict[str, str] = {}
    for each in given:
        name, sign, value = (part.strip() for part in each.partition("="))
        if not (name and sign and value):
            raise fail(f"--required-label: expected NAME=VALUE, such as class=10, got {each!r}")
        if labels.setdefault(name, value) != value:
            raise fail(f"--required-label: expected one value of {name}, got {labels[name]!r} and {value!r}")
    return tuple(
        row
        if row.evidence.expected_metadata
        else replace(row, evidence=replace(row.evidence, expected_metadata=labels))
        for row in rows
    )


def case_lines(
    rows: Sequence[AssessmentRow], policy: Policy, judge_of: JudgeOfRow = no_judge
) -> Iterator[dict[str, Any]]:
    """The printed line of each row, in order."""
    for row, found in zip(rows, assess_rows(rows, policy, judge_of), strict=True):
        yield _line(row, found.assessment)


def _line(row: AssessmentRow, found: Assessment) -> dict[str, Any]:
    return {
        "id": row.row_id,
        "confidence": round(found.confidence, 6),
        "support": _rounded(found.support),
        "relevance": _rounded(found.relevance),
        "tier": found.tier,
        "action": found.action,
        "category": found.category,
        "passed_checks": found.passed_checks,
        "failed_checks": found.failed_checks,
        "reasons": found.reasons,
        "explanation": found.explanation,
        "label": None if row.ungrounded is None else int(row.ungrounded),
    }


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 6)


def table_row(line: Mapping[str, Any]) -> dict[str, Any]:
    """The same line for a table: lists as words."""
    return {name: ", ".join(value) if isinstance(value, tuple) else value for name, value in line.items()}
