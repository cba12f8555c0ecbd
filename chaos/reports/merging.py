"""One report from the reports of slices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from chaos.kinds import Law
from chaos.reports.report import FaultCount, Report, SliceResult, recovery


def merged(found: Mapping[int, Report | None], command: str) -> Report:
    """The sums of all slices, by their seed; None: the slice did not run, or left no report."""
    reports = {seed: report for seed, report in found.items() if report is not None}
    return Report(
        command=command,
        commit=" ".join(dict.fromkeys(each.commit for each in reports.values())),
        seed=min(found),
        interrupted=len(reports) < len(found) or any(each.interrupted for each in reports.values()),
        seconds=round(sum(each.seconds for each in reports.values()), 1),
        load_average=max((each.load_average for each in reports.values()), default=0.0),
        figures=_sums([each.figures for each in reports.values()]),
        faults=_faults([each.faults for each in reports.values()]),
        breaches={
            law: tuple(f"seed {seed}: {what}" for seed in reports for what in reports[seed].breaches[law])
            for law in Law
        },
        violations={law: sum(each.violations[law] for each in reports.values()) for law in Law},
        grown={str(seed): dict(each.grown) for seed, each in reports.items()},
        failed=tuple(f"seed {seed}: {what}" for seed, each in reports.items() for what in each.failed),
        evidence=tuple(f"seed {seed}: {what}" for seed, each in reports.items() for what in each.evidence),
        slices=tuple(_result(seed, report) for seed, report in found.items()),
        unpublished=sum(each.unpublished for each in reports.values()),
    )


def _result(seed: int, report: Report | None) -> SliceResult:
    if report is None:
        return SliceResult(seed=seed, state="not run", seconds=0.0, accepted=0, faults=0, violations=0)
    return SliceResult(
        seed=seed,
        state="interrupted" if report.interrupted else "finished",
        seconds=report.seconds,
        accepted=report.figures["accepted entries"],
        faults=report.figures["faults"],
        violations=report.total_violations,
    )


def _sums(figures: Sequence[Mapping[str, int]]) -> dict[str, int]:
    total = Counter[str]()
    for each in figures:
        total.update(each)
    return dict(total)


def _faults(slices: Sequence[Mapping[str, FaultCount]]) -> dict[str, FaultCount]:
    names = dict.fromkeys(name for each in slices for name in each)
    return {name: _fault([each[name] for each in slices if name in each]) for name in names}


def _fault(counts: Sequence[FaultCount]) -> FaultCount:
    """Counts summed; recovery times are those of all slices."""
    return FaultCount(
        planned=sum(each.planned for each in counts),
        injected=sum(each.injected for each in counts),
        happened=sum(each.happened for each in counts),
        recovery=recovery(took for each in counts if each.recovery for took in each.recovery.took_s),
    )
