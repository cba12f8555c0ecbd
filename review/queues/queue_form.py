"""Parsing the form that opens a queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from db.reviews.queues import NewQueue, QueueKind, Sample, Stratum
from db.reviews.rulings import ReviewRejected
from review.queues.review_form import parse_code

FIELDS: Final = ("name", "kind", "how", "amount", "per", "seed", "lease", "golden", "second")


def parse_queue_form(form: Mapping[str, str]) -> NewQueue:
    """The queue to open.

    Raises:
        ReviewRejected: a field is invalid.
    """
    kind = parse_code("kind", form["kind"], tuple(QueueKind))
    return NewQueue(
        name=form["name"],
        kind=kind,
        sample=_sample(form) if kind is QueueKind.SAMPLE else None,
        lease_s=_whole_number("claim duration", form["lease"] or "300"),
        golden_share=_share("golden items", form["golden"] or "0"),
        second_share=_share("second readings", form["second"] or "0"),
    )


def _sample(form: Mapping[str, str]) -> Sample:
    per = parse_code("per", form["per"], tuple(Stratum))
    seed = _whole_number("seed", form["seed"] or "1")
    if form["how"] == "each":
        return Sample(each=_whole_number("amount", form["amount"]), per=per, seed=seed)
    return Sample(share=_share("amount", form["amount"]), per=per, seed=seed)


def _whole_number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise ReviewRejected(f"{name}: expected a whole number, got {text[:60]!r}")
    return int(text)


def _share(name: str, text: str) -> float:
    try:
        share = float(text.replace(",", ".").removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ReviewRejected(f"{name}: expected 0 to 100 percent, got {text[:60]!r}")
    return share
