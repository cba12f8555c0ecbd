"""Recorded payloads of channels as events: valid, of the right type, and never of a bot or ourselves."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson
import pytest
from jsonschema import Draft202012Validator

from examples.channels import CHANNELS, chatwoot, telegram
from examples.channels.recipe import Change, Json, PayloadError
from tasks.publishing.publish import checked
from tests.unit.channels.recorded import SETUPS, events, payload, payloads

SCHEMA: Final = Path(__file__).parents[3] / "docs" / "event.schema.json"
VALIDATOR: Final = Draft202012Validator(
    json.loads(SCHEMA.read_text(encoding="utf-8")), format_checker=Draft202012Validator.FORMAT_CHECKER
)
THREAD: Final = "slack:C0SHOP:1795262400.000100"
ROOM: Final = "discord:1333000000000000001"
DIALOGUE: Final = "telegram:4001:main"
CROWD: Final = "telegram:-500:main"
ANN: Final = "UgzRootCommentOfAnn4AaABAg"
EXPECTED: Final[dict[str, dict[str, list[tuple[str, ...]]]]] = {
    "slack": {
        "message": [("message", THREAD, "1795262400.000100", "U0ANN", "Fish & chips <today>?")],
        "message_in_thread": [("message", THREAD, "1795262460.000200", "U0ANN", "And on Sunday?")],
        "direct_message": [
            ("message", "slack:D0ANN:direct", "1795262400.000100", "U0ANN", "When are you open?")
        ],
        "message_of_the_team": [
            ("agent_message", THREAD, "1795262470.000300", "U0LEE", "I will look into it.")
        ],
        "file_of_the_team": [("agent_message", THREAD, "1795262400.000100", "U0LEE", "[attachment]")],
        "file_without_text": [("message", THREAD, "1795262400.000100", "U0ANN", "")],
        "forwarded_message": [("message", THREAD, "1795262400.000100", "U0ANN", "Do you ship <abroad>?")],
        "edit": [("message_edited", THREAD, "1795262400.000100", "U0ANN", "When are you open on Sunday?")],
        "deletion": [("message_deleted", THREAD, "1795262400.000100", "U0ANN", "")],
        "root_deleted": [("message_deleted", THREAD, "1795262400.000100", "U0ANN", "")],
        "root_deleted_by_policy": [("message_deleted", THREAD, "1795262400.000100", "unknown", "")],
        "tombstone_deleted": [("message_deleted", THREAD, "1795262400.000100", "unknown", "")],
        "deletion_without_message": [("message_deleted", THREAD, "1795262400.000100", "unknown", "")],
    },
    "chatwoot": {
        "message": [("message", "chatwoot:42", "9001", "contact-51", "When are you open?")],
        "message_in_open_conversation": [
            ("message", "chatwoot:42", "9001", "contact-51", "When are you open?")
        ],
        "message_of_the_team": [("agent_message", "chatwoot:42", "9003", "user-7", "I will look into it.")],
        "file_without_text": [("message", "chatwoot:42", "9001", "contact-51", "")],
        "audio": [("message", "chatwoot:42", "9001", "contact-51", "")],
        "deletion": [("message_deleted", "chatwoot:42", "9001", "contact-51", "")],
    },
    "telegram": {
        "message": [("message", DIALOGUE, "21", "4001", "When are you open?")],
        "edit": [("message_edited", DIALOGUE, "21", "4001", "When are you open on Sunday?")],
        "photo_without_text": [("message", DIALOGUE, "21", "4001", "")],
        "voice_with_caption": [("message", DIALOGUE, "21", "4001", "My question")],
        "sticker": [("message", DIALOGUE, "21", "4001", "👍")],
        "poll": [("message", DIALOGUE, "21", "4001", "Which lamp is warmer?")],
        "mention_within": [("message", CROWD, "38", "4001", "Hey @corner_shop_bot, open today?")],
        "location": [("message", DIALOGUE, "21", "4001", "")],
        "message_of_the_team": [("agent_message", CROWD, "24", "4002", "I will look into it.")],
        "mention_in_group": [("message", CROWD, "22", "4001", "when are you open?")],
        "reply_in_topic": [("message", "telegram:-1001500:9", "31", "4001", "And on Sunday?")],
        "command_in_group": [("message", CROWD, "23", "4001", "When are you open?")],
        "edit_in_group": [("message_edited", CROWD, "22", "4001", "and on Sunday?")],
        "start_in_sentence": [("message", DIALOGUE, "21", "4001", "/started it, now what?")],
        "anonymous_admin": [
            ("agent_message", "telegram:-1001500:main", "33", "-1001500", "We are closed today.")
        ],
    },
    "discord": {
        "message": [("message", ROOM, "1333445566778899001", "1200000000000000001", "When are you open?")],
        "reply": [("message", ROOM, "1333445566778899002", "1200000000000000001", "And on Sunday?")],
        "direct_message": [
            (
                "message",
                "discord:1333000000000000055",
                "1333445566778899001",
                "1200000000000000001",
                "When are you open?",
            )
        ],
        "message_of_the_team": [
            ("agent_message", ROOM, "1333445566778899003", "1200000000000000002", "I will look into it.")
        ],
        "forwarded_message": [
            ("message", ROOM, "1333445566778899001", "1200000000000000001", "Do you ship abroad?")
        ],
        "poll": [("message", ROOM, "1333445566778899001", "1200000000000000001", "Which lamp is warmer?")],
        "subcommand": [
            ("message", ROOM, "command-1333445566778899101", "1200000000000000001", "When are you open?")
        ],
        "message_without_content": [("message", ROOM, "1333445566778899001", "1200000000000000001", "")],
        "edit": [
            (
                "message_edited",
                ROOM,
                "1333445566778899001",
                "1200000000000000001",
                "When are you open on Sunday?",
            )
        ],
        "deletion": [("message_deleted", ROOM, "1333445566778899001", "unknown", "")],
        "bulk_deletion": [
            ("message_deleted", ROOM, "1333445566778899001", "unknown", ""),
            ("message_deleted", ROOM, "1333445566778899002", "unknown", ""),
        ],
        "command": [
            ("message", ROOM, "command-1333445566778899101", "1200000000000000001", "When are you open?")
        ],
    },
    "intercom": {
        "started": [
            (
                "message",
                "intercom:215470000000017",
                "403918349",
                "6762f0cd1bb69f9f2193bb83",
                "When are you open?\nFish & chips <3",
            )
        ],
        "customer_replied": [
            (
                "message",
                "intercom:215470000000017",
                "22900000001",
                "6762f0cd1bb69f9f2193bb83",
                "And on Sunday?",
            )
        ],
        "image_without_text": [
            ("message", "intercom:215470000000017", "22900000001", "6762f0cd1bb69f9f2193bb83", "")
        ],
        "message_of_the_team": [
            (
                "agent_message",
                "intercom:215470000000017",
                "22900000002",
                "991267460",
                "I will look into it.",
            )
        ],
        "team_started": [("agent_message", "intercom:215470000000017", "403918350", "991267460", "Hi Ann")],
        "redaction": [
            ("message_deleted", "intercom:215470000000017", "22900000001", "6762f0cd1bb69f9f2193bb83", "")
        ],
    },
    "zendesk": {
        "message": [("message", "zendesk:5158", "4904990273659", "8447388090494", "When are you open?")],
        "message_with_integer_ids": [
            ("message", "zendesk:5158", "4904990273660", "8447388090494", "When are you open?")
        ],
        "message_of_the_team": [
            ("agent_message", "zendesk:5158", "4904990273661", "8447388090495", "I will look into it.")
        ],
        "redaction": [("message_deleted", "zendesk:5158", "4904990273659", "unknown", "")],
    },
    "youtube": {
        "page": [
            ("message", f"youtube:{ANN}", ANN, "UCann", "When are you open?"),
            ("message", f"youtube:{ANN}", f"{ANN}.9reply1", "UCann", "And on Sunday?"),
            (
                "message",
                "youtube:UgzRootCommentOfKim4AaABAg",
                "UgzRootCommentOfKim4AaABAg",
                "UCkim",
                "Nice video!",
            ),
        ],
        "edited": [
            ("message", f"youtube:{ANN}", ANN, "UCann", "When are you open on Sunday?"),
            ("message_edited", f"youtube:{ANN}", ANN, "UCann", "When are you open on Sunday?"),
        ],
        "replies": [("message", f"youtube:{ANN}", f"{ANN}.9reply2", "UCann", "Thanks")],
        "own_comment": [("message", f"youtube:{ANN}", ANN, "UCann", "When are you open?")],
        "message_of_the_team": [
            ("agent_message", f"youtube:{ANN}", f"{ANN}.9studio", "UCshop", "I will look into it."),
            ("agent_message", f"youtube:{ANN}", f"{ANN}.9lee", "UClee", "I can help."),
        ],
        "author_without_channel": [("message", f"youtube:{ANN}", f"{ANN}.9gone", "unknown", "Hello?")],
    },
}
"""What each recorded payload becomes; a payload that is not named becomes no event."""
CASES: Final = [
    (channel, name) for channel in CHANNELS for name in payloads(channel) if name != "answer_sent"
]


@pytest.mark.parametrize(("channel", "name"), CASES)
def test_a_payload_becomes_the_right_events(channel: str, name: str) -> None:
    """Type, conversation, message, author and text; nothing for bots, ourselves and notices."""
    made = events(channel, payload(channel, name))
    fields = ("type", "conversation_id", "message_id", "author_id", "text")

    assert [tuple(each[field] for field in fields) for each in made] == EXPECTED[channel].get(name, [])


PART: Final = ("data", "item", "conversation_parts", "conversation_parts", 0)


@pytest.mark.parametrize(
    ("channel", "name", "path", "value", "expected"),
    [
        ("slack", "message", ("event", "user"), None, []),  # a workflow: rota-slackbot#33, chainlit#2844
        ("slack", "edit", ("event", "message", "user"), None, []),
        ("chatwoot", "message", ("sender",), None, [("message", "contact-unknown")]),
        ("chatwoot", "deletion", ("sender", "id"), None, [("message_deleted", "contact-unknown")]),
        ("intercom", "customer_replied", (*PART, "author", "id"), None, [("message", "unknown")]),
        ("intercom", "customer_replied", (*PART, "author"), None, []),
        ("intercom", "message_of_the_team", (*PART, "author", "from_ai_agent"), True, []),  # Intercom-OpenAPI
        ("intercom", "team_started", ("data", "item", "source", "delivered_as"), "automated", []),
        ("intercom", "started", ("data", "item", "source", "author", "type"), "team", []),
        ("zendesk", "message", ("event", "comment", "author"), None, []),
        ("zendesk", "message", ("event", "comment", "author", "id"), "-1", []),  # django-zengo#7
        ("zendesk", "message", ("event", "comment", "author", "id"), -1, []),
        ("telegram", "linked_channel", ("message", "is_automatic_forward"), None, [("message", "-1009")]),
        # a member who writes as a channel: tg-spam#371, telegram-search-bot#20
    ],
)
def test_who_wrote_is_unknown_or_no_person(
    channel: str, name: str, path: tuple[str | int, ...], value: object, expected: list[tuple[str, str]]
) -> None:
    """A customer without an id is one all the same; machines are none, and no request is refused."""
    made = events(channel, spoiled(payload(channel, name), path, value))

    assert [(each["type"], each["author_id"]) for each in made] == expected


@pytest.mark.parametrize(("channel", "name"), CASES)
def test_events_are_valid(channel: str, name: str) -> None:
    """By the schema and by the parser of the workers, with an event id of their own each."""
    made = events(channel, payload(channel, name))
    for each in made:
        VALIDATOR.validate(each)
        checked(each)

    assert len({each["event_id"] for each in made}) == len(made)


@pytest.mark.parametrize("channel", CHANNELS)
def test_every_expected_payload_is_recorded(channel: str) -> None:
    """Messages, people of the team, edits or deletions, and messages of ourselves are among them."""
    names = set(payloads(channel))

    assert names >= set(EXPECTED[channel])
    assert "message_of_the_team" in names
    assert names & {"own_message", "own_comment"}


@pytest.mark.parametrize(
    ("channel", "name", "parent"),
    [
        ("slack", "message_in_thread", "1795262400.000100"),
        ("slack", "message", None),
        ("discord", "reply", "1333445566778899001"),
        ("telegram", "reply_in_topic", "30"),
        ("youtube", "replies", ANN),
    ],
)
def test_an_answer_names_what_it_answers(channel: str, name: str, parent: str | None) -> None:
    """The field `parent_id` has the message or comment above."""
    (made,) = events(channel, payload(channel, name))

    assert made["parent_id"] == parent


def test_a_comment_of_our_channel_is_left_until_its_id_is_known() -> None:
    """A poll in the minute in which the consumer sends finds neither a customer nor a person."""
    body = payload("youtube", "message_of_the_team")
    body["items"] = body["items"][:1]
    body["items"][0]["snippet"] |= dict.fromkeys(("publishedAt", "updatedAt"), "2026-11-21T12:09:30Z")

    assert events("youtube", body) == []


@pytest.mark.parametrize(
    ("published", "thread", "kinds"),
    [
        ("2026-11-21T12:00:00Z", ANN, ["agent_message"]),
        ("2026-10-22T12:11:00Z", ANN, ["agent_message"]),
        ("2026-10-22T12:09:00Z", ANN, []),
        ("2026-11-21T12:00:00Z", "UgzRootCommentOfEvaAaABAg", []),
    ],
    ids=["known", "thirty_days", "older", "unknown_outcome"],
)
def test_a_comment_of_our_channel_is_of_a_person_only_while_the_consumer_would_know_it(
    published: str, thread: str, kinds: list[str]
) -> None:
    """Ids are known for thirty days; a reply without an answer may be any comment of its thread."""
    body = payload("youtube", "message_of_the_team")
    body["items"] = body["items"][:1]
    body["items"][0]["snippet"] |= {"publishedAt": published, "updatedAt": published, "parentId": thread}

    assert [each["type"] for each in events("youtube", body)] == kinds


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("conversation_opened", Change.TAKE),
        ("conversation_snoozed", Change.TAKE),
        ("conversation_resolved", Change.RELEASE),
        ("message_in_open_conversation", Change.TAKE),
        ("message", None),
        ("message_of_the_team", None),
        ("widget", None),
    ],
)
def test_chatwoot_says_who_answers(name: str, change: Change | None) -> None:
    """By the status of the conversation; a message in a pending one changes nothing."""
    inbound = CHANNELS["chatwoot"].inbound
    assert inbound is not None
    assert inbound.owner is not None
    found = inbound.owner(payload("chatwoot", name))

    assert (found and found.change) == change
    assert found is None or (found.conversation, found.at) == ("chatwoot:42", 1795262400.25)


@pytest.mark.parametrize(
    ("at", "expected"), [(1795262400, 1795262400.0), (None, 0.0), ("x", 0.0), (10**400, 0.0), (True, 1.0)]
)
def test_a_change_of_owner_without_a_usable_time_is_done(at: object, expected: float) -> None:
    """A strange time must not overtake later changes."""
    found = chatwoot.owner(payload("chatwoot", "conversation_opened") | {"updated_at": at})

    assert found is not None
    assert found.at == expected


@pytest.mark.parametrize(
    ("channel", "name", "changes", "expected"),
    [
        ("telegram", "message", {"text": "/start When are you open?"}, ["/start When are you open?"]),
        ("telegram", "edit", {"text": "/start ad_7"}, ["/start ad_7"]),
        ("telegram", "edit", {"text": None, "location": {"latitude": 52.5, "live_period": 900}}, []),
        ("telegram", "edit_in_group", {"text": "Did you see the game?"}, []),
        ("chatwoot", "message_of_the_team", {"additional_attributes": {"campaign_id": 3}}, []),
        ("chatwoot", "message_of_the_team", {"content_attributes": {"automation_rule_id": 3}}, []),
        ("chatwoot", "message_of_the_team", {"sender": None}, []),
        ("slack", "edit", {"previous_message": None}, ["When are you open on Sunday?"]),
        ("slack", "preview_added", {"previous_message": None}, []),
        (
            "chatwoot",
            "message_of_the_team",
            {"sender": None, "content_attributes": {"external_echo": True}},
            ["I will look into it."],
        ),
    ],
    ids=[
        *("start_with_question", "edit_to_start", "live_location_moves", "edit_to_others"),
        *("campaign", "automation", "no_sender", "edit_without_before", "reply_in_thread"),  # CopilotKit#6717
        "answer_in_the_channels_own_app",
    ],
)
def test_what_counts_as_written(channel: str, name: str, changes: Json, expected: list[str]) -> None:
    """Texts of customers and of the team, in the vendor's own app too; nothing that a machine sent."""
    body = payload(channel, name)
    names = ("message", "edited_message", "event")
    inner = (body[name] for name in names if isinstance(body.get(name), dict))
    message = next(inner, body)
    message |= changes

    assert [each["text"] for each in events(channel, body)] == expected


