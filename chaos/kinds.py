"""Every kind of fault and every law, declared once."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """A process of the fleet; the deliverer is a worker without engine: it sends replies and webhooks."""

    WORKER = "worker"
    DELIVERER = "deliverer"
    BEAT = "beat"
    GATEWAY = "gateway"
    REVIEW = "review"


class FaultKind(StrEnum):
    """What is done to the fleet."""

    WORKER_KILL = "worker_kill"
    WORKER_STOP = "worker_stop"
    WORKER_TERM = "worker_term"
    DELIVERER_KILL = "deliverer_kill"
    DELIVERER_STOP = "deliverer_stop"
    DELIVERER_TERM = "deliverer_term"
    BEAT_KILL = "beat_kill"
    BEAT_STOP = "beat_stop"
    BEAT_TERM = "beat_term"
    GATEWAY_KILL = "gateway_kill"
    GATEWAY_STOP = "gateway_stop"
    GATEWAY_TERM = "gateway_term"
    REVIEW_KILL = "review_kill"
    REVIEW_STOP = "review_stop"
    REVIEW_TERM = "review_term"
    REVIEW_JOB_KILL = "review_job_kill"
    REVIEW_JOB_STOP = "review_job_stop"
    REVIEW_JOB_TERM = "review_job_term"
    CUT_OFF_KILL = "cut_off_kill"
    VALKEY_KILL = "valkey_kill"
    FAILOVER = "valkey_failover"
    POSTGRES_KILL = "postgres_kill"
    RESET = "connection_reset"
    LOST_ANSWERS = "lost_answers"
    FROZEN = "frozen_sockets"
    LATENCY = "latency"
    HALF_OPEN = "half_open"
    PARTITION = "partition"
    UPSTREAM_429 = "upstream_429"
    UPSTREAM_500 = "upstream_500"
    UPSTREAM_HANG = "upstream_hang"
    UPSTREAM_HALF = "upstream_half_answer"
    RECEIVER_HANG = "receiver_hang"
    CLOCK_JUMP = "clock_jump"
    DISK_FULL = "disk_full"
    MEMORY_FULL = "memory_full"
    READ_ONLY = "postgres_read_only"


PROCESS_SIGNALS: Final = {
    FaultKind(f"{role}_{way}"): (role, way) for role in Role for way in ("kill", "stop", "term")
}
"""The kinds that are one signal to one process."""
JOB_SIGNALS: Final = {FaultKind(f"review_job_{way}"): way for way in ("kill", "stop", "term")}
"""The same to the review pages, while one of their jobs runs."""


class Law(StrEnum):
    """What must hold under every fault; the value is its name in the report."""

    LOST = "lost"
    TWICE = "twice"
    INVENTED = "invented"
    DEAD_LETTERS = "wrong dead letters"
    ORDER = "out of order"
    NOT_SENT = "approved and not sent"
    UNAPPROVED = "sent unapproved"
    SENT_TWICE = "sent twice"
    AFTER_TAKEOVER = "sent after takeover"
    RESIDUE = "residue of flagged exchanges"
    HISTORY = "history incomplete"
    ENDING = "wrong endings"
    JOBS = "review jobs not whole"
    CHECKS = "wrong verdicts of checks"
    STUCK = "stuck"
    LEAK = "leaks"
    CRASH = "crashes"
