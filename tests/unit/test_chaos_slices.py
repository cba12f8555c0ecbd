"""Long chaos runs in slices, processes that crash during a run, and when a run ends."""

from __future__ import annotations

import io
import shlex
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import orjson
import pytest
import typer
from rich.console import Console

from chaos import run
from chaos.__main__ import end, options_of
from chaos.faults import FAULTS
from chaos.faults.injector import Injector
from chaos.fleet.processes import Processes
from chaos.fleet.review_client import AskedJob, ReviewClient
from chaos.fleet.world import World
from chaos.kinds import FaultKind, Law, Role
from chaos.laws.observations import EventKind, JobKind, Observations, PublishedEvent
from chaos.ledger import Ledger
from chaos.observing.leaks import MOST_KEYS, Growth, most_postgres, unmarked_keys
from chaos.plan import Plan
from chaos.reports import slices as sliced
from chaos.reports.merging import merged
from chaos.reports.report import FaultCount, Report, recovery, report_of, show
from chaos.reports.slices import Slices, divided
from chaos.run import Progress, Run, heal, judged, observed

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


MAX_CONNECTIONS = 100
"""Of Postgres by default, three of them for its superusers."""


class Parts:
    """A run of which the test sets what was accepted, broken and left."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s, self.left, self.entries = 0.0, 10, 0
        monkeypatch.setattr("chaos.run.time.monotonic", lambda: self.now_s)
        monkeypatch.setattr(run, "unfinished_entries", lambda _: self.left)
        ledger = SimpleNamespace(entries=[])
        self.run = SimpleNamespace(
            publisher=SimpleNamespace(ledger=ledger),
            injector=SimpleNamespace(injected=SimpleNamespace(total=lambda: 0)),
            world=SimpleNamespace(plan=SimpleNamespace(patience_s=120.0)),
            say=lambda _: None,
            stalled=False,
        )
        self.progress = Progress(cast("Run", self.run))


def test_a_load_without_progress_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries that are never finished are stuck also while the load lasts."""
    parts = Parts(monkeypatch)
    found = []
    for parts.now_s in (0.0, 119.0, 121.0):
        found.append(parts.progress.is_missing())

    assert found == [False, False, True]
    assert parts.run.stalled


def test_each_finished_entry_is_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow fleet is not a stuck one."""
    parts = Parts(monkeypatch)
    for parts.now_s, parts.left in ((0.0, 10), (119.0, 9), (238.0, 8)):
        assert not parts.progress.is_missing()


@pytest.mark.parametrize(("accepted", "unpublished"), [(480, 20), (500, 0), (539, 0)])
def test_planned_events_that_were_not_published_are_reported(accepted: int, unpublished: int) -> None:
    """A publisher that ends early tests less than planned; the last batch of one may exceed the plan."""
    plan = Plan(events=500, workers=1, seed=1, counts={})
    world = SimpleNamespace(
        plan=plan, receiver=SimpleNamespace(again=0), processes=SimpleNamespace(ended={}, last_lines=[])
    )
    parts = SimpleNamespace(
        world=world,
        publisher=SimpleNamespace(ledger=Ledger()),
        injector=SimpleNamespace(happened=Counter(), failed=[], timeline=[]),
        prompts=SimpleNamespace(looked_at=0),
        check_client=SimpleNamespace(unanswered=0),
        growth=Growth(),
        interrupted=False,
    )
    question = PublishedEvent(name="e1", conversation="c", kind=EventKind.QUESTION)
    seen = Observations(published={"e1": question}, entries={f"{n}-0": "e1" for n in range(accepted)})

    assert judged(cast("Run", parts), seen, "make chaos", 1.0).unpublished == unpublished


def test_a_fault_that_cannot_be_made_does_not_end_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any error of the tool is reported, and the fault did not happen."""

    def break_tool(_: Any) -> tuple[bool, list[str]]:
        raise LookupError("no such process")

    monkeypatch.setitem(FAULTS, FaultKind.RESET, break_tool)
    monkeypatch.setitem(FAULTS, FaultKind.LATENCY, lambda _: (True, []))
    counts = {FaultKind.RESET: 3, FaultKind.LATENCY: 2}
    world = SimpleNamespace(
        plan=Plan(events=10, workers=1, seed=1, counts=counts), stopping=threading.Event()
    )
    recoveries = SimpleNamespace(watch=lambda *_: None)
    made = Injector(cast("World", world), cast("Any", recoveries), cast("Any", None), lambda: 10)
    for thread in made.threads:
        thread.start()
        thread.join(10)

    assert made.injected == counts
    assert made.happened == {FaultKind.LATENCY: 2}
    assert made.failed == ["connection_reset: LookupError: no such process"] * 3


@pytest.mark.parametrize("is_acknowledged", [True, False])
def test_a_job_whose_request_was_answered_must_be_stored(*, is_acknowledged: bool) -> None:
    """One without an answer may have been lost."""
    review_client = ReviewClient(cast("World", SimpleNamespace(rows=lambda *_: [])))
    review_client.asked.append(AskedJob(kind=JobKind.BULK_REVIEW, mark="m", expected=frozenset({"d"})))
    if is_acknowledged:
        review_client._acknowledged.add("m")

    assert [each.state for each in review_client.seen()] == ["lost"] * is_acknowledged


