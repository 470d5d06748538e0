"""A token that is still good is renewed before its end, or when it is refused before its time: T10."""

import anyio
import pytest

from app.vault.outcomes import OutcomeUnknown
from app.vault.rotation import Rotation
from tests.store.conftest import Clock
from tests.vault.ada import ADA
from tests.vault.asking import refusal
from tests.vault.conftest import Machine, Machines, connection
from tests.vault.single_use import SingleUse

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("left_s", "life_s", "renewed"),
    [(901, 86_400, False), (899, 86_400, True), (16, 60, False), (14, 60, True), (600, 3600, True)],
)
async def test_a_token_is_renewed_before_its_end_by_a_margin_that_fits_its_life(
    machine: Machine, oura: SingleUse, clock: Clock, left_s: float, life_s: float, renewed: bool
) -> None:
    await machine.connections.connect(connection(clock, left_s=left_s, life_s=life_s))

    assert await machine.rotation.access_token(ADA) == ("access-1" if renewed else "access-0")
    assert len(oura.presented) == renewed


@pytest.mark.parametrize("fault", ["refused", "500", "cut", "hangs", "not sent", "misconfigured", "garbage"])
async def test_an_early_renewal_that_fails_does_not_fail_the_call(
    machine: Machine, machines: Machines, oura: SingleUse, clock: Clock, fault: str
) -> None:
    hasty = machines(deadline_s=0.2, lease_ttl_s=30)
    await machine.connections.connect(connection(clock, left_s=600))
    oura.faults = [fault]

    assert await hasty.rotation.access_token(ADA) == "access-0"


@pytest.mark.parametrize("fault", ["500", "cut", "hangs", "garbage"])
async def test_while_the_token_is_good_a_refresh_token_in_doubt_is_not_sent_again(
    machine: Machine, machines: Machines, oura: SingleUse, clock: Clock, fault: str
) -> None:
    hasty = machines(deadline_s=0.2, lease_ttl_s=30)
    await machine.connections.connect(connection(clock, left_s=600))
    oura.faults = [fault]

    for _ in range(5):
        assert await hasty.rotation.access_token(ADA) == "access-0"
        clock.at += 100

    assert oura.presented == ["refresh-0"]
    clock.at += 100  # now it has run out, and there is nothing left to endanger
    if fault in ("500", "hangs"):
        assert await machine.rotation.access_token(ADA) == "access-2"
    else:
        assert "interrupted" in await refusal(machine)
    assert oura.presented == ["refresh-0"] * 2


async def test_an_early_renewal_that_takes_long_goes_on_behind_the_call(
    machine: Machine, machines: Machines, oura: SingleUse, clock: Clock
) -> None:
    quick = machines(early_wait_s=0.01)
    await machine.connections.connect(connection(clock, left_s=600))
    oura.answer = anyio.Event()

    with anyio.fail_after(5):
        assert await quick.rotation.access_token(ADA) == "access-0"
        await oura.sent.wait()
        oura.answer.set()
        await quick.rotation.drain()

    assert (await machine.load()).refresh_token == "refresh-1"
    assert await machine.rotation.access_token(ADA) == "access-1"


async def test_an_early_renewal_does_not_wait_for_another_process(
    machine: Machine, machines: Machines, oura: SingleUse, clock: Clock
) -> None:
    await machine.connections.connect(connection(clock, left_s=600))
    peer, patient = machines(), machines(early_wait_s=60)

    async with peer.store.lease(f"refresh:oura:{ADA.owner}", ttl_s=30, wait_s=0):
        with anyio.fail_after(5):
            assert await patient.rotation.access_token(ADA) == "access-0"

    assert oura.presented == []


async def ask_as_a_source_does(rotation: Rotation, good: set[str]) -> str:
    """401 once: one refresh, one more try; never a third."""
    token = await rotation.access_token(ADA)
    if token not in good:
        token = await rotation.access_token(ADA, refused=token)
    return token if token in good else "401"


async def test_a_token_refused_before_its_time_is_replaced_once_and_never_given_again(
    machine: Machine, oura: SingleUse, clock: Clock
) -> None:
    await machine.connections.connect(connection(clock, left_s=80_000))  # our clock is ten minutes wrong, or theirs

    assert await ask_as_a_source_does(machine.rotation, {"access-1"}) == "access-1"
    assert await machine.rotation.access_token(ADA, refused="access-0") == "access-1"
    assert oura.presented == ["refresh-0"]


async def test_a_source_that_refuses_the_new_token_too_costs_one_refresh_a_call(
    machine: Machine, oura: SingleUse, clock: Clock
) -> None:
    await machine.connections.connect(connection(clock, left_s=80_000))

    assert await ask_as_a_source_does(machine.rotation, set()) == "401"

    assert oura.presented == ["refresh-0"]


async def test_a_refused_token_is_not_given_back_when_its_renewal_fails(
    machine: Machine, oura: SingleUse, clock: Clock
) -> None:
    await machine.connections.connect(connection(clock, left_s=600))
    oura.faults = ["500"]

    with pytest.raises(OutcomeUnknown):
        await machine.rotation.access_token(ADA, refused="access-0")


async def test_fifty_callers_whose_token_was_refused_cause_one_refresh(
    machine: Machine, machines: Machines, oura: SingleUse, clock: Clock
) -> None:
    pair = [machine, machines()]
    await machine.connections.connect(connection(clock, left_s=80_000))
    got: list[str] = []

    async def ask(n: int) -> None:
        got.append(await pair[n % 2].rotation.access_token(ADA, refused="access-0"))

    async with anyio.create_task_group() as group:
        for n in range(50):
            group.start_soon(ask, n)

    assert got == ["access-1"] * 50
    assert oura.presented == ["refresh-0"]
