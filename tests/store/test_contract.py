"""What every store promises, held against SQLite and against a real Redis."""

import anyio
import pytest

from app.errors import StoreUnavailable
from app.store.base import Store
from tests.store.conftest import Clock, Place

pytestmark = pytest.mark.anyio


async def test_a_record_comes_back_as_it_was_written(store: Store) -> None:
    value = bytes(range(256)) * 40

    await store.put("conn:oura:ada", value)

    assert await store.get("conn:oura:ada") == value
    assert await store.get("conn:oura:grace") is None


async def test_several_records_are_read_at_once_in_the_order_asked_for(store: Store, clock: Clock) -> None:
    await store.put("a", b"1")
    await store.put("b", b"", ttl_s=20)
    await store.put("gone", b"3", ttl_s=10)
    clock.at += 10

    assert await store.get_many("b", "never", "a", "gone", "a") == [b"", None, b"1", None, b"1"]
    assert await store.get_many("a") == [b"1"]


async def test_an_empty_value_is_a_record(store: Store) -> None:
    assert await store.compare_and_set("a", None, b"")

    assert await store.get("a") == b""
    assert not await store.compare_and_set("a", None, b"x")
    assert await store.compare_and_set("a", b"", b"y")
    assert await store.take("a") == b"y"


async def test_put_replaces_the_value_and_the_lifetime(store: Store, clock: Clock) -> None:
    await store.put("a", b"1", ttl_s=10)

    await store.put("a", b"2")
    clock.at += 1_000

    assert await store.get("a") == b"2"


@pytest.mark.parametrize("ttl_s", [10, 0.5, 86_400 * 30], ids=str)
async def test_a_record_lives_exactly_its_lifetime(store: Store, clock: Clock, ttl_s: float) -> None:
    await store.put("a", b"1", ttl_s=ttl_s)

    clock.at += ttl_s - 0.1
    assert await store.get("a") == b"1"
    clock.at += 0.1
    assert await store.get("a") is None


async def test_an_expired_record_is_gone_for_every_method(store: Store, clock: Clock) -> None:
    for key in ("get", "take", "delete", "cas", "new"):
        await store.put(key, b"1", ttl_s=10)

    clock.at += 10

    assert await store.get("get") is None
    assert [key async for key, _ in store.scan("")] == []
    assert not await store.compare_and_set("cas", b"1", b"2")
    assert await store.compare_and_set("new", None, b"2")
    assert await store.get("new") == b"2"
    assert not await store.delete("delete")
    assert await store.take("take") is None


async def test_compare_and_set_writes_only_over_what_was_expected(store: Store) -> None:
    assert not await store.compare_and_set("a", b"1", b"2")
    assert await store.compare_and_set("a", None, b"1")
    assert not await store.compare_and_set("a", None, b"9")
    assert not await store.compare_and_set("a", b"9", b"2")
    assert await store.compare_and_set("a", b"1", b"2")

    assert await store.get("a") == b"2"


async def test_a_refused_compare_and_set_leaves_the_lifetime_alone(store: Store, clock: Clock) -> None:
    await store.put("a", b"1", ttl_s=10)

    assert not await store.compare_and_set("a", b"9", b"2", ttl_s=1_000)
    assert not await store.compare_and_set("a", None, b"2")
    clock.at += 10

    assert await store.get("a") is None


async def test_compare_and_set_replaces_the_lifetime(store: Store, clock: Clock) -> None:
    await store.put("a", b"1", ttl_s=10)
    await store.put("b", b"1")

    assert await store.compare_and_set("a", b"1", b"2")
    assert await store.compare_and_set("b", b"1", b"2", ttl_s=10)
    clock.at += 10

    assert await store.get("a") == b"2"
    assert await store.get("b") is None


async def test_take_gives_a_record_once(store: Store) -> None:
    await store.put("code", b"1", ttl_s=60)

    assert await store.take("code") == b"1"
    assert await store.take("code") is None
    assert await store.get("code") is None


async def test_of_many_takers_at_once_one_gets_the_record(place: Place, store: Store) -> None:
    other = place.open()
    await store.put("code", b"1")
    got: list[bytes | None] = []

    async def take(n: int) -> None:
        got.append(await (store, other)[n % 2].take("code"))

    async with anyio.create_task_group() as group:
        for n in range(20):
            group.start_soon(take, n)
    await other.aclose()

    assert sorted(got, key=str) == [None] * 19 + [b"1"] or sorted(got, key=str) == [b"1"] + [None] * 19


async def test_delete_says_whether_there_was_a_record(store: Store) -> None:
    await store.put("a", b"1")

    assert await store.delete("a")
    assert not await store.delete("a")
    assert await store.get("a") is None


async def test_scan_yields_exactly_the_records_under_a_prefix(store: Store) -> None:
    await store.put("grant:1", b"1", ttl_s=100)
    await store.put("grant:2", b"2")
    await store.put("grants:3", b"3")
    await store.put("access:1", b"4")

    assert sorted([pair async for pair in store.scan("grant:")]) == [("grant:1", b"1"), ("grant:2", b"2")]
    assert len([pair async for pair in store.scan("")]) == 4


@pytest.mark.parametrize("prefix", ["a*", "a?", "a[bc]", "a%", "a_", "a\\", "a^", "a-", "A", "ä*", "[", "*"], ids=repr)
async def test_scan_takes_pattern_characters_literally(store: Store, prefix: str) -> None:
    decoys = ["ab", "abc", "a", "aXX", "a[b", "ä", "x"]
    for key in [*decoys, prefix, prefix + "1"]:
        await store.put(key, b"1")

    found = {key async for key, _ in store.scan(prefix)}

    assert found == {key for key in [*decoys, prefix, prefix + "1"] if key.startswith(prefix)}
    assert {prefix, prefix + "1"} <= found


