"""Decisions to an OTLP/HTTP receiver: spans, metrics and evaluations, made after the commit.

Spans are made of the trace that every decision has, so that a stage costs nothing. Threads of the SDK send
them in batches; what exceeds their queues while the receiver does not answer is dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

from opentelemetry import trace as api
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import Decision as Sampling
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from tasks.tracing import names
from tasks.tracing.endpoints import CallEndpoint, call_endpoints
from worker import __version__
from worker.model import CallPurpose, Decision, ModelCall, Stage, StageOutcome, TraceContext
from worker.settings import Settings

REQUEST_S: Final = 5.0
CLOSE_S: Final = 4.0
"""Shorter than what a worker has left after its drain."""
PARENT_STAGES: Final = {Stage.JUDGE: Stage.ASSESSMENT}
"""The stage that has the record; the judge has no record of its own."""

Made = tuple[Stage, float, float, SpanContext]
"""A stage with begin and end by the monotonic clock, and its span."""


class OtlpTraces:
    """Sends traces; headers and certificates come from the variables ``OTEL_EXPORTER_OTLP_*``."""

    def __init__(self, settings: Settings) -> None:
        assert settings.traces_url is not None  # the caller has asked
        url = settings.traces_url.rstrip("/")
        self._content, self._stream = settings.traces_content, settings.stream
        self._endpoints = call_endpoints(settings)
        self._sampler = ParentBased(TraceIdRatioBased(settings.traces_ratio))
        self._resource = resource = Resource.create(dict(names.RESOURCE))
        self._scope = InstrumentationScope(names.SCOPE, __version__)
        self._spans = BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{url}/v1/traces", timeout=REQUEST_S))
        metrics = OTLPMetricExporter(endpoint=f"{url}/v1/metrics", timeout=REQUEST_S)
        reader = PeriodicExportingMetricReader(metrics)
        self._meters = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        meter = self._meters.get_meter(names.SCOPE, __version__)
        self._durations = meter.create_histogram(
            names.DURATION, unit="s", explicit_bucket_boundaries_advisory=names.DURATION_BUCKETS
        )
        self._tokens = meter.create_histogram(
            names.TOKEN_USAGE, unit="{token}", explicit_bucket_boundaries_advisory=names.TOKEN_BUCKETS
        )
        events = OTLPLogExporter(endpoint=f"{url}/v1/logs", timeout=REQUEST_S)
        self._logs = LoggerProvider(resource=resource, shutdown_on_exit=False)
        self._logs.add_log_record_processor(BatchLogRecordProcessor(events))
        self._events = self._logs.get_logger(names.SCOPE, __version__)

    def servers_changed(self, settings: Settings) -> None:
        """Name the servers of these settings from now on."""
        self._endpoints = call_endpoints(settings)

    def context(self, decision: Decision) -> TraceContext:
        """The decision's position; its ids follow from the decision's id: a repeated commit has the same."""
        parent = TraceContext.of(decision.event.metadata)
        trace_id = parent.trace_id if parent else _digest(decision, 0, 16)
        above = api.set_span_in_context(api.NonRecordingSpan(_span_context(parent))) if parent else None
        sampled = self._sampler.should_sample(above, int(trace_id, 16), names.SCOPE).decision
        return TraceContext(
            trace_id=trace_id,
            span_id=_digest(decision, 1),
            flags=int(sampled is Sampling.RECORD_AND_SAMPLE),
            state=parent.state if parent else "",
        )

    def decided(self, decision: Decision) -> None:
        """Count the calls of any decision; send spans and the evaluation of a sampled one."""
        for call in decision.calls:
            attributes = names.call_attributes(call, self._endpoint(call))
            self._durations.record(call.duration_s, attributes)
            for tokens, kind in names.token_counts(call):
                self._tokens.record(tokens, attributes | kind)
        if decision.trace is not None and decision.trace.sampled:
            self._send(decision, _span_context(decision.trace))

    def close(self) -> None:
        """Send what waits, for at most ``CLOSE_S``."""
        closing = threading.Thread(target=self._shut_down, name="traces-close", daemon=True)
        closing.start()
        closing.join(CLOSE_S)

    def _shut_down(self) -> None:
        self._spans.force_flush()
        self._spans.shutdown()  # type: ignore[no-untyped-call]
        self._logs.shutdown()
        self._meters.shutdown()

    def _endpoint(self, call: ModelCall) -> CallEndpoint:
        return self._endpoints.get(call.purpose, CallEndpoint())

    def _send(self, decision: Decision, root: SpanContext) -> None:
        spans = _Spans(decision, self._resource, self._scope)
        stages = _stage_spans(spans, decision, root)
        evaluated = root
        for call in decision.calls:
            attributes = names.call_attributes(call, self._endpoint(call)) | names.usage_attributes(call)
            made = spans.add(
                names.call_span_name(call),
                (call.started_s, call.started_s + call.duration_s),
                attributes,
                parent=_stage_of(call, stages) or root,
                kind=SpanKind.CLIENT,
                failed=bool(call.error),
            )
            if call.purpose is CallPurpose.COMPLETION and not call.error:
                evaluated = made
        parent = TraceContext.of(decision.event.metadata)
        spans.add(
            names.decision_span_name(self._stream),
            (decision.began_s, decision.ended_s),
            names.decision_attributes(decision, self._stream, self._content),
            parent=_span_context(parent) if parent else None,
            kind=SpanKind.CONSUMER,
            context=root,
        )
        for span in spans.made:
            self._spans.on_end(span)
        self._evaluate(decision, evaluated)

    def _evaluate(self, decision: Decision, evaluated: SpanContext) -> None:
        found = decision.assessment
        if found is None or not found.measured:
            return
        at = _nanoseconds(decision, decision.ended_s)
        record = LogRecord(
            timestamp=at,
            observed_timestamp=at,
            context=api.set_span_in_context(api.NonRecordingSpan(evaluated)),
            severity_number=SeverityNumber.INFO,
            attributes=names.evaluation_attributes(found, self._content),
            event_name=names.EVALUATION,
        )
        self._events.emit(record)


class _Spans:
    """The spans of one decision."""

    def __init__(self, decision: Decision, resource: Resource, scope: InstrumentationScope) -> None:
        self.made: list[ReadableSpan] = []
        self._decision = decision
        self._resource = resource
        self._scope = scope

    def add(
        self,
        name: str,
        period: tuple[float, float],
        attributes: Mapping[str, Any],
        *,
        parent: SpanContext | None,
        kind: SpanKind = SpanKind.INTERNAL,
        failed: bool = False,
        context: SpanContext | None = None,
    ) -> SpanContext:
        """Add a span with begin and end by the monotonic clock; its context, which is new unless given."""
        if context is None:
            assert parent is not None  # only the decision's own span may have none
            span_id = int(_digest(self._decision, len(self.made) + 2), 16)
            context = SpanContext(parent.trace_id, span_id, is_remote=False, trace_flags=parent.trace_flags)
        began, ended = (_nanoseconds(self._decision, each) for each in period)
        span = ReadableSpan(
            name,
            context=context,
            parent=parent,
            resource=self._resource,
            attributes=attributes,
            kind=kind,
            status=Status(StatusCode.ERROR if failed else StatusCode.UNSET),
            start_time=began,
            end_time=ended,
            instrumentation_scope=self._scope,
        )
        self.made.append(span)
        return context


def _stage_spans(spans: _Spans, decision: Decision, root: SpanContext) -> list[Made]:
    found = []
    for stage in decision.stages:
        ended_s = stage.started_s + stage.duration_ms / 1000
        context = spans.add(
            stage.stage.value,
            (stage.started_s, ended_s),
            names.stage_attributes(stage),
            parent=root,
            kind=SpanKind.CLIENT if stage.stage is Stage.RETRIEVAL else SpanKind.INTERNAL,
            failed=stage.outcome is StageOutcome.FAILED,
        )
        found.append((stage.stage, stage.started_s, ended_s, context))
    return found


def _stage_of(call: ModelCall, stages: list[Made]) -> SpanContext | None:
    """The span of the stage in which a call began; None for a call outside of its stage."""
    wanted = PARENT_STAGES.get(call.stage, call.stage)
    inside = (
        context
        for stage, began, ended, context in stages
        if stage is wanted and began <= call.started_s <= ended
    )
    return next(inside, None)


def _nanoseconds(decision: Decision, monotonic_s: float) -> int:
    """A time of the monotonic clock as Unix time."""
    return int((decision.decided_at.timestamp() - (decision.ended_s - monotonic_s)) * 1e9)


def _digest(decision: Decision, number: int, size: int = 8) -> str:
    """A random-looking id that follows from the decision's id, in hex."""
    return blake2b(bytes((number,)), key=decision.decision_id.bytes, digest_size=size).hexdigest()


def _span_context(context: TraceContext) -> SpanContext:
    return SpanContext(
        int(context.trace_id, 16),
        int(context.span_id, 16),
        is_remote=True,
        trace_flags=TraceFlags(context.flags & TraceFlags.SAMPLED),
        trace_state=TraceState.from_header([context.state]) if context.state else TraceState(),
    )
