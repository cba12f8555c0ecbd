"""What the review pages need for the first steps, with the settings of this process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from cli.doctor.embedding import NO_EMBEDDINGS
from cli.doctor.live_calls import live_calls_at_once
from gateway.event_stream import RedisEventStream
from review.services.first_run import FirstRunServices, ModelAnswer
from worker.errors import ConfigurationError
from worker.settings import GatewaySettings, ReviewSettings, Settings, StoredServer, load


def services_of(known: ReviewSettings) -> FirstRunServices:
    """The services for which this process has the settings; those of the models are the workers' settings."""
    events = RedisEventStream(known) if isinstance(known, GatewaySettings) else None
    try:
        models = load(Settings)
    except ConfigurationError:
        return FirstRunServices(events=events)
    return FirstRunServices(test_servers=partial(model_answers, models), events=events)


def model_answers(settings: Settings, servers: Sequence[StoredServer]) -> Sequence[ModelAnswer]:
    """One real call of each kind, as ``hushgate doctor --live`` makes it, with these stored servers."""
    return tuple(
        ModelAnswer(
            call=each.check,
            answered=each.state == "ok",
            offered=NO_EMBEDDINGS not in each.found,
            found=each.found,
            fix=each.fix,
        )
        for each in live_calls_at_once(settings.with_stored(servers))
    )
