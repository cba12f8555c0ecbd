"""How each policy limits the search for passages."""

from __future__ import annotations

from worker.assessment.policies.chain import searching_policy
from worker.assessment.policies.designs import Policy, design_of
from worker.assessment.policies.guardrail import GuardrailPolicy
from worker.assessment.values import SearchBounds


def initial_search(policy: Policy) -> SearchBounds:
    """The search before the first draft: Confidence Guardrail's limits for its design, else 5 documents."""
    policy = searching_policy(policy)
    if isinstance(policy, GuardrailPolicy):
        return SearchBounds(documents=policy.initial_documents, min_similarity=policy.initial_similarity)
    return SearchBounds(documents=5, min_similarity=0.0)


def checks_labels(policy: Policy) -> bool:
    """Whether the policy checks labels, so that a search must not filter by them (Safety Mechanism)."""
    return design_of(policy).checks_labels


def recheck_search(policy: Policy) -> SearchBounds | None:
    """The search of a recheck, or None for a policy that never rechecks."""
    policy = searching_policy(policy)
    return policy.recheck if isinstance(policy, GuardrailPolicy) and policy.enable_recheck else None
