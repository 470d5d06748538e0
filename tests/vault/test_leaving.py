"""An owner who leaves while their connection is renewed: gone, and nothing left alive at the source."""

import anyio
import pytest

from app.errors import ReconnectRequired
from app.vault.connections import Connection, Erased
from tests.store.conftest import Clock
from tests.vault.ada import ADA, RECONNECT
from tests.vault.asking import refusal, round_trips
from tests.vault.conftest import Machine, Machines, connection
from tests.vault.single_use import SingleUse

pytestmark = pytest.mark.anyio


async def test_an_owner_who_leaves_during_a_refresh_takes_its_tokens_along(
    machine: Machine, machines: Machines, oura: SingleUse
) -> None:
    elsewhere = machines()  # the command `vitals disconnect` is a process of its own
    oura.answer = anyio.Event()
    left: list[Erased] = []

    async def leave() -> None:
        left.append(await elsewhere.connections.erase(ADA.owner))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(machine.rotation.access_token, ADA)
            await oura.sent.wait()
            group.start_soon(leave)
            await round_trips(machine)
            assert left == []
            oura.answer.set()

    (erased,) = left
    assert erased.connection is not None
    assert (erased.connection.access_token, erased.connection.refresh_token) == ("access-1", "refresh-1")
    assert [key async for key, _ in machine.store.scan("")] == []
    assert RECONNECT in await refusal(machine)


async def test_a_refresh_that_stands_still_does_not_keep_an_owner_from_leaving_and_its_result_is_given_back(
    machine: Machine, oura: SingleUse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.vault.connections._LAST_RENEWAL_S", 0.01)

    async def leave() -> None:
        assert (await machine.connections.erase(ADA.owner)).found

    oura.meanwhile = leave

    with pytest.raises(ReconnectRequired):
        await machine.rotation.access_token(ADA)

    assert await machine.connections.load(ADA.owner) is None
    assert oura.given_back == [("access-1", "refresh-1")]


@pytest.mark.parametrize("fault", ["", "refused"], ids=["renewed", "refused"])
async def test_an_owner_who_leaves_and_comes_back_meets_nothing_of_a_refresh_from_before(
    machine: Machine, oura: SingleUse, clock: Clock, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setattr("app.vault.connections._LAST_RENEWAL_S", 0.01)
    came_back: list[Connection] = []

    async def leave_and_return() -> None:
        await machine.connections.erase(ADA.owner)
        fresh = connection(clock, left_s=86_400, access_token="access-new", account_id="account-new")
        came_back.append(await machine.connections.connect(fresh))

    oura.meanwhile, oura.faults = leave_and_return, [fault]

    assert await machine.rotation.access_token(ADA) == "access-new"

    assert [await machine.load()] == came_back
    assert oura.given_back == []  # it might end the sign-in that took their place
