"""``hushgate migrate``: a thin command over Alembic."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.deployment import logins
from cli.options import database_url, settings_of
from cli.output import emit
from db.retention.limits import store_limits
from db.schema import migrate as migrations
from worker.settings import RetentionSettings


def migrate(
    create_logins: Annotated[
        bool,
        typer.Option(
            "--create-logins",
            help="Also create the logins of the services, or set their passwords.",
        ),
    ] = False,
    gateway_checks: Annotated[
        bool,
        typer.Option(
            "--gateway-checks",
            help="As --create-logins; the gateway's login gets a worker's rights too, which checks need.",
        ),
    ] = False,
) -> None:
    """Upgrade the database to the newest migration; safe to repeat and to run on several machines at once.

    Needs DATABASE_URL only, with the login of the database's owner. Workers, beat, review pages and gateway
    use other logins, which own nothing; --create-logins creates them. Their passwords are read from
    HUSHGATE_DB_WORKER_PASSWORD, _REVIEW_PASSWORD, _AUDIT_PASSWORD and _GATEWAY_PASSWORD. Without
    a password, a new login gets a generated one, printed once as part of its DATABASE_URL, and an existing
    login keeps its password.

    Also stores the retention of HUSHGATE_KEEP: no worker can delete younger rows, whatever its settings.
    """
    url = database_url()
    before, after = migrations.upgrade(url)
    emit([{"before": before, "after": after}], ["before", "after"])
    store_limits(url, settings_of(RetentionSettings))
    if create_logins or gateway_checks:
        logins.create(url, gateway_checks=gateway_checks)
