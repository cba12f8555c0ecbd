"""What a run published."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from chaos.laws.observations import PublishedEvent


@dataclass(slots=True)
class Ledger:
    """What was published; see ``Observations``."""

    published: dict[str, PublishedEvent] = field(default_factory=dict)
    entries: dict[str, str] = field(default_factory=dict)
    unacknowledged: Counter[str] = field(default_factory=Counter)
    taken: dict[str, str] = field(default_factory=dict)
    by_http: int = 0
