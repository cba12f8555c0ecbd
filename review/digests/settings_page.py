"""The page on which a person orders or stops the digest."""

from __future__ import annotations

import secrets
from typing import Final

from starlette.responses import Response

from db.access_log import LoggedAction
from db.collaboration import digests
from db.collaboration.digests import Digest, DigestChannel, DigestPeriod
from review.digests.schedule import next_digest
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark
from review.languages.choice import choose_zone
from worker.settings.mail import is_mail_address
from worker.webhooks.addresses import AddressRefused, parse_url
from worker.webhooks.signing import NEW_SECRET_BYTES, encode_secret

PERIODS: Final = {
    DigestPeriod.OFF: mark("never"),
    DigestPeriod.DAILY: mark("every day at 8 o'clock"),
    DigestPeriod.WEEKLY: mark("every Monday at 8 o'clock"),
}
CHANNELS: Final = {DigestChannel.MAIL: mark("by mail"), DigestChannel.WEBHOOK: mark("to a webhook")}


async def show_digest(visit: Visit) -> Response:
    """What the person ordered, with the form."""
    return await _show(visit)


async def save_digest(visit: Visit) -> Response:
    """Store what the person orders; a new webhook's secret is shown once."""
    async with visit.store.writing() as connection:
        before = await digests.load_digest(connection, visit.person.person_id)
        try:
            ordered = _ordered(visit, before)
        except AddressRefused as problem:
            raise Refused(422, _("Not stored"), str(problem)) from None
        await digests.store_digest(connection, ordered, visit.now)
        detail = {"changed": "own digest", "period": ordered.period.value, "channel": ordered.channel.value}
        await visit.log(LoggedAction.PEOPLE, connection=connection, detail=detail)
    fresh = ordered.secret if before is None or before.secret != ordered.secret else None
    return await _show(visit, saved=True, secret=fresh)


def _ordered(visit: Visit, before: Digest | None) -> Digest:
    """What the form orders.

    Raises:
        AddressRefused: the URL cannot be used.
        Refused: another field cannot be used.
    """
    try:
        period, channel = DigestPeriod(visit.field("period")), DigestChannel(visit.field("channel"))
    except ValueError:
        raise Refused(400, _("Which digest?"), _("Expected one of the listed values.")) from None
    address = visit.field("address").strip()
    if period is DigestPeriod.OFF and not address:
        address = before.address if before else ""
    else:
        _check_address(visit, channel, address)
    zone = choose_zone(visit.person.time_zone, None)
    return Digest(
        person_id=visit.person.person_id,
        period=period,
        channel=channel,
        address=address,
        secret=_secret(before, address) if channel is DigestChannel.WEBHOOK else None,
        due_at=next_digest(period, zone, visit.now),
    )


def _check_address(visit: Visit, channel: DigestChannel, address: str) -> None:
    """Raises as ``_ordered``."""
    if channel is DigestChannel.WEBHOOK:
        parse_url(address, loopback=visit.site.settings.webhook_loopback)
    elif visit.site.settings.smtp_url is None:
        raise Refused(422, _("Not stored"), _("No mail server is configured here. Choose a webhook."))
    elif not is_mail_address(address):
        raise Refused(422, _("Not stored"), _("address: expected an e-mail address such as kim@example.org"))


def _secret(before: Digest | None, address: str) -> str:
    """The secret of the same address as before, else a new one."""
    if before is not None and before.secret is not None and before.address == address:
        return before.secret
    return encode_secret(secrets.token_bytes(NEW_SECRET_BYTES))


async def _show(visit: Visit, *, saved: bool = False, secret: str | None = None) -> Response:
    async with visit.store.reading() as connection:
        found = await digests.load_digest(connection, visit.person.person_id)
    return visit.render(
        "digest.html",
        digest=found,
        periods=PERIODS,
        channels=CHANNELS,
        mail=visit.site.settings.smtp_url is not None,
        login_is_address=is_mail_address(visit.person.login),
        saved=saved,
        secret=secret,
    )
