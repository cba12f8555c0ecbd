"""``hushgate up``: the whole product on this machine, for events of your own."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final

import orjson
import typer

from cli.demo import review_access, seed
from cli.demo.answers import OPTIONS
from cli.demo.staying import say, starting, stay_until_signal
from cli.doctor.endpoints import endpoint_check, model_endpoint
from cli.stack import data_folder
from cli.stack.environment import forget_sandbox, names_models
from cli.stack.fleet import AUDIT_LOG, Fleet, fleet
from cli.stack.start_watch import StartWatch
from db.documents import configured_embedder, embedding_models, ingest, model_change
from db.documents.stored_vectors import count_vectors
from db.pool import Pool, create_pool
from features.feature import hook_mapping
from worker.errors import EmbeddingRejected, RetrievalUnavailable
from worker.settings import DocumentSettings, ModelRole, Settings, load

ENDS: Final = "These data end with this command; keep them with --data DIR."
NO_MODERATION: Final = "off: no text is moderated, as HUSHGATE_MODERATION_URL names no server"
REACH_S: Final = 5.0
"""Longest wait for the model's first answer: a start is not to hang on it."""


def up(
    workers: Annotated[int, typer.Option(min=1, max=32, help="Worker processes.")] = 2,
    sandbox: Annotated[
        bool | None,
        typer.Option(
            help="Use the sandbox where no server of models is set; else the workers wait.",
            show_default="sandbox, but not on --data where a model answered before",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the data.", show_default="none: the data end with it"),
    ] = None,
    demo_accounts: Annotated[
        bool | None,
        typer.Option(
            help="Store two accounts with settings and documents of the demo.",
            show_default="only beside the sandbox, in a database that ends with the command",
        ),
    ] = None,
) -> None:
    """Run servers, workers, beat, gateway and review pages until Ctrl-C; a process that ends is restarted.

    The model is HUSHGATE_MODEL of HUSHGATE_MODEL_URL with HUSHGATE_MODEL_KEY, and the sandbox, which is no
    model, where no server is set; with --no-sandbox an administrator connects a model on the page Connect,
    and the workers wait until then. The names of variables to set in another shell are printed, then the
    exports for commands there. Accounts that have settings, decisions or documents are not changed. The
    review pages have the port of HUSHGATE_REVIEW_URL; without this variable 8085, or a free port while
    another process has that. The command ends with a reason when a port that the variable names is in use,
    or when a process fails to start three times in a row.
    """
    forget_sandbox(os.environ)
    if data is not None:
        data_folder.forget_own_servers(data, os.environ)
    if data is not None and sandbox is None and not names_models(os.environ):
        data_folder.require_sandbox_allowed(data)
    say(starting("the workers", sandbox=sandbox is not False))
    with fleet(sandbox=sandbox is not False, sandbox_options=OPTIONS, data=data) as running:
        running.require_review_port()
        ends = running.owns_database and data is None
        if ends:
            say(ENDS)
        if demo_accounts or (demo_accounts is None and ends and running.sandboxed):
            found = asyncio.run(seed.accounts_and_documents(running.stack.database_url))
            say("\n".join(seed.report(found)))
        say(_models(running))
        say(asyncio.run(prepare(running.environment, running.stack.database_url)))
        _start_all(running, workers)
        stay_until_signal(running, f"logs: {running.logs}/*.log")
    if ends:
        say(ENDS)


def _start_all(running: Fleet, workers: int) -> None:
    """Start every process; print the exports, how to sign in, and the first checkpoint of the audit log."""
    running.start_all(workers)
    running.start_beat()
    running.start_gateway()
    has_log = running.owns_database and AUDIT_LOG in hook_mapping("commands")
    if has_log:
        running.start_audit_log()
    review_access.await_pages(running, say)
    review_access.await_gateway(running, say)
    access = asyncio.run(review_access.new_review_access(running))
    token = asyncio.run(review_access.api_token(running))
    keys = ", ".join(running.inherited_keys)
    say(f"running until Ctrl-C. In another shell{f' first set {keys} as here; then' if keys else ''}:")
    for line in _exports(running, token):
        typer.echo(line)
    say("\n".join(access.lines()))
    if has_log:
        say("\n".join(first_lines(running, say)))


def _models(running: Fleet) -> str:
    """Who answers, in one sentence; a second one where the model's server does not."""
    if running.sandboxed:
        return "the sandbox answers: no model, it copies sentences by shared words, right or wrong"
    settings = load(Settings, running.environment)
    if settings.models_problem is not None:
        return f"the model is the one connected at {running.review_url}/connect; without one the workers wait"
    servers = settings.servers
    moderation = servers.moderation.url if servers.moderation else NO_MODERATION
    named = f"model: {servers.model.model} of {servers.model.url}; moderation: {moderation}"
    found = endpoint_check(model_endpoint(settings), REACH_S)
    return named if found.state == "ok" else f"{named}\n{found.found}: {found.fix}"


def _exports(running: Fleet, token: str | None) -> Iterator[str]:
    """Lines for another shell: where the command is, the addresses, and a token for programs."""
    yield f"export HUSHGATE_URL={running.review_url}"
    yield f"export HUSHGATE_GATEWAY={running.gateway_url}"
    if token:
        yield f"export HUSHGATE_TOKEN={token}"
    yield f'export PATH={shlex.quote(str(Path(sys.executable).parent))}:"$PATH"'
    for name, word in running.exports.items():
        yield f"export {name}={word}"


MOST_CHUNKS: Final = 2000
"""More chunks without a vector are left to ``hushgate documents reembed``, so that the fleet starts soon."""
TRIED: Final = "Does the model answer?"
WORDS_ONLY: Final = "searches use words only"


async def prepare(environment: Mapping[str, str], database_url: str) -> str:
    """Choose a model where none is in use, and embed what has no vector; what was done, in one sentence."""
    known = load(DocumentSettings, environment)
    if (place := known.servers.embeddings) is None:
        if known.fixed_model(ModelRole.EMBEDDINGS):
            return f"embeddings are off: {WORDS_ONLY}"
        return f"embeddings are those of a server connected on the page Connect; without one {WORDS_ONLY}"
    async with (
        create_pool(database_url, size=2, application="hushgate-up", role=None) as source,
        configured_embedder.open_model(known, source) as model,
    ):
        if model is None:
            return f"{place.url} gives no embeddings, or does not answer: {WORDS_ONLY}"
        try:
            return await _prepared(source, model, place.url)
        except (RetrievalUnavailable, EmbeddingRejected) as error:
            return f"the embedding model failed ({error}): {WORDS_ONLY} until `hushgate documents reembed`"


async def _prepared(source: Pool, model: ingest.EmbeddingModel, url: str) -> str:
    active = await embedding_models.active_embedder(source)
    if active is not None and active.model != model.name:
        return f"searches use {active.model}, the settings name {model.name}: `hushgate documents reembed`"
    chunks, vectors = await count_vectors(source, active)
    if chunks - vectors > MOST_CHUNKS:
        return f"{chunks - vectors} parts of documents have no vector: `hushgate documents reembed`"
    if active is None or vectors < chunks:
        async for _ in model_change.reembed_chunks(source, model):
            pass
    else:
        await model.embedder.embed([TRIED], model=model.name, dimensions=model.dimensions)
    return f"embeddings: {model.name} of {url}, which answered"


def first_lines(running: Fleet, say: Callable[[str], None]) -> tuple[str, ...]:
    """Verifier key and checkpoint as text for a person, as soon as the log has signed one.

    Raises:
        ConfigurationError: a process ended or is stuck; the message has its last lines.
    """
    watch = StartWatch(running, (AUDIT_LOG,), "the first checkpoint of the audit log", say)
    while (found := _signed(running)) is None:
        watch.look()
        time.sleep(0.1)
    key, checkpoint = found
    return f"audit log     {key}", "keep this checkpoint elsewhere (docs/audit-log.md):", checkpoint.rstrip()


def _signed(running: Fleet) -> tuple[str, str] | None:
    """The printed key and the first checkpoint in the log file; None before both are there."""
    lines = (running.logs / f"{AUDIT_LOG}.log").read_text().splitlines()
    key = next((line for line in lines if line.startswith("verifier key ")), None)
    row = next((line for line in lines if line.startswith("{") and line.endswith("}")), None)
    return (key, str(orjson.loads(row)["checkpoint"])) if key and row else None
