"""Values the assessment tests share: passages, and drafts assessed with a judge that follows a script."""

from __future__ import annotations

import asyncio

from tests.support.fakes import FakeJudge
from worker.assessment import Assessment, Evidence, Judge, Policy, assess
from worker.model import Completion, Passage

RETURNS = (
    "You can return any item within 30 days of delivery. Refunds take 5 working days to arrive on your card. "
    "Opened software cannot be returned."
)
QUERY = "What is the return policy?"

Answer = Completion | Exception | str | float
"""What a judge answers; see ``FakeJudge``."""


def passage(text: str = RETURNS, *, similarity: float = 0.9, number: int = 0, **labels: str) -> Passage:
    """A passage with a text, a similarity and labels."""
    return Passage(
        passage_id=f"doc#{number}", title="Returns", text=text, similarity=similarity, metadata=labels
    )


def evidence(*similarities: float, text: str = RETURNS) -> Evidence:
    """Evidence with one passage per similarity."""
    return Evidence(passages=tuple(passage(text, similarity=s, number=n) for n, s in enumerate(similarities)))


async def asked(
    draft: str,
    policy: Policy,
    judge: Judge | None,
    found: Evidence | None = None,
    *,
    query: str = QUERY,
) -> Assessment:
    """The assessment of a draft as a worker makes it."""
    given = evidence(0.9) if found is None else found
    made = await assess(query=query, evidence=given, draft=draft, policy=policy, judge=judge)
    return made.assessment


def assessed(
    draft: str,
    policy: Policy,
    found: Evidence | None = None,
    *,
    query: str = QUERY,
    answer: Answer | None = None,
) -> Assessment:
    """The assessment of a draft; ``answer`` is that of the judge, None means that there is no judge."""
    judge = None if answer is None else FakeJudge([answer])
    return asyncio.run(asked(draft, policy, judge, found, query=query))


def calls_for(draft: str, policy: Policy, found: Evidence | None = None, *, query: str = QUERY) -> int:
    """How often a judge is asked about a draft."""
    judge = FakeJudge([0.9])
    asyncio.run(asked(draft, policy, judge, found, query=query))
    return len(judge.asked)
