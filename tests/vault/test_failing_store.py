"""A store that fails between spending and storing: the successor is stored in the end, or nothing was sent."""

from dataclasses import replace

import pytest

from app.errors import ReconnectRequired, StoreUnavailable
from app.store.base import Store
from app.vault.outcomes import NotSent
from tests.store.conftest import Clock, Place
from tests.vault.ada import ADA
from tests.vault.conftest import Machine, Machines, connection
from tests.vault.single_use import SingleUse

pytestmark = pytest.mark.anyio


class Failing:
    """A store whose compare-and-set on connections fails as often as a test says."""

    def __init__(self, inner: Store, *, times: float, after_writing: bool = False) -> None:
        self._inner = inner
        self.times = times
        self._after_writing = after_writing

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    async def compare_and_set(
        self, key: str, expected: bytes | None, value: bytes, *, ttl_s: float | None = None
    ) -> bool:
        if key.startswith("conn:") and self.times > 0:
            self.times -= 1
            if self._after_writing:
                await self._inner.compare_and_set(key, expected, value, ttl_s=ttl_s)
            raise StoreUnavailable("The store is away.")
        return await self._inner.compare_and_set(key, expected, value, ttl_s=ttl_s)


@pytest.mark.parametrize("after_writing", [False, True], ids=["not written", "answer lost"])
async def test_a_store_that_fails_for_a_moment_does_not_lose_the_successor(
    machine: Machine, machines: Machines, oura: SingleUse, place: Place, after_writing: bool
) -> None:
    failing = Failing(place.open(), times=1, after_writing=after_writing)
    unlucky = machines(store=failing)
    before = await machine.load()

    assert await unlucky.rotation.access_token(ADA) == "access-1"

    assert (await machine.load()).refresh_token == "refresh-1"
    assert (await machine.load()).generation == before.generation + 1


@pytest.mark.parametrize("how", ["next call", "shutdown"])
async def test_a_successor_that_could_not_be_stored_is_kept_and_stored_later(
    machine: Machine, machines: Machines, oura: SingleUse, place: Place, how: str
) -> None:
    failing = Failing(place.open(), times=float("inf"))
    unlucky = machines(store=failing, deadline_s=0.2)

    with pytest.raises(StoreUnavailable, match="kept in memory"):
        await unlucky.rotation.access_token(ADA)
    assert (await machine.load()).refresh_token == "refresh-0"
    failing.times = 0
    if how == "next call":
        assert await unlucky.rotation.access_token(ADA) == "access-1"
    else:
        await unlucky.rotation.drain()

    assert (await machine.load()).refresh_token == "refresh-1"
    assert await machine.rotation.access_token(ADA) == "access-1"
    assert oura.presented == ["refresh-0"]


async def test_a_successor_kept_in_memory_does_not_overwrite_a_new_sign_in(
    machine: Machine, machines: Machines, oura: SingleUse, place: Place, clock: Clock
) -> None:
    failing = Failing(place.open(), times=float("inf"))
    unlucky = machines(store=failing, deadline_s=0.2)
    with pytest.raises(StoreUnavailable):
        await unlucky.rotation.access_token(ADA)
    failing.times = 0
    signed_in = await machine.connections.connect(connection(clock, left_s=86_400, access_token="access-new"))

    await unlucky.rotation.drain()

    assert await machine.load() == signed_in
    assert oura.given_back == []  # it might end the sign-in that took its place


async def test_a_successor_kept_in_memory_is_given_back_when_the_owner_has_left(
    machine: Machine, machines: Machines, oura: SingleUse, place: Place
) -> None:
    failing = Failing(place.open(), times=float("inf"))
    unlucky = machines(store=failing, deadline_s=0.2)
    with pytest.raises(StoreUnavailable):
        await unlucky.rotation.access_token(ADA)
    failing.times = 0
    await machine.connections.erase(ADA.owner)

    await unlucky.rotation.drain()

    assert await machine.connections.load(ADA.owner) is None
    assert oura.given_back == [("access-1", "refresh-1")]


async def test_a_change_that_touches_no_token_does_not_cost_the_successor(machine: Machine, oura: SingleUse) -> None:
    async def travel() -> None:
        held = await machine.connections.read(ADA.owner)
        assert held is not None
        await machine.connections.update(held, lambda now: replace(now, timezone="Asia/Tokyo"))

    oura.meanwhile = travel

    assert await machine.rotation.access_token(ADA) == "access-1"
    assert (await machine.load()).timezone == "Asia/Tokyo"


async def test_without_a_store_nothing_is_sent(
    machines: Machines, machine: Machine, oura: SingleUse, place: Place
) -> None:
    class NoNotes(Failing):
        async def compare_and_set(
            self, key: str, expected: bytes | None, value: bytes, *, ttl_s: float | None = None
        ) -> bool:
            raise StoreUnavailable("The store is away.")

    with pytest.raises(StoreUnavailable):
        await machines(store=NoNotes(place.open(), times=0)).rotation.access_token(ADA)

    assert oura.presented == []


async def test_a_refusal_that_cannot_be_written_down_is_found_again(
    machine: Machine, machines: Machines, oura: SingleUse, place: Place, clock: Clock
) -> None:
    oura.faults = ["refused"]
    with pytest.raises(StoreUnavailable):
        await machines(store=Failing(place.open(), times=1)).rotation.access_token(ADA)
    assert (await machine.load()).state == "live"

    clock.at += 20
    with pytest.raises(ReconnectRequired):
        await machine.rotation.access_token(ADA)


async def test_a_note_that_was_not_followed_by_anything_sent_leaves_no_doubt(
    machine: Machine, oura: SingleUse, clock: Clock
) -> None:
    oura.faults = ["not sent", "refused"]
    with pytest.raises(NotSent):
        await machine.rotation.access_token(ADA)

    with pytest.raises(ReconnectRequired, match="refused to renew"):
        await machine.rotation.access_token(ADA)
