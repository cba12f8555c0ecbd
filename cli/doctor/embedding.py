"""``hushgate doctor``: which embedding model is used, does it answer, and has every chunk its vector?"""

from __future__ import annotations

from collections.abc import Iterator

from cli.doctor.check import DoctorCheck, failed, passed, warned
from cli.doctor.endpoints import PROXY_FIX
from cli.options import with_pool
from db.documents import embedding_models
from db.documents.embedding_models import StoredEmbedder
from db.documents.retrieval import QUERY_TIMEOUT_S
from db.documents.stored_vectors import count_vectors
from db.pool import Pool
from worker.adapters import openai_client
from worker.adapters.api_errors import ProxyUnusable
from worker.adapters.embedding_probe import answering_model
from worker.adapters.openai_embeddings import OpenAIEmbedder
from worker.adapters.vendor_failures import KEY, QUOTA
from worker.errors import EmbeddingRejected, RetrievalUnavailable
from worker.settings import ModelServer, Settings

REEMBED = "run: hushgate documents reembed"
WORDS_ONLY = "searches use words only"
NO_EMBEDDINGS = "gives no embeddings"
ANOTHER = "set HUSHGATE_EMBEDDINGS, and HUSHGATE_EMBEDDINGS_URL if another server has one"


def stored_vectors(settings: Settings) -> Iterator[DoctorCheck]:
    """Which model is used and why, and whether every chunk has its vector."""
    usable, active, chunks, vectors = with_pool(_stored, settings.database_url.get_secret_value())
    if not usable:
        fix = with_pool(embedding_models.no_pgvector, settings.database_url.get_secret_value())
        yield warned("embedder", f"no pgvector: {WORDS_ONLY}", fix)
        return
    place = settings.servers.embeddings
    if place is None:
        yield _unused(settings, active)
        return
    named = place.model or (active.model if active else place.default_embedding_model)
    why = "" if place.model else f", because no model is set and {place.url_variable} is {place.url}"
    if active is None:
        if chunks and named:
            found = f"{named}{why}; no vector is stored: {WORDS_ONLY}"
            yield warned("embedder", found, REEMBED)
        elif named:
            yield passed("embedder", f"{named}{why}, no document stored yet")
        else:
            offered = f"what {place.url} offers is tried when documents are added, or with --live"
            yield passed("embedder", f"no model is set: {offered}; until then {WORDS_ONLY}")
        return
    found = f"{active.model} with {active.dimensions} dimensions{why}, {vectors} of {chunks} chunks"
    if active.model != named:
        yield warned("embedder", f"{found}, the settings name {named}", REEMBED)
    elif vectors < chunks:
        yield warned("embedder", found, REEMBED)
    else:
        yield passed("embedder", found)


def _unused(settings: Settings, active: StoredEmbedder | None) -> DoctorCheck:
    why = "HUSHGATE_EMBEDDINGS is off" if settings.embeddings_name else "no endpoint has a key"
    if active is None:
        return passed("embedder", f"{why}: {WORDS_ONLY}")
    return warned("embedder", f"vectors of {active.model} are unused, because {why}: {WORDS_ONLY}", ANOTHER)


async def embedding_check(settings: Settings, place: ModelServer) -> DoctorCheck:
    """Whether the model embeds one word, and with how many dimensions."""
    name = "live embedding call"
    try:
        if not (model := place.model or place.default_embedding_model):
            offered = await _offered(settings, place)
            if offered is None:
                return passed(name, f"{place.url} {NO_EMBEDDINGS}: {WORDS_ONLY}")
            return passed(name, f"{place.url} gives {offered[1]} dimensions with {offered[0]}")
        dimensions = await _dimensions(settings, place, model)
    except EmbeddingRejected as error:
        fix = "check HUSHGATE_EMBEDDINGS, _DIMENSIONS and _KEY: the server refuses such requests"
        if error.status in KEY:
            fix = f"set {place.key_variable} to a key that the endpoint accepts; until then {WORDS_ONLY}"
        if error.status in QUOTA:
            fix = f"check the quota and the rate limits of {place.key_variable}; until then {WORDS_ONLY}"
        if isinstance(error.__cause__, ProxyUnusable):
            fix = f"{PROXY_FIX}; until then {WORDS_ONLY}"
        return _failure(place, name, str(error), fix)
    except RetrievalUnavailable as error:
        fix = f"check {place.url_variable} and the network; until then {WORDS_ONLY}"
        return _failure(place, name, str(error), fix)
    return passed(name, f"{model} at {place.url} gives {dimensions} dimensions")


def _failure(place: ModelServer, name: str, found: str, fix: str) -> DoctorCheck:
    """A failed check; a warning where no setting asks for vectors."""
    return (failed if place.model else warned)(name, found, fix)


async def _stored(source: Pool) -> tuple[bool, StoredEmbedder | None, int, int]:
    """Whether vectors can be stored, the active embedder, the chunks, and how many have its vector."""
    usable = await embedding_models.has_pgvector(source)
    active = await embedding_models.active_embedder(source)
    return usable, active, *await count_vectors(source, active)


async def _offered(settings: Settings, place: ModelServer) -> tuple[str, int] | None:
    client = openai_client.client(place.url, place.key, connections=1)
    try:
        return await answering_model(
            client, place, dimensions=settings.embeddings_dimensions, timeout_s=QUERY_TIMEOUT_S
        )
    finally:
        await client.close()


async def _dimensions(settings: Settings, place: ModelServer, model: str) -> int:
    client = openai_client.client(place.url, place.key, connections=1)
    embedder = OpenAIEmbedder(client, timeout_s=QUERY_TIMEOUT_S)
    try:
        vectors = await embedder.embed(["hushgate"], model=model, dimensions=settings.embeddings_dimensions)
    finally:
        await embedder.close()
    return len(vectors[0])
