"""The variables of the streams that Hushgate writes and others read."""

from __future__ import annotations

from pydantic import Field

from worker.settings.servers import DatabaseSettings, StreamSettings


class OutgoingStreamSettings(StreamSettings):
    """When entries of the outgoing streams are deleted, and when their size is a problem."""

    stream_keep_days: float = Field(
        default=7.0,
        ge=0,
        le=3650,
        alias="HUSHGATE_STREAM_KEEP_DAYS",
        description="Age in days at which an entry that every consumer group has acknowledged is deleted.",
    )
    stream_groupless_keep_days: float = Field(
        default=30.0,
        ge=0,
        le=3650,
        alias="HUSHGATE_STREAM_GROUPLESS_KEEP_DAYS",
        description="Age in days at which entries of a stream without consumer groups are deleted, read or"
        " not; 0: never, so that a stream which nothing reads fills Redis.",
    )


class BackupSettings(OutgoingStreamSettings, DatabaseSettings):
    """Settings of ``hushgate backup`` and ``hushgate restore``."""
