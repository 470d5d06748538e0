"""What a start does with a Redis that is not as it should be, what the doctor says, and that no password is shown."""

import asyncio
import re
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from app.checking import check_configuration
from app.errors import StoreUnavailable
from app.settings import load_settings
from tests.app_under_test import Clock, running_app
from tests.packaging.tree import ROOT
from tests.processes import free_port
from tests.redis_server import RedisServer, start_redis
from tests.sources.certificates import pair
from tests.system.asking import ask, outage_lines

pytestmark = pytest.mark.anyio

KEY = secrets.token_urlsafe(32)
PASSWORD = "hunter2-canary"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    server = start_redis(tmp_path)
    yield server
    server.stop()


async def configure(server: RedisServer, *command: str) -> None:
    async with Redis.from_url(server.url) as raw:
        await raw.execute_command(*command)  # type: ignore[no-untyped-call]  # redis-py's own


def as_user(server: RedisServer, user: str, password: str = PASSWORD) -> str:
    return server.url.replace("//", f"//{user}:{password}@")


async def start_with(folder: Path, url: str) -> tuple[str, list[tuple[str, str]]]:
    """Start a connector and ask it; return why the start was refused (or nothing), and what the log said."""
    why = ""
    with capture_logs() as written:
        try:
            # The machine's clock, because Redis's own is what the connector goes by.
            clock = Clock(datetime.now(UTC).timestamp())
            async with running_app(folder, clock=clock, REDIS_URL=url, SECRET_KEY=KEY) as vitals:
                said = await ask(await vitals.connected_app())
                assert said["structuredContent"]["complete"] is True
        except StoreUnavailable as refused:
            why = str(refused)
    assert ("start_refused" in [line["event"] for line in written]) is bool(why)
    assert PASSWORD not in str(written) + why
    return why, outage_lines(written)


async def doctor(url: str) -> list[str]:
    settings = load_settings({"OURA_SANDBOX": "1", "REDIS_URL": url, "SECRET_KEY": KEY})
    lines = await check_configuration(settings, Clock(datetime.now(UTC).timestamp()))
    assert PASSWORD not in str(lines)
    return [f"{line.mark} {line.text}" for line in lines]


@pytest.mark.parametrize(
    ("user", "password", "set_up"),
    [
        pytest.param("", "wrong-" + PASSWORD, ("CONFIG", "SET", "requirepass", "right"), id="wrong password"),
        pytest.param("nobody", PASSWORD, ("PING",), id="unknown user"),
    ],
)
async def test_a_wrong_user_or_password_stops_the_start_and_is_named_without_being_shown(
    tmp_path: Path, server: RedisServer, user: str, password: str, set_up: tuple[str, ...]
) -> None:
    await configure(server, *set_up)
    url = as_user(server, user, password)

    refused, _ = await start_with(tmp_path / "app", url)

    assert refused.startswith("Redis refuses the user or password in REDIS_URL")
    assert any(
        line.startswith("RED The store cannot be used: Redis refuses the user or pass") for line in await doctor(url)
    )


async def test_a_password_that_is_missing_stops_the_start(tmp_path: Path, server: RedisServer) -> None:
    await configure(server, "CONFIG", "SET", "requirepass", PASSWORD)

    refused, _ = await start_with(tmp_path / "app", server.url)

    assert refused.startswith("Redis wants a password, and REDIS_URL has none.")


@pytest.mark.parametrize(
    ("scheme", "end", "words"),
    [
        pytest.param("redis+sentinel", "/main", "The hosts in REDIS_URL are no Sentinels.", id="no Sentinel"),
        pytest.param("redis", "/99", "Redis has no database 99.", id="no such database"),
        pytest.param("rediss", "/0", "If it does not speak TLS, write redis:// there.", id="no TLS"),
    ],
)
async def test_an_address_that_asks_for_what_this_redis_is_not_is_told_what_to_write(
    server: RedisServer, scheme: str, end: str, words: str
) -> None:
    said = await doctor(f"{scheme}://127.0.0.1:{server.port}{end}")

    assert [line for line in said if line.startswith("RED") and words in line]


