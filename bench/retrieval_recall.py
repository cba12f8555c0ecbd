"""Recall of the search on natural questions: ``python -m bench.retrieval_recall FOLDER``.

The folder has ``cases.jsonl`` and ``docs/<account>/*.md``. A case has ``domain`` (the account), ``kind``,
``query``, ``history``, ``probe`` (the verbatim part with the answer, or null) and ``rewrite``, a query as a
good model would write it. Printed is the share of cases whose probe stands in the first 5 and 8 passages:
found by the message with its history, by the rewrite, and by one of them, which is what the pipeline can do.
With ``--embeddings URL`` an OpenAI-compatible server gives vectors. It starts its own Postgres.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import orjson
import typer

from cli.stack import Stack
from db.documents import configured_embedder
from db.documents.ingest import DocumentFile, DocumentOptions, Ingest
from db.documents.retrieval import PostgresRetriever
from db.pool import create_pool
from db.schema import migrate
from worker.model import Retrieved
from worker.settings import DocumentSettings

DEPTHS: Final = (5, 8)
CONTINUED_LINES: Final = 2
"""As ``worker.steps.context``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The place of the first passage with the probe, from 1, or 0: by message and by rewrite."""

    kind: str
    by_message: int
    by_rewrite: int

    def within(self, depth: int) -> tuple[bool, bool, bool]:
        """Found by the message, by the rewrite, by one of them."""
        found = 0 < self.by_message <= depth, 0 < self.by_rewrite <= depth
        return (*found, any(found))


def main(
    folder: Path,
    embeddings: Annotated[str, typer.Option(help="Base URL of an embedding server.")] = "",
    model: Annotated[str, typer.Option(help="Its model; empty: what it offers.")] = "",
) -> None:
    """Print recall by kind of question, one JSON object a line."""
    cases = [orjson.loads(line) for line in (folder / "cases.jsonl").read_bytes().splitlines()]
    answerable = [case for case in cases if case["probe"]]
    places = asyncio.run(_measured(folder, answerable, embeddings, model))
    groups: defaultdict[str, list[Places]] = defaultdict(list)
    for each in places:
        groups[each.kind].append(each)
    for kind, some in {"all": places, **groups}.items():
        print(orjson.dumps({"kind": kind, "cases": len(some)} | _recall(some)).decode())


def _recall(some: Sequence[Places]) -> dict[str, float]:
    found = {}
    for depth in DEPTHS:
        for at, name in enumerate(("message", "rewrite", "either")):
            found[f"{name}_at_{depth}"] = round(sum(each.within(depth)[at] for each in some) / len(some), 3)
    return found


async def _measured(folder: Path, cases: Sequence[dict[str, Any]], url: str, name: str) -> list[Places]:
    with Stack() as servers:
        migrate.upgrade(servers.database_url)
        known = DocumentSettings.model_validate(
            {
                "DATABASE_URL": servers.database_url,
                "HUSHGATE_EMBEDDINGS": name if url else "off",
                "HUSHGATE_EMBEDDINGS_URL": url or None,
            }
        )
        async with (
            create_pool(servers.database_url, size=2, application="bench", role=None) as source,
            configured_embedder.open_model(known, source) if url else nullcontext() as model,
        ):
            for account, files in _documents(folder).items():
                ingest = Ingest(source, model, DocumentOptions(user_id=account))
                for file in files:
                    await ingest.add(file)
            retriever = PostgresRetriever(source, model.embedder if model else None)
            return [await _places(retriever, case) for case in cases]


def _documents(folder: Path) -> dict[str, list[DocumentFile]]:
    found: dict[str, list[DocumentFile]] = {}
    for path in sorted(folder.glob("docs/*/*.md")):
        file = DocumentFile(name=path.name, source=path.name, data=path.read_bytes())
        found.setdefault(path.parent.name, []).append(file)
    return found


async def _places(retriever: PostgresRetriever, case: dict[str, Any]) -> Places:
    earlier = [line["text"] for line in case["history"][-CONTINUED_LINES:]]
    message = await retriever.search(case["domain"], case["query"], max(DEPTHS), earlier=earlier)
    rewrite = await retriever.search(case["domain"], case["rewrite"], max(DEPTHS))
    probe = _one_line(case["probe"])
    return Places(kind=case["kind"], by_message=_place(message, probe), by_rewrite=_place(rewrite, probe))


def _place(found: Retrieved, probe: str) -> int:
    places = (at for at, passage in enumerate(found, 1) if probe in _one_line(passage.text))
    return next(places, 0)


def _one_line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    typer.run(main)
