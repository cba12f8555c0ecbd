"""What is broken on purpose, one module for each part of a fleet."""

from __future__ import annotations

from typing import Final

from chaos.faults import failover, network, processes, receivers, review_jobs, servers, upstream
from chaos.faults.injection import Fault, Injection
from chaos.kinds import FaultKind

FAULTS: Final[dict[FaultKind, Fault]] = {
    **processes.FAULTS,
    **review_jobs.FAULTS,
    **network.FAULTS,
    **servers.FAULTS,
    **failover.FAULTS,
    **upstream.FAULTS,
    **receivers.FAULTS,
}