@pytest.mark.parametrize(
    ("name", "root", "place"),
    [
        ("direct_message", "1795262300.000100", "1795262300.000100"),  # cc-connect#844
        ("direct_message", "1795262400.000100", "direct"),
        ("direct_message", None, "direct"),
    ],
)
def test_a_direct_message_in_a_thread_is_answered_there(name: str, root: str | None, place: str) -> None:
    """The chat of an assistant shows only its thread; a message that others answered is no thread."""
    body = payload("slack", name)
    body["event"]["thread_ts"] = root
    (made,) = events("slack", body)

    assert made["conversation_id"] == f"slack:D0ANN:{place}"


def test_two_edits_in_one_second_are_two_events() -> None:
    """Telegram dates an edit by the second; the text that stays must be moderated."""
    first, second = payload("telegram", "edit"), payload("telegram", "edit")
    second["edited_message"]["text"] = "Another text"
    made = [events("telegram", each)[0]["event_id"] for each in (first, second, first)]

    assert (made[0] != made[1], made[0] == made[2]) == (True, True)


def test_an_edit_that_discord_repeats_with_urls_signed_anew_is_one_event() -> None:
    """A preview or a pin repeats the last edit of a message: discord.js#10153."""
    first, second = payload("discord", "edit"), payload("discord", "edit")
    for each, signature in ((first, "ex=1&hm=a"), (second, "ex=2&hm=b")):
        each["d"]["attachments"] = [{"id": "1", "url": f"https://cdn.discordapp.com/1/a.png?{signature}"}]

    assert events("discord", first)[0]["event_id"] == events("discord", second)[0]["event_id"]


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of every value inside a payload."""
    if path:
        yield path
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for name, child in children:
        yield from places(child, (*path, name))


def spoiled(body: Any, path: tuple[str | int, ...], value: object) -> Any:
    """A copy of a payload with another value at a path."""
    copied = copy.deepcopy(body)
    place = copied
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return copied


def events_or_error(channel: str, body: Json) -> list[Json] | str:
    """The events of a payload, or the message of its PayloadError."""
    try:
        if channel == "chatwoot":
            chatwoot.owner(body)
        if channel == "telegram":
            telegram.changes(body, SETUPS[channel])
        return events(channel, body)
    except PayloadError as error:
        return str(error)


def valid_accounts(made: list[Json]) -> bool:
    """Whether each is an event of the inbox's account."""
    return all(isinstance(each, dict) and each["user_id"] == "shop" for each in made)


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_hostile_payload_is_refused_by_name_or_gives_events(channel: str) -> None:
    """Any field of any payload may be null, of another type, huge or strange: a PayloadError, or events."""
    strange: tuple[object, ...] = (
        None,
        True,
        -1,
        10**30,
        1.5,
        "",
        "\x00\ud800",
        "../..",
        [],
        [None],
        {},
        {"a": {}},
    )
    for name in payloads(channel):
        body = payload(channel, name)
        for path in places(body):
            for value in strange:
                made = events_or_error(channel, spoiled(body, path, value))
                assert made.isprintable() if isinstance(made, str) else valid_accounts(made)


