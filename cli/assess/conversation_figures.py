"""The figures of a measurement: how many right, wrong and invented replies were sent, by policy and judge."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from cli.assess.conversation_runs import RunResult
from db.history.conversation_sets import QuestionEnding
from sandbox.cases import NOT_IN_DOCUMENTS, Case, DraftKind, Writes
from sandbox.replies.statements import SENTENCE_END

SENT_KINDS: Final = {
    Writes.RIGHT: DraftKind.RIGHT,
    Writes.WRONG: DraftKind.WRONG,
    Writes.INVENTED: DraftKind.INVENTED,
}
COLUMNS: Final = (
    "policy", "judge", "right_sent", "wrong_sent", "invented_sent", "bad_sent_at_most", "held",
    "not_in_documents_answered", "judge_calls", "completions",
)  # fmt: skip
SHARES: Final = frozenset(
    {"right_sent", "wrong_sent", "invented_sent", "bad_sent_at_most", "held", "not_in_documents_answered"}
)
KIND_COLUMNS: Final = ("policy", "judge", "kind", "cases", "right_sent", "wrong_sent", "invented_sent")


def sent_kind(case: Case, ending: QuestionEnding) -> DraftKind | None:
    """What was sent to the author, compared with the texts of the case; None without a reply."""
    return None if ending.reply is None else case.kind_of(SENTENCE_END.split(ending.reply))


def figure_rows(results: Iterable[RunResult]) -> list[dict[str, Any]]:
    """One row per policy and judge, in the order of the runs."""
    grouped: dict[tuple[str, str], list[RunResult]] = defaultdict(list)
    for result in results:
        grouped[result.run.policy.label, result.run.judge].append(result)
    return [
        {"policy": policy, "judge": judge, **_figures({each.run.writes: each for each in of_both})}
        for (policy, judge), of_both in grouped.items()
    ]


def case_rows(results: Iterable[RunResult]) -> Iterator[dict[str, Any]]:
    """One row per run and question, in the order of the runs: how it ended, and what was sent."""
    for result in results:
        run = result.run
        for case, ending in sorted(result.endings, key=lambda each: each[0].case_id):
            yield {
                "policy": run.policy.label,
                "judge": run.judge,
                "writes": run.writes.value,
                "case": case.case_id,
                "kind": case.kind,
                "reason_code": ending.reason_code,
                "waits": ending.waits,
                "sent": sent_kind(case, ending),
            }


def kind_rows(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row per policy, judge and kind of question."""
    return [
        {"policy": row["policy"], "judge": row["judge"], "kind": kind, **counts}
        for row in rows
        for kind, counts in row["kinds"].items()
    ]


def as_shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with its shares as percentages and calls with two decimals, for a table."""
    return {name: _shown(name, value) for name, value in row.items()}


def _figures(runs: Mapping[Writes, RunResult]) -> dict[str, Any]:
    """The figures of one policy and judge; those of a kind of writing that was not measured are None.

    ``held`` and calls per event are those of the right answers, if measured: what an ordinary model costs.
    """
    usual = runs.get(Writes.RIGHT) or next(iter(runs.values()))
    figures: dict[str, Any] = {f"{writes}_sent": _sent_share(runs.get(writes), writes) for writes in Writes}
    answerable = [(case, ending) for case, ending in usual.endings if case.doc]
    kinds = dict.fromkeys(case.kind for case in usual.cases if case.doc)
    return figures | {
        "bad_sent_at_most": _bound(runs),
        "held": _share(sum(ending.waits for _, ending in answerable), len(answerable)),
        "not_in_documents_answered": _undocumented(runs.values()),
        "judge_calls": round(usual.calls.get("judge", 0) / max(1, len(usual.cases)), 3),
        "completions": round(usual.calls.get("chat", 0) / max(1, len(usual.cases)), 3),
        "kinds": {kind: _kind_figures(runs, kind) for kind in kinds},
        "runs": {
            writes: {
                "cases": len(result.cases),
                "decided": len(result.endings),
                "degraded": sum(ending.degraded for _, ending in result.endings),
                "calls": result.calls,
                "endings": dict(Counter(ending.reason_code for _, ending in result.endings).most_common()),
            }
            for writes, result in runs.items()
        },
    }


def _kind_figures(runs: Mapping[Writes, RunResult], kind: str) -> dict[str, Any]:
    cases = next(sum(case.kind == kind for case in each.cases) for each in runs.values())
    shares = {f"{writes}_sent": _sent_share(runs.get(writes), writes, kind=kind) for writes in Writes}
    return {"cases": cases, **shares}


def _sent_share(result: RunResult | None, writes: Writes, *, kind: str | None = None) -> float | None:
    """The share of answerable cases, of a kind or of all, whose draft was sent."""
    if result is None:
        return None
    asked = [case for case in result.cases if case.doc and kind in (None, case.kind)]
    ids = {case.case_id for case in asked}
    sent = sum(
        case.case_id in ids and sent_kind(case, ending) is SENT_KINDS[writes]
        for case, ending in result.endings
    )
    return _share(sent, len(asked))


def _bound(runs: Mapping[Writes, RunResult]) -> float | None:
    """The conformal bound on the share of bad drafts that are sent: ``(sent + 1) / (drafts + 1)``.

    It holds on average for the next bad draft, if that is like those of the set (conformal risk control,
    Angelopoulos and others 2022, for a loss of 0 or 1). None unless both kinds of bad drafts were measured.
    """
    bad = (runs.get(Writes.WRONG), runs.get(Writes.INVENTED))
    found = [_sent_of(each) for each in bad if each is not None]
    if len(found) < len(bad):
        return None
    sent, drafts = (sum(counts) for counts in zip(*found, strict=True))
    return _share(sent + 1, drafts + 1)


def _sent_of(result: RunResult) -> tuple[int, int]:
    """How many drafts of answerable cases were sent as the run wrote them, and of how many."""
    wanted = SENT_KINDS[result.run.writes]
    sent = sum(bool(case.doc) and sent_kind(case, ending) is wanted for case, ending in result.endings)
    return sent, sum(bool(case.doc) for case in result.cases)


def _undocumented(results: Iterable[RunResult]) -> float | None:
    """The share of questions without a document that got another answer than that we do not know."""
    endings = [
        (case, ending) for each in results for case, ending in each.endings if case.kind == NOT_IN_DOCUMENTS
    ]
    answered = (DraftKind.WRONG, DraftKind.INVENTED)
    return _share(sum(sent_kind(case, ending) in answered for case, ending in endings), len(endings))


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _shown(name: str, value: Any) -> Any:
    if value is None or not isinstance(value, float):
        return value
    return f"{value:.1%}" if name in SHARES else f"{value:.2f}"


def all_decided(results: Sequence[RunResult]) -> bool:
    """Whether every question of every run has its decision."""
    return all(len(each.endings) == len(each.cases) for each in results)
