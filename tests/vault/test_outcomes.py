"""What each answer of the token endpoint does to the connection, and what the owner is told: T5, T9, A5, A6."""

import anyio
import pytest

from app.errors import SourceError, SourceUnreachable
from app.vault.intents import Intents
from app.vault.outcomes import NotSent, OutcomeUnknown, RefreshMisconfigured
from tests.store.conftest import Clock
from tests.vault.ada import ADA, RECONNECT
from tests.vault.asking import refusal
from tests.vault.conftest import Machine, Machines, connection
from tests.vault.single_use import SingleUse

pytestmark = pytest.mark.anyio


async def test_a_lost_answer_is_followed_by_one_attempt_one_explanation_and_silence_at_oura(
    machine: Machine, machines: Machines, oura: SingleUse
) -> None:
    peer = machines()
    oura.faults = ["cut"]

    with pytest.raises(OutcomeUnknown):
        await machine.rotation.access_token(ADA)
    noted = await Intents(machine.store, "oura").read(ADA.owner)
    assert noted is not None
    intent = noted.intent
    generation = (await machine.load()).generation
    assert (intent.doubt, intent.outcome, intent.generation) == (True, "unknown", generation)  # the journal says so

    first, second, third = await refusal(peer), await refusal(machine), await refusal(peer)

    assert "interrupted" in first
    assert second == third
    assert "interrupted" not in second
    for text in (first, second):
        assert f"sign in again at {RECONNECT}" in text
    assert oura.presented == ["refresh-0", "refresh-0"]
    stored = await machine.load()
    assert (stored.state, stored.ended_why, stored.told) == ("ended", "interrupted", True)


async def test_of_fifty_callers_who_find_the_renewal_interrupted_one_is_told_why(
    machine: Machine, machines: Machines, oura: SingleUse
) -> None:
    pair = [machine, machines()]
    oura.faults = ["cut"]
    with pytest.raises(OutcomeUnknown):
        await machine.rotation.access_token(ADA)
    texts: list[str] = []

    async def ask(n: int) -> None:
        texts.append(await refusal(pair[n % 2]))

    async with anyio.create_task_group() as group:
        for n in range(50):
            group.start_soon(ask, n)

    assert sum("interrupted" in text for text in texts) == 1
    assert len(set(texts)) == 2
    assert oura.presented == ["refresh-0", "refresh-0"]


async def test_an_explicit_refusal_ends_the_connection_for_every_call_and_process(
    machine: Machine, machines: Machines, oura: SingleUse
) -> None:
    oura.faults = ["refused"]

    texts = {await refusal(machine), await refusal(machine), await refusal(machines())}

    assert len(texts) == 1
    assert "refused to renew" in texts.pop()
    assert oura.presented == ["refresh-0"]
    assert (await machine.load()).ended_why == "refused"


@pytest.mark.parametrize(
    ("fault", "error", "then"),
    [
        ("500", OutcomeUnknown, "access-2"),
        ("hangs", OutcomeUnknown, "access-2"),
        ("not sent", NotSent, "access-1"),
        ("misconfigured", RefreshMisconfigured, "access-2"),
    ],
    ids=["500", "hangs", "not sent", "misconfigured"],
)
async def test_any_failure_but_a_refusal_keeps_the_credential_and_the_next_attempt_succeeds(
    machine: Machine,
    machines: Machines,
    oura: SingleUse,
    clock: Clock,
    fault: str,
    error: type[SourceError],
    then: str,
) -> None:
    hasty = machines(deadline_s=0.2, lease_ttl_s=30)
    oura.faults = [fault]
    before = await machine.load()

    with pytest.raises(error) as caught:
        await hasty.rotation.access_token(ADA)
    assert "refresh-0" not in str(caught.value)
    assert await machine.load() == before

    clock.at += 60
    assert await machine.rotation.access_token(ADA) == then
    assert (await machine.load()).refresh_token == oura.valid


async def test_an_answer_that_nobody_can_read_counts_as_unknown(machine: Machine, oura: SingleUse) -> None:
    oura.faults = ["garbage"]

    with pytest.raises(OutcomeUnknown):
        await machine.rotation.access_token(ADA)

    assert (await machine.load()).state == "live"
    assert "interrupted" in await refusal(machine)  # it had been spent


async def test_a_connect_error_after_a_lost_answer_does_not_make_one_forget_the_doubt(
    machine: Machine, oura: SingleUse, clock: Clock
) -> None:
    oura.faults = ["cut", "not sent"]
    for error in (OutcomeUnknown, NotSent):
        with pytest.raises(error):
            await machine.rotation.access_token(ADA)

    clock.at += 60
    assert "interrupted" in await refusal(machine)


async def test_a_permanent_failure_is_tried_at_most_once_a_call_and_the_pause_is_shared(
    machine: Machine, machines: Machines, oura: SingleUse, clock: Clock
) -> None:
    peer = machines()
    oura.faults = ["misconfigured"] * 10
    waits: list[str] = []

    for n in range(10):
        with pytest.raises(RefreshMisconfigured) as caught:
            await (machine, peer)[n % 2].rotation.access_token(ADA)
        waits.append(str(caught.value))

    assert oura.presented == ["refresh-0"]
    assert "in 15 s" in waits[-1]
    assert "client id" in waits[-1]
    clock.at += 15
    for n in range(10):
        with pytest.raises(RefreshMisconfigured):
            await (machine, peer)[n % 2].rotation.access_token(ADA)
    assert oura.presented == ["refresh-0"] * 2
    assert (await machine.load()).state == "live"


async def test_a_source_that_stays_down_is_asked_ever_less_often(
    machine: Machine, machines: Machines, oura: SingleUse, clock: Clock
) -> None:
    peer = machines()
    oura.faults = ["500"] * 100

    for n in range(3600):  # an hour of calls, one a second
        if n % 10 == 0:
            with pytest.raises(SourceUnreachable):
                await (machine, peer)[n % 20 == 0].rotation.access_token(ADA)
        clock.at += 1

    assert 10 < len(oura.presented) < 20


async def test_a_clock_set_back_does_not_prolong_a_pause(machine: Machine, oura: SingleUse, clock: Clock) -> None:
    oura.faults = ["misconfigured"]
    await machine.connections.connect(connection(clock, left_s=-100_000))
    with pytest.raises(RefreshMisconfigured):
        await machine.rotation.access_token(ADA)

    clock.at -= 50_000

    assert await machine.rotation.access_token(ADA) == "access-2"
