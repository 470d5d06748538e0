"""What is stored of a sign-in: sealed, pinned to one account, one generation after another."""

from dataclasses import replace

import anyio
import pytest

from app.errors import SealBroken, StoreUnavailable
from app.store.base import Store
from app.store.crypto import Keys
from app.vault.connections import GLANCE_S, AccountMismatch, Connection, Connections, Erased
from tests.store.conftest import Clock
from tests.vault.ada import ADA, KEYS
from tests.vault.conftest import connection

pytestmark = pytest.mark.anyio


@pytest.fixture
def connections(store: Store) -> Connections:
    return Connections(store, KEYS)


async def test_a_connection_comes_back_as_it_was_stored(connections: Connections, clock: Clock) -> None:
    for scopes in (frozenset({"daily", "spo2"}), frozenset[str](), None):
        stored = await connections.connect(connection(clock, scopes=scopes, timezone=None))

        assert await connections.load(ADA.owner) == stored
        assert stored.scopes == scopes
    assert await connections.load("nobody") is None


async def test_each_sign_in_is_the_next_generation_and_live(connections: Connections, clock: Clock) -> None:
    first = await connections.connect(connection(clock))
    held = await connections.read(ADA.owner)
    assert held is not None
    await connections.update(held, lambda now: replace(now, state="ended", ended_why="interrupted", told=True))

    second = await connections.connect(connection(clock, access_token="access-new"))

    assert second.generation == first.generation + 1
    assert (second.state, second.ended_why, second.told) == ("live", None, False)


@pytest.fixture
def seconds() -> list[float]:
    return [0.0]


@pytest.fixture
def glancing(store: Store, seconds: list[float]) -> Connections:
    return Connections(store, KEYS, clock=lambda: seconds[0])


async def _token_at_a_glance(connections: Connections) -> str | None:
    seen = await connections.glance(ADA.owner)
    return seen.access_token if seen else None


async def test_a_glance_reads_once_a_second_and_sees_by_then_what_another_process_wrote(
    glancing: Connections, connections: Connections, clock: Clock, seconds: list[float]
) -> None:
    await connections.connect(connection(clock))
    assert await _token_at_a_glance(glancing) == "access-0"
    await connections.connect(connection(clock, access_token="access-1"))

    seconds[0] = GLANCE_S - 0.1
    assert await _token_at_a_glance(glancing) == "access-0"
    seconds[0] = GLANCE_S

    assert await _token_at_a_glance(glancing) == "access-1"


async def test_a_glance_sees_at_once_what_this_process_wrote(glancing: Connections, clock: Clock) -> None:
    assert await _token_at_a_glance(glancing) is None
    await glancing.connect(connection(clock))
    assert await _token_at_a_glance(glancing) == "access-0"
    held = await glancing.read(ADA.owner)
    assert held is not None

    await glancing.update(held, lambda now: replace(now, access_token="access-1"))
    assert await _token_at_a_glance(glancing) == "access-1"
    await glancing.erase(ADA.owner)

    assert await _token_at_a_glance(glancing) is None


