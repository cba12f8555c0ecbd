"""``hushgate rules match``: the rules of each case of a file against its text."""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from cli.exit_codes import ExitCode
from cli.output import json_text, print_message
from cli.output_file import input_file
from worker.model import RuleLevel
from worker.payload import no_json
from worker.rules import CompiledRules, Hit, compile_rules
from worker.rules.formats import SYNTAXES, rule_from_syntax

CasesFile = Annotated[
    Path,
    typer.Option("--cases", help="JSONL: id, keywords (or rule and syntax), text; - for standard input."),
]
LevelOption = Annotated[
    RuleLevel, typer.Option("--level", help="strict adds masked letters, split words and typos.")
]


def match_cases(cases: CasesFile, level: LevelOption = RuleLevel.DEFAULT) -> None:
    """Match every case of a file; one NDJSON line each, in the same order.

    A bad line gives a line with an error, the others go on, and the exit code is 1. For example:

        hushgate rules match --cases cases.jsonl --level strict
    """
    bad = 0
    with input_file(cases) as source:
        for number, line in enumerate(source, 1):
            if not line.strip():
                continue
            answer = _answer(number, line, level)
            bad += "error" in answer
            sys.stdout.write(json_text(answer) + "\n")
    sys.stdout.flush()
    if bad:
        print_message(f"{bad} bad lines in {cases}")
        raise typer.Exit(ExitCode.NEGATIVE)


def _answer(number: int, line: bytes, level: RuleLevel) -> dict[str, object]:
    try:
        case = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return _bad(number, "line", "one JSON object", no_json(error))
    if not isinstance(case, dict):
        return _bad(number, "line", "one JSON object", type(case).__name__)
    rules = _case_rules(number, case)
    if isinstance(rules, dict):
        return rules
    if not isinstance(case.get("text"), str):
        return _bad(number, "text", "a string", _kind(case, "text"), case.get("id"))
    compiled = _compiled(rules, level)
    hits = compiled.match(case["text"])
    answer: dict[str, object] = {
        "id": case.get("id"),
        "matched": bool(hits),
        "hits": [hit_json(h) for h in hits],
    }
    if compiled.problems:
        answer["problems"] = [f"{problem.rule}: {problem.message}" for problem in compiled.problems]
    return answer


def _case_rules(number: int, case: dict[str, Any]) -> tuple[str, ...] | dict[str, object]:
    """The rules of a case, or the error line of a case without usable rules."""
    if "rule" in case:
        if not isinstance(case["rule"], str):
            return _bad(number, "rule", "a string", _kind(case, "rule"), case.get("id"))
        if (syntax := str(case.get("syntax", "plain"))) not in SYNTAXES:
            return _bad(number, "syntax", f"one of {', '.join(SYNTAXES)}", syntax, case.get("id"))
        return (rule_from_syntax(case["rule"], syntax),)
    keywords = case.get("keywords")
    if not isinstance(keywords, list) or not all(isinstance(word, str) for word in keywords):
        return _bad(number, "keywords", "an array of strings", _kind(case, "keywords"), case.get("id"))
    return tuple(keywords)


def _kind(case: dict[str, Any], field: str) -> str:
    return f"{type(case[field]).__name__} {str(case[field])[:40]!r}" if field in case else "nothing"


def _bad(number: int, field: str, expected: str, got: str, case_id: object = None) -> dict[str, object]:
    return {
        "id": case_id,
        "error": f"line {number}: {field}: expected {expected}, got {got}",
        "line": number,
        "field": field,
        "expected": expected,
        "got": got,
    }


@lru_cache(maxsize=64)
def _compiled(rules: tuple[str, ...], level: RuleLevel) -> CompiledRules:
    return compile_rules(rules, version=0, level=level)


def hit_json(hit: Hit) -> dict[str, object]:
    """A hit as one JSON object, as ``match`` and ``test`` print it."""
    return {
        "rule": hit.rule,
        "start": hit.start,
        "end": hit.end,
        "text": hit.text.encode("utf-8", "replace").decode(),
        "how": hit.how,
    }
