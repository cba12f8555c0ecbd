"""Mentions in comments, identifiers in paths, and the time of digests."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError

from db.collaboration.digests import DigestPeriod
from review.collaboration.mentions import mentioned_logins
from review.digests.schedule import next_digest
from review.http.identifiers import CONVERTOR, path_segment
from worker.settings.mail import MailSettings, is_mail_address

HANOI = ZoneInfo("Asia/Ho_Chi_Minh")
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "logins"),
    [
        ("see @kim, please", {"kim"}),
        ("@Kim@example.org. thanks", {"kim@example.org.", "kim@example.org"}),
        ("mail kim@example.org", set()),
        ("(@kim) and @lee!", {"kim", "lee"}),
        ("@@kim", set()),
        ("no one", set()),
    ],
)
def test_a_comment_mentions_logins_after_an_at_sign(text: str, logins: set[str]) -> None:
    """Addresses of mail are no mentions; the punctuation after a login does not belong to it."""
    assert set(mentioned_logins(text)) == logins


@pytest.mark.parametrize(
    "identifier",
    ["a1", "https://host/a?b=c#d", "..", ".", "~2F", "50%", "chat/7", "ä 新", "a/authors/b", "\\"],
)
def test_any_identifier_is_one_segment_of_a_path(identifier: str) -> None:
    """No slash, no dots alone, nothing that a proxy decodes; it is read back as it was."""
    segment = path_segment(identifier)

    assert CONVERTOR.convert(segment) == identifier
    assert set(segment) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
    assert segment.strip(".")


@pytest.mark.parametrize(
    ("period", "zone", "after", "due"),
    [
        (DigestPeriod.DAILY, HANOI, "2026-11-23T00:30", "2026-11-23T01:00"),
        (DigestPeriod.DAILY, HANOI, "2026-11-23T01:00", "2026-11-24T01:00"),
        (DigestPeriod.WEEKLY, HANOI, "2026-11-23T01:00", "2026-11-30T01:00"),
        (DigestPeriod.DAILY, BERLIN, "2026-10-24T07:00", "2026-10-25T07:00"),
    ],
)
def test_a_digest_is_due_at_eight_in_the_persons_zone(
    period: DigestPeriod, zone: ZoneInfo, after: str, due: str
) -> None:
    """On the next day or Monday, also when the clocks change."""
    at = datetime.fromisoformat(after).replace(tzinfo=UTC)

    assert next_digest(period, zone, at) == datetime.fromisoformat(due).replace(tzinfo=UTC)
    assert next_digest(DigestPeriod.OFF, zone, at) is None


def test_settings_of_mail_are_checked() -> None:
    """A URL of another kind, and a server without a sender; the message does not quote the URL."""
    with pytest.raises(ValidationError) as wrong:
        MailSettings.model_validate({"HUSHGATE_SMTP_URL": "https://kim:secret@host"})
    for without_sender in ("smtp://host", "smtp://host?from=", "smtp://host?from=kim"):
        with pytest.raises(ValidationError):
            MailSettings.model_validate({"HUSHGATE_SMTP_URL": without_sender})
    mail = MailSettings.model_validate({"HUSHGATE_SMTP_URL": "smtp://host:25?from=kim+night@example.org"})

    assert "secret" not in str(wrong.value)
    assert mail.mail_from == "kim+night@example.org"
    assert is_mail_address("kim+night@example.org")
    assert not any(
        is_mail_address(text) for text in ("kim", "a@b\nBcc: c@d", "a b@c", "<a@b>", "a@b@c", "@b")
    )
