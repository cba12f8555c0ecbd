"""Conversations whose truth the sandbox knows: the cases, what the model writes and how the judge judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sandbox.cases import CaseFile, Writes, load_cases
from sandbox.faults import CallPlan, FaultKind, SandboxFault
from sandbox.replies.known_readings import PERFECT, KnownJudge, parse_judge
from sandbox.routes import Route

JUDGE_AWAY = CallPlan(fault=SandboxFault(kind=FaultKind.STATUS, status=503))


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownConversations:
    """The cases of a file and the behaviour of model and judge."""

    cases: CaseFile
    writes: Writes = Writes.RIGHT
    judge: KnownJudge = PERFECT

    def plan_of(self, route: Route) -> CallPlan | None:
        """The plan of a call to a judge that is off; None for any other call."""
        return JUDGE_AWAY if route is Route.JUDGE and self.judge.off else None

    def changed(self, document: object) -> KnownConversations:
        """The same cases with another behaviour: ``{"writes": "wrong", "judge": "noisy:0.1"}``."""
        if not isinstance(document, Mapping) or not set(document) <= {"writes", "judge"}:
            raise ValueError(f"conversations: expected an object with writes and judge, got {document!r}")
        return replace(
            self,
            writes=parse_writes(str(document.get("writes", self.writes))),
            judge=parse_judge(str(document.get("judge", self.judge.name))),
        )

    @property
    def shape(self) -> dict[str, object]:
        """The behaviour as JSON, with the number of cases."""
        return {"cases": len(self.cases.cases), "writes": self.writes, "judge": self.judge.name}


def load_conversations(place: Path, writes: str | None, judge: str | None) -> KnownConversations:
    """The cases of a folder or file; ValueError says what is wrong with them or with a name."""
    given = {name: value for name, value in (("writes", writes), ("judge", judge)) if value is not None}
    return KnownConversations(cases=load_cases(place)).changed(given)


def parse_writes(name: str) -> Writes:
    """What the model writes; ValueError names the known words."""
    if name not in set(Writes):
        raise ValueError(f"writes: expected one of {', '.join(Writes)}, got {name!r}")
    return Writes(name)
