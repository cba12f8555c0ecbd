"""The limit of confidence that counts while an account sets none."""

from __future__ import annotations

from worker.assessment.policies.designs import DEFAULT_DESIGN, DESIGNS, default_name
from worker.model import Account


def recommended_limit(account: Account) -> float | None:
    """Confidence, 0..1, from which an answer is sent by default; None with another confidence policy."""
    if default_name(account.assessment_policy) != DEFAULT_DESIGN:
        return None
    design = DESIGNS[DEFAULT_DESIGN]
    limit: float = getattr(design.settings(), design.main_threshold)
    return limit
