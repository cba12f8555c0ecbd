"""Names and attributes of OpenTelemetry for decisions; the only module that knows them.

They are those of the GenAI, messaging, server and error conventions in the installed
``opentelemetry-semantic-conventions``. What these do not name begins with ``hushgate.``.
"""

from __future__ import annotations

from typing import Any, Final

import orjson
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai
from opentelemetry.semconv._incubating.attributes import messaging_attributes as messaging
from opentelemetry.semconv._incubating.attributes import service_attributes as service
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.semconv.attributes import error_attributes as errors
from opentelemetry.semconv.attributes import server_attributes as server

from tasks.tracing.endpoints import CallEndpoint
from worker import __version__
from worker.model import Assessment, CallPurpose, Decision, ModelCall, Stage, StageOutcome, StageRecord
from worker.settings import TraceContent

SCOPE: Final = "hushgate"
RESOURCE: Final = {service.SERVICE_NAME: "hushgate", service.SERVICE_VERSION: __version__}
EVALUATION: Final = "gen_ai.evaluation.result"
"""The event of an assessment; the package has its attributes, but no constant for its name."""
DURATION: Final = gen_ai_metrics.GEN_AI_CLIENT_OPERATION_DURATION
DURATION_BUCKETS: Final = tuple(0.01 * 2**n for n in range(14))
TOKEN_USAGE: Final = gen_ai_metrics.GEN_AI_CLIENT_TOKEN_USAGE
TOKEN_BUCKETS: Final = tuple(float(4**n) for n in range(14))
"""Both as the conventions advise them."""
CHAT: Final = gen_ai.GenAiOperationNameValues.CHAT.value
OPERATIONS: Final = {
    CallPurpose.COMPLETION: CHAT,
    CallPurpose.JUDGE: CHAT,
    CallPurpose.EMBEDDING: gen_ai.GenAiOperationNameValues.EMBEDDINGS.value,
    CallPurpose.MODERATION: "moderation",  # the conventions have none
}
FAILED: Final = "failed"


def decision_span_name(stream: str) -> str:
    """The span of a decision: its event is processed from the stream."""
    return f"{messaging.MessagingOperationTypeValues.PROCESS.value} {stream}"


def call_span_name(call: ModelCall) -> str:
    """Operation and model."""
    return f"{OPERATIONS[call.purpose]} {call.model}".rstrip()


def decision_attributes(decision: Decision, stream: str, content: TraceContent) -> dict[str, Any]:
    """Codes and numbers; ids and texts only where the deployment wants them."""
    event, more = decision.event, dict[str, Any]()
    if content is not TraceContent.NONE:
        more |= {
            "hushgate.decision.id": str(decision.decision_id),
            "hushgate.account": event.user_id,
            gen_ai.GEN_AI_CONVERSATION_ID: event.conversation_id,
            messaging.MESSAGING_MESSAGE_ID: event.event_id,
        }
    if content is TraceContent.TEXTS:
        more[gen_ai.GEN_AI_INPUT_MESSAGES] = _messages("user", event.text)
        if decision.reply is not None:
            more[gen_ai.GEN_AI_OUTPUT_MESSAGES] = _messages("assistant", decision.reply)
    process = messaging.MessagingOperationTypeValues.PROCESS.value
    return {
        messaging.MESSAGING_SYSTEM: "redis",
        messaging.MESSAGING_OPERATION_NAME: process,
        messaging.MESSAGING_OPERATION_TYPE: process,
        messaging.MESSAGING_DESTINATION_NAME: stream,
        "hushgate.decision": decision.kind.value,
        "hushgate.reason_code": str(decision.reason_code),
        "hushgate.confidence": decision.confidence,
        "hushgate.degraded": decision.degraded,
        "hushgate.scope": event.scope.value,
        "hushgate.event.type": event.type.value,
        **more,
    }


def stage_attributes(stage: StageRecord) -> dict[str, Any]:
    """The outcome of a stage; of a search the number of its passages."""
    found: dict[str, Any] = {"hushgate.stage.outcome": stage.outcome.value}
    if stage.stage is Stage.RETRIEVAL:
        found[gen_ai.GEN_AI_OPERATION_NAME] = gen_ai.GenAiOperationNameValues.RETRIEVAL.value
        if isinstance(passages := stage.detail.get("passages"), list):
            found["hushgate.passages"] = len(passages)
    if stage.outcome is StageOutcome.FAILED:
        found[errors.ERROR_TYPE] = str(stage.detail.get("error") or FAILED)
    return found


def call_attributes(call: ModelCall, endpoint: CallEndpoint) -> dict[str, Any]:
    """What metrics and spans of a call share."""
    known = {
        gen_ai.GEN_AI_OPERATION_NAME: OPERATIONS[call.purpose],
        gen_ai.GEN_AI_PROVIDER_NAME: endpoint.provider,
        gen_ai.GEN_AI_REQUEST_MODEL: endpoint.model,
        gen_ai.GEN_AI_RESPONSE_MODEL: "" if call.error else call.model,
        server.SERVER_ADDRESS: endpoint.host,
        server.SERVER_PORT: endpoint.port,
        errors.ERROR_TYPE: call.error,
        "hushgate.purpose": call.purpose.value,
    }
    return {name: value for name, value in known.items() if value}


def usage_attributes(call: ModelCall) -> dict[str, Any]:
    """What only the span of a call has: its tokens, and why the answer ended."""
    found: dict[str, Any] = {}
    if call.tokens.prompt or call.tokens.completion:
        found[gen_ai.GEN_AI_USAGE_INPUT_TOKENS] = call.tokens.prompt
        found[gen_ai.GEN_AI_USAGE_OUTPUT_TOKENS] = call.tokens.completion
    if call.finish_reason:
        found[gen_ai.GEN_AI_RESPONSE_FINISH_REASONS] = (call.finish_reason,)
    return found


def token_counts(call: ModelCall) -> tuple[tuple[int, dict[str, Any]], ...]:
    """The values of the token histogram with their own attribute."""
    kinds = gen_ai.GenAiTokenTypeValues
    counts = ((call.tokens.prompt, kinds.INPUT), (call.tokens.completion, kinds.OUTPUT))
    return tuple((tokens, {gen_ai.GEN_AI_TOKEN_TYPE: kind.value}) for tokens, kind in counts if tokens)


def evaluation_attributes(found: Assessment, content: TraceContent) -> dict[str, Any]:
    """The attributes of an assessment; its explanation may quote the draft."""
    attributes: dict[str, Any] = {
        gen_ai.GEN_AI_EVALUATION_NAME: found.policy,
        gen_ai.GEN_AI_EVALUATION_SCORE_VALUE: found.confidence,
        gen_ai.GEN_AI_EVALUATION_SCORE_LABEL: found.tier.value,
    }
    if content is TraceContent.TEXTS and found.explanation:
        attributes[gen_ai.GEN_AI_EVALUATION_EXPLANATION] = found.explanation
    return attributes


def _messages(role: str, text: str) -> str:
    return orjson.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}]).decode()
