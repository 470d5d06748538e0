"""Several processes, and several threads, write at once: nothing is lost, one taker, never two holders."""

import subprocess
import sys
import threading

import anyio
import anyio.lowlevel
import pytest

from app.errors import StoreUnavailable
from app.store.base import Store
from tests.store.conftest import Place

pytestmark = [pytest.mark.anyio, pytest.mark.process]
PROCESSES = 4


def start(place: Place, role: str, count: int) -> "subprocess.Popen[str]":
    worker = subprocess.Popen(
        [sys.executable, "-m", "tests.store.worker", *place.arguments, role, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdout is not None
    assert worker.stdout.readline() == "ready\n"
    return worker


def together(place: Place, role: str, count: int) -> list[list[str]]:
    """Run the role in several processes that begin at the same moment; return what each printed."""
    workers = [start(place, role, count) for _ in range(PROCESSES)]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    printed = [worker.communicate(timeout=100)[0].split("\n")[:-1] for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * PROCESSES
    return printed


async def test_no_update_is_lost_when_processes_increment_the_same_record(place: Place) -> None:
    together(place, "increment", 60)

    store = place.open()
    total = await store.get("number")
    await store.aclose()
    assert total == b"240"


async def test_each_record_is_taken_by_one_process(place: Place, store: Store) -> None:
    for n in range(150):
        await store.put(f"code:{n}", b"1")

    printed = together(place, "take", 150)

    assert sorted(int(n) for lines in printed for n in lines) == list(range(150))


async def test_processes_never_hold_a_lease_together_and_their_fencing_numbers_grow(place: Place) -> None:
    printed = together(place, "lease", 15)

    store = place.open()
    total = await store.get("total")
    await store.aclose()
    fences = [[int(line) for line in lines] for lines in printed]  # "two holders" is not a number
    assert total == b"60"
    assert all(own == sorted(own) for own in fences)
    assert len({fence for own in fences for fence in own}) == 60


async def test_the_lease_of_a_killed_process_frees_after_its_lifetime(place: Place) -> None:
    worker = start(place, "hold", 3)
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write("go\n")
    worker.stdin.flush()
    fence = int(worker.stdout.readline())
    worker.kill()
    worker.communicate()
    store = place.open()

    with anyio.fail_after(20):
        with pytest.raises(StoreUnavailable):
            async with store.lease("refresh:ada", ttl_s=30, wait_s=0):
                pytest.fail("taken from a holder whose time was not up")
        async with store.lease("refresh:ada", ttl_s=30, wait_s=15) as next_fence:
            pass
    await store.aclose()

    assert next_fence > fence


def test_threads_with_a_handle_each_lose_no_update(place: Place) -> None:
    async def increment() -> None:
        store = place.open()
        for _ in range(50):
            while True:
                held = await store.get("number")
                if await store.compare_and_set("number", held, str(int(held or b"0") + 1).encode()):
                    break
        await store.aclose()

    threads = [threading.Thread(target=anyio.run, args=(increment,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    async def total() -> bytes | None:
        store = place.open()
        held = await store.get("number")
        await store.aclose()
        return held

    assert anyio.run(total) == b"200"


async def test_a_cancelled_call_neither_breaks_the_handle_nor_half_happens(place: Place, store: Store) -> None:
    async def write(n: int) -> None:
        await store.put(f"grant:{n}", b"1" * 1_000)

    for _ in range(20):
        async with anyio.create_task_group() as group:
            for n in range(5):
                group.start_soon(write, n)
            await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()

    await store.put("grant:0", b"2")
    assert await store.get("grant:0") == b"2"
    assert all(value in (b"1" * 1_000, b"2") for _, value in [pair async for pair in store.scan("")])
