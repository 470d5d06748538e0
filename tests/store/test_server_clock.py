"""Machines whose clocks differ and that share one Redis: they go by its clock."""

import secrets
import time
from dataclasses import dataclass, field

import anyio
import pytest
import structlog

from app.errors import StoreUnavailable
from app.store.opening import choose_store
from app.store.redis import RedisStore
from app.store.server_clock import ServerClock
from tests.store.conftest import Clock

pytestmark = pytest.mark.anyio

TEN_MINUTES_S = 600.0


@dataclass
class Machine:
    """A machine's two clocks, and the server it asks."""

    local: float = 1_790_000_000.0
    steady: float = 50.0
    server: float = 1_790_000_000.0 + TEN_MINUTES_S
    asked: int = 0
    round_trip_s: float = 0.0
    fails: bool = False
    clock: ServerClock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = ServerClock(lambda: self.local, self.ask, steady=lambda: self.steady)

    async def ask(self) -> float:
        self.asked += 1
        if self.fails:
            raise StoreUnavailable("away")
        self.pass_s(self.round_trip_s / 2)
        there = self.server
        self.pass_s(self.round_trip_s / 2)
        await anyio.lowlevel.checkpoint()
        return there

    def pass_s(self, seconds: float) -> None:
        self.local += seconds
        self.steady += seconds
        self.server += seconds

    async def now(self) -> float:
        if self.clock.is_due():
            await self.clock.measure()
        return self.clock()


@pytest.mark.parametrize("round_trip_s", [0.0, 0.2])
async def test_the_time_is_the_servers_and_the_way_there_is_not_counted(round_trip_s: float) -> None:
    machine = Machine(round_trip_s=round_trip_s)

    assert await machine.now() == pytest.approx(machine.server, abs=1e-6)


async def test_a_measurement_serves_for_a_minute() -> None:
    machine = Machine()
    for _ in range(4):
        await machine.now()
        machine.pass_s(19)

    assert machine.asked == 1
    assert machine.clock() == machine.server
    await machine.now()
    assert machine.asked == 2


@pytest.mark.parametrize("jump_s", [-TEN_MINUTES_S, 2.0])
async def test_a_clock_that_was_set_is_measured_again_at_once(jump_s: float) -> None:
    machine = Machine()
    await machine.now()
    machine.local += jump_s

    assert await machine.now() == machine.server


async def test_fifty_who_find_it_due_ask_once() -> None:
    machine = Machine()

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(machine.now)

    assert machine.asked == 1


async def test_without_an_answer_nobody_goes_on_with_a_guess() -> None:
    machine = Machine(fails=True)

    with pytest.raises(StoreUnavailable):
        await machine.now()

    machine.fails = False
    assert await machine.now() == machine.server


async def test_a_big_difference_is_logged_once_and_a_small_one_never() -> None:
    wrong, right = Machine(), Machine(server=1_790_000_001.0)

    with structlog.testing.capture_logs() as logged:
        for machine in (wrong, right):
            for _ in range(3):
                await machine.now()
                machine.pass_s(61)

    assert [(line["event"], line["redis_is_ahead_s"]) for line in logged] == [("clock_differs", 600.0)]


@pytest.mark.parametrize("writer_is_wrong_by_s", [-TEN_MINUTES_S, TEN_MINUTES_S], ids=["slow writes", "fast writes"])
async def test_a_record_lives_its_lifetime_on_machines_twenty_minutes_apart(
    redis_url: str, monkeypatch: pytest.MonkeyPatch, writer_is_wrong_by_s: float
) -> None:
    passed = Clock(at=0)  # what all clocks show more than at the beginning
    prefix = f"t{secrets.token_hex(4)}:"

    def machine(wrong_by_s: float) -> RedisStore:
        return RedisStore(
            redis_url, now=lambda: time.time() + wrong_by_s + passed.at, prefix=prefix, by_server_clock=True
        )

    asked = RedisStore._time

    async def later(store: RedisStore) -> float:
        return await asked(store) + passed.at

    monkeypatch.setattr(RedisStore, "_time", later)
    writer, reader = machine(writer_is_wrong_by_s), machine(-writer_is_wrong_by_s)
    await writer.put("code:a", b"1", ttl_s=60)
    assert await writer.get("code:a") == b"1"
    assert await reader.get("code:a") == b"1"
    assert await reader.compare_and_set("code:a", b"1", b"2", ttl_s=60)
    passed.at = 58
    assert await writer.get("code:a") == b"2"
    assert await reader.get("code:a") == b"2"

    passed.at = 61
    assert await writer.get("code:a") is None
    assert await reader.get("code:a") is None
    await writer.aclose()
    await reader.aclose()


@pytest.mark.parametrize("wrong_by_s", [-TEN_MINUTES_S, TEN_MINUTES_S])
async def test_the_store_that_the_settings_choose_goes_by_redis(redis_url: str, wrong_by_s: float) -> None:
    store = choose_store(data_dir=None, redis_url=redis_url, now=lambda: time.time() + wrong_by_s)
    await store.ping()

    assert abs(store.now() - time.time()) < 5
    await store.aclose()
