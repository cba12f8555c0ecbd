"""Which shard holds a conversation; the vectors are those of docs/scale.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tasks.lanes.received import require_place
from tasks.shards.layout import Shard, ShardLayout, conversation_of, layout_of, require, shard_number
from tests.support.samples import event
from worker.errors import ConfigurationError, PayloadRejected

VECTOR = re.compile(r"^\| `(.+)` \| `(.+)` \| `([0-9a-f]{8})` \| (\d+) \| (\d+) \| (\d+) \|$", re.MULTILINE)


def test_the_vectors_in_the_document_hold() -> None:
    """Publishers in other languages can check their routing against docs/scale.md."""
    vectors = VECTOR.findall((Path(__file__).parents[2] / "docs" / "scale.md").read_text())

    assert len(vectors) >= 4
    for user_id, conversation_id, _, *numbers in vectors:
        assert numbers == [str(shard_number(user_id, conversation_id, of)) for of in (2, 3, 4)]


def test_names_of_shards() -> None:
    """One shard has today's names; several have a slot each, and mark their entries."""
    one, third = Shard(stream="s"), Shard(stream="s", number=2, of=4)

    assert (one.name, one.prefix, one.mark) == ("s", "{s}:", "")
    assert (third.name, third.prefix, third.mark) == ("s:2/4", "{s:2/4}:", "@2/4")


def test_a_layout_remembers_sealed_shards() -> None:
    """The counts of earlier shards stay, under keys of their own."""
    layout = layout_of("s", b"1,2,4")

    keys = [each.key for each in layout.streams()]

    assert keys == ["{s}:sealed", "{s:0/2}:sealed", "{s:1/2}:sealed", "s:0/4", "s:1/4", "s:2/4", "s:3/4"]
    assert layout.place_of("5-0@1/2")[0].key == "{s:1/2}:sealed"
    with pytest.raises(ValueError, match="expected a shard"):
        layout.place_of("5-0@1/8")


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (b'{"user_id": "u", "conversation_id": "c"}', ("u", "c")),
        (b'{"specversion": "1.0", "data": {"user_id": "u", "conversation_id": "c"}}', ("u", "c")),
        (b'{"specversion": 1, "user_id": "u", "conversation_id": "c"}', ("u", "c")),
        (b'{"user_id": 7, "conversation_id": "c"}', None),
        (b'["u", "c"]', None),
        (b"no json", None),
    ],
)
def test_payloads_are_routed_by_their_conversation(payload: bytes, expected: object) -> None:
    """As READ finds the lane, also in a CloudEvents envelope; the first shard has what no worker can read."""
    assert conversation_of(payload) == expected
    if expected is None:
        assert ShardLayout(stream="s", epochs=(4,)).shard_of(payload).number == 0


def test_another_number_of_shards_is_an_error() -> None:
    """A process whose setting names a number that never was ends with a message; otherwise it follows."""
    layout = layout_of("s", b"2,4")

    assert require(layout, None) is require(layout, 4) is require(layout, 2) is layout
    with pytest.raises(ConfigurationError, match="HUSHGATE_SHARDS: expected 4, the shards of s, got 3"):
        require(layout, 3)


def test_an_event_in_a_wrong_shard_is_refused() -> None:
    """A publisher that routes wrongly gets dead letters that name both shards, never a broken order."""
    right = shard_number("u", "c", 4)
    require_place(event(user_id="u", conversation_id="c", entry_id="5-0"))
    require_place(event(user_id="u", conversation_id="c", entry_id=f"5-0@{right}/4"))

    wrong = (right + 1) % 4
    with pytest.raises(PayloadRejected, match=f"expected an event of shard {wrong} of 4") as refused:
        require_place(event(user_id="u", conversation_id="c", entry_id=f"5-0@{wrong}/4"))
    assert refused.value.code == "wrong_shard"
