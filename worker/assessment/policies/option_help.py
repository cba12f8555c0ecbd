"""What people read about each option of a confidence policy, and what its values mean."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from worker.model import Action

OPTION_HELP: Final[Mapping[str, str]] = MappingProxyType(
    {
        "enabled": "Drafts are assessed. Off: every draft is sent without an assessment.",
        "test_mode": "Assess and store, but send every draft.",
        "gate": "Small talk and clarifying questions pass without a check of facts.",
        "low_action": "What happens to a draft of low confidence.",
        "undecided_action": "What happens to a draft that no judge has read.",
        "send_at": "Lowest confidence that is sent.",
        "require_evidence": "Stop a draft that states facts without a passage.",
        "require_citations": "Stop a draft without a citation.",
        "check_relevance": "A draft must also answer the question.",
        "fallbacks": "By language, the text that is sent instead of a draft.",
        "models": "2 to 4 names of models that draft; default is the model of the deployment.",
        "min_drafts": "Fewest drafts that are compared.",
        "min_agreement": "Share of the facts that another draft must state, 0 to 1.",
        "confidence_threshold": "Confidence below which a draft is stopped.",
        "judge_below": "Score of the rules below which a judge reads the draft, 0 to 1.",
        "trigger_on_category": "Doubt that a draft admits stops it above the threshold too.",
        "preview_chars": "Characters of a stopped draft that are stored.",
        "uncertainty_indicators": "Words of doubt, each on a line.",
        "partial_indicators": "Words of a partial answer, each on a line.",
        "error_keywords": "Words of an error, each on a line.",
        "category_keywords": "By category, the words that name it, each on a line.",
        "uncertainty_penalty": "Deduction for each word of doubt, 0 to 1.",
        "most_uncertainty_penalty": "Largest deduction for words of doubt, 0 to 1.",
        "partial_penalty": "Deduction for each word of a partial answer, 0 to 1.",
        "most_partial_penalty": "Largest deduction for words of a partial answer, 0 to 1.",
        "length_penalty": "Deduction for a short draft, 0 to 1.",
        "short_chars": "Characters below which a draft is short.",
        "error_penalty": "Deduction for each word of an error, 0 to 1.",
        "most_error_penalty": "Largest deduction for words of an error, 0 to 1.",
        "responses": "By category, the text that is sent instead of a draft.",
        "profile_key": "Name in the metadata of an event that holds the author's profile.",
        "profile_responses": "By profile and category, the text that is sent instead of a draft.",
        "guardrail": "A second check, Confidence Guardrail, follows for each draft that passed.",
        "high_threshold": "Confidence from which a draft is sent.",
        "medium_threshold": "Confidence from which a draft is made a second time, 0 to 1.",
        "enable_recheck": "Search and draft a second time at medium confidence.",
        "enable_escalation": "Hand a draft of low confidence to a person. Off: the fallback text is sent.",
        "fallback_message": "The text that is sent instead of a draft of low confidence.",
        "initial_documents": "Most passages of the first search.",
        "initial_similarity": "Lowest similarity of the first search, 0 to 1.",
        "recheck_documents": "Most passages of the second search.",
        "recheck_similarity": "Lowest similarity of the second search, 0 to 1.",
        "hedge_penalty": "Deduction for each word of doubt, 0 to 1.",
        "evidence_threshold": "Share of the words of a draft that its passages must contain.",
        "min_confidence": "Drafts below this confidence are not sent; 0 sends what the design sends.",
        "require_uncertainty_when_no_context": "Without passages, a draft must say that it is not sure.",
        "ethics_principles": "By principle, the phrases that break it, each on a line.",
        "learning_interval_hours": "Hours until the fallback text says that new documents are learnt.",
        "min_retrieval_confidence": "Lowest mean similarity of the passages, 0 to 1.",
        "min_similarity_score": "Lowest similarity of the best passage, 0 to 1.",
        "min_rerank_score": "Lowest score of the best passage after ranking, 0 to 1.",
        "min_chunks_required": "Fewest passages.",
        "min_total_context_length": "Fewest characters of all passages.",
        "min_citation_coverage": "Share of the sentences that need a citation, 0 to 1.",
        "min_grounding_score": "Lowest share of the draft that rests on passages, 0 to 1.",
        "max_topic_mismatch_score": "Largest distance of question and answer, 0 to 1.",
        "hallucination_patterns": "Phrases of an invented answer, each on a line.",
        "scope": "What the answer is based on; it stands in the text that is sent instead of a draft.",
        "answer": "The text that is sent instead of a draft; {scope} stands for the scope.",
        "fallback_levels": "What is tried instead of a draft that is not trusted, in this order, one a line:"
        " partial, text, handoff, silence or policy.",
        "partial_min_share": "Share of the sentences that must be supported for a partial answer, 0 to 1.",
        "missing_texts": "By language, the sentence after a partial answer.",
        "tell_confidence": "A text about its confidence follows every assessed answer.",
        "confidence_texts": "By language and tier (high, medium or low), the text about the confidence.",
        "thresholds": "By condition and threshold, such as label:subject=tax > send_at, the number from 0 to"
        " 1 that counts instead.",
        "retry_with": "Make a second draft when the first one is not trusted enough.",
        "below": "Confidence of the first draft below which a second one is made, 0 to 1.",
        "model": "Name of another model of the deployment; empty: the same model.",
        "prompt": "Other instructions; empty: the instructions of the account.",
        "suggest_questions": "Up to three headings of documents follow a fallback text.",
        "suggestion_texts": "By language, the text before these headings.",
    }
)
"""Total: every option of a policy and of its delivery that an account can set."""
ACTION_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        Action.SEND: "is sent",
        Action.HOLD: "waits until a person approves it",
        Action.FALLBACK: "is replaced by the fallback text",
        Action.ESCALATE: "is handed to a person",
        Action.SILENCE: "is not sent, and nothing instead",
    }
)
CHOICES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "low_action": {
            name: ACTION_WORDS[name] for name in (Action.ESCALATE, Action.FALLBACK, Action.SILENCE)
        },
        "undecided_action": ACTION_WORDS,
    }
)
"""Value -> meaning of an option with a closed set of values."""
