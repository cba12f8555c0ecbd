"""``hushgate doctor``: does each role have a model server, and where is the server named?"""

from __future__ import annotations

from functools import partial

import psycopg

from cli.doctor.check import DoctorCheck, failed, passed
from cli.options import with_pool
from db.model_servers.stored import load_servers
from worker.errors import StorageUnavailable
from worker.settings import Settings, StoredServer

CHECK = "models"
CONNECT = (
    "connect a model on the page Connect, or set these variables for every process; workers wait until then"
)
KEY = (
    "give workers and review pages the same HUSHGATE_SECRETS_KEY, or enter the key on the page Connect again"
)


def connected_models(settings: Settings) -> tuple[Settings, DoctorCheck]:
    """The settings with the servers that are stored, and whether events can be decided with them."""
    stored = _stored(settings)
    unreadable = [each.role.value for each in stored if each.unreadable]
    settings = settings.with_stored(stored)
    if unreadable:
        return settings, failed(CHECK, f"the stored key of {', '.join(unreadable)} does not open", KEY)
    if (problem := settings.models_problem) is not None:
        return settings, failed(CHECK, problem, CONNECT)
    server = settings.servers.model
    where = "; servers of the page Connect, where no variable names one" if stored else ""
    return settings, passed(CHECK, f"{server.model} of {server.url}{where}")


def _stored(settings: Settings) -> tuple[StoredServer, ...]:
    """The stored servers; none while Postgres does not answer, which its own check says."""
    load = partial(load_servers, key=settings.secrets_key)
    try:
        return with_pool(load, settings.database_url.get_secret_value())
    except (psycopg.Error, StorageUnavailable, OSError):
        return ()
