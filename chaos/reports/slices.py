"""A long run in slices: each has servers and a seed of its own, and finished ones are kept."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from chaos.reports.commit import commit_of_the_code
from chaos.reports.merging import merged
from chaos.reports.report import Report, report_of

DIVIDED: Final = ("events", "worker_kills", "redis_kills", "postgres_kills", "others")
"""Options that a slice has its part of; ``--others`` counts for each kind."""
OF_THE_WHOLE: Final = ("slices", "slice_dir", "out")

Options = dict[str, Any]
Parser = Callable[[Sequence[str]], Options]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slices:
    """The slices of one plan.

    Attributes:
        options: of the command, by their names in Python, defaults included.
        parse: reads the options of a command.
    """

    options: Mapping[str, Any]
    parse: Parser

    def run(self, command: str, say: Callable[[str], None]) -> Report:
        """Run every slice that is not finished, and merge all; Ctrl-C ends it there."""
        plans = divided(self.options)
        found = {plan["seed"]: self._finished(plan) for plan in plans}
        for number, plan in enumerate(plans, 1):
            seed = plan["seed"]
            if found[seed] is not None:
                say(f"slice {number} of {len(plans)}, seed {seed}: finished before")
                continue
            say(f"slice {number} of {len(plans)}, seed {seed}: {shlex.join(arguments(plan))}")
            Path(plan["out"]).unlink(missing_ok=True)  # a slice without a report has not run
            interrupted = _interrupted(arguments(plan))
            found[seed] = self._report(plan)
            if interrupted:
                break
        return merged(found, command)

    def _finished(self, plan: Options) -> Report | None:
        """The report of an earlier command; None when it is incomplete, or no commit names its code."""
        report = self._report(plan)
        if report is None or report.interrupted or not report.commit or report.commit.endswith("+"):
            return None
        return report

    def _report(self, plan: Options) -> Report | None:
        """The report of a slice with the same plan and the same commit."""
        try:
            report = report_of(orjson.loads(Path(plan["out"]).read_bytes()))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        # make chaos ARGS='--events ...'
        words = shlex.split(shlex.split(report.command)[2].removeprefix("ARGS="))
        is_same = report.commit == commit_of_the_code() and _same(self.parse(words), plan)
        return report if is_same else None


def divided(options: Mapping[str, Any]) -> list[Options]:
    """The options of each slice: its part of the counts, and the next seed."""
    count = int(options["slices"])
    kept = {name: value for name, value in options.items() if name not in OF_THE_WHOLE}
    return [
        kept
        | {name: _part(int(kept[name]), count, number) for name in DIVIDED}
        | {"seed": kept["seed"] + number, "out": f"{options['slice_dir']}/{kept['seed'] + number}.json"}
        for number in range(count)
    ]


def arguments(options: Mapping[str, Any]) -> list[str]:
    """The options as words of a command."""
    return list(_words(options))


def _words(options: Mapping[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        for each in value if isinstance(value, list | tuple) else [value]:
            if each is not None:
                yield from (f"--{name.replace('_', '-')}", str(each))


def _part(total: int, count: int, number: int) -> int:
    """The part of slice ``number``; the first ones have one more when it cannot be divided evenly."""
    return total // count + (number < total % count)


def _same(found: Options, plan: Options) -> bool:
    return all(found.get(name) == value for name, value in plan.items() if name not in OF_THE_WHOLE)


def _interrupted(words: Sequence[str]) -> bool:
    """Run one slice; whether Ctrl-C or SIGTERM ended it: it then reports what it saw until then."""
    process = subprocess.Popen(
        [sys.executable, "-m", "chaos", *words],
        start_new_session=True,  # the terminal's Ctrl-C is for us alone, and a slice must hear it once
    )
    asked = False
    while True:
        try:
            process.wait()
        except KeyboardInterrupt:
            asked = True
            process.send_signal(signal.SIGTERM)  # SIGINT is ignored in background jobs
        else:
            return asked
