"""The result of an evaluation: a table, JSON, and JUnit for CI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final
from xml.etree import ElementTree as ET

from cli.output import emit_json, print_message, screen, stdout_is_terminal, table
from trials.jobs.evaluation import EvaluatedArm
from trials.pure.evaluation.figures import EvaluationBound, ItemResult
from worker.statistics.shares import Share

COLUMNS: Final = (
    "arm", "items", "precision", "recall", "accuracy", "reasons", "failures", "usd", "p50_ms", "p95_ms",
)  # fmt: skip
SHARES: Final = ("precision", "recall", "accuracy", "reasons")


def print_report(set_name: str, found: Sequence[EvaluatedArm]) -> None:
    """A table on a terminal; in a pipe a JSON object for each item and arm, with its kind as only key."""
    if not stdout_is_terminal():
        for each in found:
            for result in each.results:
                emit_json({"item": {"arm": each.arm.label, **_item(result)}})
        for each in found:
            emit_json({"arm": {"set": set_name, **each.json}})
        return
    screen.print(table(map(_row, found), COLUMNS))
    for each in found:
        for failure, number in each.figures.failures.items():
            print_message(f"{each.arm.label}: {number} failed with {failure}", style="yellow")
        if each.figures.unpriced:
            print_message(f"no declared price of {', '.join(each.figures.unpriced)}", style="yellow")


def print_json(set_name: str, found: Sequence[EvaluatedArm]) -> None:
    """One JSON object."""
    arms = [{**each.json, "results": [_item(result) for result in each.results]} for each in found]
    emit_json({"set": set_name, "arms": arms})


def junit_xml(set_name: str, found: Sequence[EvaluatedArm], bounds: Sequence[EvaluationBound]) -> str:
    """JUnit: a suite an arm, a case an item and bound; without texts of messages.

    An item that was decided otherwise than labelled is a failure, one that failed an error.
    """
    root = ET.Element("testsuites", name=f"golden set {set_name}")
    for each in found:
        failed = [result for result in each.results if not result.failure and not result.right]
        broken = [(bound, bound.problem(each.figures)) for bound in bounds]
        suite = ET.SubElement(
            root,
            "testsuite",
            name=each.arm.label,
            tests=str(len(each.results) + len(bounds)),
            failures=str(len(failed) + sum(problem is not None for _, problem in broken)),
            errors=str(sum(bool(result.failure) for result in each.results)),
            time=f"{sum(result.latency_s for result in each.results):.3f}",
        )
        for result in each.results:
            _case(suite, set_name, result)
        for bound, problem in broken:
            case = ET.SubElement(suite, "testcase", classname=f"{set_name} bounds", name=bound.line)
            if problem:
                ET.SubElement(case, "failure", message=problem)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ET.Element, set_name: str, result: ItemResult) -> None:
    name, time = _printable(result.row_id), f"{result.latency_s:.3f}"
    case = ET.SubElement(suite, "testcase", classname=set_name, name=name, time=time)
    if result.failure:
        ET.SubElement(case, "error", message=f"not decided: {result.failure}")
    elif not result.right:
        got = "an answer" if result.answered else f"silence ({result.reason})"
        ET.SubElement(case, "failure", message=f"expected {result.label.expected.value}, got {got}")


def _printable(text: str) -> str:
    """Text that XML 1.0 can hold."""
    return "".join(each if each.isprintable() else "?" for each in text)


def _item(result: ItemResult) -> dict[str, Any]:
    label = asdict(result.label)
    return {
        "id": result.row_id,
        "expected": result.label.expected,
        "got": None if result.failure else "answer" if result.answered else "silent",
        "right": result.right,
        "reason": result.reason,
        "expected_reason": label["reason"],
        "failure": result.failure,
        "latency_ms": result.latency_s * 1000,
        "usd": result.usd,
    }


def _row(each: EvaluatedArm) -> Mapping[str, Any]:
    figures = each.figures
    row: dict[str, Any] = {
        "arm": each.arm.label,
        "items": figures.items,
        "failures": sum(figures.failures.values()),
        "usd": f"{figures.usd:.4f}{'+?' if figures.unpriced else ''}",
        "p50_ms": figures.latency_p50_ms,
        "p95_ms": figures.latency_p95_ms,
    }
    return row | {name: _shown(figures.share(name)) for name in SHARES}


def _shown(share: Share | None) -> str | None:
    return None if share is None else f"{share.share:.3f} ({share.low:.2f}–{share.high:.2f})"
