"""CPU time of the signals per reply: ``python -m bench.assessment --cases FILE``."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Annotated

import typer

from cli.assess.rows import read_rows
from worker.assessment import assess_without_judge, default_policy


def main(cases: Annotated[list[Path], typer.Option(help="Rows as for `hushgate assess`.")]) -> None:
    """Print mean, median and 95th percentile in milliseconds of CPU time, three passes over each file."""
    policy = default_policy("calibrated")
    print(f"{'file':44} {'rows':>5} {'chars':>6} {'mean':>6} {'p50':>6} {'p95':>6}  ms CPU per reply")
    for path in cases:
        rows = read_rows(path)
        taken = []
        for _ in range(3):
            for row in rows:
                begun = time.process_time_ns()
                assess_without_judge(
                    query=row.query, evidence=row.evidence, draft=row.response, policy=policy
                )
                taken.append((time.process_time_ns() - begun) / 1e6)
        chars = statistics.mean(sum(len(p.text) for p in row.evidence.passages) for row in rows)
        p95 = statistics.quantiles(taken, n=20)[-1]
        mean, median = statistics.mean(taken), statistics.median(taken)
        print(f"{path.name[:44]:44} {len(rows):5} {chars:6.0f} {mean:6.2f} {median:6.2f} {p95:6.2f}")


if __name__ == "__main__":
    typer.run(main)
