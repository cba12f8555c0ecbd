"""The judge hook: a prompt with a ``HUSHGATE-JUDGE: CRITERION`` line gets a JSON score by word overlap.

Such a prompt has sections; each starts with a line that begins with its name and a colon::

    HUSHGATE-JUDGE: groundedness
    QUESTION: When do you open?
    REPLY: We open at nine. [1]
    PASSAGES:
    [1] Hours: We open at nine on weekdays.

The score is the share, 0..1, of content words that the criterion finds:

==============  ========================================================
criterion       share of
==============  ========================================================
groundedness    the reply's words that are in the passages (the default)
relevance       the question's words that are in the reply
context         the question's words that are in the passages
==============  ========================================================
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sandbox.faults import without_markers
from sandbox.replies.chat_request import JUDGE_LINE
from sandbox.replies.extractive import content_words, overlap_share

SECTION = re.compile(r"^(QUESTION|REPLY|PASSAGES|END):[ \t]*", re.MULTILINE)
CITATION = re.compile(r"\[\d{1,4}\]")
PASS_AT = 0.5
"""Share from which the field ``verdict`` is ``pass``."""

CRITERIA: Mapping[str, tuple[str, str]] = {
    "groundedness": ("REPLY", "PASSAGES"),
    "relevance": ("QUESTION", "REPLY"),
    "context": ("QUESTION", "PASSAGES"),
}
"""Criterion -> the section whose words are searched, and the section they are searched in."""


def judgement(prompt: str, forced_score: float | None = None) -> dict[str, object]:
    """``{"criterion", "score", "verdict", "reason"}`` of a prompt; an unknown criterion is groundedness."""
    _, _, after = prompt.partition(JUDGE_LINE)
    named = after.splitlines()[0].strip().casefold() if after.strip() else ""
    criterion = named if named in CRITERIA else "groundedness"
    sections = _sections(prompt)
    whose, where = CRITERIA[criterion]
    words = content_words(sections.get(whose, ""))
    found = content_words(sections.get(where, ""))
    score = round(overlap_share(words, found), 4) if forced_score is None else forced_score
    return {
        "criterion": criterion,
        "score": score,
        "verdict": "pass" if score >= PASS_AT else "fail",
        "reason": f"{len(words & found)} of {len(words)} words of {whose} are in {where}; not judged",
    }


def schema_answer(answer: Mapping[str, object], schema: Mapping[str, object] | None) -> dict[str, object]:
    """The answer reduced to the properties of a JSON schema; missing properties are made from its score.

    A number becomes the score, an integer 0..10, a boolean ``score >= 0.5``, a string with ``enum`` the first
    value on a pass and the last on a fail, any other string the reason.
    """
    properties = (schema or {}).get("properties")
    if not isinstance(properties, dict):
        return dict(answer)
    return {
        name: answer[name] if name in answer else _filled(kind if isinstance(kind, dict) else {}, answer)
        for name, kind in properties.items()
    }


def _filled(kind: Mapping[str, object], answer: Mapping[str, object]) -> object:
    score = answer.get("score")
    number = float(score) if isinstance(score, int | float) else 0.0
    choices = kind.get("enum")
    if isinstance(choices, list) and choices:
        return choices[0] if number >= PASS_AT else choices[-1]
    by_type: dict[str, object] = {
        "number": number,
        "integer": round(number * 10),
        "boolean": number >= PASS_AT,
        "string": answer.get("reason", ""),
        "array": [],
        "object": {},
    }
    return by_type.get(str(kind.get("type")))


def _sections(prompt: str) -> dict[str, str]:
    """Section name -> its text up to the next section, without citations and markers."""
    pieces = SECTION.split(without_markers(prompt))
    return {name: CITATION.sub(" ", text) for name, text in zip(pieces[1::2], pieces[2::2], strict=True)}
