"""``hushgate trials candidates``: settings that are not in force."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import typer

from cli.exit_codes import ExitCode
from cli.options import note_misspelt, who
from cli.output import emit, fail
from db.access_log import LogEntry, LoggedAction
from db.pool import Pool
from trials.commands.shared import changes_of, id_of, require_used, run
from trials.store import candidates
from trials.store.candidates import CandidateSource, SettingsCandidate

HELP: Final = "Settings of an account that are not in force: `add`, `list` and `withdraw` them."
COLUMNS: Final = (
    "candidate_id",
    "created_at",
    "base_version",
    "source",
    "created_by",
    "withdrawn_at",
    "changes",
)
app = typer.Typer(no_args_is_help=True, help=HELP)


@app.command()
def add(
    user_id: Annotated[str, typer.Argument(help="The account (user_id).")],
    changes: Annotated[
        list[str],
        typer.Option("--set", help="A setting as NAME=JSON, such as hold_max_s=60."),
    ],
    note: Annotated[str, typer.Option(help="Why, for the people who decide about it.")] = "",
) -> None:
    """Store changed settings as a candidate; nothing is in force. Settings that cannot be used are refused.

    For example:

        hushgate trials candidates add acme --set 'flagged_keywords=["casino"]' --note "from overturns"
    """
    asked = changes_of(changes)

    async def add_to(source: Pool) -> SettingsCandidate:
        await require_used(source, user_id)
        return await candidates.add_candidate(
            source,
            user_id,
            asked,
            now=datetime.now(UTC),
            made_by=CandidateSource.PERSON,
            created_by=who(),
            note=note,
            logged=_entry(user_id, {"candidate": "added", "settings": sorted(asked)}),
        )

    emit([asdict(run(add_to))], COLUMNS)


@app.command("list")
def list_(user_id: Annotated[str, typer.Argument(help="The account (user_id).")]) -> None:
    """List the candidates of an account, the newest first.

    For example:

        hushgate trials candidates list acme
    """
    found = run(lambda source: candidates.list_candidates(source, user_id))
    emit(map(asdict, found), COLUMNS)
    note_misspelt(found, user_id)


@app.command()
def withdraw(candidate_id: Annotated[str, typer.Argument(help="The id of a candidate.")]) -> None:
    """Withdraw a candidate, which ends its trials.

    For example:

        hushgate trials candidates withdraw 01a20047-0dfa-71d7-8e88-c1d4329d1fb5
    """
    known_id = id_of("id", candidate_id)

    async def withdraw_of(source: Pool) -> SettingsCandidate | None:
        found = await candidates.get_candidate(source, known_id)
        entry = _entry(found.user_id, {"candidate": "withdrawn"}) if found else None
        return await candidates.withdraw_candidate(source, known_id, datetime.now(UTC), logged=entry)

    if (found := run(withdraw_of)) is None:
        raise fail(f"id: no candidate {candidate_id} that is not withdrawn", code=ExitCode.NEGATIVE)
    emit([asdict(found)], COLUMNS)


def _entry(user_id: str, detail: dict[str, Any]) -> LogEntry:
    return LogEntry(action=LoggedAction.SETTINGS, person=who(), user_id=user_id, detail=detail)
