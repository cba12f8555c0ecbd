"""Moderation by word lists, in the response format of omni-moderation."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sandbox.faults import CallPlan, FaultKind, SandboxFault, without_markers
from sandbox.replies.lexicon import CATEGORIES, FLAGGED_PHRASES, IMAGE_CATEGORIES, MILD_PHRASES
from sandbox.routes import MODERATION_MODEL, BadRequest

FLAG_AT = 0.5
"""Score from which a category is flagged."""

LONGEST_PHRASE = 5
TOKEN = re.compile(r"[^\W_]+")
IMAGE_FLAG = re.compile(r"flag-([a-z-]+)")
UNAVAILABLE = "unavailable-image"
"""An image whose URL holds this cannot be fetched, such as one that expired."""
PHRASES: Mapping[str, tuple[tuple[str, bool], ...]] = {
    phrase: tuple(
        (category, table is FLAGGED_PHRASES)
        for table in (FLAGGED_PHRASES, MILD_PHRASES)
        for category, phrases in table.items()
        if phrase in phrases
    )
    for table_of in (FLAGGED_PHRASES, MILD_PHRASES)
    for listed in table_of.values()
    for phrase in listed
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModerationInput:
    """One input to score: its text parts joined by newlines, and its image URLs."""

    text: str | None
    images: tuple[str, ...] = ()

    @property
    def about(self) -> str:
        """The text under which a call is counted and planned: the text, or the URLs."""
        return self.text if self.text is not None else " ".join(self.images)


def moderation_inputs(body: Mapping[str, object]) -> tuple[ModerationInput, ...]:
    """The inputs to score: a string, a list of strings (one result each), or one list of parts."""
    value = body.get("input")
    if isinstance(value, str):
        return (ModerationInput(text=value),)
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return tuple(ModerationInput(text=item) for item in value)
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        texts = [text for item in value if (text := _part(item, "text"))]
        images = tuple(url for item in value if (url := _part(item, "image_url")))
        if lost := next((url for url in images if UNAVAILABLE in url), None):
            raise BadRequest(f"Failed to download image from {lost}.", param="input")
        if len(texts) + len(images) == len(value):
            return (ModerationInput(text="\n".join(texts) if texts else None, images=images),)
    raise BadRequest(
        "input: expected a string, a list of strings, or a list of {type: text, text} "
        "and {type: image_url, image_url: {url}} parts",
        param="input",
    )


def moderation_body(inputs: tuple[ModerationInput, ...], planned: CallPlan, number: int) -> dict[str, object]:
    """The JSON answer; ``flagged`` flags the inputs it is planned for, ``empty`` gives no result."""
    results: list[dict[str, object]] = []
    if planned.fault is None or planned.fault.kind is not FaultKind.EMPTY:
        faults = planned.faults or (planned.fault,) * len(inputs)
        results = [_result(item, fault) for item, fault in zip(inputs, faults, strict=True)]
    return {"id": f"modr-sandbox-{number}", "model": MODERATION_MODEL, "results": results}


def category_scores(item: ModerationInput) -> dict[str, float]:
    """Category -> 0..1: 0.90..0.99 for a listed phrase, 0.20..0.45 for a mild word, else below 0.003."""
    digest = hashlib.blake2b(
        item.about.encode("utf-8", "surrogatepass"), digest_size=len(CATEGORIES)
    ).digest()
    noise = {category: byte / 255 for category, byte in zip(CATEGORIES, digest, strict=True)}
    found = {category: 1e-6 + 0.003 * level**3 for category, level in noise.items()}
    for category, strong in _hits(without_markers(item.text or "")):
        level = 0.90 + 0.09 * noise[category] if strong else 0.20 + 0.25 * noise[category]
        found[category] = max(found[category], level)
    for category in _image_flags(item.images):
        found[category] = 0.90 + 0.09 * noise[category]
    return found


def _result(item: ModerationInput, fault: SandboxFault | None) -> dict[str, object]:
    found = category_scores(item)
    if fault is not None and fault.kind is FaultKind.FLAGGED:
        found[fault.value if fault.value in CATEGORIES else "violence"] = 0.97
    categories = {category: score >= FLAG_AT for category, score in found.items()}
    text = ["text"] if item.text is not None else []
    both = [*text, "image"] if item.images else text
    return {
        "flagged": any(categories.values()),
        "categories": categories,
        "category_scores": found,
        "category_applied_input_types": {
            category: both if category in IMAGE_CATEGORIES else text for category in CATEGORIES
        },
    }


def _hits(text: str) -> Iterator[tuple[str, bool]]:
    """Categories whose phrases occur in the text as whole words, and whether the phrase is a flagged one."""
    words = TOKEN.findall(text.casefold().replace("'", "").replace("’", ""))
    for start in range(len(words)):
        phrase = ""
        for word in words[start : start + LONGEST_PHRASE]:
            phrase = f"{phrase} {word}" if phrase else word
            if phrase in PHRASES:
                yield from PHRASES[phrase]


def _image_flags(urls: tuple[str, ...]) -> Iterator[str]:
    """Categories that image URLs ask for: ``flag-violence-graphic``, ``flag-self-harm`` ..."""
    for url in urls:
        for name in IMAGE_FLAG.findall(url.casefold()):
            known = [category for category in IMAGE_CATEGORIES if name.startswith(category.replace("/", "-"))]
            if known:
                yield max(known, key=len)


def _part(item: Mapping[str, object], kind: str) -> str | None:
    if item.get("type") != kind:
        return None
    value = item.get(kind)
    if isinstance(value, dict):
        value = value.get("url")
    return value if isinstance(value, str) else None
