"""`hushgate assess` in a pipe: rows in, NDJSON out, refusals that name the line."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.assess.commands import app as assess_app
from tests.support.readings import reading, said
from worker.assessment.policies.designs import DESIGNS

SAMPLE = Path(__file__).parents[2] / "fixtures" / "assessment" / "ragtruth_sample.jsonl"
RUNNER = CliRunner()


def run(*arguments: str, code: int = 0) -> tuple[list[dict[str, object]], str]:
    """The NDJSON a command printed, and what it said on standard error."""
    result = RUNNER.invoke(assess_app, list(arguments))
    assert result.exit_code == code, result.output
    return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")], result.stderr


@pytest.mark.parametrize("policy", DESIGNS)
def test_every_row_is_assessed_in_order(policy: str) -> None:
    """NDJSON with what the policy found, check by check, and the label of the row."""
    ids = [json.loads(line)["id"] for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    lines, _ = run("--cases", str(SAMPLE), "--policy", policy)

    assert [line["id"] for line in lines] == ids
    assert all(
        list(line) == [
            "id", "confidence", "support", "relevance", "tier", "action", "category", "passed_checks",
            "failed_checks", "reasons", "explanation", "label",
        ]
        for line in lines
    )  # fmt: skip
    assert {line["label"] for line in lines} == {0, 1}
    assert all(0.0 <= float(str(line["confidence"])) <= 1.0 for line in lines)


def rows_in(folder: Path, *rows: dict[str, object]) -> str:
    """A file of rows."""
    path = folder / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


TEXT = (
    "You can return any item within 30 days of delivery. Refunds take 5 working days to arrive on your card."
)
REPLY = "You can return any item within 30 days [1]."


def test_a_line_names_its_category_and_every_check(tmp_path: Path) -> None:
    """A refusal says which check failed and which passed; a row without a human label has none."""
    row: dict[str, object] = {"id": 1, "query": "Returns?", "context": TEXT, "response": "It is blue [1]."}
    lines, _ = run("--cases", rows_in(tmp_path, row), "--policy", "safety")

    assert (lines[0]["category"], lines[0]["failed_checks"]) == ("low_grounding", ["answer_grounding"])
    assert lines[0]["passed_checks"] == [
        "retrieval_confidence", "context_sufficiency", "topic_relevance", "citations",
    ]  # fmt: skip
    assert lines[0]["label"] is None


@pytest.mark.parametrize(
    ("labels", "category"),
    [
        ({"subject": "Biology", "class": 10, "rerank": 0.9}, ""),
        ({"subject": "Biology", "class": 9}, "off_topic"),
        ({"subject": "Biology", "class": 10, "rerank": "0.2"}, "low_confidence"),
        ({}, "off_topic"),
    ],
)
def test_rows_carry_the_labels_that_safety_mechanism_checks(
    tmp_path: Path, labels: dict[str, object], category: str
) -> None:
    """Class and subject of the question and of its passages, and a rerank score."""
    row: dict[str, object] = {
        "id": "a",
        "query": "Returns?",
        "response": REPLY,
        "labels": {"subject": "Biology", "class": 10},
        "passages": [{"text": TEXT, "similarity": 0.9, "labels": labels}],
    }
    lines, _ = run("--cases", rows_in(tmp_path, row), "--policy", "safety")

    assert lines[0]["category"] == category


def test_a_human_label_may_have_another_name(tmp_path: Path) -> None:
    """It is printed as 0 or 1 under `label`; a wrong one is refused."""
    row: dict[str, object] = {"id": "a", "context": TEXT, "response": REPLY, "wrong": True}
    lines, _ = run("--cases", rows_in(tmp_path, row), "--label", "wrong")
    _, said = run("--cases", rows_in(tmp_path, row | {"wrong": "maybe"}), "--label", "wrong", code=5)

    assert lines[0]["label"] == 1
    assert "wrong: expected 0, 1, true or false, got 'maybe'" in " ".join(said.split())


def test_the_help_describes_every_field_of_a_row() -> None:
    """Fields read from a row, and fields printed."""
    said = RUNNER.invoke(assess_app, ["--help"], env={"COLUMNS": "120", "TERM": "dumb"}).output

    for name in (
        "id", "query", "response", "context", "passages", "text", "title", "similarity", "labels", "label",
        "lang", "task", "group", "category", "passed_checks", "failed_checks", "reasons",
    ):  # fmt: skip
        assert re.search(rf"\b{name}\b", said), name


def readings_in(folder: Path, **recorded: object) -> str:
    """A file of a judge's answers, by row id."""
    path = folder / "readings.jsonl"
    path.write_text("\n".join(json.dumps({"id": each, "reading": said}) for each, said in recorded.items()))
    return str(path)


PARAPHRASE = "Send it back up to 30 days after it reached you [1]."
QUOTE = "You can return any item within 30 days of delivery"


@pytest.mark.parametrize("as_text", [True, False])
def test_recorded_readings_decide(tmp_path: Path, *, as_text: bool) -> None:
    """As text, as a model wrote it, or as an object; a row without one is held."""
    row: dict[str, object] = {"context": TEXT, "response": PARAPHRASE}
    rows = rows_in(tmp_path, *(row | {"id": name} for name in ("sent", "not", "none")))
    answers = {"sent": reading(said("supported", QUOTE)), "not": reading(said("contradicted", QUOTE))}
    recorded = answers if as_text else {name: json.loads(each) for name, each in answers.items()}
    lines, _ = run("--cases", rows, "--readings", readings_in(tmp_path, **recorded))

    assert [(line["id"], line["action"], line["category"]) for line in lines] == [
        ("sent", "send", ""), ("not", "escalate", "ungrounded"), ("none", "hold", "judge_unavailable"),
    ]  # fmt: skip
    assert (lines[0]["support"], lines[0]["relevance"]) == (0.97, 1.0)  # without a question


