"""The one sheet of the review pages."""

from __future__ import annotations

from review.http.templating import STATIC


def test_every_section_of_the_sheet_begins_outside_of_all_blocks() -> None:
    """A brace that a merge lost would hide all that follows in a media query."""
    depth, inside = 0, []
    for line in (STATIC / "style.css").read_text().splitlines():
        if line.startswith("/*") and depth:
            inside.append(line)
        depth += line.count("{") - line.count("}")

    assert (inside, depth) == ([], 0)
