"""What is particular to the shared store: Redis's own expiry, failures without secrets, a server away and back."""

import socket
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import anyio
import anyio.abc
import anyio.lowlevel
import pytest
from redis.asyncio import Redis

from app.errors import SettingsError, StoreUnavailable
from app.store import redis as module
from app.store.redis import RedisStore
from tests.redis_server import RedisServer, start_redis
from tests.store.conftest import Clock

pytestmark = pytest.mark.anyio


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    server = start_redis(tmp_path)
    yield server
    server.stop()


@pytest.fixture
async def raw(server: RedisServer) -> AsyncGenerator[Redis]:
    raw = Redis.from_url(server.url)
    yield raw
    await raw.aclose()


async def test_redis_frees_the_memory_of_a_record_a_minute_after_its_lifetime(
    server: RedisServer, raw: Redis, clock: Clock
) -> None:
    store = RedisStore(server.url, now=clock)
    await store.put("put", b"1", ttl_s=60)
    await store.compare_and_set("cas", None, b"1", ttl_s=60)
    await store.put("kept", b"1")

    assert 119_000 < await raw.pttl("vitals:record:put") <= 120_000
    assert 119_000 < await raw.pttl("vitals:record:cas") <= 120_000
    assert await raw.pttl("vitals:record:kept") == -1
    await store.aclose()


async def test_a_lease_leaves_nothing_behind_but_the_counter(server: RedisServer, raw: Redis, clock: Clock) -> None:
    store = RedisStore(server.url, now=clock)

    async with store.lease("refresh:ada", ttl_s=30, wait_s=0):
        assert 29_000 < await raw.pttl("vitals:lease:refresh:ada") <= 30_000

    assert await raw.keys("*") == [b"vitals:fence"]
    await store.aclose()