def test_without_a_judge_no_paraphrase_is_sent(tmp_path: Path) -> None:
    """Held, and the reason says that the judge is off."""
    row: dict[str, object] = {"id": "a", "context": TEXT, "response": PARAPHRASE}
    lines, _ = run("--cases", rows_in(tmp_path, row))

    assert (lines[0]["action"], lines[0]["failed_checks"]) == ("hold", ["judge_off"])


@pytest.mark.parametrize("line", ["not json", '{"id": "a"}', '{"reading": {}}', "[]"])
def test_a_wrong_line_of_readings_is_named(tmp_path: Path, line: str) -> None:
    """File, line and what is expected."""
    path = tmp_path / "readings.jsonl"
    path.write_text(f'{{"id": "a", "reading": "x"}}\n{line}\n')
    _, printed = run("--cases", str(SAMPLE), "--readings", str(path), code=5)

    assert 'readings.jsonl, line 2: expected {"id": ..., "reading": ...}' in " ".join(printed.split())


def test_a_gzipped_file_is_read_too(tmp_path: Path) -> None:
    """.jsonl.gz gives what .jsonl gives."""
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(SAMPLE.read_bytes()))

    assert run("--cases", str(packed)) == run("--cases", str(SAMPLE))


def test_the_report_sets_every_policy_side_by_side() -> None:
    """One line per policy with every figure."""
    lines, said = run("report", "--cases", str(SAMPLE), "--label", "label")
    by_policy = {str(line["policy"]): line for line in lines}

    assert list(by_policy) == list(DESIGNS)
    assert {
        "task", "lang", "rows", "ungrounded", "auroc", "f1", "best_f1", "aurc", "coverage_5", "coverage_2",
        "coverage_1", "false_reject_90", "calibration_error", "judge_share", "audited",
    } <= set(by_policy["calibrated"])  # fmt: skip
    assert "at most" in str(by_policy["calibrated"]["audited"])
    assert "No judge was asked" in said


def test_the_report_draws_risk_against_coverage(tmp_path: Path) -> None:
    """One line per policy in an SVG."""
    plot = tmp_path / "risk.svg"
    run("report", "--cases", str(SAMPLE), "--plot", str(plot))
    drawn = plot.read_text(encoding="utf-8")

    assert drawn.count("<polyline") == len(DESIGNS)
    assert drawn.startswith("<svg")


def test_recorded_readings_that_follow_the_labels_separate_the_rows(tmp_path: Path) -> None:
    """Every row that is not copied is read."""
    rows = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    recorded = {
        str(row["id"]): reading(*[said("not_mentioned", probability=0.0)] * 30)
        for row in rows
        if row["label"]
    }
    lines, printed = run(
        "report", "--cases", str(SAMPLE), "--policy", "calibrated",
        "--readings", readings_in(tmp_path, **recorded),
    )  # fmt: skip

    assert lines[0]["judge_share"] == 1.0
    assert (lines[0]["sent"], lines[0]["sent_ungrounded"]) == (0, 0)
    assert "No judge" not in printed


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("not json", "line 2: expected JSON, got no JSON at column 1"),
        ("[]", "line 2: row: expected a JSON object, got list"),
        ('{"id": 1, "context": "c"}', "line 2: response: expected a text, got nothing"),
        ('{"id": 1, "response": "r"}', "line 2: context: expected a text or a list, got nothing"),
        ('{"context": "c", "response": "r"}', "line 2: id: expected a text or number, got nothing"),
        ('{"id": 1, "context": [7], "response": "r"}', "line 2: passages.0: expected a text or an object"),
        (
            '{"id": 1, "passages": [{"text": "t", "similarity": 2}], "response": "r"}',
            "line 2: passages.0.similarity: expected a number from 0 to 1, got 2",
        ),
    ],
)
def test_a_wrong_row_is_named_by_its_line(tmp_path: Path, line: str, problem: str) -> None:
    """File, line, field, expectation and what came; nothing is assessed."""
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "a", "context": "c", "response": "r"}\n' + line + "\n")
    lines, said = run("--cases", str(rows), code=5)

    assert lines == []
    assert problem in " ".join(said.split())


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--cases", "nowhere.jsonl"), "expected a readable"),
        (("--cases", str(SAMPLE), "--policy", "magic"), "expected one of calibrated"),
        ((), "--cases: expected a file of rows"),
    ],
)
def test_a_wrong_command_line_is_refused(arguments: tuple[str, ...], problem: str) -> None:
    """Exit code 2 and one sentence."""
    _, said = run(*arguments, code=2)

    assert problem in " ".join(said.split())


def test_rows_without_the_label_are_refused() -> None:
    """The rows were read and rejected: exit code 5."""
    _, said = run("report", "--cases", str(SAMPLE), "--label", "truth", code=5)

    assert "truth: expected 0, 1, true or false, got nothing" in " ".join(said.split())


def test_a_broken_gzip_file_is_refused(tmp_path: Path) -> None:
    """Not a traceback."""
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(SAMPLE.read_bytes())[:200])
    _, said = run("--cases", str(packed), code=5)

    assert "expected a readable" in " ".join(said.split())
