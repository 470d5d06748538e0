"""Real processes that share a store, and are killed at every step: nothing is lost that was not already spent."""

import signal

import pytest

from tests.store.conftest import Place
from tests.vault.ada import RECONNECT
from tests.vault.loopback import TokenServer
from tests.vault.working import Process, clock, linked, server

__all__ = ["clock", "linked", "server"]

pytestmark = [pytest.mark.anyio, pytest.mark.process]


async def later(place: Place) -> list[str]:
    """Ask in a new process, after the lease of a killed one has run out."""
    await place.end_leases()  # that they end by themselves is shown in tests/store
    process = Process(place, later_s=31)
    process.go()
    code, printed = process.end()
    assert code == 0
    return printed


async def test_two_processes_with_25_callers_each_cause_one_refresh(linked: Place, server: TokenServer) -> None:
    processes = [Process(linked, callers=25) for _ in range(2)]
    for process in processes:
        process.go()
    ends = [process.end() for process in processes]

    assert [code for code, _ in ends] == [0, 0]
    assert [line for _, printed in ends for line in printed] == ["access-1"] * 50
    assert server.presented == ["refresh-0"]


@pytest.mark.parametrize("step", ["leased", "decided", "noted"])
async def test_killed_before_the_token_is_sent_nothing_is_lost(linked: Place, server: TokenServer, step: str) -> None:
    process = Process(linked, step=step, end="kill")
    process.go()
    assert process.end() == (-signal.SIGKILL, [])
    assert server.presented == []

    assert await later(linked) == ["access-1"]
    assert server.presented == ["refresh-0"]


@pytest.mark.parametrize("step", ["stored", "released"])
async def test_killed_after_the_successor_is_stored_nothing_is_lost(
    linked: Place, server: TokenServer, step: str
) -> None:
    process = Process(linked, step=step, end="kill")
    process.go()
    assert process.end() == (-signal.SIGKILL, [])

    assert await later(linked) == ["access-1"]
    assert server.presented == ["refresh-0"]


@pytest.mark.parametrize("step", ["before the answer", "spent"])
async def test_killed_between_spending_and_storing_the_next_call_says_so_once(
    linked: Place, server: TokenServer, step: str
) -> None:
    process = Process(linked, step=step, end="kill")
    if step != "spent":
        server.kill_asker = process.pid
    process.go()
    assert process.end() == (-signal.SIGKILL, [])
    server.kill_asker = None
    assert server.presented == ["refresh-0"]

    first, second = await later(linked), await later(linked)

    assert len(first) == len(second) == 1
    assert "interrupted" in first[0]
    assert f"sign in again at {RECONNECT}" in first[0]
    assert "interrupted" not in second[0]
    assert f"sign in again at {RECONNECT}" in second[0]
    assert server.presented == ["refresh-0", "refresh-0"]  # one more attempt, and then silence


async def test_asked_to_stop_between_spending_and_storing_a_process_stores_before_it_ends(
    linked: Place, server: TokenServer
) -> None:
    process = Process(linked, step="spent", end="term", callers=3)
    process.go()
    assert process.end() == (0, [])  # its callers were cut off

    assert await later(linked) == ["access-1"]
    assert server.presented == ["refresh-0"]
