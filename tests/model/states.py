"""The states of the model: what Redis, Postgres and the workers know of two conversations.

Entries of a conversation are numbered from 0 in stream order; sets of them are bit masks. Three
simplifications keep the number of states small, and each allows more than the product does:

* Tokens are not kept. Scripts only ask whether an ownership is the one in Redis, so a worker either holds a
  lane under the current ownership (``Run``) or under an ended one (``Lane.stale``).
* A stale run belongs to no worker and never ends: it may try to record and finish its entry at any time, as
  a paused worker or a request that Redis executes late may.
* A heartbeat ``beats`` while others must count its worker as alive; how long that takes is not modelled.
"""

from __future__ import annotations

from typing import NamedTuple

UNKNOWN = -1
"""The entry of an ownership whose reply was lost: the lane is the worker's in Redis, not in its process."""


class Run(NamedTuple):
    """A lane that a worker owns: its running entry, and whether the worker knows that it has a row."""

    entry: int = UNKNOWN
    recorded: bool = False


Hold = Run | tuple[()]
"""What a worker has of a lane; empty: no ownership."""


class Lane(NamedTuple):
    """A conversation in Redis and Postgres.

    Attributes:
        published: number of entries appended to the stream.
        stream: entries in the stream, read or not.
        waiting: entries in the lane.
        rows: entries with a row in Postgres.
        stale: entries that run under an ended ownership.
        queued: heads under which the lane stands in the queue.
        twice: an entry got a second row.
    """

    published: int = 0
    stream: int = 0
    waiting: int = 0
    rows: int = 0
    stale: int = 0
    queued: int = 0
    twice: bool = False

    @property
    def head(self) -> int:
        """The number of the lane's first entry."""
        return (self.waiting & -self.waiting).bit_length() - 1

    def without(self, entry: int) -> Lane:
        """The lane after an entry was deleted."""
        gone = ~(1 << entry)
        return self._replace(stream=self.stream & gone, waiting=self.waiting & gone)

    def enqueued(self) -> Lane:
        """The lane in the queue under its head, unless it is empty."""
        return self._replace(queued=self.queued | 1 << self.head) if self.waiting else self


class Worker(NamedTuple):
    """A worker and what Redis knows of it.

    Attributes:
        process: it runs.
        beats: it counts as alive.
        known: it is in the set of workers, where REAP looks.
        holds: what it has of each lane.
    """

    process: bool = True
    beats: bool = True
    known: bool = True
    holds: tuple[Hold, Hold] = ((), ())

    def holding(self, lane: int, hold: Hold) -> Worker:
        """The worker with another hold of a lane."""
        return self._replace(holds=(hold, self.holds[1]) if lane == 0 else (self.holds[0], hold))


GONE = Worker(process=False, beats=False, known=False)


class State(NamedTuple):
    """All of it; ``unread`` names the lanes of the entries that no READ has returned, in stream order."""

    lanes: tuple[Lane, Lane]
    workers: tuple[Worker, ...]
    unread: tuple[int, ...] = ()

    def owners(self, lane: int) -> list[int]:
        """The workers that own a lane."""
        return [number for number, worker in enumerate(self.workers) if worker.holds[lane]]

    def with_lane(self, number: int, lane: Lane) -> State:
        """The state with another lane."""
        return State((lane, self.lanes[1]) if number == 0 else (self.lanes[0], lane), *self[1:])

    def with_worker(self, number: int, worker: Worker) -> State:
        """The state with another worker."""
        workers = (*self.workers[:number], worker, *self.workers[number + 1 :])
        return State(self.lanes, workers, self.unread)

    def read_of(self, number: int) -> int:
        """The entries of a lane that are in the stream and were read."""
        lane = self.lanes[number]
        return lane.stream & ((1 << lane.published - self.unread.count(number)) - 1)


def start(workers: int) -> State:
    """Workers that have sent a heartbeat, and an empty stream."""
    return State((Lane(), Lane()), (Worker(),) * workers)


def canonical(state: State) -> State:
    """The representative of all states that differ only in the names of workers and conversations.

    No step depends on a name: scripts compare names for equality only, and the order of the stream is kept.
    So a renamed state has the renamed steps, and breaks an invariant exactly when the first one does. Nothing
    depends on the heartbeat of a dead worker without lanes.
    """
    lanes, workers, unread = state
    workers = tuple(worker if worker.process or any(worker.holds) else GONE for worker in workers)
    straight = State(lanes, tuple(sorted(workers)), unread)
    exchanged = sorted(worker._replace(holds=worker.holds[::-1]) for worker in workers)
    return min(straight, State(lanes[::-1], tuple(exchanged), tuple(1 - lane for lane in unread)))
