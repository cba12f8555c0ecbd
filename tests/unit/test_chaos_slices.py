"""Long chaos runs in slices: what each one runs, which are finished, and their sum."""

from __future__ import annotations

import io
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
import typer
from rich.console import Console

from chaos.__main__ import end, options_of
from chaos.kinds import Law
from chaos.reports import slices as sliced
from chaos.reports.merging import merged
from chaos.reports.report import FaultCount, Report, recovery, report_of, show
from chaos.reports.slices import Slices, divided

SLICE = "--worker-kills 4 --redis-kills 1 --postgres-kills 0 --others 1 --seed 7"
WHOLE = "--slices 3 --events 1000 --worker-kills 10 --redis-kills 1 --postgres-kills 0 --others 3 --seed 7"
COMMIT = "d7bc1e8c0000"


@pytest.fixture(autouse=True)
def _committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code is that of a commit, also while its files are being changed."""
    monkeypatch.setattr(sliced, "commit_of_the_code", lambda: COMMIT)


def report(seed: int, *, command: str = "", took_s: float = 1.0, lost: int = 0, **more: Any) -> Report:
    values: dict[str, Any] = {
        "command": command,
        "commit": COMMIT,
        "seed": seed,
        "interrupted": False,
        "seconds": 60.0,
        "load_average": 2.0,
        "figures": {"accepted entries": 100, "faults": 4},
        "faults": {
            "worker_kill": FaultCount(planned=4, injected=4, happened=4, recovery=recovery([took_s] * 4)),
            f"only in {seed}": FaultCount(planned=1, injected=1, happened=0, recovery=None),
        },
        "breaches": {law: ("entry without an end: 1-1",) * (law is Law.LOST and lost > 0) for law in Law},
        "violations": {law: lost if law is Law.LOST else 0 for law in Law},
        "grown": {"lanes": 0},
        "failed": (),
    }
    return Report(**values | more)


def test_slices_share_the_counts_and_have_seeds_of_their_own(tmp_path: Path) -> None:
    """What cannot be divided evenly goes to the first slices; nothing is lost."""
    plans = divided(options_of([*WHOLE.split(), "--slice-dir", str(tmp_path)]))

    assert [plan["events"] for plan in plans] == [334, 333, 333]
    assert [plan["worker_kills"] for plan in plans] == [4, 3, 3]
    assert [plan["redis_kills"] for plan in plans] == [1, 0, 0]
    assert [plan["seed"] for plan in plans] == [7, 8, 9]
    assert [plan["out"] for plan in plans] == [f"{tmp_path}/{seed}.json" for seed in (7, 8, 9)]


@pytest.mark.parametrize(
    ("options", "is_interrupted", "expected"),
    [
        (f"--events 334 {SLICE}", False, True),
        (f"--events 334 {SLICE}", True, False),
        (f"--events 335 {SLICE}", False, False),
    ],
    ids=["finished", "interrupted", "another plan"],
)
def test_only_a_finished_slice_of_the_same_plan_is_kept(
    tmp_path: Path, options: str, is_interrupted: bool, expected: bool
) -> None:
    """Also one that another command of the same plan has stored, with options left to their defaults."""
    slices = Slices(options=options_of([*WHOLE.split(), "--slice-dir", str(tmp_path)]), parse=options_of)
    plan = divided(slices.options)[0]
    command = f"make chaos ARGS={shlex.quote(f'{options} --out x.json')}"
    stored = report(7, command=command, interrupted=is_interrupted)
    Path(plan["out"]).write_bytes(orjson.dumps(stored.json()))

    assert (slices._finished(plan) is not None) == expected


def test_a_slice_of_other_code_is_repeated(tmp_path: Path) -> None:
    """A report says which commit it tested."""
    slices = Slices(options=options_of([*WHOLE.split(), "--slice-dir", str(tmp_path)]), parse=options_of)
    plan = divided(slices.options)[0]
    command = f"make chaos ARGS={shlex.quote(f'--events 334 {SLICE}')}"
    stored = report(7, command=command, commit="0123456789ab")
    Path(plan["out"]).write_bytes(orjson.dumps(stored.json()))

    assert slices._finished(plan) is None


@pytest.mark.parametrize("commit", [f"{COMMIT}+", ""], ids=["changed files", "no git"])
def test_a_slice_whose_code_no_commit_names_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commit: str
) -> None:
    """Its files may have been changed since; what this command ran is merged nevertheless."""
    slices = Slices(options=options_of([*WHOLE.split(), "--slice-dir", str(tmp_path)]), parse=options_of)
    ran: list[Sequence[str]] = []

    def stored(words: Sequence[str]) -> bool:
        ran.append(words)
        options = options_of(words)
        command = f"make chaos ARGS={shlex.quote(shlex.join(words))}"
        made = report(options["seed"], command=command, commit=commit)
        options["out"].write_bytes(orjson.dumps(made.json()))
        return len(ran) == 5

    monkeypatch.setattr(sliced, "commit_of_the_code", lambda: commit)
    monkeypatch.setattr(sliced, "_interrupted", stored)
    first, second = (slices.run("make chaos", lambda _: None) for _ in range(2))

    assert len(ran) == 5
    assert [each.state for each in first.slices] == ["finished"] * 3
    assert [each.state for each in second.slices] == ["finished", "finished", "not run"]


def test_a_report_is_read_as_it_was_written() -> None:
    """With the figures of every fault."""
    written = report(7, lost=3)

    assert report_of(orjson.loads(orjson.dumps(written.json()))) == written


def test_slices_are_summed_and_recovery_is_that_of_all_faults() -> None:
    """Violations count although a stored report has only the first sentences of them."""
    whole = merged({7: report(7, took_s=1.0), 8: report(8, took_s=5.0, lost=300)}, "make chaos")

    assert whole.figures == {"accepted entries": 200, "faults": 8}
    assert whole.faults["worker_kill"] == FaultCount(
        planned=8, injected=8, happened=8, recovery=recovery([1.0] * 4 + [5.0] * 4)
    )
    assert whole.faults["only in 8"].planned == 1
    assert (whole.total_violations, whole.violations[Law.LOST]) == (300, 300)
    assert whole.breaches[Law.LOST] == ("seed 8: entry without an end: 1-1",)
    assert (whole.seconds, whole.interrupted) == (120.0, False)


def test_a_slice_that_did_not_run_is_named() -> None:
    """The sum of the others is not taken for the whole run."""
    whole = merged({7: report(7), 8: None}, "make chaos")

    assert whole.interrupted
    assert [(each.seed, each.state) for each in whole.slices] == [(7, "finished"), (8, "not run")]


@pytest.mark.parametrize(
    ("planned", "happened", "is_named"), [(5, 2, True), (5, 3, False), (4, 0, False), (20, 9, True)]
)
def test_a_kind_that_was_seldom_seen_to_happen_fails_the_run(
    tmp_path: Path, planned: int, happened: int, *, is_named: bool
) -> None:
    """Of a few planned faults nothing follows: a link may have no traffic at that moment."""
    count = FaultCount(planned=planned, injected=planned, happened=happened, recovery=None)
    found = report(7, faults={"partition": count})

    assert found.undemonstrated == ("partition",) * is_named
    assert exit_code(found, tmp_path) == int(is_named)


def exit_code(found: Report, folder: Path) -> int:
    with pytest.raises(typer.Exit) as ended:
        end(found, folder / "report.json", Console(quiet=True))
    return ended.value.exit_code


def test_a_run_whose_publisher_ended_early_fails(tmp_path: Path) -> None:
    """Also one slice of several, where the others published a little more than planned."""
    whole, short = report(7), report(8, unpublished=20)
    sum_of_both = merged({7: whole, 8: report_of(orjson.loads(orjson.dumps(short.json())))}, "make chaos")
    shown = Console(record=True, file=io.StringIO(), width=200)
    show(sum_of_both, shown)

    assert [exit_code(each, tmp_path) for each in (whole, short, sum_of_both)] == [0, 1, 1]
    assert "load incomplete: 20 planned events were not accepted" in shown.export_text()
