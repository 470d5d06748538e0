"""The /48 around an address: counted too, exactly, and at the cost of nobody who was refused for it."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from app.authserver.limits.allowances import SITE, WINDOW_S, Allowance
from app.authserver.limits.askers import Asker
from app.authserver.limits.rates import Rates
from app.errors import TooManyRequests
from app.store.sqlite import SqliteStore
from tests.authserver.stage import Clock

pytestmark = pytest.mark.anyio
CALM = Allowance("calm", each=3, crowded=1, shared=5, crowd=10_000, total=10_000)
CROWDED = Allowance("crowded", each=3, crowded=1, shared=5, crowd=SITE * 3, total=10_000)


def at(number: int, site: str = "site") -> Asker:
    """A /64 in a /48."""
    return Asker(f"tag{number}", "one", site)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def machines(tmp_path: Path, clock: Clock) -> AsyncIterator[tuple[SqliteStore, SqliteStore]]:
    """Two handles on one store; that Redis counts as exactly is shown in `test_rates`."""
    here, there = (SqliteStore(tmp_path / "s.sqlite3", now=clock) for _ in range(2))
    yield here, there
    await here.aclose()
    await there.aclose()


@pytest.fixture
def rates(machines: tuple[SqliteStore, SqliteStore], clock: Clock) -> Rates:
    return Rates(machines[0], now=clock)


async def admitted(rates: Rates, asker: Asker, times: int, allowance: Allowance = CALM) -> int:
    """Ask so many times; return how many were let in."""
    return sum([await _in(rates, asker, allowance) for _ in range(times)])


async def _in(rates: Rates, asker: Asker, allowance: Allowance) -> bool:
    try:
        await rates.admit(allowance, asker)
    except TooManyRequests:
        return False
    return True


async def filled(rates: Rates, numbers: range) -> None:
    """Use the whole site up."""
    assert sum([await admitted(rates, at(number), CALM.each) for number in numbers]) == SITE * CALM.each


async def retry_after_s(rates: Rates, asker: Asker) -> int:
    with pytest.raises(TooManyRequests) as refused:
        await rates.admit(CALM, asker)
    return refused.value.retry_after_s


async def test_thousands_of_addresses_of_one_network_have_no_more_than_a_few(rates: Rates) -> None:
    let_in = sum([await admitted(rates, at(number), 1) for number in range(200)])

    assert let_in == SITE * CALM.each
    assert await admitted(rates, at(1000, "elsewhere"), 5) == CALM.each


async def test_nor_when_they_ask_at_once_on_two_machines(
    machines: tuple[SqliteStore, SqliteStore], clock: Clock
) -> None:
    here, there = (Rates(store, now=clock) for store in machines)
    let_in: list[bool] = []

    async def ask(number: int) -> None:
        let_in.append(await _in((here, there)[number % 2], at(number), CALM))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for number in range(4 * SITE * CALM.each):
                group.start_soon(ask, number)

    assert sum(let_in) == SITE * CALM.each


async def test_who_is_refused_for_those_around_writes_nothing_not_even_to_the_total(
    rates: Rates, machines: tuple[SqliteStore, SqliteStore]
) -> None:
    await filled(rates, range(SITE))
    before = {key: value async for key, value in machines[0].scan("rate:")}

    assert sum([await admitted(rates, at(number), 3) for number in range(50)]) == 0
    assert {key: value async for key, value in machines[0].scan("rate:")} == before


async def test_who_is_refused_for_those_around_has_all_of_their_own_once_the_network_begins_anew(
    rates: Rates, clock: Clock
) -> None:
    await filled(rates, range(SITE))
    clock.pass_s(WINDOW_S - 100)
    assert await admitted(rates, at(7), 50) == 0
    clock.pass_s(100)

    assert await admitted(rates, at(7), 5) == CALM.each


async def test_who_has_used_up_their_own_takes_nothing_from_those_around(rates: Rates) -> None:
    assert await admitted(rates, at(0), 100) == CALM.each

    assert [await admitted(rates, at(number), 5) for number in range(1, SITE + 1)] == [CALM.each] * (SITE - 1) + [0]


async def test_who_is_refused_for_both_hears_of_the_later(rates: Rates, clock: Clock) -> None:
    await admitted(rates, at(100), 1)  # the network's window begins
    clock.pass_s(WINDOW_S - 1)
    assert await admitted(rates, at(0), 5) == CALM.each  # their own begins
    clock.pass_s(1)
    await filled(rates, range(1, 1 + SITE))  # and the network's next
    clock.pass_s(100)

    wait_s = await retry_after_s(rates, at(0))
    clock.pass_s(wait_s)

    assert wait_s == WINDOW_S - 100
    assert await admitted(rates, at(0), 1) == 1


async def test_in_a_crowd_a_network_that_had_its_part_waits_for_its_own_window_and_no_longer(
    rates: Rates, clock: Clock
) -> None:
    for number in range(2):  # more than it has in a crowd, and far less than it has without
        await admitted(rates, at(number), 3, CROWDED)
    clock.pass_s(WINDOW_S - 1)
    for number in range(10, 13):
        await admitted(rates, at(number, f"site{number}"), 3, CROWDED)
    elsewhere = [await admitted(rates, at(number, f"site{number}"), 9, CROWDED) for number in range(20, 23)]
    newcomer = await admitted(rates, at(50), 9, CROWDED)
    clock.pass_s(1)

    assert (elsewhere, newcomer) == ([1, 1, 1], 0)
    assert await admitted(rates, at(50), 1, CROWDED) == 1
