"""The order of the tests, and which of them share a process when `make test` uses every core."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import Any, Final

import pytest

FIRST_TO_LAST: Final = ("browser", "chaos", "snapshots", "integration", "contract", "unit")
"""Folders by the time their files take: many short files at the end leave no process waiting for another."""
SHARING: Final = frozenset({"browser"})
"""Folders whose files share what takes long to build."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """`--dist loadfile`, but a folder that shares a world stays in one process, and the order is ours."""
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

    if config.option.dist != "loadfile":
        return None
    config.option.loadscopereorder = False
    scheduler = LoadFileScheduling(config, log)
    scheduler._split_scope = scope  # xdist has this method for it
    return scheduler


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first."""
    rank = {name: number for number, name in enumerate(FIRST_TO_LAST)}
    items.sort(key=lambda item: rank.get(folder(item.nodeid), len(rank)))


def scope(nodeid: str) -> str:
    """What is run by one process: a file, or a folder."""
    return folder(nodeid) if folder(nodeid) in SHARING else nodeid.partition("::")[0]


def folder(nodeid: str) -> str:
    """The folder below `tests`, such as `unit`."""
    return PurePath(nodeid).parts[1]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:  # of the hook
    """Two processes more than cores: tests wait for servers for a third of their time."""
    return (os.cpu_count() or 1) + 2
