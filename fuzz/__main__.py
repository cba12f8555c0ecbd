"""``make fuzz``: runs targets with coverage, several at once at the lowest priority, and keeps its findings.

An input that breaks a property is in ``out/fuzz/NAME``: correct the product, then add the input to the table
in ``tests/unit/fuzz``. Inputs that reach new code are merged into ``fuzz/corpus/NAME``, the smallest first.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fuzz.target import Target
from fuzz.targets import BY_NAME, TARGETS

OUT: Final = Path("out/fuzz")
MOST_MB: Final = 1024
"""Memory of one process, the address space that a reader of documents gets."""
HANG_S: Final = 20
CORPUS_BYTES: Final = 12_000
"""Stored inputs of one target; all together stay below 200 kB."""
FOUND: Final = re.compile(rb"^#(\d+)\s.*?cov: (\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One target's run: seconds, inputs tried, places in the code reached, and inputs that broke it."""

    name: str
    seconds: float
    runs: int
    reached: int
    broken: tuple[Path, ...]

    def __str__(self) -> str:
        broken = ", ".join(map(str, self.broken)) or "none"
        return f"{self.name:13} {self.seconds:8.0f} {self.runs:12,} {self.reached:8,}  {broken}"


def main() -> int:
    """Run what the arguments name; 1 when a property was broken."""
    arguments = _arguments()
    targets = [BY_NAME[name] for name in arguments.target] or list(TARGETS)
    os.nice(19 - os.nice(0))
    outcomes = asyncio.run(_all(targets, arguments.seconds, arguments.at_once))
    print(f"{'target':13} {'seconds':>8} {'inputs':>12} {'reached':>8}  broken by")
    print("\n".join(map(str, outcomes)))
    return int(any(each.broken for each in outcomes))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Fuzz what reads foreign bytes.")
    parser.add_argument(
        "--target", action="append", default=[], choices=sorted(BY_NAME), help="all unless given"
    )
    parser.add_argument("--seconds", type=int, default=600, help="of each target")
    parser.add_argument("--at-once", type=int, default=max(1, (os.cpu_count() or 2) - 1), help="processes")
    return parser.parse_args()


async def _all(targets: list[Target], seconds: int, at_once: int) -> list[Outcome]:
    places = asyncio.Semaphore(at_once)

    async def one(target: Target) -> Outcome:
        async with places:
            found = await _fuzz(target, seconds)
            print(found, file=sys.stderr, flush=True)
            return found

    return list(await asyncio.gather(*map(one, targets)))


async def _fuzz(target: Target, seconds: int) -> Outcome:
    """Fuzz, then store the smallest inputs that reach what all of them reach."""
    folder, words = OUT / target.name, OUT / f"{target.name}.dict"
    found = folder / "found"
    found.mkdir(parents=True, exist_ok=True)
    target.corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds):
        (found / f"seed-{number}").write_bytes(seed)
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words))
    started = time.monotonic()
    said = await _child(
        target, str(found), str(target.corpus), f"-max_total_time={seconds}", f"-dict={words}",
        f"-artifact_prefix={folder}/", f"-timeout={HANG_S}", f"-rss_limit_mb={MOST_MB}",
        "-print_final_stats=1",
        f"-max_len={target.most_bytes}", "-verbosity=1",
    )  # fmt: skip
    seconds_spent = time.monotonic() - started
    (OUT / f"{target.name}.log").write_bytes(said)
    await _merge(target, found)
    counts = FOUND.findall(said)
    return Outcome(
        name=target.name,
        seconds=seconds_spent,
        runs=max((int(runs) for runs, _ in counts), default=0),
        reached=max((int(reached) for _, reached in counts), default=0),
        broken=tuple(sorted(path for path in folder.iterdir() if path.is_file())),
    )


async def _merge(target: Target, found: Path) -> None:
    """Replace the corpus by a small one: the merge takes smaller inputs first."""
    merged = OUT / f"{target.name}.merged"
    shutil.rmtree(merged, ignore_errors=True)
    merged.mkdir()
    await _child(target, "-merge=1", str(merged), str(target.corpus), str(found))
    if not any(merged.iterdir()):  # the merge was ended
        return
    for old in target.corpus.iterdir():
        old.unlink()
    left = CORPUS_BYTES
    for path in sorted(merged.iterdir(), key=lambda each: (each.stat().st_size, each.name)):
        left -= path.stat().st_size
        if left < 0:
            break
        shutil.copy(path, target.corpus)


async def _child(target: Target, *options: str) -> bytes:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "fuzz.run", target.name, *options,
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, said = await child.communicate()
    return said


def _escaped(word: str) -> str:
    """A word of libFuzzer's dictionary."""
    return "".join(
        chr(each) if 32 <= each < 127 and each not in b'"\\' else f"\\x{each:02x}" for each in word.encode()
    )


if __name__ == "__main__":
    sys.exit(main())
