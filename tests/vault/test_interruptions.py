"""Callers who leave, and processes that stop or stand still: stored in the end, or nothing was sent."""

import asyncio
from collections.abc import Awaitable, Callable

import anyio
import pytest

from app.errors import ReconnectRequired, SourceUnreachable, StoreUnavailable
from tests.store.conftest import Clock, Place
from tests.vault.ada import ADA
from tests.vault.conftest import Machine, Machines
from tests.vault.single_use import SingleUse

pytestmark = pytest.mark.anyio


class Stop:
    """A checkpoint at which one process stands still."""

    def __init__(self, step: str) -> None:
        self._step = step
        self.reached = anyio.Event()
        self.go = anyio.Event()

    async def __call__(self, step: str) -> None:
        if step == self._step:
            self.reached.set()
            await self.go.wait()


# Callers who leave, and shutdown: T6.


@pytest.mark.parametrize("how", ["anyio", "native"])
@pytest.mark.parametrize("step", ["noted", "sent", "spent"])
async def test_a_caller_who_leaves_while_a_token_is_spent_does_not_lose_its_successor(
    machine: Machine, machines: Machines, oura: SingleUse, how: str, step: str
) -> None:
    stop = Stop(step)
    leaver = machines(checkpoint=stop)
    if step == "sent":
        oura.answer, stop.reached, stop.go = anyio.Event(), oura.sent, anyio.Event()

    with anyio.fail_after(5):
        if how == "anyio":
            async with anyio.create_task_group() as group:
                group.start_soon(leaver.rotation.access_token, ADA)
                await stop.reached.wait()
                group.cancel_scope.cancel()
        else:
            task = asyncio.create_task(leaver.rotation.access_token(ADA))
            await stop.reached.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert (await machine.load()).refresh_token == "refresh-0"
        oura.answer.set()
        stop.go.set()
        await leaver.rotation.drain()

    assert (await machine.load()).refresh_token == "refresh-1"
    assert await machine.rotation.access_token(ADA) == "access-1"
    assert oura.presented == ["refresh-0"]


async def test_the_other_callers_get_their_answer_when_the_one_who_began_leaves(
    machine: Machine, oura: SingleUse
) -> None:
    oura.answer = anyio.Event()
    got: list[str] = []
    scope = anyio.CancelScope()

    async def first() -> None:
        with scope:
            await machine.rotation.access_token(ADA)

    async def second() -> None:
        got.append(await machine.rotation.access_token(ADA))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(first)
            await oura.sent.wait()
            group.start_soon(second)
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
            oura.answer.set()

    assert got == ["access-1"]
    assert oura.presented == ["refresh-0"]


async def test_draining_waits_until_the_successor_is_stored_and_begins_nothing_new(
    machine: Machine, machines: Machines, oura: SingleUse, clock: Clock
) -> None:
    stop = Stop("spent")
    leaver = machines(checkpoint=stop)
    drained = anyio.Event()

    async def drain() -> None:
        await leaver.rotation.drain()
        drained.set()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(leaver.rotation.access_token, ADA)
            await stop.reached.wait()
            group.start_soon(drain)
            await anyio.wait_all_tasks_blocked()
            assert not drained.is_set()
            stop.go.set()
            await drained.wait()

    assert (await machine.load()).refresh_token == "refresh-1"
    clock.at += 86_400
    with pytest.raises(SourceUnreachable, match="shutting down"):
        await leaver.rotation.access_token(ADA)
    assert oura.presented == ["refresh-0"]


async def test_draining_does_not_wait_for_those_who_only_wait(
    machine: Machine, machines: Machines, oura: SingleUse
) -> None:
    waiter = machines()
    errors: list[str] = []

    async def ask() -> None:
        try:
            await waiter.rotation.access_token(ADA)
        except SourceUnreachable as exc:
            errors.append(str(exc))

    with anyio.fail_after(5):
        async with (
            machine.store.lease(f"refresh:oura:{ADA.owner}", ttl_s=30, wait_s=0),
            anyio.create_task_group() as group,
        ):
            group.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            await waiter.rotation.drain()

    assert "shutting down" in errors[0]
    assert oura.presented == []


