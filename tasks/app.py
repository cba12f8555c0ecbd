"""The Celery application: ``celery -A tasks.app worker`` hosts the engine, beat starts the sweeps."""

from __future__ import annotations

from typing import Final

from celery import Celery
from celery.signals import beat_init, setup_logging, task_failure

from features.feature import hook_values
from features.jobs import beat_schedule
from tasks import consumer
from tasks.broker import use_losable_channels
from tasks.fleet.beats import sign_beat
from tasks.process import logs, telemetry
from tasks.process.beat_jobs import start_beat_jobs
from tasks.process.garbage import spare_the_collector
from worker import __version__
from worker.settings import Settings, load

QUEUE: Final = "hushgate"
TASKS: Final = ("tasks.maintenance", "tasks.publishing.celery_task")


def application(settings: Settings) -> Celery:
    """A Celery app over these settings.

    Every task is idempotent and short; the hot path does not use the broker.
    """
    use_losable_channels()
    celery = Celery("hushgate", include=[*TASKS, *(module.__name__ for module in hook_values("tasks"))])
    celery.conf.update(
        broker_url=(settings.broker_url or settings.redis_url).get_secret_value(),
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,  # an outage of Redis must not end the worker
        broker_channel_error_retry=True,  # nor must a full or read-only Redis
        task_default_queue=QUEUE,
        task_ignore_result=True,
        task_acks_late=True,  # a killed worker's task runs again; all are idempotent
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,
        worker_consumer="tasks.broker:PatientConsumer",
        worker_pool="threads",  # tasks only wait for the engine's loop
        worker_concurrency=4,
        worker_hijack_root_logger=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        beat_schedule=beat_schedule(),
        beat_scheduler=f"celery.beat:{'PersistentScheduler' if settings.beat_file else 'Scheduler'}",
        beat_schedule_filename=settings.beat_file,
        beat_sync_every=1,  # probes check the age of its file
        enable_utc=True,
    )
    celery.steps["worker"].add(consumer.EngineStep)
    celery.hushgate_settings = settings
    return celery


@setup_logging.connect(weak=False)
def _configure_logging(**_signal: object) -> None:
    settings = app.hushgate_settings
    logs.configure(settings.log_level, logs.secret_values(settings))


@beat_init.connect(weak=False)
def _start_beat(**_signal: object) -> None:
    settings = app.hushgate_settings
    spare_the_collector()
    sign_beat(settings.redis_url.get_secret_value(), settings.stream)
    if settings.metrics_port is not None:
        from tasks.metrics.endpoint import serve_metrics  # noqa: PLC0415  # 1 MB
        from tasks.metrics.process import ProcessMetrics  # noqa: PLC0415  # 1 MB

        serve_metrics(ProcessMetrics("beat").registry, settings)
    start_beat_jobs(settings)


@task_failure.connect(weak=False)
def _report_task(exception: BaseException | None = None, **_signal: object) -> None:
    if exception is not None:
        telemetry.report(exception)


app: Final = application(load(Settings))
telemetry.configure(
    app.hushgate_settings.sentry_dsn.get_secret_value() if app.hushgate_settings.sentry_dsn else None,
    release=f"hushgate@{__version__}",
)
