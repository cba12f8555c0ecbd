"""The configuration of the policy ``calibrated``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from worker.assessment.policies.outcomes import check_policy
from worker.model import Action

FALLBACKS: Mapping[str, str] = MappingProxyType(
    {
        "en": "I could not find a reliable answer to that, so I would rather not guess.",
        "vi": "Tôi không tìm thấy câu trả lời đáng tin cậy nên không muốn đoán.",
        "zh": "我没有找到可靠的答案，不想随意猜测。",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedPolicy:
    """The configuration of ``calibrated``.

    Attributes:
        gate: whether small talk and clarifying questions pass without a fact check.
        require_evidence: whether a factual draft without any passage is stopped; an account without documents
            must set it to False.
        require_citations: whether a draft without any citation is refused.
        check_relevance: whether a draft must answer the question; False measures support only.
        send_at: 0..1, lowest confidence that is sent. 0.5: more likely right than wrong by the judge's own
            probability; reviews move it (``docs/confidence.md``).
        undecided_action: the action for a draft that no judge has read and that is not verbatim.
        low_action: the action for a draft of low confidence.
        fallbacks: language -> text for the action ``fallback``.
    """

    version: int = 3
    enabled: bool = True
    test_mode: bool = False
    gate: bool = True
    require_evidence: bool = True
    require_citations: bool = False
    check_relevance: bool = True
    send_at: float = 0.5
    undecided_action: Action = Action.HOLD
    low_action: Action = Action.ESCALATE
    fallbacks: Mapping[str, str] = field(default_factory=lambda: dict(FALLBACKS))

    def __post_init__(self) -> None:
        check_policy(self, shares=("send_at",))
        if self.undecided_action is Action.RECHECK:
            raise ValueError(
                "undecided_action: expected send, hold, fallback, escalate or silence, got recheck"
            )
