"""Faults of Postgres, Valkey and the worker's clock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

import psutil
import psycopg
from redis.exceptions import OutOfMemoryError, RedisError

from chaos.faults.injection import Fault, Injection
from chaos.fleet import clock
from chaos.fleet.world import STREAM, World
from chaos.kinds import FaultKind
from tasks.limits.upstream_reports import WorkerReport, load_reports
from tasks.shards.clients import connect

SERVER_S: Final = 60.0
SEEN_S: Final = 15.0
JUMPS_S: Final = (-3600, -600, -60, 60, 600, 3600)
NEAR_S: Final = 5.0
WRITABLE: Final = "-c default_transaction_read_only=off"
PROBE: Final = "chaos:probe"


def kill_valkey(injection: Injection) -> tuple[bool, list[str]]:
    """SIGKILL to Valkey, a pause, and its start on the same files."""
    world, entries = injection.world, injection.recoveries.pending()
    return _killed(injection, world.stack.redis_pid, world.stack.kill_redis, world.stack.start_redis), entries


def kill_postgres(injection: Injection) -> tuple[bool, list[str]]:
    """SIGKILL to Postgres and its children, a pause, and its start on the same files."""
    world, entries = injection.world, injection.recoveries.pending()
    pid = world.stack.postgres_pid
    return _killed(injection, pid, world.stack.kill_postgres, world.stack.start_postgres), entries


def _killed(
    injection: Injection, pid: int | None, kill: Callable[[], object], start: Callable[[], None]
) -> bool:
    kill()
    happened = pid is not None and not _runs(pid)
    try:
        injection.world.pause(injection.duration_s() / 2)
    finally:
        _start(start)
    return happened


def _start(start: Callable[[], object]) -> None:
    """Start a server; a port or a socket that is not free yet needs another try."""
    for left in range(3, -1, -1):
        try:
            start()
        except Exception:  # the libraries raise what they like; the last one rises
            if not left:
                raise
            time.sleep(1)
        else:
            return


def _runs(pid: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


def make_read_only(injection: Injection) -> tuple[bool, list[str]]:
    """Postgres refuses to write, as after a promotion of another server."""
    world, entries = injection.world, injection.recoveries.pending()
    try:
        _alter(world, "on")
        happened = bool(world.until(partial(_refuses_writes, world), 5))
        world.pause(injection.duration_s())
    finally:
        world.until(partial(_alter, world, "off"), SERVER_S)
    return happened, entries


def _alter(world: World, value: str) -> bool:
    with psycopg.connect(world.stack.database_url, autocommit=True, options=WRITABLE) as connection:
        connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
        connection.execute("SELECT pg_reload_conf()")
    return True


def _refuses_writes(world: World) -> bool:
    try:
        with psycopg.connect(world.stack.database_url, connect_timeout=5) as connection:
            connection.execute("CREATE TABLE chaos_probe ()")
            connection.rollback()
    except psycopg.errors.ReadOnlySqlTransaction:
        return True
    return False


def fill_memory(injection: Injection) -> tuple[bool, list[str]]:
    """Valkey has no memory left and evicts nothing."""
    world, entries = injection.world, injection.recoveries.pending()
    happened = False
    try:
        with world.redis as redis:
            redis.config_set("maxmemory", str(max(1, int(redis.info("memory")["used_memory"]))))
            try:
                redis.set(PROBE, "x" * 4096)
            except OutOfMemoryError:
                happened = True
        world.pause(injection.duration_s())
    finally:
        world.until(partial(_free_memory, world), SERVER_S)
    return happened, entries


def _free_memory(world: World) -> bool:
    with world.redis as redis:
        redis.config_set("maxmemory", "0")
        redis.delete(PROBE)
    return True


def fill_disk(injection: Injection) -> tuple[bool, list[str]]:
    """The disk of both servers is full; what ends because of that is started again when there is space."""
    world, entries = injection.world, injection.recoveries.pending()
    if not world.disk.is_own:
        return False, []
    try:
        world.disk.fill()
        happened = bool(world.until(partial(_notices_full_disk, world), injection.duration_s() + 2))
    finally:
        world.disk.free()
        _start(world.stack.restart_ended)
        world.until(partial(_answer, world), SERVER_S)
    return happened, entries


def _notices_full_disk(world: World) -> bool:
    """Postgres refuses a row for want of space, or a server has ended."""
    pids = (world.stack.redis_pid, world.stack.postgres_pid)
    return not all(pid is not None and _runs(pid) for pid in pids) or _no_space(world)


def _no_space(world: World) -> bool:
    try:
        with psycopg.connect(world.stack.database_url, connect_timeout=5) as connection:
            connection.execute(
                "CREATE TEMPORARY TABLE probe AS SELECT repeat('x', 1000) FROM generate_series(1, 999)"
            )
    except psycopg.OperationalError as error:  # DiskFull is one; a refused connection says it in its text
        return "No space left" in str(error) or isinstance(error, psycopg.errors.DiskFull)
    return False


def _answer(world: World) -> bool:
    world.stack.restart_ended()
    with world.redis as redis:
        return bool(redis.ping()) and world.rows("SELECT true")[0][0] is True


def let_clock_jump(injection: Injection) -> tuple[bool, list[str]]:
    """The wall clock of one worker jumps and comes back; the seed says where to."""
    world, entries = injection.world, injection.recoveries.pending()
    offset = injection.rng.choice(JUMPS_S)
    clock.set_offset(world.clock_file, offset)
    try:
        world.pause(injection.duration_s())
        happened = bool(world.until(lambda: shifted(world, offset), SEEN_S, 0.2))
    finally:
        clock.set_offset(world.clock_file, 0)
    return happened, entries


def shifted(world: World, offset_s: int) -> bool:
    """Whether a worker reports that its clock is off by so much."""
    return any(abs(each.ahead_s - offset_s) < NEAR_S for each in asyncio.run(_reports(world)))


async def _reports(world: World) -> tuple[WorkerReport, ...]:
    async with connect(world.stack.redis_url) as redis:
        try:
            return await load_reports(redis, STREAM)
        except (RedisError, OSError):  # another fault of the run
            return ()


FAULTS: Final[dict[FaultKind, Fault]] = {
    FaultKind.VALKEY_KILL: kill_valkey,
    FaultKind.POSTGRES_KILL: kill_postgres,
    FaultKind.READ_ONLY: make_read_only,
    FaultKind.MEMORY_FULL: fill_memory,
    FaultKind.DISK_FULL: fill_disk,
    FaultKind.CLOCK_JUMP: let_clock_jump,
}
