"""``hushgate doctor``: has Redis enough memory?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from cli.doctor.check import DoctorCheck
from tasks.memory import WARN_SHARE, from_info

MORE_ROOM: Final = "start workers, trim the entries of the reply stream that were read, or raise maxmemory"


def memory_use(info: Mapping[str, Any]) -> DoctorCheck:
    """Whether Redis has memory for further events; a full server refuses new events and keeps the others."""
    found = from_info(info)
    if found.share >= 1:
        return DoctorCheck(
            check="redis memory", state="fail", found=f"{found}: publishing is refused", fix=MORE_ROOM
        )
    if found.share >= WARN_SHARE:
        return DoctorCheck(check="redis memory", state="warn", found=f"{found}: nearly full", fix=MORE_ROOM)
    return DoctorCheck(check="redis memory", state="ok", found=f"{found}")
