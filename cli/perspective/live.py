"""Asks the moderation API about texts without a recorded answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from cli.options import settings_of, with_pool
from cli.output import print_message
from db.model_servers.stored import with_stored_servers
from worker.adapters import openai_client
from worker.adapters.openai_moderation import OpenAIModerator
from worker.cancellation import all_of
from worker.errors import ConfigurationError, EndpointMisconfigured, ModerationRejected, ModerationUnavailable
from worker.model import ModerationScores
from worker.settings import ModelServerSettings, ModerationSettings

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
