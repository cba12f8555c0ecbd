"""`hushgate assess` in a pipe: rows in, NDJSON out, refusals that name the line."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli import assess as command
from cli.assess import assess_app
from tests.unit.assessment.test_training import PlainFitter
from worker.assessment import parse_policy
from worker.assessment.policies import DESIGNS

SAMPLE = Path(__file__).parents[2] / "fixtures" / "assessment" / "ragtruth_sample.jsonl"
RUNNER = CliRunner()


def run(*arguments: str, code: int = 0) -> tuple[list[dict[str, object]], str]:
    """The NDJSON a command printed, and what it said on standard error."""
    result = RUNNER.invoke(assess_app, list(arguments))
    assert result.exit_code == code, result.output
    return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")], result.stderr


@pytest.mark.parametrize("policy", DESIGNS)
def test_every_row_is_assessed_in_order(policy: str) -> None:
    """NDJSON with exactly id, confidence, tier, action, reasons."""
    ids = [json.loads(line)["id"] for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    lines, _ = run("--cases", str(SAMPLE), "--policy", policy)

    assert [line["id"] for line in lines] == ids
    assert all(set(line) == {"id", "confidence", "tier", "action", "reasons"} for line in lines)
    assert all(0.0 <= float(str(line["confidence"])) <= 1.0 for line in lines)


def test_a_gzipped_file_is_read_too(tmp_path: Path) -> None:
    """.jsonl.gz gives what .jsonl gives."""
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(SAMPLE.read_bytes()))

    assert run("--cases", str(packed)) == run("--cases", str(SAMPLE))


def test_the_report_sets_all_five_side_by_side() -> None:
    """One line per policy with every figure; ours is ahead on these rows."""
    lines, said = run("report", "--cases", str(SAMPLE), "--label", "label")
    by_policy = {str(line["policy"]): line for line in lines}

    assert list(by_policy) == list(DESIGNS)
    assert {
        "task", "lang", "rows", "ungrounded", "auroc", "f1", "best_f1", "aurc", "coverage_5", "coverage_2",
        "coverage_1", "false_reject_90", "calibration_error", "judge_share", "audited",
    } <= set(by_policy["calibrated"])  # fmt: skip
    assert max(by_policy, key=lambda name: float(str(by_policy[name]["auroc"]))) == "calibrated"
    assert "at most" in str(by_policy["calibrated"]["audited"])
    assert "No judge was asked" in said


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

    assert parse_policy(json.loads(out.read_text(encoding="utf-8"))).version == 1
    assert lines[0]["trained_on"] == "2026-11-21"


def test_calibration_without_its_extra_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """scikit-learn and MAPIE are never needed to run; asking for them without is a refusal."""
    monkeypatch.setitem(sys.modules, "worker.adapters.sklearn_fitter", None)
    _, said = run(
        "calibrate", "--cases", str(SAMPLE), "--out", str(tmp_path / "x"), "--data", "d", "--licence", "l",
        code=2,
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
    lines, said = run("--cases", str(rows), code=2)

    assert lines == []
    assert problem in " ".join(said.split())


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--cases", "nowhere.jsonl"), "expected a readable"),
        (("--cases", str(SAMPLE), "--policy", "magic"), "expected one of calibrated"),
        ((), "--cases: expected a file of rows"),
        (
            ("report", "--cases", str(SAMPLE), "--label", "truth"),
            "truth: expected 0, 1, true or false, got nothing",
        ),
    ],
)
def test_a_wrong_command_line_is_refused(arguments: tuple[str, ...], problem: str) -> None:
    """Exit code 2 and one sentence."""
    _, said = run(*arguments, code=2)

    assert problem in " ".join(said.split())


def test_a_broken_gzip_file_is_refused(tmp_path: Path) -> None:
    """Not a traceback."""
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(SAMPLE.read_bytes())[:200])
    _, said = run("--cases", str(packed), code=2)

    assert "expected a readable" in " ".join(said.split())
