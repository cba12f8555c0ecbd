"""The fleet of a measurement: embedded servers, a sandbox that knows the cases, workers, and the accounts."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cli.accounts.document_files import find_documents, read_document
from cli.assess.rows import parsed_json
from cli.exit_codes import ExitCode
from cli.output import fail
from cli.stack.fleet import Fleet, fleet
from db.account_settings import accounts
from db.documents import configured_embedder
from db.documents.ingest import DocumentFile, DocumentOptions, Ingest
from db.documents.storage import UploadOutcome
from db.pool import Pool
from sandbox.cases import Case
from worker.account_settings import AccountRejected, changed
from worker.assessment.policies.designs import DESIGNS
from worker.documents.query import embedded_texts
from worker.model import Account, Message, MessageRole
from worker.settings import DocumentSettings, load
from worker.steps.context import continued_lines

BY: Final = "assess conversations"
OURS: Final = ("HUSHGATE_", "DATABASE_", "REDIS_", "OPENAI_", "OPENROUTER_")
"""A measurement is of the default settings: variables that start with these are left out."""
EVERY_POLICY: Final = "all"
EMBEDDINGS_OFF: Final = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPolicy:
    """A policy under measurement, with accounts of its own.

    Attributes:
        label: its name in the table.
        setting: ``assessment_policy`` of its accounts; None leaves the default.
    """

    label: str
    setting: Mapping[str, Any] | None

    def account(self, domain: str) -> Account:
        """The account of a domain: the AI is on for chats and comments, the rest is default."""
        settings: dict[str, Any] = {
            "ai_control_enabled": True,
            "ai_enabled_for_chats": True,
            "ai_enabled_for_comments": True,
        }
        if self.setting is not None:
            settings["assessment_policy"] = dict(self.setting)
        return changed(Account(user_id=self.user_id(domain), version=0), settings)

    def user_id(self, domain: str) -> str:
        """The name of the account of a domain."""
        return f"{self.label}-{domain}"


def measured_policies(names: Sequence[str]) -> tuple[MeasuredPolicy, ...]:
    """The policies of an option: names of designs, JSON texts, JSON files, or ``all`` designs.

    Raises:
        typer.Exit: a policy is unknown or not valid; the message says why.
    """
    each = [name for given in names for name in (DESIGNS if given == EVERY_POLICY else (given,))]
    found = [
        MeasuredPolicy(label=f"policy-{number}" if setting and len(setting) > 1 else name, setting=setting)
        for number, name in enumerate(map(str, each), start=1)
        for setting in (_setting(name),)
    ]
    for policy in found:
        try:
            policy.account("trial")
        except AccountRejected as error:
            raise fail(f"--policy: {error}", code=ExitCode.REJECTED) from error
    return tuple(found) or (MeasuredPolicy(label="default", setting=None),)


@contextmanager
def measuring_fleet(
    folder: Path, *, embeddings: str, embedding_model: str, workers: int
) -> Iterator[tuple[Fleet, tuple[str, ...]]]:
    """The fleet with its workers started, and their names; everything ends with the block.

    Args:
        folder: the set of conversations.
        embeddings: ``none``, or the URL of an embedding server on loopback.
        embedding_model: HUSHGATE_EMBEDDINGS of a fleet with embeddings.
        workers: how many worker processes.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C: the servers are stopped
    options = ("--conversations", str(folder.resolve()), "--embeddings", embeddings)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    if embeddings != EMBEDDINGS_OFF:
        environment["HUSHGATE_EMBEDDINGS"] = embedding_model
    with fleet(environment, sandbox_options=options) as running:
        names = tuple(f"worker-{number}" for number in range(1, workers + 1))
        for name in names:
            running.start_worker(name)
        yield running, names


async def add_accounts(
    source: Pool, running: Fleet, folder: Path, policies: Sequence[MeasuredPolicy], cases: Sequence[Case]
) -> None:
    """Create an account for each policy and domain of the cases, with the documents of the domain.

    The sandbox keeps the vectors of the cases' queries: no search of a run then waits for a slow server.

    Raises:
        typer.Exit: a domain has no documents, or one of them cannot be read.
    """
    known = load(DocumentSettings, running.environment)
    async with configured_embedder.open_model(known, source) as model:
        for domain in sorted({case.domain for case in cases}):
            files = [read_document(path) for path in _documents(folder, domain)]
            for policy in policies:
                await accounts.store_account(source, policy.account(domain), changed_by=BY, expected=0)
                ingestion = Ingest(source, model, DocumentOptions(user_id=policy.user_id(domain)))
                await _add_all(ingestion, files)
        if model is not None:
            texts = dict.fromkeys(text for case in cases for text in _searched(case))
            await model.embedder.embed(list(texts), model=model.name, dimensions=model.dimensions)


def _searched(case: Case) -> tuple[str, ...]:
    """What is embedded for a case: its message after the lines it continues, and a model's query."""
    history = [Message(role=MessageRole(line.role), text=line.text) for line in case.history]
    return (*embedded_texts(case.query, continued_lines(history)), *embedded_texts(case.rewrite))


async def _add_all(ingestion: Ingest, files: Sequence[DocumentFile]) -> None:
    for file in files:
        row = await ingestion.add(file)
        if row["outcome"] == UploadOutcome.REFUSED:
            raise fail(f"{file.source}: {row['reason']}", code=ExitCode.REJECTED)
    await ingestion.finish()


def _documents(folder: Path, domain: str) -> list[Path]:
    place = folder / "docs" / domain
    found, _ = find_documents(str(place)) if place.is_dir() else ([], [])
    if not found:
        raise fail(f"{place}: expected a folder with the documents of {domain}, got none")
    return found


def _setting(name: str) -> Mapping[str, Any]:
    """The policy as JSON; what it contains is tested with an account."""
    if name in DESIGNS:
        return {"name": name}
    try:
        text = name if name.lstrip().startswith("{") else Path(name).read_text(encoding="utf-8")
        found = parsed_json(text)
    except (OSError, ValueError) as error:
        known = ", ".join((*DESIGNS, EVERY_POLICY))
        raise fail(
            f"--policy: expected one of {known}, JSON or a JSON file, got {name!r} ({error})"
        ) from error
    if not isinstance(found, dict):
        raise fail(f"--policy: expected a JSON object, got {name!r}", code=ExitCode.REJECTED)
    return found
