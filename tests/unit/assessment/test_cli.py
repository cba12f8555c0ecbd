"""`hushgate assess` in a pipe: rows in, NDJSON out, refusals that name the line."""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.assess import commands as command
from cli.assess.commands import app as assess_app
from tests.unit.assessment.test_training import PlainFitter
from worker.assessment import parse_policy
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


def test_a_recorded_score_is_no_certainty(tmp_path: Path) -> None:
    """It says how far a reply is grounded; the guardrail's other question stays unanswered."""
    row: dict[str, object] = {"id": "a", "context": TEXT, "response": REPLY}
    scores = tmp_path / "scores.jsonl"
    scores.write_text('{"id": "a", "score": 1.0}')
    lines, _ = run("--cases", rows_in(tmp_path, row), "--policy", "guardrail", "--judge-scores", str(scores))

    assert lines[0]["confidence"] == 0.9
    assert lines[0]["failed_checks"] == ["judge_unavailable"]


def test_a_gzipped_file_is_read_too(tmp_path: Path) -> None:
    """.jsonl.gz gives what .jsonl gives."""
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(SAMPLE.read_bytes()))

    assert run("--cases", str(packed)) == run("--cases", str(SAMPLE))


def test_the_report_sets_all_five_side_by_side() -> None:
    """One line per policy with every figure; ``calibrated`` is best on these rows."""
    lines, said = run("report", "--cases", str(SAMPLE), "--label", "label")
    by_policy = {str(line["policy"]): line for line in lines}

    assert list(by_policy) == list(DESIGNS)
    assert {
        "task", "lang", "rows", "ungrounded", "auroc", "f1", "best_f1", "aurc", "coverage_5", "coverage_2",
        "coverage_1", "false_reject_90", "calibration_error", "judge_share", "audited",
    } <= set(by_policy["calibrated"])  # fmt: skip
    assert max(by_policy, key=lambda name: float(str(by_policy[name]["auroc"]))) == "calibrated"
    assert "at most" in str(by_policy["calibrated"]["audited"])
    assert "No judge was called" in said


def test_the_report_draws_risk_against_coverage(tmp_path: Path) -> None:
    """One line per policy in an SVG."""
    plot = tmp_path / "risk.svg"
    run("report", "--cases", str(SAMPLE), "--plot", str(plot))
    drawn = plot.read_text(encoding="utf-8")

    assert drawn.count("<polyline") == len(DESIGNS)
    assert drawn.startswith("<svg")


def test_a_stronger_detector_decides_the_undecided_from_recorded_scores(tmp_path: Path) -> None:
    """With recorded scores that follow the labels, every judged reply ends right and F1 passes 0.80."""
    rows = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    scores = tmp_path / "scores.jsonl"
    scores.write_text(
        "\n".join(json.dumps({"id": row["id"], "score": 0.05 if row["label"] else 0.95}) for row in rows)
    )
    policy = tmp_path / "policy.json"
    policy.write_text('{"name": "calibrated", "send_at": 1.0, "reject_below": 0.0, "judge_unit": "reply"}')
    lines, _ = run("report", "--cases", str(SAMPLE), "--policy", str(policy), "--judge-scores", str(scores))

    assert float(str(lines[0]["f1"])) >= 0.8
    assert lines[0]["judge_share"] == 1.0


def test_calibration_writes_a_policy_an_account_can_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fitted through the seam; the file parses as a policy and the record is printed."""
    monkeypatch.setattr(command, "offline_fitter", PlainFitter)
    out = tmp_path / "policy.json"
    lines, _ = run(
        "calibrate", "--cases", str(SAMPLE), "--out", str(out), "--data", "sample", "--licence", "MIT",
        "--trained-on", "2026-11-21", "--as-policy",
    )  # fmt: skip

    assert parse_policy(json.loads(out.read_text(encoding="utf-8"))).version == 2
    assert lines[0]["trained_on"] == "2026-11-21"


def test_calibration_without_its_extra_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """scikit-learn and MAPIE are never needed to run; asking for them without is a refusal."""
    monkeypatch.setitem(sys.modules, "worker.adapters.sklearn_fitter", None)
    _, said = run(
        "calibrate", "--cases", str(SAMPLE), "--out", str(tmp_path / "x"), "--data", "d", "--licence", "l",
        code=3,
    )  # fmt: skip

    assert "hushgate[calibrate]" in said


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("not json", "line 2: Expecting value"),
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
