"""``worker.ports.Classifier`` over any OpenAI-compatible chat endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import structlog

from worker.adapters.api_errors import ApiError
from worker.adapters.call_guard import UNGUARDED, Guard
from worker.adapters.completion_reading import spoken_content, token_counts
from worker.adapters.finish_reasons import FinishKind, finish_kind
from worker.adapters.model_protocol import spoken
from worker.adapters.moderation_results import worst
from worker.adapters.moderation_texts import pieces
from worker.adapters.openai_client import Watch, answer
from worker.adapters.openai_http import ApiClient
from worker.adapters.server_dialect import Dialect
from worker.adapters.vendor_failures import MALFORMED, call_failure, moderation_error, name_of, storable
from worker.cancellation import all_of
from worker.classifiers.answers import read_answer
from worker.classifiers.endpoints import ClassifierEndpoint
from worker.classifiers.formats import FORMATS, ClassifierFormat
from worker.classifiers.prompts import ClassifierQuestion, chat_lines
from worker.classifiers.scores import moderation_scores, unsafe_probability
from worker.errors import EndpointMisconfigured, ModerationRejected, ModerationUnavailable
from worker.generation import estimated_tokens_of
from worker.model import AttemptOutcome, ModerationScores, Tokens

log = structlog.get_logger(__name__)

TOP_LOGPROBS: Final = 5
"""Alternatives asked of each token; vLLM allows 20, other servers fewer."""


class ChatClassifier:
    """Asks one question a text; an answer of another shape is no result, never a score.

    Args:
        client: from ``openai_client.client``.
        name: as the deployment declares it, for the log.
        endpoint: model, format and limits.
        watch: records whether the endpoint is usable.
        guard: stands before each call.
    """

    def __init__(
        self,
        client: ApiClient,
        *,
        name: str,
        endpoint: ClassifierEndpoint,
        watch: Watch | None = None,
        guard: Guard = UNGUARDED,
    ) -> None:
        self._client = client
        self._name = name
        self._endpoint = endpoint
        self._watch = watch or Watch("classifier")
        self._guard = guard
        self._dialect = Dialect(endpoint.model)
        self._answers = True

    async def classify(self, question: ClassifierQuestion) -> ModerationScores:
        """Scores of a text; of a text that is refused for its length the worst scores of its pieces."""
        _require_fitting_policy(question, self._endpoint.format)
        try:
            return await self._classified(question)
        except ModerationRejected as error:
            parts = pieces(question.text)
            if not error.is_too_long or len(parts) == 1:
                raise
        return worst(await all_of(self._classified(replace(question, text=each)) for each in parts))

    async def _classified(self, question: ClassifierQuestion) -> ModerationScores:
        lines = chat_lines(question, self._endpoint.format)
        estimate = estimated_tokens_of(content for _, content in lines) + self._endpoint.answer_tokens

        async def post(body: Mapping[str, Any]) -> Any:
            return await answer(
                self._client,
                "/chat/completions",
                body,
                self._endpoint.timeout_s,
                holding="choices",
                guard=self._guard,
                tokens=estimate,
            )

        try:
            document = await self._dialect.ask(request_body(question, self._endpoint), post)
        except (ApiError, TimeoutError, ValueError) as error:
            known = call_failure(error)
            self._watch.failed(known)
            if known.may_succeed_later:
                self._log_change(answers=False, kind=known.kind)
            raise moderation_error(known) from error
        self._watch.worked()
        self._log_change(answers=True)
        scores = scores_of(document, self._endpoint, question.policy)
        self._guard.spent(estimate, scores.tokens.prompt + scores.tokens.completion)
        return scores

    def _log_change(self, *, answers: bool, kind: str = "") -> None:
        """Log once that the classifier stopped answering, and once that it answers again."""
        if answers and not self._answers:
            log.info("classifier_available", classifier=self._name)
        if not answers and self._answers:
            log.error("classifier_unavailable", classifier=self._name, kind=kind)
        self._answers = answers


def request_body(question: ClassifierQuestion, endpoint: ClassifierEndpoint) -> dict[str, object]:
    """The body of the call."""
    lines = chat_lines(question, endpoint.format)
    body: dict[str, object] = {
        "model": endpoint.model,
        "messages": [{"role": role, "content": content} for role, content in lines],
        "max_tokens": endpoint.answer_tokens,
        "temperature": 0,
        "stream": False,
    }
    return body | ({"logprobs": True, "top_logprobs": TOP_LOGPROBS} if endpoint.logprobs else {})


def scores_of(document: Any, endpoint: ClassifierEndpoint, policy: str) -> ModerationScores:
    """The scores in a completion.

    Raises:
        ModerationUnavailable: of kind ``unreadable``: a refusal, or no accepted shape.
    """
    try:
        choice = document["choices"][0]
        text = storable(spoken_content(choice["message"].get("content")))
        kind = finish_kind(choice.get("finish_reason"))
        refused = bool(choice["message"].get("refusal")) or kind is FinishKind.FILTERED
        model, tokens = name_of(document.get("model") or endpoint.model), _tokens(document)
    except MALFORMED as error:
        message = storable(f"malformed completion: {error}"[:300])
        raise ModerationUnavailable(message, kind=AttemptOutcome.MALFORMED) from error
    form = endpoint.format
    is_usable = not refused and kind is not FinishKind.FAILED
    found = read_answer(text, form, policy) if is_usable else None
    if found is None and is_usable and (plain := spoken(text)) != text:
        found, text = read_answer(plain, form, policy), plain
    if found is None:
        what = "refused to classify" if refused else f"answered {_shown(text)}"
        raise ModerationUnavailable(
            f"expected an answer in the format {form}; the classifier {what}", kind=AttemptOutcome.UNREADABLE
        )
    probability = unsafe_probability(text, found, choice.get("logprobs"), form)
    return moderation_scores(found, probability, model=model, tokens=tokens)


def _tokens(document: Mapping[str, Any]) -> Tokens:
    return token_counts(document.get("usage") or {})


def _shown(text: str) -> str:
    """The kind of an unreadable answer, without its words, which may quote a person's text."""
    return f"{len(text)} characters of another shape" if text.strip() else "nothing"


def _require_fitting_policy(question: ClassifierQuestion, form: ClassifierFormat) -> None:
    """Refuse a question that the model would answer by something else than the account's policy.

    Raises:
        EndpointMisconfigured: a policy where the model reads none, or none where it needs one.
    """
    reads, has = FORMATS[form].reads_policy, bool(question.policy.strip())
    if reads != has:
        expected = "a policy text" if reads else "no policy text: its model has categories of its own"
        raise EndpointMisconfigured(f"the moderator needs {expected}", cause="policy")