# A process that stands still and wakes when its lease is another's: fencing.


Lapse = Callable[[float], Awaitable[None]]


@pytest.fixture
def lapse(place: Place, clock: Clock, machine: Machine) -> Lapse:
    """Let so many seconds pass, after which the lease that is held has ended."""

    async def lapse(seconds: float) -> None:
        clock.at += seconds
        await place.end_leases()

    return lapse


@pytest.mark.parametrize("lost_after_s", [5, 31], ids=["lease lost early", "lease run out"])
@pytest.mark.parametrize("step", ["leased", "decided"])
async def test_a_holder_that_slept_through_its_lease_sends_nothing_after_another_was_here(
    machine: Machine,
    machines: Machines,
    oura: SingleUse,
    lapse: Lapse,
    step: str,
    lost_after_s: float,
) -> None:
    stop = Stop(step)
    sleeper = machines(checkpoint=stop)
    errors: list[StoreUnavailable] = []

    async def sleep() -> None:
        with pytest.raises(StoreUnavailable) as caught:
            await sleeper.rotation.access_token(ADA)
        errors.append(caught.value)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(sleep)
            await stop.reached.wait()
            await lapse(lost_after_s)
            oura.faults = ["500"]  # the other tried, in vain: nothing of the connection has changed
            with pytest.raises(Exception, match="500"):
                await machine.rotation.access_token(ADA)
            stop.go.set()

    assert "gave" in str(errors[0]) or "given up" in str(errors[0])
    assert oura.presented == ["refresh-0"]
    assert await machine.rotation.access_token(ADA) == "access-2"


async def test_a_holder_that_slept_through_its_lease_sends_nothing_even_if_nobody_was_here(
    machine: Machine, machines: Machines, oura: SingleUse, lapse: Lapse
) -> None:
    stop = Stop("noted")
    sleeper = machines(checkpoint=stop)

    async def sleep() -> None:
        with pytest.raises(StoreUnavailable, match="given up before anything was sent"):
            await sleeper.rotation.access_token(ADA)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(sleep)
            await stop.reached.wait()
            await lapse(31)
            stop.go.set()

    assert oura.presented == []
    assert await machine.rotation.access_token(ADA) == "access-1"  # at once: it is known that nothing was sent


async def test_nobody_sends_while_a_holder_that_noted_late_may_still_be_sending(
    machine: Machine, machines: Machines, oura: SingleUse, lapse: Lapse, clock: Clock
) -> None:
    oura.answer = anyio.Event()
    slow = machines()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(slow.rotation.access_token, ADA)
            await oura.sent.wait()
            await lapse(19)  # too soon: Redis was started anew, and the request may take twenty
            with pytest.raises(Exception, match="next attempt is possible in 1 s"):
                await machine.rotation.access_token(ADA)
            oura.answer.set()

    assert oura.presented == ["refresh-0"]
    assert await machine.rotation.access_token(ADA) == "access-1"


async def test_a_late_result_does_not_overwrite_what_a_later_holder_wrote(
    machine: Machine, machines: Machines, oura: SingleUse, lapse: Lapse
) -> None:
    stop = Stop("spent")
    sleeper = machines(checkpoint=stop)

    async def sleep() -> None:
        with pytest.raises(ReconnectRequired):
            await sleeper.rotation.access_token(ADA)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(sleep)
            await stop.reached.wait()
            await lapse(31)
            with pytest.raises(ReconnectRequired, match="interrupted"):
                await machine.rotation.access_token(ADA)
            written = await machine.load()
            stop.go.set()

    assert await machine.load() == written
    assert written.state == "ended"


async def test_fences_grow_with_each_holder_and_stand_in_what_was_written(
    machine: Machine, machines: Machines, oura: SingleUse, clock: Clock
) -> None:
    await machine.rotation.access_token(ADA)
    first = (await machine.load()).fence
    clock.at += 86_400
    await machines().rotation.access_token(ADA)

    assert (await machine.load()).fence > first > 0
