"""The sandbox as a process: its control routes, its limits, its beginning and its end."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import openai
import psutil
import pytest

from sandbox import server
from sandbox.server import SandboxError, SandboxHandle
from tests.contract.sandbox_client import ask, client_of, reply


async def test_the_next_n_calls_fail_and_no_more(sandbox: SandboxHandle) -> None:
    """A counted rule is spent call by call, and then gone."""
    sandbox.add_rule("chat", "429", times=2, retry_after_s=0.5)
    async with client_of(sandbox) as client:
        for _ in range(2):
            with pytest.raises(openai.RateLimitError) as caught:
                await ask(client, "hello")
        answered = await reply(client, "hello")

    assert (caught.value.response.headers["retry-after"], answered, sandbox.control("GET", "rules")) == (
        "0.5",
        "Hello! How can I help you?",
        {"rules": []},
    )


async def test_a_text_can_be_shown_to_be_in_no_request(sandbox: SandboxHandle) -> None:
    """Whole bodies are kept; a text is found however the client escaped it."""
    async with client_of(sandbox) as client:
        await ask(client, 'say "naïve" 🙂')
        await client.moderations.create(input="other")
    found = sandbox.requests(contains='"naïve" 🙂')

    assert ([record["route"] for record in found], sandbox.requests(contains="never sent")) == (["chat"], [])
    assert [record["route"] for record in sandbox.requests(last=1)] == ["moderations"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "rules", {"route": "chat", "fault": "nonsense"}),
        ("POST", "rules", {"route": "nowhere", "fault": "500"}),
        ("POST", "latency", {"chat": -1}),
        ("GET", "requests?last=many", None),
        ("GET", "requests?route=nowhere", None),
    ],
)
def test_a_wrong_control_request_is_refused(
    sandbox: SandboxHandle, method: str, path: str, body: object
) -> None:
    """The sandbox says what it expected, and changes nothing."""
    with pytest.raises(SandboxError, match="expected"):
        sandbox.control(method, path, body)

    assert sandbox.control("GET", "rules") == {"rules": []}


@pytest.mark.parametrize("header", [{"Host": "evil.test"}, {"Origin": "https://evil.test"}])
def test_a_page_in_a_browser_cannot_control_it(sandbox: SandboxHandle, header: dict[str, str]) -> None:
    """A foreign Host or Origin is turned away."""
    request = urllib.request.Request(f"{sandbox.url}/control/reset", data=b"{}", headers=header)
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=5)
    caught.value.close()

    assert caught.value.code == 403


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])
def test_it_refuses_to_listen_beyond_loopback(host: str) -> None:
    """The command ends at once with a reason."""
    ended = subprocess.run(
        [sys.executable, "-m", "sandbox", "--host", host, "--port", "0"],
        cwd=server.PROJECT, capture_output=True, text=True, timeout=20, check=False,
    )  # fmt: skip

    assert (ended.returncode, "expected a loopback address" in ended.stderr) == (2, True)


async def test_a_scenario_holds_from_the_start_and_after_a_reset(tmp_path: Path) -> None:
    """A scenario may be a file; its rules come back with a reset."""
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps({"rules": [{"route": "llm", "fault": "503", "times": 1}]}))
    with server.start(scenario=path) as handle:
        for _ in range(2):
            async with client_of(handle) as client:
                with pytest.raises(openai.InternalServerError):
                    await ask(client, "hello")
            handle.reset()


async def test_stop_ends_the_process_and_may_be_repeated() -> None:
    """The process is gone by its pid though a call hangs, and a second stop does nothing."""
    handle = server.start()
    async with client_of(handle) as client:
        hanging = asyncio.create_task(ask(client, "hi [[sandbox:llm=hang]]"))
        while not (await asyncio.to_thread(handle.calls, "chat")):
            pass
        handle.stop()
        with pytest.raises(openai.APIConnectionError):
            await hanging
    handle.stop()

    assert not psutil.pid_exists(handle.pid)


def test_it_ends_when_its_parent_does() -> None:
    """A test run that is killed leaves no sandbox behind."""
    script = "import os; from sandbox import server; print(server.start().pid, flush=True); os._exit(0)"
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=server.PROJECT, capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip

    assert _gone(int(ended.stdout), within_s=20)


def _gone(pid: int, *, within_s: float) -> bool:
    """Whether a process that is not our child has ended, or only waits to be reaped."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return True
        process.wait(within_s)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return process.status() == psutil.STATUS_ZOMBIE
    return True


def test_a_process_with_many_open_files_can_start_a_sandbox() -> None:
    """More than 1024, which `select` refuses."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most if before < 4096 else before, most))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        with server.start() as sandbox:
            assert sandbox.stats()
    finally:
        for each in opened:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))
