"""What a judge answers about a draft, as JSON."""

from __future__ import annotations

import json

from worker.assessment import ReadingRequest
from worker.model import Json


def said(
    verdict: str = "supported", *quotes: str, probability: float = 0.97, **more: Json
) -> dict[str, Json]:
    """The judge's verdict on one sentence."""
    return {"verdict": verdict, "quotes": [*quotes], "probability": probability, **more}


def reading(*sentences: Json, relevance: Json = 0.95, left_out: str = "", **more: Json) -> str:
    """A judge's answer about the sentences of a draft, in their order."""
    return json.dumps(
        {"sentences": list(sentences), "relevance": relevance, "left_out": left_out} | more,
        ensure_ascii=False,
    )


def reading_of(request: ReadingRequest, share: float) -> str:
    """An answer that supports every sentence with all passages; each probability and score is ``share``."""
    quotes = [text for _, text in request.passages]
    return reading(
        *(said("supported", *quotes, probability=share) for _ in request.sentences),
        relevance=share,
        scores=dict.fromkeys(request.aspects, share),
    )
