"""``hushgate perspective``: a file of recorded scores beside what the account would do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from cli.accounts import store_account
from cli.exit_codes import ExitCode
from cli.options import settings_of, with_pool
from cli.output import emit_json, fail, print_message, screen, stdout_is_terminal, table
from cli.output_file import input_file
from cli.perspective.compare import BothPolicies, attribute_rows, compare, text_row
from cli.perspective.lines import LineRejected, RecordedLine, parse_line
from db.model_servers.stored import with_stored_servers
from worker.adapters import openai_client
from worker.adapters.openai_moderation import OpenAIModerator
from worker.cancellation import all_of
from worker.errors import ConfigurationError, EndpointMisconfigured, ModerationRejected, ModerationUnavailable
from worker.model import OPENAI_MODERATION, Account, ModerationScores
from worker.moderation import panel
from worker.rules import compile_account_rules
from worker.settings import ModelServerSettings, ModerationSettings

USUAL: Final = 0.8
SHOWN: Final = 3
"""Highest scores of a text that a terminal shows."""
TEXT_COLUMNS: Final = ("id", "perspective", "moderation", "hushgate_acts", "agrees")
SHORT: Final = {
    "perspective_only": "theirs",
    "hushgate_only": "ours",
    "agreement": "agree",
    "suggested_threshold": "suggested",
}
"""Fields of attributes whose names are too long for a terminal."""
ATTRIBUTE_COLUMNS: Final = (
    "attribute", "texts", "both", "theirs", "ours", "neither", "agree", "suggested",
)  # fmt: skip

ComparisonRow = dict[str, Any]


def perspective(
    file: Annotated[Path, typer.Argument(help="JSONL; - for standard input.")],
    account: Annotated[
        str | None,
        typer.Option(
            "--account",
            "-a",
            help="Rules and thresholds of this account.",
            show_default="no rules, flags of the API",
        ),
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]SCORE",
            help="Score from which you act on an attribute, such as TOXICITY=0.7; without a name on others.",
            show_default=str(USUAL),
        ),
    ] = None,
    live: Annotated[
        bool,
        typer.Option("--live", help="Ask the moderation API about texts without a recorded answer."),
    ] = False,
) -> None:
    """Compare recorded scores of Perspective API with what rules and moderation do to the same texts.

    A line is a JSON object: "id", "text", "perspective" (the response, or attribute -> score) and, if known,
    "moderation" (a response of the moderation API). Each text gets a row with both sides, each attribute one
    with how often they agree and the threshold of its categories that agrees best: tables on a terminal,
    NDJSON in a pipe. A bad line gives a row with an error, and exit code 1. See docs/perspective.md.

    For example:

        hushgate perspective comments.jsonl --account corner-shop --threshold TOXICITY=0.7 --live
    """
    limits, other = _limits(threshold or ())
    stored = asyncio.run(store_account.load(account)) if account else Account(user_id="", version=0)
    policy = _policy(stored, limits, other)
    lines, bad = _read(file)
    _warn_about_names(limits, lines)
    scores = [each.moderation for each in lines]
    if live:
        _ask(lines, scores, stored=account is not None)
    compared = [compare(each, known, policy) for each, known in zip(lines, scores, strict=True)]
    _print([*(text_row(each, policy) for each in compared), *bad], list(attribute_rows(compared, policy)))
    if None in scores and policy.choice:
        count = scores.count(None)
        print_message(f"{count} texts have no scores of the moderation API (--live asks)", style="yellow")
    if bad:
        print_message(f"{len(bad)} bad lines in {file}")
        raise typer.Exit(ExitCode.NEGATIVE)


def _limits(given: Sequence[str]) -> tuple[dict[str, float], float]:
    limits, other = {}, USUAL
    for each in given:
        name, _, score = each.rpartition("=")
        try:
            value = float(score)
        except ValueError:
            value = -1.0
        if not 0 <= value <= 1:
            raise fail(f"--threshold: expected a score from 0 to 1, or NAME=score, got {each!r}")
        if name:
            limits[name.strip().upper()] = value
        else:
            other = value
    return limits, other


def _warn_about_names(limits: Mapping[str, float], lines: Sequence[RecordedLine]) -> None:
    """Print the attributes of thresholds that no line has, such as misspelt ones."""
    known = {name for each in lines for name in each.attributes or ()}
    if lines and (unknown := sorted(limits.keys() - known)):
        expected = f"attributes of the file ({', '.join(sorted(known))})"
        print_message(f"--threshold: expected {expected}, got {', '.join(unknown)}", style="yellow")


def _policy(account: Account, limits: dict[str, float], other: float) -> BothPolicies:
    choices = panel(account)
    if others := [each.name for each in choices if each.endpoint != OPENAI_MODERATION]:
        print_message(f"classifiers are not compared: {', '.join(others)}", style="yellow")
    choice = next((each for each in choices if each.endpoint == OPENAI_MODERATION), None)
    return BothPolicies(rules=compile_account_rules(account), choice=choice, limits=limits, other=other)


def _read(file: Path) -> tuple[list[RecordedLine], list[ComparisonRow]]:
    """The lines of a file, and a row for each bad line."""
    lines, bad = [], []
    with input_file(file) as source:
        for number, line in enumerate(source, 1):
            try:
                lines += [parse_line(number, line)] if line.strip() else []
            except LineRejected as error:
                bad.append({"kind": "error", "line": number, "error": f"line {number}: {error}"})
    return lines, bad


def _ask(lines: Sequence[RecordedLine], scores: list[ModerationScores | None], *, stored: bool) -> None:
    """Fill in the scores that are not recorded."""
    places = [place for place, known in enumerate(scores) if known is None]
    texts = [lines[place].text for place in places]
    found = asyncio.run(scores_of_texts(texts, settings=moderation_server(stored=stored)))
    for place, known in zip(places, found, strict=True):
        scores[place] = known


def _print(texts: Sequence[ComparisonRow], attributes: Sequence[ComparisonRow]) -> None:
    if not stdout_is_terminal():
        for row in (*texts, *attributes):
            emit_json(row)
        return
    screen.print(table((_shown(row) for row in texts if row["kind"] == "text"), TEXT_COLUMNS))
    for row in texts:
        if row["kind"] == "error":
            print_message(row["error"])
    screen.print()
    short = ({SHORT.get(name, name): value for name, value in row.items()} for row in attributes)
    screen.print(table(short, ATTRIBUTE_COLUMNS))


def _shown(row: ComparisonRow) -> ComparisonRow:
    """A row of a text with the highest scores only."""
    highest: ComparisonRow = {
        side: _highest(row[side]) if row[side] else row[f"{side}_error"] if side == "perspective" else None
        for side in ("perspective", "moderation")
    }
    return row | highest


def _highest(scores: Mapping[str, float]) -> str:
    ranked = sorted(scores.items(), key=lambda item: -item[1])[:SHOWN]
    return ", ".join(f"{name} {score:.2f}" for name, score in ranked)


AT_ONCE: Final = 64
CONNECTIONS: Final = 8


class ModerationServer(ModelServerSettings, ModerationSettings):
    """The variables of the moderation API, without those of databases."""


async def scores_of_texts(
    texts: Sequence[str], *, settings: ModerationServer
) -> list[ModerationScores | None]:
    """The scores of each text; None, with a printed reason, for a text without any.

    Raises:
        ConfigurationError: no server with a moderation API is named, or it refuses key or model.
    """
    found: list[ModerationScores | None] = []
    async with _moderator(settings) as moderator:
        for start in range(0, len(texts), AT_ONCE):
            found += await all_of(_scores(moderator, text) for text in texts[start : start + AT_ONCE])
    return found


def moderation_server(*, stored: bool) -> ModerationServer:
    """The settings; with ``stored`` also the server that is connected on the pages."""
    known = settings_of(ModerationServer)
    return with_pool(partial(with_stored_servers, known)) if stored else known


@asynccontextmanager
async def _moderator(settings: ModerationServer) -> AsyncIterator[OpenAIModerator]:
    server = settings.servers.moderation
    if server is None or settings.moderation_problem is not None:
        problem = settings.moderation_problem or "HUSHGATE_MODERATION_URL: expected a server, got none"
        raise ConfigurationError(f"--live: {problem}")
    client = openai_client.client(server.url, server.key, connections=CONNECTIONS)
    try:
        yield OpenAIModerator(
            client,
            model=server.model,
            timeout_s=settings.moderation_timeout_s,
            most_texts=settings.moderation_batch,
        )
    finally:
        await client.close()


async def _scores(moderator: OpenAIModerator, text: str) -> ModerationScores | None:
    try:
        return await moderator.moderate(text, ())
    except EndpointMisconfigured as error:
        raise ConfigurationError(f"--live: {error}") from error
    except (ModerationRejected, ModerationUnavailable) as error:
        print_message(f"a text has no scores: {error}", style="yellow")
        return None