@pytest.mark.parametrize(
    ("channel", "name", "field", "message"),
    [
        ("slack", "message", ("event", "channel"), "channel: expected a text, got nothing"),
        ("discord", "message", ("d", "author"), "author.id: expected a text, got nothing"),
        ("intercom", "started", ("data", "item"), "data.item: expected an object, got nothing"),
        ("zendesk", "message", ("event", "comment"), "event.comment: expected an object, got nothing"),
        ("chatwoot", "message", ("conversation",), "conversation.id: expected a text, got nothing"),
        ("telegram", "message", ("message", "chat"), "chat.type: expected a text, got nothing"),
        ("youtube", "page", ("items",), "items: expected a list, got nothing"),
    ],
)
def test_a_missing_field_is_named(channel: str, name: str, field: tuple[str, ...], message: str) -> None:
    """The error names the field, the expectation and what came."""
    with pytest.raises(PayloadError, match=f"^{message}$"):
        events(channel, spoiled(payload(channel, name), field, None))


@pytest.mark.parametrize("channel", CHANNELS)
def test_what_we_send_comes_back_as_no_event(channel: str) -> None:
    """No recorded payload of ourselves or of a bot is an event: the AI never answers itself."""
    ours = [name for name in payloads(channel) if name.startswith("own_") or "_bot" in name or "_app" in name]
    made = [each for name in ours for each in events(channel, payload(channel, name))]

    assert ours
    assert [each for each in made if each["author_id"] == SETUPS[channel].own_id] == []
    assert all(orjson.dumps(each) for each in made)