def test_more_connections_than_allowed_can_be_reached() -> None:
    """Otherwise Postgres would refuse the connection before the law were broken."""
    fleet = [*[Role.WORKER] * 3, Role.DELIVERER, Role.BEAT, Role.GATEWAY, Role.REVIEW]

    assert most_postgres(fleet) < MAX_CONNECTIONS - 3


def test_keys_of_what_was_sent_are_no_leak() -> None:
    """They are deleted by age; all others are few when nothing is unfinished."""
    keys = {"{hushgate:replies}:sent": 9_000, "{hushgate:events}:workers": 1, "hushgate": 3}

    assert unmarked_keys(keys) == 4
    assert unmarked_keys(keys | {"{hushgate:events}:lane": MOST_KEYS}) > MOST_KEYS


START_S: Final = 60.0
READY: Final = "print('ready', flush=True)\nwhile True: time.sleep(0.01)"
HANDLER: Final = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: {})\n"
ENDS_WELL: Final = f"{HANDLER.format('sys.exit(0)')}{READY}"
RAISES: Final = f"{HANDLER.format('1 / 0')}{READY}"
NO_HANDLER: Final = f"import time\n{READY}"
CRASHES: Final = "print('ready', flush=True)\nraise SystemExit(3)"


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    """Processes of a run, all ended afterwards."""
    made = Processes(logs=tmp_path)
    yield made
    made.stop()


def started(processes: Processes, script: str) -> None:
    """Start one worker and wait for its first line."""
    processes.add("worker-1", Role.WORKER, ("-c", script), {})
    wait_for(lambda: "ready" in (processes.logs / "worker-1.log").read_text())


def crashed(processes: Processes) -> None:
    """End the worker without the knowledge of the run."""
    process = processes.managed["worker-1"].process
    assert process is not None
    process.send_signal(signal.SIGKILL)
    process.wait()


def wait_for(condition: Callable[[], bool]) -> None:
    """Return when the condition holds."""
    deadline = time.monotonic() + START_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("script", "number", "expected"),
    [
        (ENDS_WELL, signal.SIGTERM, {}),
        (NO_HANDLER, signal.SIGTERM, {}),
        (NO_HANDLER, signal.SIGKILL, {}),
        (RAISES, signal.SIGTERM, {"worker 1 after SIGTERM": 1}),
    ],
    ids=["exit code 0", "ended by SIGTERM", "ended by SIGKILL", "traceback"],
)
def test_the_exit_code_after_a_signal_is_judged(
    processes: Processes, script: str, number: signal.Signals, expected: dict[str, int]
) -> None:
    """A traceback at SIGTERM is a crash, and its log is kept."""
    started(processes, script)

    as_asked = processes.end("worker-1", number)

    assert processes.ended == expected
    assert as_asked is not bool(expected)
    assert len(processes.last_lines) == len(expected)
    assert all("ZeroDivisionError" in each for each in processes.last_lines)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_process_that_crashed_before_the_signal_is_counted(
    processes: Processes, number: signal.Signals
) -> None:
    """The fault did not happen, and the crash did."""
    started(processes, CRASHES)
    wait_for(lambda: not processes.managed["worker-1"].lives)

    as_asked = processes.end("worker-1", number)

    assert processes.ended == {"worker 3": 1}
    assert not as_asked


def parts_of(processes: Processes, *threads: threading.Thread) -> Run:
    """A run at the end of its load."""
    nothing = SimpleNamespace(
        free=lambda: None, heal=lambda: None, drop_rules=lambda: None, restart_ended=lambda: None
    )
    world = SimpleNamespace(
        processes=processes,
        stopping=threading.Event(),
        disk=nothing,
        stack=nothing,
        network=nothing,
        sandbox=nothing,
    )
    parts = SimpleNamespace(
        world=world,
        injector=SimpleNamespace(threads=threads, failed=[]),
        publisher=SimpleNamespace(thread=threading.Thread(), ledger=None),
        prompts=None,
        review_client=None,
        check_client=SimpleNamespace(thread=threading.Thread()),
        growth=None,
        interrupted=False,
        stalled=False,
    )
    return cast("Run", parts)


def test_a_crash_before_the_faults_are_ended_is_counted(processes: Processes) -> None:
    """The worker is started again for the rest of the run."""
    started(processes, NO_HANDLER)
    crashed(processes)
    heal(parts_of(processes))

    assert processes.ended == {"worker -9": 1}
    assert processes.managed["worker-1"].lives


def test_a_crash_while_the_run_is_observed_is_counted(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading the tables of a long run takes minutes."""
    started(processes, NO_HANDLER)

    def observe(*_: object) -> Observations:
        crashed(processes)
        return Observations()

    monkeypatch.setattr(run, "observe", observe)

    assert observed(parts_of(processes)).ended == {"worker -9": 1}
