"""An OTLP/HTTP receiver on loopback that keeps what it was sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from tests.support.http_server import Answer, Asked, http_server

REQUESTS: Mapping[str, Any] = {
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
    "/v1/logs": ExportLogsServiceRequest,
}


@dataclass(slots=True)
class Received:
    """The parsed requests, and their bytes."""

    url: str = ""
    requests: list[Any] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)

    @property
    def spans(self) -> list[Any]:
        """All spans."""
        found = [each for each in self.requests if isinstance(each, ExportTraceServiceRequest)]
        return [
            span
            for request in found
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def metrics(self) -> dict[str, Any]:
        """The last state of every metric, by name."""
        found = [each for each in self.requests if isinstance(each, ExportMetricsServiceRequest)]
        return {
            metric.name: metric
            for request in found
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    @property
    def events(self) -> list[Any]:
        """All log records."""
        found = [each for each in self.requests if isinstance(each, ExportLogsServiceRequest)]
        return [
            record
            for request in found
            for resource in request.resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ]


@contextmanager
def otlp_receiver() -> Iterator[Received]:
    """A receiver on a free port."""
    received = Received()

    def answer(asked: Asked) -> Answer:
        received.raw.append(asked.body)
        received.requests.append(REQUESTS[asked.path].FromString(asked.body))
        return 200, {"Content-Type": "application/x-protobuf"}, b""

    with http_server(answer) as (received.url, _):
        yield received


def attributes(of: Any) -> dict[str, Any]:
    """The attributes of a span, a point, an event or a resource."""
    return {each.key: _value(each.value) for each in cast("list[KeyValue]", of.attributes)}


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, kind) if kind else None
