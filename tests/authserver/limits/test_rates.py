"""Counting on both stores: exact for several at once and on several machines, bounded in records, forgotten in time."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from app.authserver.limits.allowances import (
    CLIENT_RECORDS,
    REGISTRATION,
    SIGN_IN,
    WINDOW_S,
    Allowance,
    of_shared_app,
)
from app.authserver.limits.askers import ANYONE, Asker
from app.authserver.limits.rates import Counters, Rates
from app.errors import StoreUnavailable, TooManyRequests
from app.store.base import Store
from app.store.redis import RedisStore
from app.store.sqlite import SqliteStore
from tests.authserver.stage import Clock

pytestmark = pytest.mark.anyio
SMALL = Allowance("small", each=3, crowded=1, shared=5, crowd=6, total=10)


def one(number: int) -> Asker:
    return Asker(f"tag{number}", "one")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "redis"])
async def machines(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> AsyncIterator[tuple[Store, Store]]:
    """Two handles on one store."""
    if request.param == "sqlite":
        here: Store = SqliteStore(tmp_path / "s.sqlite3", now=clock)
        there: Store = SqliteStore(tmp_path / "s.sqlite3", now=clock)
    else:
        url = request.getfixturevalue("redis_url")
        here, there = (RedisStore(url, now=clock, prefix=f"rates:{tmp_path.name}:") for _ in range(2))
    yield here, there
    await here.aclose()
    await there.aclose()


async def admitted(rates: Rates, allowance: Allowance, asker: Asker, times: int) -> int:
    """Ask so many times; return how many were let in."""
    let_in = 0
    for _ in range(times):
        try:
            await rates.admit(allowance, asker)
            let_in += 1
        except TooManyRequests:
            continue
    return let_in


async def records(store: Store) -> list[str]:
    return [key async for key, _ in store.scan("rate:")]


async def test_an_address_has_its_allowance_on_all_machines_together(
    machines: tuple[Store, Store], clock: Clock
) -> None:
    here, there = (Rates(store, now=clock) for store in machines)
    let_in: list[int] = []

    async def ask(rates: Rates) -> None:
        let_in.append(await admitted(rates, SMALL, one(1), 2))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for rates in (here, there) * 4:
                group.start_soon(ask, rates)

    assert sum(let_in) == SMALL.each


async def test_who_is_refused_hears_when_to_come_back_and_then_may(machines: tuple[Store, Store], clock: Clock) -> None:
    rates = Rates(machines[0], now=clock)
    await rates.admit(SMALL, one(1))
    clock.pass_s(100)
    await admitted(rates, SMALL, one(1), 2)

    with pytest.raises(TooManyRequests) as caught:
        await rates.admit(SMALL, one(1))
    clock.pass_s(caught.value.retry_after_s)

    assert caught.value.retry_after_s == WINDOW_S - 100
    assert await admitted(rates, SMALL, one(1), 1) == 1


async def test_in_a_crowd_who_asked_before_is_refused_first_and_a_new_one_still_gets_in(
    machines: tuple[Store, Store], clock: Clock
) -> None:
    rates = Rates(machines[0], now=clock)
    calm = [await admitted(rates, SMALL, one(n), 2) for n in range(3)]

    crowd = [await admitted(rates, SMALL, one(n), 1) for n in range(5)]

    assert (calm, crowd) == ([2, 2, 2], [0, 0, 0, 1, 1])


async def test_in_a_crowd_those_who_come_at_once_get_no_more(machines: tuple[Store, Store], clock: Clock) -> None:
    rates = Rates(machines[0], now=clock)
    for n in range(3):
        await admitted(rates, SMALL, one(n), 2)
    let_in: list[int] = []

    async def ask(number: int) -> None:
        let_in.append(await admitted(rates, SMALL, one(number), 1))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(16):
                group.start_soon(ask, 7)

    assert sum(let_in) == SMALL.crowded


async def test_nobody_is_let_in_beyond_the_total(machines: tuple[Store, Store], clock: Clock) -> None:
    rates = Rates(machines[0], now=clock)

    assert sum([await admitted(rates, SMALL, one(n), 1) for n in range(20)]) == SMALL.total
    assert await admitted(rates, SMALL, ANYONE, 1) == 0


async def test_a_shared_network_has_an_allowance_of_its_own_crowd_or_not(
    machines: tuple[Store, Store], clock: Clock
) -> None:
    rates = Rates(machines[0], now=clock)
    for n in range(3):
        await admitted(rates, SMALL, one(n), 2)

    assert await admitted(rates, SMALL, Asker("claude", "shared"), 4) == 4


async def test_that_allowance_ends_too(machines: tuple[Store, Store], clock: Clock) -> None:
    rates = Rates(machines[0], now=clock)

    assert await admitted(rates, SMALL, Asker("claude", "shared"), 9) == SMALL.shared


async def test_whoever_cannot_be_told_apart_is_held_to_totals_alone(
    machines: tuple[Store, Store], clock: Clock
) -> None:
    rates = Rates(machines[0], now=clock)

    assert await admitted(rates, REGISTRATION, ANYONE, REGISTRATION.crowd + 20) == REGISTRATION.crowd + 20


async def test_a_thousand_addresses_leave_no_more_records_than_there_are_slots(
    machines: tuple[Store, Store], clock: Clock
) -> None:
    counters = Counters(machines[0], now=clock, slots=50)
    for n in range(1000):
        await counters.incr(f"key{n}", 600)

    assert len(await records(machines[0])) <= 50
    clock.pass_s(601)
    assert await records(machines[0]) == []


async def test_an_address_whose_slot_was_taken_over_is_forgotten_in_its_favour(
    machines: tuple[Store, Store], clock: Clock
) -> None:
    counters = Counters(machines[0], now=clock, slots=1)
    await counters.incr("one", 600)
    await counters.incr("one", 600)
    await counters.incr("other", 600)

    assert (await counters.get("one"), await counters.get("other")) == (0, 1)
    assert await counters.incr("one", 600) == 1


async def test_a_flood_that_is_refused_writes_nothing(machines: tuple[Store, Store], clock: Clock) -> None:
    rates = Rates(machines[0], now=clock)
    await admitted(rates, SMALL, one(1), 3)
    before = {key: value async for key, value in machines[0].scan("rate:")}

    assert await admitted(rates, SMALL, one(1), 50) == 0
    assert {key: value async for key, value in machines[0].scan("rate:")} == before


async def test_a_budget_is_spent_once_a_day(machines: tuple[Store, Store], clock: Clock) -> None:
    here, there = (Rates(store, now=clock) for store in machines)
    spent = [await rates.spend(CLIENT_RECORDS) for rates in (here, there) for _ in range(150)]
    clock.pass_s(24 * 3600 + 1)

    assert sum(spent) == CLIENT_RECORDS.amount
    assert await here.spend(CLIENT_RECORDS)


async def test_a_budget_says_when_it_begins_anew(machines: tuple[Store, Store], clock: Clock) -> None:
    rates = Rates(machines[0], now=clock)
    await rates.spend(CLIENT_RECORDS)
    clock.pass_s(3600.5)

    wait_s = await rates.renewed_in_s(CLIENT_RECORDS)
    while await rates.spend(CLIENT_RECORDS):
        pass
    clock.pass_s(wait_s)

    assert wait_s == 23 * 3600
    assert await rates.spend(CLIENT_RECORDS)


async def test_without_a_store_nobody_is_let_in(tmp_path: Path, clock: Clock) -> None:
    store = SqliteStore(tmp_path / "s.sqlite3", now=clock)
    await store.aclose()

    with pytest.raises(StoreUnavailable):
        await Rates(store, now=clock).admit(SIGN_IN, one(1))


@pytest.mark.parametrize(
    ("uris", "expected"),
    [
        (["https://chatgpt.com/connector_platform_oauth_redirect"], True),
        (["https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback"], True),
        (["https://claude.ai/api/mcp/auth_callback", "https://evil.example/"], False),
        (["https://claude.ai.evil.example/"], False),
        ([], False),
        ([{}], False),
        (7, False),
        (None, False),
    ],
)
def test_what_counts_as_an_assistant_that_many_share(uris: object, expected: bool) -> None:
    assert of_shared_app(uris) is expected
