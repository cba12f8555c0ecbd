"""``make chaos-breaches``: break each law in a copy of the code, and see that a small run reports it.

Each mutation is one replacement of text in the product; a text that is no longer there is an error, so that
the table stays true. A control run with the same options and without a mutation must report no breach.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import orjson
import psutil
import typer
from rich.console import Console

from chaos.kinds import Law
from features.feature import FEATURES

PROJECT: Final = Path(__file__).resolve().parent.parent
PACKAGES: Final = (
    *FEATURES,
    "features",
    "worker",
    "tasks",
    "db",
    "review",
    "gateway",
    "cli",
    "sandbox",
    "chaos",
)
RUN_S: Final = 300.0
END_S: Final = 300.0
"""After SIGTERM a run ends its faults, settles for a while, and stops its servers."""
EVENTS: Final = 500
FEW_FAULTS: Final = ("--only", "latency", "--others", "1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """A defect of the product; ``options``: of a run that shows it, beside those of every run."""

    law: Law
    file: str
    right: str
    wrong: str
    options: tuple[str, ...] = FEW_FAULTS


STORE: Final = "outlasting(record_decision, self.pool, decision)"
RECORDED: Final = f"        recorded = await {STORE}\n"
RECORD: Final = f"{RECORDED}        if recorded is Recorded.OVERTAKEN:"
MUTATIONS: Final = (
    Mutation(
        law=Law.LOST,
        file="tasks/entries/handler.py",
        right=RECORD,
        wrong="        if decision.event.entry_id.endswith('-3'):\n"
        f"            return decision, Recorded.NEW\n{RECORD}",
    ),
    Mutation(
        law=Law.TWICE,
        file="db/commits/stored_event.py",
        right="return Recorded.ALREADY if decided_entry == event.entry_id else Recorded.DUPLICATE",
        wrong="return Recorded.DUPLICATE",
        options=("--only", "cut_off_kill", "--others", "4"),
    ),
    Mutation(
        law=Law.INVENTED,
        file="db/commits/stored_event.py",
        right="zip(*((e.entry_id, e.user_id",
        wrong="zip(*((f'{e.entry_id}0', e.user_id",
    ),
    Mutation(
        law=Law.DEAD_LETTERS,
        file="worker/payload/parse.py",
        right="arrival.size_bytes > PAYLOAD_BYTES",
        wrong="arrival.size_bytes > 150",
    ),
    Mutation(
        law=Law.ORDER,
        file="tasks/lanes/lua/prelude.lua",
        right="return redis.sha1hex(account .. '\\0' .. conversation)",
        wrong="return redis.sha1hex(id)",
    ),
    Mutation(
        law=Law.NOT_SENT,
        file="tasks/sending/once_stream.py",
        right="    redis.call('XADD', KEYS[1], '*', unpack(ARGV, at + 2, last))\n",
        wrong="",
    ),
    Mutation(
        law=Law.NOT_SENT,
        file="db/webhooks/queue.py",
        right="FROM wanted ORDER BY event_row",
        wrong="FROM wanted WHERE event_row % 10 <> 0 ORDER BY event_row",
    ),
    Mutation(
        law=Law.NOT_SENT,
        file="db/webhooks/queue.py",
        right="WHEN {OVERTAKEN} THEN 'taken_over'",
        wrong="WHEN {OVERTAKEN} OR e.id %% 10 = 0 THEN 'taken_over'",
    ),
    Mutation(
        law=Law.NOT_SENT,
        file="db/outbox.py",
        right="cancelled_at IS NOT NULL OR coalesce(",
        wrong="cancelled_at IS NOT NULL OR o.id %% 10 = 0 OR coalesce(",
    ),
    Mutation(
        law=Law.UNAPPROVED,
        file="worker/steps/drafts.py",
        right="        if isinstance(passed, Ending):\n            return passed\n        found",
        wrong="        found",
    ),
    Mutation(
        law=Law.UNAPPROVED,
        file="db/commits/values.py",
        right='"reply": decision.reply,',
        wrong='"reply": decision.reply and "Our opening hours are nine to five.",',
    ),
    Mutation(
        law=Law.SENT_TWICE,
        file="tasks/sending/once_stream.py",
        right="    redis.call('XADD', KEYS[1]",
        wrong="    redis.call('XADD', KEYS[1], '*', unpack(ARGV, at + 2, last))\n"
        "    redis.call('XADD', KEYS[1]",
    ),
    Mutation(
        law=Law.AFTER_TAKEOVER,
        file="db/history/conversation_owners.py",
        right="%(conversation_id)s, %(people_until)s::timestamptz",
        wrong="%(conversation_id)s, %(now)s::timestamptz",
    ),
    Mutation(
        law=Law.RESIDUE,
        file="db/commits/values.py",
        right='"remember": decision.remember,',
        wrong='"remember": decision.remember or decision.quarantine,',
    ),
    Mutation(
        law=Law.HISTORY,
        file="db/commits/values.py",
        right='"remember": decision.remember,',
        wrong='"remember": decision.remember and not decision.event.message_id.endswith("7"),',
    ),
    Mutation(
        law=Law.ENDING,
        file="worker/endings.py",
        right="return _replied(Reason.REPLIED, draft",
        wrong="return _replied(Reason.PARTIAL_REPLY, draft",
    ),
    Mutation(
        law=Law.JOBS,
        file="review/queues/bulk_jobs.py",
        right="position=str(after), finished=done.cursor is None)",
        wrong="position=str(after), finished=True)",
        options=("--only", "review_job_stop", "--others", "2"),
    ),
    Mutation(
        law=Law.CHECKS,
        file="gateway/checks.py",
        right="is_new = await record_check(",
        wrong="is_new = check_id.endswith('1') or await record_check(",
    ),
    Mutation(
        law=Law.STUCK,
        file="tasks/sending/relay.py",
        right="[row.row_id for row in sent]",
        wrong="[row.row_id for row in sent[1:]]",
    ),
    Mutation(
        law=Law.LEAK,
        file="tasks/lanes/lua/finish.lua",
        right="forget_starts(id)\n",
        wrong="forget_starts(id)\nredis.call('ZADD', lane_key('of ' .. id), 0, id)\n",
    ),
    Mutation(
        law=Law.CRASH,
        file="tasks/entries/handler.py",
        right=RECORD,
        wrong=f"{RECORDED}        if recorded is Recorded.NEW and decision.event.entry_id.endswith('-3'):\n"
        f"            __import__('os')._exit(3)\n        if recorded is Recorded.OVERTAKEN:",
    ),
)


Breaches: TypeAlias = Mapping[str, Sequence[str]]


class Unfinished(Exception):
    """A run that did not end in time, or left no report: it shows nothing."""


def breaches(mutation: Mutation | None, options: Sequence[str]) -> Breaches:
    """What a run of a mutated copy reports, by law; None: of a copy without a mutation.

    Raises:
        Unfinished: the run did not end in time, or left no report.
    """
    with copied(mutation) as copy:
        out = copy / "chaos.json"
        command = [sys.executable, "-m", "chaos", "--events", str(EVENTS), "--workers", "2"]
        more = ("--fault-s", "1", "--patience-s", "15", "--out", str(out))
        run_command([*command, *options, *more], copy)
        try:
            found: Breaches = orjson.loads(out.read_bytes())["breaches"]
        except FileNotFoundError:
            raise Unfinished("the run left no report") from None
        return found


def run_command(command: Sequence[str], copy: Path) -> None:
    """Run in the copy; a run that takes too long gets SIGTERM, and ends its servers.

    Raises:
        Unfinished: it took too long.
    """
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    with subprocess.Popen(command, cwd=copy, env=environment, stdout=subprocess.DEVNULL) as process:
        try:
            process.wait(RUN_S)
        except subprocess.TimeoutExpired:
            raise Unfinished(f"the run did not end within {RUN_S:.0f} s") from None
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM; SIGKILL to the run and its servers when that does not end it."""
    process.terminate()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        for each in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                each.kill()
        process.kill()