async def test_scan_of_many_records_gives_each_once(store: Store) -> None:
    expected = {f"client:{n:04}": str(n).encode() for n in range(950)}
    for key, value in expected.items():
        await store.put(key, value)

    pairs = [pair async for pair in store.scan("client:")]

    assert len(pairs) == 950
    assert dict(pairs) == expected


async def test_records_may_be_deleted_while_they_are_scanned(store: Store) -> None:
    for n in range(450):
        await store.put(f"grant:{n}", b"1")

    async for key, _ in store.scan("grant:"):
        await store.delete(key)

    assert [key async for key, _ in store.scan("grant:")] == []


async def test_a_held_lease_refuses_a_second_holder_and_frees_on_exit(place: Place, store: Store) -> None:
    other = place.open()

    async with store.lease("refresh:ada", ttl_s=30, wait_s=0), store.lease("refresh:grace", ttl_s=30, wait_s=0):
        for handle in (store, other):
            with pytest.raises(StoreUnavailable) as refusal:
                async with handle.lease("refresh:ada", ttl_s=30, wait_s=0):
                    pytest.fail("two holders")

    assert "refresh" in str(refusal.value)
    assert "ada" not in str(refusal.value)
    async with other.lease("refresh:ada", ttl_s=30, wait_s=0):
        pass
    await other.aclose()


async def test_fencing_numbers_grow_across_holders_handles_and_names(place: Place, store: Store) -> None:
    other = place.open()
    fences: list[int] = []

    for handle, name in [(store, "a"), (other, "a"), (store, "b"), (store, "a"), (other, "b")]:
        async with handle.lease(name, ttl_s=30, wait_s=0) as fence:
            fences.append(fence)
    await other.aclose()

    assert fences == sorted(set(fences))
    assert fences[0] > 0


async def test_a_holder_that_fails_frees_the_lease(store: Store) -> None:
    with pytest.raises(ValueError, match="inside"):
        async with store.lease("a", ttl_s=30, wait_s=0):
            raise ValueError("inside")

    async with store.lease("a", ttl_s=30, wait_s=0):
        pass


async def test_a_cancelled_holder_frees_the_lease_at_once(place: Place, store: Store) -> None:
    other = place.open()
    held = anyio.Event()

    async def hold_forever() -> None:
        async with store.lease("a", ttl_s=30, wait_s=0):
            held.set()
            await anyio.sleep_forever()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(hold_forever)
            await held.wait()
            group.cancel_scope.cancel()

    async with other.lease("a", ttl_s=30, wait_s=0) as fence:
        assert fence > 0
    await other.aclose()


async def test_a_waiter_gets_the_lease_when_the_holder_of_another_handle_leaves(place: Place, store: Store) -> None:
    other = place.open()
    order: list[str] = []
    waiting = anyio.Event()

    async def wait() -> None:
        waiting.set()
        async with other.lease("a", ttl_s=30, wait_s=5):
            order.append("waiter")

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group, store.lease("a", ttl_s=30, wait_s=0):
            group.start_soon(wait)
            await waiting.wait()
            order.append("holder")
    await other.aclose()

    assert order == ["holder", "waiter"]


async def test_waiters_of_one_process_are_served_in_order_and_without_pauses(store: Store) -> None:
    order: list[int] = []

    async def wait(n: int) -> None:
        async with store.lease("a", ttl_s=30, wait_s=5):
            order.append(n)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for n in range(50):
                group.start_soon(wait, n)

    assert order == list(range(50))


async def test_a_cancelled_waiter_leaves_the_line_in_order(store: Store) -> None:
    async with store.lease("a", ttl_s=30, wait_s=0):
        with anyio.move_on_after(0.01) as scope:
            async with store.lease("a", ttl_s=30, wait_s=5):
                pytest.fail("two holders")

    assert scope.cancelled_caught
    async with store.lease("a", ttl_s=30, wait_s=0):
        pass


@pytest.mark.parametrize("seconds", [-600, 600])
async def test_a_clock_that_is_set_frees_no_lease_and_prolongs_none(
    place: Place, store: Store, clock: Clock, seconds: float
) -> None:
    other = place.open()

    async with store.lease("a", ttl_s=30, wait_s=0):
        clock.at += seconds
        with pytest.raises(StoreUnavailable):
            async with other.lease("a", ttl_s=30, wait_s=0):
                pytest.fail("two holders")
    async with other.lease("a", ttl_s=30, wait_s=0):
        pass
    await other.aclose()


async def test_a_lease_given_back_late_does_not_free_the_next_holders(place: Place) -> None:
    first, second, third = place.open(), place.open(), place.open()
    ttl_s = 0.05  # leases run in real time

    async with first.lease("a", ttl_s=ttl_s, wait_s=0) as old:
        with anyio.fail_after(5):
            late = second.lease("a", ttl_s=30, wait_s=4)
            new = await late.__aenter__()

    with pytest.raises(StoreUnavailable):
        async with third.lease("a", ttl_s=30, wait_s=0):
            pytest.fail("two holders")
    await late.__aexit__(None, None, None)
    for handle in (first, second, third):
        await handle.aclose()

    assert new > old


async def test_a_closed_store_says_so(place: Place) -> None:
    store = place.open()
    await store.ping()

    await store.aclose()
    await store.aclose()

    if place.sqlite:
        with pytest.raises(StoreUnavailable, match="closed"):
            await store.get("a")
