"""The limit of confidence that counts while an account sets none."""

from __future__ import annotations

from worker.assessment import parse_policy
from worker.assessment.policies.calibrated_policy import CalibratedPolicy
from worker.assessment.signals.grounds import EvidenceKind
from worker.model import Account


def recommended_limit(account: Account) -> float | None:
    """Support, 0..1, from which an answer to a question is sent; None with another confidence policy.

    The number is the certified threshold of the account's coefficients, see ``Coefficients.send_at``.
    """
    policy = parse_policy(dict(account.assessment_policy))
    if not isinstance(policy, CalibratedPolicy):
        return None
    return policy.model.kinds[EvidenceKind.QUESTION].send_at