class SlowReads:
    """Holds what a store was asked for until it is let go."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = 0
        self.go = anyio.Event()
        self._get = store.get
        monkeypatch.setattr(store, "get", self)

    async def __call__(self, key: str) -> bytes | None:
        self.asked += 1
        found = await self._get(key)  # as it was then
        await self.go.wait()
        return found


async def test_questions_side_by_side_share_a_read(
    connections: Connections, store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await connections.connect(connection(clock))
    slow, tokens = SlowReads(store, monkeypatch), []

    async def ask(scope: anyio.CancelScope) -> None:
        with scope:
            held = await connections.read_along(ADA.owner)
            tokens.append(held.connection.access_token if held else None)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as questions:
            scopes = [anyio.CancelScope() for _ in range(3)]
            for scope in scopes:
                questions.start_soon(ask, scope)
            await anyio.wait_all_tasks_blocked()
            scopes[0].cancel()  # who asked first hangs up
            await anyio.wait_all_tasks_blocked()
            slow.go.set()

    assert tokens == ["access-0", "access-0"]
    assert slow.asked == 1
    await connections.read_along(ADA.owner)
    assert slow.asked == 2  # nothing is kept


async def test_what_this_process_wrote_is_not_missed_by_whoever_asks_during_an_older_read(
    connections: Connections, store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await connections.connect(connection(clock))
    held = await connections.read(ADA.owner)
    assert held is not None
    slow, tokens = SlowReads(store, monkeypatch), {}

    async def ask(name: str) -> None:
        found = await connections.read_along(ADA.owner)
        tokens[name] = found.connection.access_token if found else None

    with anyio.fail_after(5):
        async with anyio.create_task_group() as questions:
            questions.start_soon(ask, "before")
            await anyio.wait_all_tasks_blocked()
            await connections.update(held, lambda now: replace(now, access_token="access-1"))
            questions.start_soon(ask, "after")
            await anyio.wait_all_tasks_blocked()
            slow.go.set()

    assert tokens == {"before": "access-0", "after": "access-1"}


async def test_a_read_that_fails_fails_for_all_who_share_it_and_is_not_kept(
    connections: Connections, store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await connections.connect(connection(clock))
    with monkeypatch.context() as broken:

        async def fail(_key: str) -> bytes | None:
            raise StoreUnavailable("gone")

        broken.setattr(store, "get", fail)
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await connections.read_along(ADA.owner)

    assert await connections.read_along(ADA.owner) is not None


async def test_no_token_stands_in_the_store_in_the_clear(connections: Connections, store: Store, clock: Clock) -> None:
    await connections.connect(connection(clock))

    records = [key.encode() + value async for key, value in store.scan("")]

    assert len(records) == 2
    for private in (b"access-0", b"refresh-0", b"account-ada", b"Helsinki"):
        assert not any(private in record for record in records)


async def test_no_token_stands_in_what_a_traceback_would_print(clock: Clock) -> None:
    assert "access-0" not in repr(connection(clock))
    assert "refresh-0" not in str(connection(clock))


async def test_a_record_moved_to_another_owner_does_not_open(
    connections: Connections, store: Store, clock: Clock
) -> None:
    await connections.connect(connection(clock))
    for kind in ("conn", "pin"):
        raw = await store.get(f"{kind}:oura:{ADA.owner}")
        assert raw is not None
        await store.put(f"{kind}:oura:ograce", raw)

    with pytest.raises(SealBroken):
        await connections.load("ograce")
    with pytest.raises(SealBroken):
        await connections.pinned_account("ograce")


async def test_another_account_is_refused_and_changes_nothing(connections: Connections, clock: Clock) -> None:
    stored = await connections.connect(connection(clock))

    with pytest.raises(AccountMismatch):
        await connections.connect(connection(clock, account_id="account-other", access_token="stranger"))

    assert await connections.load(ADA.owner) == stored
    assert await connections.pinned_account(ADA.owner) == "account-ada"


async def test_of_two_first_sign_ins_at_once_one_account_is_pinned(connections: Connections, clock: Clock) -> None:
    refused: list[str] = []

    async def sign_in(account: str) -> None:
        try:
            await connections.connect(connection(clock, account_id=account))
        except AccountMismatch:
            refused.append(account)

    async with anyio.create_task_group() as group:
        for account in ("one", "two"):
            group.start_soon(sign_in, account)

    pinned = await connections.pinned_account(ADA.owner)
    stored = await connections.load(ADA.owner)
    assert stored is not None
    assert stored.account_id == pinned
    assert refused == ["two" if pinned == "one" else "one"]


async def test_erasing_leaves_nothing_of_the_owner_and_gives_what_can_be_revoked(
    connections: Connections, store: Store, clock: Clock
) -> None:
    stored = await connections.connect(connection(clock))
    await connections.connect(connection(clock, owner="ograce"))
    await store.put(f"intent:oura:{ADA.owner}", b"{}")

    assert await connections.erase(ADA.owner) == Erased(found=True, connection=stored)
    assert await connections.erase(ADA.owner) == Erased(found=False, connection=None)

    assert sorted([key async for key, _ in store.scan("")]) == ["conn:oura:ograce", "pin:oura:ograce"]
    assert await connections.owners() == ["ograce"]
    other: Connection = connection(clock, account_id="account-other")
    assert (await connections.connect(other)).account_id == "account-other"


async def test_an_owner_can_leave_even_when_the_key_is_gone(
    connections: Connections, store: Store, clock: Clock
) -> None:
    await connections.connect(connection(clock))
    stranger = Connections(store, Keys([b"another secret of thirty-two bytes"]))
    with pytest.raises(SealBroken):
        await stranger.load(ADA.owner)

    assert await stranger.erase(ADA.owner) == Erased(found=True, connection=None)

    assert [key async for key, _ in store.scan("")] == []


async def test_the_pin_outlives_its_key(connections: Connections, store: Store, clock: Clock) -> None:
    await connections.connect(connection(clock))
    new = b"the new secret of thirty-two bytes"
    both = Connections(store, Keys([new, b"a secret of thirty-two bytes or more"]))
    held = await both.read(ADA.owner)
    assert held is not None
    await both.update(held, lambda now: replace(now, generation=now.generation + 1))  # as a renewal does

    only_new = Connections(store, Keys([new]))
    assert await only_new.pinned_account(ADA.owner) == "account-ada"
    with pytest.raises(AccountMismatch):
        await only_new.connect(connection(clock, account_id="account-other"))
    await only_new.connect(connection(clock))
    raw = await store.get(f"pin:oura:{ADA.owner}")
    assert raw is not None
    assert Keys([new]).sealer("pin").open(raw, bound_to=f"pin:oura:{ADA.owner}") == b"account-ada"


async def test_an_update_is_made_on_top_of_a_change_that_touches_no_token(
    connections: Connections, clock: Clock
) -> None:
    await connections.connect(connection(clock))
    held = await connections.read(ADA.owner)
    assert held is not None
    await connections.update(held, lambda now: replace(now, timezone="Asia/Tokyo"))

    updated = await connections.update(held, lambda now: replace(now, access_token="access-1"))

    assert updated is not None
    assert (updated.timezone, updated.access_token) == ("Asia/Tokyo", "access-1")


@pytest.mark.parametrize("field", ["generation", "fence"])
async def test_an_update_from_an_earlier_version_changes_nothing(
    connections: Connections, clock: Clock, field: str
) -> None:
    await connections.connect(connection(clock))
    held = await connections.read(ADA.owner)
    assert held is not None
    newer = await connections.update(held, lambda now: replace(now, **{field: getattr(now, field) + 1}))

    assert await connections.update(held, lambda now: replace(now, access_token="late")) is None

    assert await connections.load(ADA.owner) == newer


async def test_of_many_who_ask_one_is_to_tell_the_owner(connections: Connections, clock: Clock) -> None:
    await connections.connect(connection(clock))
    told: list[bool] = []

    async def ask() -> None:
        held = await connections.read(ADA.owner)
        assert held is not None
        told.append(await connections.tell(held))

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(ask)

    assert sorted(told) == [False] * 19 + [True]
