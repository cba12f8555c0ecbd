"""Recorded scores of Perspective API beside rules and moderation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.main import command_line
from cli.perspective.lines import LineRejected, parse_line

ANSWER = {
    "attributeScores": {
        "TOXICITY": {
            "spanScores": [{"begin": 0, "end": 16, "score": {"value": 0.93, "type": "PROBABILITY"}}],
            "summaryScore": {"value": 0.9345, "type": "PROBABILITY"},
        },
        "PROFANITY": {"summaryScore": {"value": 0.4, "type": "PROBABILITY"}},
    },
    "languages": ["en"],
    "detectedLanguages": ["en"],
}
"""As the API gives it, with spans."""
SCORES = {"TOXICITY": 0.9345, "PROFANITY": 0.4}
UNSUPPORTED = {
    "error": {
        "code": 400,
        "message": "Attribute TOXICITY does not support request languages: vi",
        "status": "INVALID_ARGUMENT",
        "details": [
            {
                "@type": "type.googleapis.com/google.commentanalyzer.v1alpha1.Error",
                "errorType": "LANGUAGE_NOT_SUPPORTED_BY_ATTRIBUTE",
            }
        ],
    }
}
EXHAUSTED = {"error": {"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED"}}


def moderated(score: float, *, flagged: bool = False) -> dict[str, Any]:
    """A whole answer of the moderation API."""
    result = {
        "flagged": flagged,
        "categories": {"harassment": flagged, "hate": False},
        "category_scores": {"harassment": score, "hate": 0.01},
    }
    return {"id": "modr-1", "model": "omni-moderation-latest", "results": [result]}


def run(folder: Path, lines: list[Any], *options: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit code and rows of a file."""
    file = folder / "recorded.jsonl"
    file.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines))
    done = CliRunner().invoke(command_line(["perspective"]), ["perspective", str(file), *options])
    return done.exit_code, [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("line", "attributes", "error"),
    [
        ({"text": "x", "perspective": ANSWER}, SCORES, ""),
        ({"text": "x", "perspective": SCORES}, SCORES, ""),
        ({"comment": {"text": "x"}, **ANSWER}, SCORES, ""),
        ({"comment": "x", "perspective": ANSWER}, SCORES, ""),
        ({"text": "x", "perspective": UNSUPPORTED}, None, "LANGUAGE_NOT_SUPPORTED_BY_ATTRIBUTE"),
        ({"text": "x", **EXHAUSTED}, None, "RESOURCE_EXHAUSTED"),
        ({"text": "x", "perspective": {"error": "timeout"}}, None, "timeout"),
    ],
)
def test_a_response_is_read_as_it_was_stored(
    line: dict[str, Any], attributes: dict[str, float] | None, error: str
) -> None:
    """Whole, as attribute -> score, beside its request, or an error of this text alone."""
    found = parse_line(7, json.dumps(line).encode())

    assert (found.id, found.text, found.attributes, found.error) == ("7", "x", attributes, error)


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("{", "expected one JSON object, got no JSON"),
        ("[1]", "expected one JSON object, got an array"),
        ({"perspective": ANSWER}, "text: expected a string, got nothing"),
        ({"text": 3, "perspective": ANSWER}, "text: expected a string, got int '3'"),
        ({"text": "x"}, "perspective: expected the response of Perspective API, got nothing"),
        ({"text": "x", "perspective": {"attributeScores": {}}}, "attributeScores: .* got an empty object"),
        ({"text": "x", "perspective": {"TOXICITY": 93}}, r"perspective\.TOXICITY: .* 0 to 1, got int '93'"),
        ({"text": "x", "perspective": {"TOXICITY": True}}, r"perspective\.TOXICITY: "),
        (
            {"text": "x", "attributeScores": {"INSULT": {"summaryScore": {}}}},
            r"attributeScores\.INSULT\.summaryScore\.value: expected a number from 0 to 1, got nothing",
        ),
        ({"text": "x", "perspective": SCORES, "moderation": {"results": []}}, "moderation: "),
        ({"text": "x", "perspective": SCORES, "moderation": {"flagged": False}}, "moderation: "),
        ({"text": "x", "perspective": SCORES, "moderation": [1]}, "moderation: .* got an array"),
    ],
)
def test_a_line_that_cannot_be_compared_names_its_field(line: Any, field: str) -> None:
    """With what was expected and what came."""
    with pytest.raises(LineRejected, match=field):
        parse_line(1, (line if isinstance(line, str) else json.dumps(line)).encode())


def test_both_sides_stand_in_one_row(tmp_path: Path) -> None:
    """Who acts by which threshold, by which category, and whether they agree; bad lines come beside."""
    lines = [
        {"id": "a", "text": "You idiot", "perspective": ANSWER, "moderation": moderated(0.8, flagged=True)},
        {"id": "b", "text": "Nice", "perspective": {"TOXICITY": 0.75}, "moderation": moderated(0.1)},
        {"id": "c", "text": "Chào", "perspective": UNSUPPORTED, "moderation": moderated(0.1)},
        "{",
    ]
    code, rows = run(tmp_path, lines, "--threshold", "TOXICITY=0.7")
    texts = [row for row in rows if row["kind"] == "text"]
    (toxicity,) = [row for row in rows if row.get("attribute") == "TOXICITY"]

    assert code == 1
    assert [(row["perspective_acts"], row["hushgate_acts"], row["agrees"]) for row in texts] == [
        (["TOXICITY"], "openai_moderation:harassment", True),
        (["TOXICITY"], None, False),
        ([], None, None),
    ]
    assert texts[2]["perspective_error"] == "LANGUAGE_NOT_SUPPORTED_BY_ATTRIBUTE"
    assert [row["line"] for row in rows if row["kind"] == "error"] == [4]
    assert [toxicity[name] for name in ("texts", "both", "perspective_only", "agreement")] == [2, 1, 1, 0.5]


def test_the_suggested_threshold_agrees_best(tmp_path: Path) -> None:
    """The highest of equally good ones; none where fewer than ten texts stand on one side."""
    lines = [
        {"text": "x", "perspective": {"TOXICITY": 0.9 if bad else 0.1}, "moderation": moderated(score)}
        for bad, score in [(True, 0.4)] * 10 + [(False, 0.3)] * 10
    ]
    _, rows = run(tmp_path, lines)
    _, fewer = run(tmp_path, lines[1:])

    assert (rows[-1]["suggested_threshold"], rows[-1]["suggested_agreement"]) == (0.4, 1.0)
    assert rows[-1]["perspective_only"] == 10
    assert fewer[-1]["suggested_threshold"] is None


@pytest.mark.parametrize("threshold", ["2", "TOXICITY=", "TOXICITY=high", "nan", "-1"])
def test_a_threshold_outside_of_scores_is_refused(tmp_path: Path, threshold: str) -> None:
    """Before the file is read."""
    assert run(tmp_path, [], "--threshold", threshold) == (2, [])


def test_a_threshold_of_an_attribute_that_no_line_has_is_named(tmp_path: Path) -> None:
    """On standard error, with the attributes of the file."""
    file = tmp_path / "recorded.jsonl"
    file.write_text(json.dumps({"text": "x", "perspective": SCORES}))
    words = ["perspective", str(file), "--threshold", "TOXCITY=0.7", "--threshold", "PROFANITY=0.7"]
    done = CliRunner().invoke(command_line(["perspective"]), words)

    assert done.exit_code == 0
    assert "expected attributes of the file (PROFANITY, TOXICITY), got TOXCITY\n" in done.stderr
