"""What a reply says about its origin: model, confidence, and the record that its policy publishes."""

from __future__ import annotations

from worker.assessment.policies.designs import published_record
from worker.model import Assessment, Decision, Json


def reply_metadata(decision: Decision) -> dict[str, Json]:
    """The fields of a reply that come from its assessment, and its trace context where there is one.

    ``model`` is null when no model wrote the text. ``confidence`` and ``tier`` are null when nothing was
    measured; for a fallback they are those of the draft that it replaces.
    """
    model = decision.models.get("completion") if decision.draft is not None else None
    trace = decision.trace.fields() if decision.trace else {}
    return text_metadata(decision.assessment, model) | trace


def text_metadata(found: Assessment | None, model: str | None) -> dict[str, Json]:
    """The metadata of a text with this assessment; ``model`` is None for a text that no model wrote."""
    measured = found is not None and found.measured
    return {
        "model": model,
        "policy": found.policy if found else None,
        "confidence": found.confidence if found and measured else None,
        "tier": found.tier.value if found and measured else None,
        "assessment": published_record(found) if found else None,
    }
