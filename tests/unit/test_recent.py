"""The cache in memory."""

from __future__ import annotations

from worker.recent import Recent


def test_what_was_not_used_for_longest_leaves_first() -> None:
    """Its size is bounded by weight; a value that is larger than all of it is not kept."""
    kept: Recent[str, str] = Recent(5, weight=len)
    kept.keep("one", "aa")
    kept.keep("two", "bb")
    used = kept.get("one")
    kept.keep("three", "cc")
    seen = ("one" in kept, "two" in kept, kept.size)
    kept.keep("large", "d" * 6)

    assert (used, seen) == ("aa", (True, False, 4))
    assert (len(kept), kept.size, kept.get("large")) == (0, 0, None)


def test_a_value_that_is_kept_again_counts_once() -> None:
    """Also one that was dropped before."""
    kept: Recent[str, str] = Recent(5, weight=len)
    kept.keep("one", "aa")
    kept.keep("one", "bbb")
    kept.drop("two")

    assert (kept.get("one"), kept.size) == ("bbb", 3)

    kept.drop("one")

    assert (len(kept), kept.size) == (0, 0)
