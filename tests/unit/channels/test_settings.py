"""The commands of docs/channels.md: each has the settings that its programs need, and no other is needed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Final

import pytest

from examples.channels import CHANNELS
from examples.channels.consumer import make_consumer
from examples.channels.environment import seconds, setup
from examples.channels.receiver import make_receiver
from examples.channels.slack_desk import make_desk

GUIDE: Final = Path(__file__).parents[3] / "docs" / "channels.md"
BLOCKS: Final = re.findall(
    r"```sh\n([^`]*python -m channels (\w+)[^`]*)```", GUIDE.read_text(encoding="utf-8")
)
OPTIONAL: Final = frozenset({"PEOPLE", "ESCALATION_PLACE", "PERSON_TOKEN"})


def settings_of(block: str) -> dict[str, str]:
    """The variables before a command."""
    words = shlex.split(block.replace("\\\n", " "))
    return dict(word.split("=", 1) for word in words[: words.index("python")])


def start(channel: str, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the programs of a channel with nothing but these settings."""
    for name in (
        "OWN_ID",
        "TOKEN",
        "SIGNING_SECRET",
        "CHANNEL_URL",
        "HUSHGATE_URL",
        "HUSHGATE_TOKEN",
        "PEOPLE_TOKENS",
    ):
        monkeypatch.delenv(name, raising=False)
    fixed = {"CHANNEL": channel, "ACCOUNT": "corner-shop", "LISTEN": "127.0.0.1:0"}
    for name, value in (fixed | settings).items():
        monkeypatch.setenv(name, value)
    consumer = make_consumer()
    make_desk(consumer)
    consumer.redis.close()
    receiver = make_receiver()
    receiver.redis.close()
    receiver.server_close()


@pytest.mark.parametrize(("block", "channel"), BLOCKS)
def test_a_documented_command_has_all_settings(
    block: str, channel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The programs start with those settings, and name each setting that is missing."""
    settings = settings_of(block)
    start(channel, settings, monkeypatch)
    optional = OPTIONAL | ({"HUSHGATE_URL"} if channel == "slack" else set())
    for missing in settings.keys() - optional:
        with pytest.raises(SystemExit, match=f"^{missing}: expected a value, got nothing$"):
            start(channel, {name: settings[name] for name in settings if name != missing}, monkeypatch)

    assert {channel for _, channel in BLOCKS} == {"telegram", "slack", "chatwoot"}


def test_a_token_of_another_form_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Telegram would answer 404 to each reply, as if its message were gone."""
    settings = {"OWN_ID": "shop_bot", "TOKEN": "bot7001:secret", "SIGNING_SECRET": "s"}
    with pytest.raises(SystemExit, match=r"^TOKEN: expected .*, got 14 other characters$"):
        start("telegram", settings, monkeypatch)
    with pytest.raises(SystemExit, match=r"^TOKEN: expected"):
        start("slack", settings | {"TOKEN": "xoxb-1\n"}, monkeypatch)
    review = {"HUSHGATE_URL": "http://localhost:8085", "HUSHGATE_TOKEN": "hg_secret\n"}
    with pytest.raises(SystemExit, match=r"^HUSHGATE_TOKEN: expected .*, got 10 other characters$"):
        start("slack", settings | {"TOKEN": "xoxb-1"} | review, monkeypatch)


def test_an_unknown_channel_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With those that exist."""
    monkeypatch.setenv("CHANNEL", "fax")
    monkeypatch.setenv("ACCOUNT", "corner-shop")
    with pytest.raises(SystemExit, match=r"^CHANNEL: expected one of slack, .*, got 'fax'$"):
        setup()

    assert "fax" not in CHANNELS


def test_a_wrong_address_or_time_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the value that came, instead of a traceback."""
    settings = {"OWN_ID": "shop_bot", "TOKEN": "7001:AA", "SIGNING_SECRET": "s", "LISTEN": "8090x"}
    with pytest.raises(SystemExit, match=r"^LISTEN: expected HOST:PORT, got '8090x'$"):
        start("telegram", settings, monkeypatch)
    for wrong in ("soon", "0", "-1"):
        monkeypatch.setenv("LEASE_S", wrong)
        with pytest.raises(SystemExit, match=f"^LEASE_S: expected seconds above 0, got '{wrong}'$"):
            seconds("LEASE_S", 30)
