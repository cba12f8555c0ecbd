"""``hushgate doctor``: whether consumers read the outgoing streams, and whether these stay short."""

from __future__ import annotations

from collections.abc import Iterator

from cli.doctor.check import DoctorCheck, passed, warned
from cli.events.streams import each_stream
from tasks.stream_upkeep.figures import StreamFigures, load_figures, stream_problems
from worker.settings import Settings


def stream_checks(settings: Settings) -> Iterator[DoctorCheck]:
    """One check of each outgoing stream."""
    for found in each_stream(settings, load_figures):
        check, problems = f"stream {found.stream}", list(stream_problems(found))
        if not problems:
            yield passed(check, _shown(found))
            continue
        yield warned(
            check, "; ".join(each.found for each in problems), "; ".join(each.fix for each in problems)
        )


def _shown(found: StreamFigures) -> str:
    groups = f"groups: {', '.join(each.name for each in found.groups)}" if found.groups else "no groups"
    return f"{found.entries} entries, {groups}"
