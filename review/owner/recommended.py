"""The limit of confidence that counts while an account sets none."""

from __future__ import annotations

from worker.assessment import parse_policy
from worker.assessment.policies.calibrated_policy import CalibratedPolicy
from worker.model import Account


def recommended_limit(account: Account) -> float | None:
    """Confidence, 0..1, from which an answer is sent by default; None with another confidence policy."""
    policy = parse_policy(dict(account.assessment_policy))
    return CalibratedPolicy().send_at if isinstance(policy, CalibratedPolicy) else None