async def test_who_stood_still_before_drawing_its_number_does_not_hold_a_lease_that_is_anothers_by_then(
    server: RedisServer, raw: Redis, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleeper, other = RedisStore(server.url, now=clock), RedisStore(server.url, now=clock)
    draw, taken = sleeper._redis.incr, other.lease("a", ttl_s=30, wait_s=0)

    async def draw_late(key: str) -> int:
        await raw.delete("vitals:lease:a")  # its time has run out
        await taken.__aenter__()
        return int(await draw(key))

    monkeypatch.setattr(sleeper._redis, "incr", draw_late)

    with pytest.raises(StoreUnavailable):
        async with sleeper.lease("a", ttl_s=30, wait_s=0):
            pytest.fail("two holders, the later number with the one whose time is up")

    await taken.__aexit__(None, None, None)
    await sleeper.aclose()
    await other.aclose()


async def test_a_key_that_redis_names_twice_is_given_once(
    server: RedisServer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RedisStore(server.url, now=clock)
    await store.put("a", b"1")
    rounds = [(7, [b"vitals:record:a"]), (0, [b"vitals:record:a"])]  # as while its table grows

    async def scan(*_: object, **__: object) -> tuple[int, list[bytes]]:
        return rounds.pop(0)

    monkeypatch.setattr(store._redis, "scan", scan)

    assert [pair async for pair in store.scan("")] == [("a", b"1")]
    await store.aclose()


async def test_two_prefixes_share_a_server_without_meeting(server: RedisServer, clock: Clock) -> None:
    one, two = RedisStore(server.url, now=clock, prefix="a*:"), RedisStore(server.url, now=clock, prefix="ab:")
    await one.put("x", b"1")
    await two.put("x", b"2")

    assert [pair async for pair in one.scan("")] == [("x", b"1")]
    assert [pair async for pair in two.scan("")] == [("x", b"2")]
    await one.aclose()
    await two.aclose()


async def test_an_absent_server_is_named_without_address_or_password(server: RedisServer, clock: Clock) -> None:
    server.stop()
    store = RedisStore(f"redis://:hunter2secret@127.0.0.1:{server.port}/0", now=clock)

    with pytest.raises(StoreUnavailable) as refusal:
        await store.get("a")

    assert "REDIS_URL" in str(refusal.value)
    for private in ("hunter2secret", str(server.port), "127.0.0.1"):
        assert private not in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert refusal.value.__suppress_context__
    await store.aclose()


async def test_a_wrong_password_is_unavailable_and_never_shown(server: RedisServer, raw: Redis, clock: Clock) -> None:
    await raw.config_set("requirepass", "right")
    store = RedisStore(server.url.replace("//", "//:hunter2secret@"), now=clock)

    with pytest.raises(StoreUnavailable, match="AuthenticationError") as refusal:
        await store.ping()

    assert "hunter2secret" not in str(refusal.value)
    await store.aclose()


@pytest.mark.parametrize("url", ["http://:hunter2secret@redis", "hunter2secret", "redis://h:port/0"])
def test_a_malformed_address_stops_the_start_without_being_shown(url: str, clock: Clock) -> None:
    with pytest.raises(SettingsError, match="REDIS_URL") as refusal:
        RedisStore(url, now=clock)

    assert "hunter2secret" not in str(refusal.value)
    assert refusal.value.__suppress_context__


async def test_every_method_fails_closed_while_the_server_is_away_and_works_again_after(
    server: RedisServer, clock: Clock
) -> None:
    store = RedisStore(server.url, now=clock)
    await store.put("a", b"1")

    server.stop()
    for call in (
        store.get("a"),
        store.put("a", b"2"),
        store.compare_and_set("a", b"1", b"2"),
        store.take("a"),
        store.delete("a"),
        store.ping(),
        anext(aiter(store.scan(""))),
    ):
        with pytest.raises(StoreUnavailable):
            await call
    with pytest.raises(StoreUnavailable):
        async with store.lease("a", ttl_s=30, wait_s=0):
            pytest.fail("a lease that no server granted")

    server.start()
    assert await store.compare_and_set("a", None, b"3")  # an empty server: neither data nor scripts
    async with store.lease("a", ttl_s=30, wait_s=0):
        pass
    await store.aclose()


async def test_a_connection_that_died_while_idle_is_replaced_before_the_first_command(
    server: RedisServer, clock: Clock
) -> None:
    store = RedisStore(server.url, now=clock)
    await store.put("a", b"1")

    server.stop()
    server.start()
    for _ in range(3):
        await anyio.lowlevel.checkpoint()  # a loop that idles would have read the end of the connection by now

    await store.put("a", b"2")
    assert await store.get("a") == b"2"
    await store.aclose()


async def test_a_server_that_hangs_is_given_up_on(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(module, "_ANSWER_S", 0.05)
    with socket.socket() as mute, anyio.fail_after(5):
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        store = RedisStore(f"redis://127.0.0.1:{mute.getsockname()[1]}/0", now=clock)
        with pytest.raises(StoreUnavailable):
            await store.get("a")
        await store.aclose()


async def test_a_command_whose_answer_was_lost_is_not_sent_again(server: RedisServer, clock: Clock) -> None:
    """A take that was repeated would find nothing, and the record would be gone with nobody having it."""
    store = RedisStore(server.url, now=clock)
    await store.put("code", b"1")
    sent = 0
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)

        async def relay(client: anyio.abc.SocketStream) -> None:
            nonlocal sent
            async with client, await anyio.connect_tcp("127.0.0.1", server.port) as upstream:
                while True:
                    request = await client.receive()
                    await upstream.send(request)
                    answer = await upstream.receive()
                    if b"GETDEL" in request:
                        sent += 1
                        return  # the server did it, the answer never arrives
                    await client.send(answer)

        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, relay)
            through = RedisStore(f"redis://127.0.0.1:{port}/0", now=clock)
            with anyio.fail_after(5), pytest.raises(StoreUnavailable):
                await through.take("code")
            await through.aclose()
            group.cancel_scope.cancel()

    assert sent == 1
    assert await store.get("code") is None
    await store.aclose()
