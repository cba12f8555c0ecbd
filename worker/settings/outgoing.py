"""The variables of the streams that Hushgate writes and others read."""

from __future__ import annotations

from worker.settings.retention import KeepSettings
from worker.settings.servers import DatabaseSettings, StreamSettings


class OutgoingStreamSettings(StreamSettings, KeepSettings):
    """When entries of the outgoing streams are deleted, and when their size is a problem."""


class BackupSettings(OutgoingStreamSettings, DatabaseSettings):
    """Settings of ``hushgate backup`` and ``hushgate restore``."""
