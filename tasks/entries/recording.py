"""The recording of a decision, made beside it: a failure costs the recording, never the decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from worker.model import Decision, Json
from worker.ports import Ports
from worker.recordings.recorder import Recorder
from worker.recordings.stored import encoded
from worker.steps.run import EventCase

if TYPE_CHECKING:  # a worker without metrics does without their library
    from tasks.metrics.process import WorkerMetrics

log = structlog.get_logger(__name__)


def recorder_of(
    case: EventCase, ports: Ports, policy_defaults: Mapping[str, Mapping[str, Json]]
) -> Recorder | None:
    """What records the ports of an event; None when the account does not want recordings."""
    if not case.account.record_answers:
        return None
    return Recorder(case=case, behind=ports, policy_defaults=policy_defaults)


def with_recording(decision: Decision, recorder: Recorder | None, metrics: WorkerMetrics | None) -> Decision:
    """The decision with what was recorded of it."""
    if recorder is None:
        return decision
    try:
        return replace(decision, recording=encoded(recorder.recording()))
    except Exception as error:  # noqa: BLE001  # a bug here must not stop a decision
        log.warning("recording_failed", entry_id=decision.event.entry_id, error=type(error).__name__)
        if metrics is not None:
            metrics.recording_failed()
        return decision