@contextmanager
def copied(mutation: Mutation | None) -> Iterator[Path]:
    """A copy of the code, with the mutation in it."""
    with tempfile.TemporaryDirectory(prefix="hushgate-mutated-") as folder:
        for package in PACKAGES:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(PROJECT / package, Path(folder) / package, ignore=ignored)
        if mutation is not None:
            _mutate(Path(folder) / mutation.file, mutation)
        yield Path(folder)


def _mutate(file: Path, mutation: Mutation) -> None:
    text = file.read_text()
    if text.count(mutation.right) != 1:
        raise ValueError(
            f"{mutation.file}: expected once, got {text.count(mutation.right)} times: {mutation.right}"
        )
    file.write_text(text.replace(mutation.right, mutation.wrong))


def main(
    only: Annotated[list[Law] | None, typer.Option(help="Only these laws; repeatable.")] = None,
) -> None:
    """Report whether each planted breach is found; exit code 1 when one is not, or a control run has one."""
    console = Console(highlight=False)
    chosen = [each for each in MUTATIONS if not only or each.law in only]
    failed = check(chosen, lambda line: console.print(line, soft_wrap=True, markup=False))
    raise typer.Exit(1 if failed else 0)


def check(mutations: Sequence[Mutation], say: Callable[[str], None]) -> int:
    """Run the controls and the mutations; how many of them did not report what they should."""
    controls = [_is_clean(options, say) for options in dict.fromkeys(each.options for each in mutations)]
    return [*controls, *(_is_found(each, say) for each in mutations)].count(False)


def _is_clean(options: Sequence[str], say: Callable[[str], None]) -> bool:
    """Whether a run without a mutation reports nothing: otherwise a breach is no evidence of a mutation."""
    try:
        found = [f"{law}: {line}" for law, lines in breaches(None, options).items() for line in lines]
    except Unfinished as error:
        found = [str(error)]
    say(f"no mutation, {' '.join(options)}: {len(found)} breaches found, expected 0: {found[:1]}")
    return not found


def _is_found(mutation: Mutation, say: Callable[[str], None]) -> bool:
    """Whether a run with the mutation reports its law."""
    try:
        found = list(breaches(mutation, mutation.options)[mutation.law])
    except Unfinished as error:
        say(f"{mutation.law}: not found, {mutation.file}: {error}")
        return False
    say(f"{mutation.law}: {len(found)} breaches found, {mutation.file}: {found[:1]}")
    return bool(found)


if __name__ == "__main__":
    typer.run(main)