async def test_what_answers_and_is_no_redis_is_called_so() -> None:
    async def web(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(web, "127.0.0.1", 0) as listening:
        said = await doctor(f"redis://127.0.0.1:{listening.sockets[0].getsockname()[1]}/0")

    assert [line for line in said if line.startswith("RED") and "What answers at REDIS_URL is no Redis" in line]


RIGHTS = re.search(r"ACL SETUSER vitals on >PASSWORD (.*)", (ROOT / "deploy" / "STORAGE.md").read_text())


async def test_the_rights_that_the_documentation_lists_are_enough(tmp_path: Path, server: RedisServer) -> None:
    assert RIGHTS
    await configure(server, "ACL", "SETUSER", "vitals", "on", f">{PASSWORD}", *RIGHTS[1].split())

    refused, lines = await start_with(tmp_path / "app", as_user(server, "vitals"))
    said = await doctor(as_user(server, "vitals"))

    assert (refused, lines) == ("", [])
    assert any(line.startswith("??  Redis does not say whether it keeps what it holds over a restart") for line in said)
    assert any(line.startswith("ok  Redis throws nothing out") for line in said)
    assert not [line for line in said if line.startswith("RED")]


@pytest.mark.parametrize("right", ["get", "set", "getdel", "mget", "scan", "incrby", "evalsha", "time"])
async def test_each_right_that_is_missing_stops_the_start(tmp_path: Path, server: RedisServer, right: str) -> None:
    assert RIGHTS
    rights = [each for each in RIGHTS[1].split() if each != f"+{right}"]
    await configure(server, "ACL", "SETUSER", "vitals", "on", f">{PASSWORD}", *rights)

    refused, _ = await start_with(tmp_path / "app", as_user(server, "vitals"))

    assert refused.startswith("Redis does not let the user in REDIS_URL do what vitals needs (NOPERM)")


@pytest.mark.parametrize(
    ("settings", "mark", "words"),
    [
        pytest.param({}, "!! ", "neither appendonly nor save): a restart costs every sign-in", id="nothing"),
        pytest.param({"save": "3600 1"}, "!! ", "only writes snapshots", id="snapshots"),
        pytest.param({"appendonly": "yes", "appendfsync": "always"}, "ok ", "writes its log to the disk", id="log"),
        pytest.param({"appendonly": "yes", "appendfsync": "everysec"}, "?? ", "appendfsync everysec", id="log, late"),
        pytest.param({"maxmemory-policy": "allkeys-lru"}, "!! ", "the owner's sign-in too. Set maxmemory", id="evicts"),
        pytest.param(
            {"maxmemory-policy": "volatile-ttl"}, "!! ", "lose their access before its time", id="evicts some"
        ),
        pytest.param({"maxmemory-policy": "noeviction"}, "ok ", "throws nothing out", id="evicts nothing"),
    ],
)
async def test_what_a_restart_or_too_little_memory_would_cost_is_said_at_the_start_and_by_the_doctor(
    tmp_path: Path, server: RedisServer, settings: dict[str, str], mark: str, words: str
) -> None:
    for name, value in settings.items():
        await configure(server, "CONFIG", "SET", name, value)

    refused, lines = await start_with(tmp_path / "app", server.url)
    said = await doctor(server.url)

    warned = [reason for event, reason in lines if event == "store_needs_attention" and words in reason]
    assert refused == ""
    assert len(warned) == (1 if mark == "!! " else 0)
    assert [line[:3] for line in said if words in line] == [mark]


async def test_an_address_that_leads_to_a_replica_is_red_and_says_what_to_name(
    tmp_path: Path, server: RedisServer
) -> None:
    (tmp_path / "replica").mkdir()
    replica = start_redis(tmp_path / "replica", "--replicaof", "127.0.0.1", str(server.port))
    try:
        said = await doctor(replica.url)
    finally:
        replica.stop()

    assert any(line.startswith("RED The store cannot be used: Redis is a replica") for line in said)


@pytest.mark.parametrize(
    ("host", "trusted", "reason"),
    [
        pytest.param("127.0.0.1", False, "self-signed certificate", id="unknown authority"),
        pytest.param("192.0.2.1", True, "IP address mismatch", id="another's certificate"),
        pytest.param("127.0.0.1", True, "", id="good"),
    ],
)
async def test_a_certificate_that_is_not_accepted_stops_the_start_and_is_named(
    tmp_path: Path, host: str, trusted: bool, reason: str
) -> None:
    made = pair(tmp_path, host)
    port = free_port()
    try:
        server = start_redis(
            tmp_path,
            *("--tls-port", str(port), "--tls-auth-clients", "no", "--tls-ca-cert-file", str(made.certificate)),
            *("--tls-cert-file", str(made.certificate), "--tls-key-file", str(made.key)),
        )
    except RuntimeError:
        pytest.skip("this redis-server is built without TLS")
    trust = f"?ssl_ca_certs={made.certificate}" if trusted else ""
    try:
        refused, _ = await start_with(tmp_path / "app", f"rediss://:@127.0.0.1:{port}/0{trust}")
    finally:
        server.stop()

    if reason:
        assert refused.startswith("The certificate of Redis is not accepted")
        assert reason in refused
        assert "ssl_ca_certs" in refused
    else:
        assert refused == ""
