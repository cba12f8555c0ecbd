"""Sends a mail by SMTP."""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Final
from urllib.parse import unquote, urlsplit

from worker.settings.mail import is_loopback

LIMIT_S: Final = 20.0
PORTS: Final = {"smtp": 587, "smtps": 465}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """A mail in plain text; ``identifier`` is the same in every attempt to send it."""

    recipient: str
    subject: str
    text: str
    identifier: str
    at: datetime


class MailNotSent(Exception):
    """The server did not take the mail; the text is the kind of the failure, without addresses."""


async def send_mail(url: str, sender: str, mail: Mail) -> None:
    """Send a mail through the server of a URL, see ``worker.settings.mail``.

    Raises:
        MailNotSent: try again later.
    """
    try:
        await asyncio.to_thread(_send, url, _message(sender, mail))
    except (OSError, smtplib.SMTPException) as error:
        raise MailNotSent(type(error).__name__) from error


def _message(sender: str, mail: Mail) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, mail.recipient, mail.subject
    message["Date"] = format_datetime(mail.at)
    message["Message-ID"] = f"<{mail.identifier}@{sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(mail.text)
    return message


def _send(url: str, message: EmailMessage) -> None:
    parts = urlsplit(url)
    host, port, context = (
        parts.hostname or "",
        parts.port or PORTS[parts.scheme],
        ssl.create_default_context(),
    )
    if parts.scheme == "smtps":
        server: smtplib.SMTP = smtplib.SMTP_SSL(host, port, timeout=LIMIT_S, context=context)
    else:
        server = smtplib.SMTP(host, port, timeout=LIMIT_S)
    with server:
        if parts.scheme == "smtp" and not is_loopback(host):
            server.starttls(context=context)
        if parts.username:
            server.login(unquote(parts.username), unquote(parts.password or ""))
        server.send_message(message)
