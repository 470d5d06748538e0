"""One refresh however many ask, and whoever loses a race reads again."""

from dataclasses import replace

import anyio
import pytest

from app.errors import StoreUnavailable, VitalsError
from app.vault.connections import Connection
from app.vault.outcomes import OutcomeUnknown, TokenAnswer
from tests.store.conftest import Clock
from tests.vault.ada import ADA, RECONNECT
from tests.vault.asking import refusal, round_trips
from tests.vault.conftest import Machine, Machines, connection
from tests.vault.single_use import SCOPES, TOKEN_URL, SingleUse

pytestmark = pytest.mark.anyio


# One refresh, many callers: T1, T3.


async def test_a_token_with_life_left_is_given_without_a_refresh(
    machine: Machine, oura: SingleUse, clock: Clock
) -> None:
    await machine.connections.connect(connection(clock, left_s=3600))

    assert await machine.rotation.access_token(ADA) == "access-0"
    assert oura.presented == []


@pytest.mark.parametrize("count", [1, 2], ids=["one process", "two processes"])
async def test_fifty_callers_at_once_cause_one_refresh_and_get_fifty_answers(
    machine: Machine, machines: Machines, oura: SingleUse, count: int
) -> None:
    all_machines = [machine, *(machines() for _ in range(count - 1))]
    oura.answer = anyio.Event()
    got: list[str] = []

    async def ask(n: int) -> None:
        got.append(await all_machines[n % count].rotation.access_token(ADA))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for n in range(50):
                group.start_soon(ask, n)
            await oura.sent.wait()
            await round_trips(machine)  # all fifty are in flight before Oura answers
            oura.answer.set()

    assert got == ["access-1"] * 50
    assert oura.presented == ["refresh-0"]


async def test_the_answer_is_stored_with_everything_the_next_refresh_needs(
    machine: Machine, oura: SingleUse, clock: Clock
) -> None:
    before = await machine.load()

    await machine.rotation.access_token(ADA)

    stored = await machine.load()
    assert (stored.access_token, stored.refresh_token) == ("access-1", "refresh-1")
    assert (stored.obtained_at, stored.expires_at) == (clock(), clock() + 86_400)
    assert (stored.account_id, stored.timezone, stored.scopes) == ("account-ada", "Europe/Helsinki", SCOPES)
    assert (stored.generation, stored.state) == (before.generation + 1, "live")
    clock.at += 86_400
    assert await machine.rotation.access_token(ADA) == "access-2"
    assert oura.presented == ["refresh-0", "refresh-1"]


async def test_the_life_of_a_token_is_counted_from_before_it_was_asked_for(
    machine: Machine, oura: SingleUse, clock: Clock
) -> None:
    asked_at = clock()

    async def think() -> None:
        clock.at += 10

    oura.meanwhile = think

    await machine.rotation.access_token(ADA)

    stored = await machine.load()
    assert (stored.obtained_at, stored.expires_at) == (asked_at, asked_at + 86_400)


async def test_an_answer_without_scopes_or_refresh_token_keeps_the_stored_ones(
    machine: Machine, oura: SingleUse
) -> None:
    oura.faults = ["bare"]

    await machine.rotation.access_token(ADA)

    stored = await machine.load()
    assert stored.scopes == SCOPES
    assert stored.refresh_token == "refresh-0"
    assert stored.access_token == "access-1"


async def test_the_endpoint_that_worked_is_tried_first_next_time(
    machine: Machine, machines: Machines, clock: Clock
) -> None:
    class Moved(SingleUse):
        async def refresh(self, refresh_token: str, *, token_url: str) -> TokenAnswer:
            asked.append(token_url)
            answer = await super().refresh(refresh_token, token_url=token_url)
            return replace(answer, token_url="https://new.example/token")

    asked: list[str] = []
    moved = machines(endpoint=Moved())
    await moved.rotation.access_token(ADA)
    clock.at += 86_400
    await moved.rotation.access_token(ADA)

    assert asked == [TOKEN_URL, "https://new.example/token"]


# Who loses a race reads again: T2.


async def test_a_refusal_of_a_generation_that_is_no_longer_the_stored_one_ends_nothing(
    machine: Machine, machines: Machines, oura: SingleUse
) -> None:
    peer = machines()

    async def peer_renews() -> None:
        held = await peer.connections.read(ADA.owner)
        assert held is not None
        await peer.connections.update(
            held,
            lambda now: replace(
                now, access_token="access-peer", refresh_token="refresh-peer", generation=now.generation + 1
            ),
        )

    oura.meanwhile, oura.faults = peer_renews, ["refused"]

    assert await machine.rotation.access_token(ADA) == "access-peer"

    stored = await machine.load()
    assert (stored.state, stored.refresh_token) == ("live", "refresh-peer")
    assert oura.presented == ["refresh-0"]


@pytest.mark.parametrize("fault", ["", "refused", "cut"], ids=["renewed", "refused", "unknown"])
async def test_a_sign_in_during_a_refresh_is_not_overwritten_by_its_result(
    machine: Machine, oura: SingleUse, clock: Clock, fault: str
) -> None:
    async def sign_in() -> Connection:
        return await machine.connections.connect(
            connection(clock, left_s=86_400, access_token="access-new", refresh_token="refresh-new")
        )

    oura.meanwhile, oura.faults = sign_in, [fault]

    if fault == "cut":
        with pytest.raises(OutcomeUnknown):
            await machine.rotation.access_token(ADA)
    else:
        assert await machine.rotation.access_token(ADA) == "access-new"

    stored = await machine.load()
    assert (stored.state, stored.access_token, stored.refresh_token) == ("live", "access-new", "refresh-new")
    assert await machine.rotation.access_token(ADA) == "access-new"
    oura.meanwhile, oura.alive, oura.valid = None, True, "refresh-new"
    assert await machine.rotation.access_token(ADA, refused="access-new") == "access-2"  # no doubt is left over


# No connection, no store.


async def test_without_a_connection_the_owner_is_told_where_to_sign_in(machines: Machines) -> None:
    assert f"sign in again at {RECONNECT}" in await refusal(machines())


async def test_a_lease_that_is_not_free_in_time_fails_closed(
    machine: Machine, machines: Machines, oura: SingleUse
) -> None:
    impatient = machines(wait_s=0.01)

    async with machine.store.lease(f"refresh:oura:{ADA.owner}", ttl_s=30, wait_s=0):
        with pytest.raises(StoreUnavailable):
            await impatient.rotation.access_token(ADA)

    assert oura.presented == []


async def test_every_error_is_one_of_ours(machine: Machine, oura: SingleUse, clock: Clock) -> None:
    oura.faults = ["500", "not sent", "garbage", "misconfigured", "refused"]

    for _ in range(6):
        with pytest.raises(VitalsError) as caught:
            await machine.rotation.access_token(ADA)
        for private in ("access-", "refresh-0", ADA.owner):
            assert private not in str(caught.value)
        clock.at += 400


async def test_a_lease_shorter_than_what_it_guards_is_refused(machines: Machines) -> None:
    with pytest.raises(ValueError, match="lease_ttl_s"):
        machines(deadline_s=20, lease_ttl_s=29)
