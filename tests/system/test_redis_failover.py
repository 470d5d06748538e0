"""A primary that dies or is demoted: the next one is found, and what it never got is told or put back."""

import secrets
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import anyio.abc
import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from app.demo.walk import App
from app.store.redis import RedisStore
from tests.app_under_test import Clock, Vitals, running_app
from tests.processes import until
from tests.redis_server import RedisServer, start_redis
from tests.system.asking import ask, hear, outage_lines

pytestmark = pytest.mark.anyio

KEY = secrets.token_urlsafe(32)


class Pair:
    """Two servers, the second a replica of the first, behind one name that can be moved to the other."""

    def __init__(self, first: RedisServer, second: RedisServer) -> None:
        self.first, self.second = first, second
        self.named = first  # where the name leads
        self.port = 0

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    async def serve(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Pass each connection on to the server that the name leads to when it is made, and keep it there."""
        async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
            self.port = listener.extra(anyio.abc.SocketAttribute.local_port)
            task_status.started()
            await listener.serve(self._relay)

    async def _relay(self, client: anyio.abc.SocketStream) -> None:
        async with client:
            with suppress(OSError):
                server = await anyio.connect_tcp("127.0.0.1", self.named.port)
                async with server, anyio.create_task_group() as group:
                    group.start_soon(_pass_on, client, server, group.cancel_scope.cancel)
                    group.start_soon(_pass_on, server, client, group.cancel_scope.cancel)

    async def caught_up(self) -> None:
        """Return when the replica has all that the primary has."""
        async with Redis.from_url(self.first.url) as raw:
            await until(lambda: raw.wait(1, 200), is_=1)


async def _pass_on(source: anyio.abc.SocketStream, sink: anyio.abc.SocketStream, end: Callable[[], None]) -> None:
    with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
        async for part in source:
            await sink.send(part)
    end()


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[RedisServer, RedisServer]]:
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    first = start_redis(folders[0], "--repl-diskless-sync-delay", "0")
    second = start_redis(folders[1], "--replicaof", "127.0.0.1", str(first.port))
    yield first, second
    first.stop()
    second.stop()


@asynccontextmanager
async def paired(servers: tuple[RedisServer, RedisServer]) -> AsyncIterator[Pair]:
    pair = Pair(*servers)
    async with anyio.create_task_group() as group:
        await group.start(pair.serve)
        await pair.caught_up()
        yield pair
        group.cancel_scope.cancel()


@asynccontextmanager
async def connector(folder: Path, url: str, like: Vitals | None = None) -> AsyncIterator[Vitals]:
    """Run a connector; `like` another one, it is a second process of the same."""
    clock = like.clock if like else Clock()
    simulator = like.simulator if like else None
    store = RedisStore(url, now=clock)
    async with running_app(folder, clock=clock, simulator=simulator, store=store, SECRET_KEY=KEY) as vitals:
        yield vitals


async def test_a_demoted_primary_refuses_one_write_and_the_next_goes_to_the_new_one(
    tmp_path: Path, servers: tuple[RedisServer, RedisServer]
) -> None:
    async with paired(servers) as pair, connector(tmp_path, pair.url) as vitals:
        app = await vitals.connected_app()
        await pair.caught_up()
        async with Redis.from_url(pair.second.url) as second, Redis.from_url(pair.first.url) as first:
            await second.replicaof("NO", "ONE")
            await first.replicaof("127.0.0.1", pair.second.port)
        pair.named = pair.second  # new connections alone: those that are open stay with the demoted one

        with capture_logs() as written:
            demoted = await hear(vitals, app)
            after = await hear(vitals, app)

    assert demoted.token == (
        503,
        "temporarily_unavailable: The store takes no changes at this moment. Try again shortly.",
    )
    assert demoted.mcp == (200, "")
    assert (after.mcp, after.token, after.ready) == ((200, ""), (200, ""), 200)
    assert [event for event, _ in outage_lines(written)] == ["store_unavailable", "store_available_again"]
    assert "READONLY" in str(outage_lines(written))


async def lose_a_renewal(pair: Pair, vitals: Vitals, app: App) -> None:
    """Let the promoted replica lack the newest credential: it is cut off first, then the primary renews and dies."""
    await pair.caught_up()
    async with Redis.from_url(pair.second.url) as second:
        await second.replicaof("NO", "ONE")
    vitals.simulator.expire_access_tokens()
    said = await ask(app)
    assert said["structuredContent"]["complete"] is True
    pair.first.stop()
    pair.named = pair.second


async def test_a_renewal_that_the_promoted_replica_never_got_is_put_back_by_who_made_it(
    tmp_path: Path, servers: tuple[RedisServer, RedisServer]
) -> None:
    async with paired(servers) as pair, connector(tmp_path, pair.url) as vitals:
        app = await vitals.connected_app()
        await lose_a_renewal(pair, vitals, app)

        with capture_logs() as written:
            await hear(vitals, app)  # a connection that still led to the dead primary
            said = await ask(app)

    assert said["structuredContent"]["complete"] is True
    assert vitals.simulator.counts.refreshes == 1
    assert [family.alive for family in vitals.simulator.grants.families] == [True]
    assert [line["event"] for line in written].count("connection_restored") == 1


async def test_a_renewal_that_nobody_remembers_is_told_and_oura_is_asked_once(
    tmp_path: Path, servers: tuple[RedisServer, RedisServer]
) -> None:
    async with paired(servers) as pair:
        async with connector(tmp_path, pair.url) as vitals:
            app = await vitals.connected_app()
            await lose_a_renewal(pair, vitals, app)
        # The process that knew it is gone too.
        async with connector(tmp_path, pair.url, like=vitals) as other, other.http() as app.http:
            before = len(other.simulator.log)
            said = [await ask(app) for _ in range(4)]
            asked = [line for line in list(other.simulator.log)[before:] if "/oauth/token" in line.path]
            await other.connected_app()
            healed = await ask(app)

    assert all(each["isError"] for each in said)
    assert "Oura refused to renew the connection" in str(said[0])
    assert all("sign in again at https://vitals.test/connections" in str(each) for each in said)
    assert len(asked) == 1
    assert healed["structuredContent"]["complete"] is True


@pytest.fixture
def sentinel(tmp_path: Path, servers: tuple[RedisServer, RedisServer]) -> Iterator[RedisServer]:
    first, _ = servers
    folder = tmp_path / "sentinel"
    folder.mkdir()
    (folder / "sentinel.conf").write_text(
        f"sentinel monitor main 127.0.0.1 {first.port} 1\n"
        "sentinel down-after-milliseconds main 300\n"
        "sentinel failover-timeout main 3000\n"
    )
    server = start_redis(folder, sentinel=folder / "sentinel.conf")
    yield server
    server.stop()


async def test_behind_a_sentinel_the_promoted_replica_is_found_without_a_restart(
    tmp_path: Path, servers: tuple[RedisServer, RedisServer], sentinel: RedisServer
) -> None:
    first, _ = servers

    async def replicas() -> int:
        async with Redis.from_url(f"redis://127.0.0.1:{sentinel.port}") as raw:
            return len(await raw.sentinel_slaves("main"))

    await until(replicas, is_=1)
    url = f"redis+sentinel://127.0.0.1:1,127.0.0.1:{sentinel.port}/main/0"  # the first of the Sentinels is down
    async with connector(tmp_path, url) as vitals:
        app = await vitals.connected_app()
        async with Redis.from_url(first.url) as raw:
            await until(lambda: raw.wait(1, 200), is_=1)
        assert first.process is not None
        with capture_logs() as written:
            first.process.send_signal(signal.SIGKILL)
            said: list[tuple[int, str]] = []

            async def token() -> int:
                heard = await hear(vitals, app)
                said.extend([heard.mcp, heard.token])
                return heard.token[0]

            await until(token, is_=200)
            answer = await ask(app)

    assert {status for status, _ in said} == {200, 503}, "an app is never told that its access has ended"
    assert answer["structuredContent"]["complete"] is True
    assert "store_available_again" in [event for event, _ in outage_lines(written)]
