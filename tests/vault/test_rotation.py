"""One refresh however many ask, and what each answer of the token endpoint does to the connection."""

from dataclasses import replace

import anyio
import pytest

from app.errors import ReconnectRequired, SourceError, SourceUnreachable, StoreUnavailable, VitalsError
from app.vault.connections import Connection, Erased
from app.vault.intents import Intents
from app.vault.outcomes import NotSent, OutcomeUnknown, RefreshMisconfigured, TokenAnswer
from app.vault.rotation import Rotation
from tests.store.conftest import Clock
from tests.vault.ada import ADA, RECONNECT
from tests.vault.conftest import Machine, Machines, connection
from tests.vault.single_use import SCOPES, TOKEN_URL, SingleUse

pytestmark = pytest.mark.anyio


async def round_trips(machine: Machine, count: int = 20) -> None:
    """Let everybody else do what they would do now, rightly or wrongly."""
    for _ in range(count):
        await machine.store.ping()


async def refusal(machine: Machine, *, refused: str | None = None) -> str:
    with pytest.raises(ReconnectRequired) as caught:
        await machine.rotation.access_token(ADA, refused=refused)
    return str(caught.value)


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


# An owner who leaves.


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


async def test_a_refresh_that_stands_still_does_not_keep_an_owner_from_leaving_and_its_result_is_dropped(
    machine: Machine, oura: SingleUse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.vault.connections._LAST_RENEWAL_S", 0.01)

    async def leave() -> None:
        assert (await machine.connections.erase(ADA.owner)).found

    oura.meanwhile = leave

    with pytest.raises(ReconnectRequired):
        await machine.rotation.access_token(ADA)

    assert await machine.connections.load(ADA.owner) is None


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


# What the endpoint's answers mean: T5, T9, A5, A6.


async def test_a_lost_answer_is_followed_by_one_attempt_one_explanation_and_silence_at_oura(
    machine: Machine, machines: Machines, oura: SingleUse
) -> None:
    peer = machines()
    oura.faults = ["cut"]

    with pytest.raises(OutcomeUnknown):
        await machine.rotation.access_token(ADA)
    intent = await Intents(machine.store, "oura").read(ADA.owner)
    assert intent is not None
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


# A token that is still good: early renewal, T10.


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
