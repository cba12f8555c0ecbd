"""``make fuzz``: runs targets with coverage, several at once at the lowest priority, and keeps its findings.

An input that breaks a property is in ``out/fuzz/NAME``: correct the product, then add the input to the table
in ``tests/unit/fuzz``. Inputs that reach new code are merged into ``fuzz/corpus/NAME``, the smallest first.
The results are in ``out/fuzz.json``, the output of each child process in ``out/fuzz/NAME.log``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from chaos.reports.commit import commit_of_the_code
from chaos.reports.json_file import write_json
from cli.output import emit, print_message
from fuzz.children import Children
from fuzz.outcome import Outcome, State, outcome_of
from fuzz.target import Target
from fuzz.targets import BY_NAME, TARGETS

OUT: Final = Path("out/fuzz")
RESULTS: Final = Path("out/fuzz.json")
SHOWN: Final = ("target", "state", "seconds", "runs", "coverage", "features", "detail")
MOST_MB: Final = 1024
"""Memory of one process, the address space that a reader of documents gets."""
HANG_S: Final = 20
CORPUS_BYTES: Final = 12_000
"""Stored inputs of one target; all together stay below 200 kB."""


def main() -> int:
    """Run what the arguments name; 1 unless every target passed."""
    arguments = _arguments()
    targets = [BY_NAME[name] for name in arguments.target] or list(TARGETS)
    os.nice(19 - os.nice(0))
    children, commit = Children(), commit_of_the_code()  # before a merge changes stored inputs
    outcomes = asyncio.run(_all(targets, arguments.seconds, arguments.at_once, children))
    _store(outcomes, commit, interrupted=children.interrupted)
    emit(map(asdict, outcomes), SHOWN)
    return int(children.interrupted or any(each.state is not State.PASSED for each in outcomes))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Fuzz parsers of untrusted input.")
    parser.add_argument(
        "--target", action="append", default=[], choices=sorted(BY_NAME), help="all unless given"
    )
    parser.add_argument("--seconds", type=_at_least_1, default=600, help="of each target")
    parser.add_argument(
        "--at-once", type=_at_least_1, default=max(1, (os.cpu_count() or 2) - 1), help="processes"
    )
    return parser.parse_args()


def _at_least_1(text: str) -> int:
    """A count; 0 seconds would be no limit for libFuzzer, and 0 processes would wait without end."""
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, got {text}")
    return int(text)


def _store(outcomes: Sequence[Outcome], commit: str, *, interrupted: bool) -> None:
    """Write the results as JSON."""
    document = {
        "command": f"make fuzz ARGS={shlex.quote(shlex.join(sys.argv[1:]))}",
        "commit": commit,
        "interrupted": interrupted,
        "load_average": round(os.getloadavg()[1], 1),
        "targets": [asdict(each) for each in outcomes],
    }
    write_json(RESULTS, document)


async def _all(targets: list[Target], seconds: int, at_once: int, children: Children) -> list[Outcome]:
    places = asyncio.Semaphore(at_once)
    children.end_on_signals()

    async def one(target: Target) -> Outcome:
        async with places:
            if children.interrupted:
                return Outcome(
                    target=target.name, state=State.NOT_RUN, detail="interrupted before it started"
                )
            outcome = await _fuzz(target, seconds, children)
            print_message(f"{target.name}: {outcome.state}", style="")
            return outcome

    return list(await asyncio.gather(*map(one, targets)))


async def _fuzz(target: Target, seconds: int, children: Children) -> Outcome:
    """Fuzz, then store the smallest inputs that reach what all of them reach."""
    folder, words, log = (OUT / f"{target.name}{suffix}" for suffix in ("", ".dict", ".log"))
    found = folder / "found"
    found.mkdir(parents=True, exist_ok=True)
    target.corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds):
        (found / f"seed-{number}").write_bytes(seed)
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words))
    started = time.monotonic()
    code = await children.run(
        log, target.name, str(found), str(target.corpus), f"-max_total_time={seconds}", f"-dict={words}",
        f"-artifact_prefix={folder}/", f"-timeout={HANG_S}", f"-rss_limit_mb={MOST_MB}",
        "-print_final_stats=1",
        f"-max_len={target.most_bytes}", "-verbosity=1",
    )  # fmt: skip
    outcome = outcome_of(
        target.name,
        seconds=time.monotonic() - started,
        code=code,
        log=log.read_bytes(),
        interrupted=children.interrupted,
    )
    if outcome.state is State.PASSED and (code := await _merge(target, found, children)):
        return replace(outcome, detail=f"stored inputs are unchanged: the merge ended with exit code {code}")
    return outcome


async def _merge(target: Target, found: Path, children: Children) -> int:
    """Replace the corpus by a small one: the merge takes smaller inputs first. Returns its exit code."""
    merged, log = (OUT / f"{target.name}.merged{suffix}" for suffix in ("", ".log"))
    shutil.rmtree(merged, ignore_errors=True)
    merged.mkdir()
    code = await children.run(
        log, target.name, "-merge=1", f"-artifact_prefix={found.parent}/",
        str(merged), str(target.corpus), str(found),
    )  # fmt: skip
    if code or not any(merged.iterdir()):
        return code
    for old in target.corpus.iterdir():
        old.unlink()
    left = CORPUS_BYTES
    for path in sorted(merged.iterdir(), key=lambda each: (each.stat().st_size, each.name)):
        left -= path.stat().st_size
        if left < 0:
            break
        shutil.copy(path, target.corpus)
    return code


def _escaped(word: str) -> str:
    """A word of libFuzzer's dictionary."""
    return "".join(
        chr(each) if 32 <= each < 127 and each not in b'"\\' else f"\\x{each:02x}" for each in word.encode()
    )


if __name__ == "__main__":
    sys.exit(main())
