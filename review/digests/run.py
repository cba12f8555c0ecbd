"""Sends the digests that are due, while the server runs; any number of servers send each one once."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Final

import orjson
import structlog

from db.collaboration import digests
from db.collaboration.digests import MOST_ATTEMPTS, Digest, DigestChannel, DigestPeriod
from db.people import records
from db.people.records import Person
from review.digests.content import DigestCounts, digest_body, digest_subject, digest_text, load_counts
from review.digests.schedule import next_digest
from review.http.visit import Site
from review.languages.choice import choose_language, choose_zone
from review.languages.reader import PageReader, answer_in
from worker.adapters.mail_sender import Mail, MailNotSent, send_mail
from worker.adapters.webhook_sender import WebhookSender
from worker.errors import StorageUnavailable
from worker.webhooks.signing import message_id, signed_headers

log = structlog.get_logger(__name__)

LOOK_S: Final = 60.0
PERIODS: Final = {DigestPeriod.DAILY: timedelta(days=1), DigestPeriod.WEEKLY: timedelta(days=7)}
"""What is off is never due."""
FIRST_RETRY: Final = timedelta(minutes=2)
NO_MAIL_SERVER: Final = "no_mail_server"


async def run_digests(site: Site) -> None:
    """Look every minute, until cancelled; during an outage of Postgres, look again."""
    while True:
        await asyncio.sleep(LOOK_S)
        try:
            await send_due(site)
        except StorageUnavailable as error:
            log.warning("digests_postponed", kind=error.kind)


async def send_due(site: Site) -> int:
    """Send all that are due now; how many were sent."""
    sent = 0
    while True:
        async with site.store.writing() as connection:
            claimed = await digests.claim_due(connection, site.now())
            person = await records.get_person(connection, claimed.person_id) if claimed else None
        if claimed is None:
            return sent
        if person is None:  # deleted meanwhile, and the digest with the person
            continue
        try:
            # a task of its own, so that language and time zone are those of this person alone
            sent += await asyncio.create_task(_send_one(site, claimed, person))
        except StorageUnavailable:
            raise
        except Exception as error:  # claimed again after its lease; the digests of others are sent now
            log.exception("digest_failed", person=str(claimed.person_id), exc_info=error)


async def _send_one(site: Site, digest: Digest, person: Person) -> bool:
    zone, now = choose_zone(person.time_zone, None), site.now()
    answer_in(PageReader(language=choose_language(person.language, None, ""), zone=zone, now=now))
    counts = await load_counts(site.store, person, now, now - PERIODS[digest.period])
    problem = await _deliver(site, digest, counts) if counts.total else None
    next_at = next_digest(digest.period, zone, now)
    assert next_at is not None  # what is off is never due
    async with site.store.writing() as connection:
        if problem is not None and digest.attempts < MOST_ATTEMPTS:
            retry_at = now + FIRST_RETRY * 2 ** (digest.attempts - 1)
            await digests.retry_digest(connection, digest, retry_at=retry_at, problem=problem)
        else:
            sent = problem is None and counts.total > 0
            await digests.end_digest(connection, digest, next_at=next_at, now=now, sent=sent, problem=problem)
    if problem is not None:
        log.warning("digest_not_sent", person=str(person.person_id), problem=problem)
    return problem is None and counts.total > 0


async def _deliver(site: Site, digest: Digest, counts: DigestCounts) -> str | None:
    """Send it; the code of the problem when that did not work."""
    send = _send_mail if digest.channel is DigestChannel.MAIL else _send_webhook
    return await send(site, digest, counts)


async def _send_mail(site: Site, digest: Digest, counts: DigestCounts) -> str | None:
    settings = site.settings
    if settings.smtp_url is None:
        return NO_MAIL_SERVER
    mail = Mail(
        recipient=digest.address,
        subject=digest_subject(counts),
        text=digest_text(counts, _address(site)),
        identifier=_identifier(digest),
        at=site.now(),
    )
    try:
        await send_mail(settings.smtp_url.get_secret_value(), settings.mail_from, mail)
    except MailNotSent as error:
        return str(error)
    return None


async def _send_webhook(site: Site, digest: Digest, counts: DigestCounts) -> str | None:
    body = orjson.dumps(digest_body(counts, digest, _address(site)))
    secrets = [digest.secret] if digest.secret else []
    headers = signed_headers(body, identifier=_identifier(digest), secrets=secrets, now=site.now())
    async with WebhookSender(loopback=site.settings.webhook_loopback, now=site.now) as sender:
        result = await sender.send(digest.address, body, headers)
    return result.error.value if result.error is not None else None


def _address(site: Site) -> str:
    return site.settings.review_url.rstrip("/")


def _identifier(digest: Digest) -> str:
    """The same for every attempt to send the digest of one period."""
    assert digest.due_at is not None  # only due ones are sent
    return message_id(str(digest.person_id), "digest", digest.due_at.isoformat())
