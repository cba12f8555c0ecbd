"""The form that opens a queue, read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from db.queues import Kind, Opening, Sample, Stratum
from db.reviews import ReviewRejected

FIELDS: Final = ("name", "kind", "how", "amount", "per", "seed", "lease", "golden", "second")


def read(form: Mapping[str, str]) -> Opening:
    """What the form asks for.

    Raises:
        ReviewRejected: a field is not usable.
    """
    kind = _kind(form["kind"])
    return Opening(
        name=form["name"],
        kind=kind,
        sample=_sample(form) if kind is Kind.SAMPLE else None,
        lease_s=_whole("lease", form["lease"] or "300"),
        golden_share=_percent("known answers", form["golden"] or "0"),
        second_share=_percent("second readings", form["second"] or "0"),
    )


def _kind(text: str) -> Kind:
    if text not in list(Kind):
        raise ReviewRejected(f"kind: expected {', '.join(Kind)}, got {text[:60]!r}")
    return Kind(text)


def _sample(form: Mapping[str, str]) -> Sample:
    if form["per"] not in list(Stratum):
        raise ReviewRejected(f"per: expected one of the list, got {form['per'][:60]!r}")
    per, seed = Stratum(form["per"]), _whole("seed", form["seed"] or "1")
    if form["how"] == "each":
        return Sample(each=_whole("amount", form["amount"]), per=per, seed=seed)
    return Sample(share=_percent("amount", form["amount"]), per=per, seed=seed)


def _whole(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise ReviewRejected(f"{name}: expected a whole number, got {text[:60]!r}")
    return int(text)


def _percent(name: str, text: str) -> float:
    try:
        share = float(text.replace(",", ".").removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ReviewRejected(f"{name}: expected 0 to 100 percent, got {text[:60]!r}")
    return share
