"""/token with a refresh token: rotation, the window for parallel hosts, and what happens to a thief."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from app.authserver.issued.grants import REFRESH_LIFE_S
from app.authserver.issued.tokens import ACCESS_LIFE_S, GRACE_S
from app.authserver.records import to_json, token_hash
from app.errors import StoreUnavailable
from app.store.sqlite import SqliteStore
from tests.authserver.stage import OWNER, RESOURCE, Clock, Stage, staged

pytestmark = pytest.mark.anyio


async def test_a_refresh_gives_new_tokens_and_keeps_the_old_access_token_alive(stage: Stage) -> None:
    held = await stage.connect()

    answer = await stage.refresh(held, resource=RESOURCE)

    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    found = answer.json()
    assert (found["token_type"], found["expires_in"], found["scope"]) == ("Bearer", 3600, "health:read")
    assert found["refresh_token"] != held["refresh_token"]
    assert found["access_token"] != held["access_token"]
    assert await stage.may(found["access_token"])
    assert await stage.may(held["access_token"])


async def test_the_advertised_life_is_the_real_one(stage: Stage) -> None:
    held = await stage.connect()

    stage.clock.pass_s(ACCESS_LIFE_S - 1)
    assert await stage.may(held["access_token"])
    stage.clock.pass_s(1)

    assert not await stage.may(held["access_token"])


async def test_the_grant_shows_when_the_app_came_back(stage: Stage) -> None:
    held = await stage.connect()
    stage.clock.pass_s(500)

    await stage.refresh(held)

    (grant,) = await stage.server.grants.list(OWNER)
    assert grant.refreshed_at == stage.clock.at == grant.created_at + 500


async def test_six_presentations_within_the_window_get_the_same_answer(stage: Stage) -> None:
    held = await stage.connect()
    first = await stage.refresh(held)

    for later_s in (0, 30, 60, 20, 10):
        stage.clock.pass_s(later_s)
        again = await stage.refresh(held)
        assert (again.status_code, again.json()) == (200, first.json())
        # ... and the lifetime that the repeated answer states is true again.
        stage.clock.pass_s(ACCESS_LIFE_S - 1)
        assert await stage.may(again.json()["access_token"])
        stage.clock.pass_s(1 - ACCESS_LIFE_S)

    assert len(await stage.server.grants.list(OWNER)) == 1
    assert (await stage.refresh({**first.json(), "client_id": held["client_id"]})).status_code == 200


async def test_presentations_at_the_same_moment_get_the_same_answer(stage: Stage) -> None:
    held = await stage.connect()
    answers: list[dict[str, object]] = []

    async def one() -> None:
        answers.append((await stage.refresh(held)).json())

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(30):  # more than the bridge has threads
                group.start_soon(one)

    assert answers == [answers[0]] * 30
    assert "refresh_token" in answers[0]
    live = [raw async for _, raw in stage.store.scan("refresh:") if b'"successor":null' in raw]
    assert len(live) == 1
    assert len([key async for key, _ in stage.store.scan("answer:")]) == 1
    assert len([key async for key, _ in stage.store.scan("access:")]) == 2


async def test_two_processes_on_one_store_agree_on_the_answer(tmp_path: Path) -> None:
    clock = Clock()
    path = tmp_path / "vitals.sqlite3"
    one_store, two_store = SqliteStore(path, now=clock), SqliteStore(path, now=clock)
    async with (
        staged(tmp_path, store=one_store, clock=clock) as one,
        staged(tmp_path, store=two_store, clock=clock) as two,
    ):
        held = await one.connect()
        answers: list[object] = []

        async def ask(stage: Stage) -> None:
            answers.append((await stage.refresh(held)).json())

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                for stage in (one, two) * 5:
                    group.start_soon(ask, stage)

        assert answers == [answers[0]] * 10
    await one_store.aclose()
    await two_store.aclose()


async def test_after_the_window_a_used_token_ends_the_family(stage: Stage) -> None:
    held = await stage.connect()
    bystander = await stage.connect(held["client_id"])
    new = {**(await stage.refresh(held)).json(), "client_id": held["client_id"]}

    stage.clock.pass_s(GRACE_S + 1)
    answer = await stage.refresh(held)

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
    assert not await stage.may(new["access_token"])
    assert not await stage.may(held["access_token"])
    assert (await stage.refresh(new)).json()["error"] == "invalid_grant"
    assert await stage.may(bystander["access_token"])
    assert len(await stage.server.grants.list(OWNER)) == 1


async def test_the_window_is_counted_from_the_rotation_and_repeating_does_not_prolong_it(stage: Stage) -> None:
    held = await stage.connect()
    stage.clock.pass_s(3000)
    await stage.refresh(held)

    stage.clock.pass_s(GRACE_S)
    assert (await stage.refresh(held)).status_code == 200
    stage.clock.pass_s(1)

    assert (await stage.refresh(held)).json()["error"] == "invalid_grant"


async def test_the_window_counts_from_the_moment_of_rotation_not_from_the_start_of_the_request(tmp_path: Path) -> None:
    clock = Clock()
    store = SlowAnswers(tmp_path / "vitals.sqlite3", now=clock)
    store.clock = clock
    async with staged(tmp_path, store=store, clock=clock) as stage:
        held = await stage.connect()
        store.slow_s = 100
        await stage.refresh(held)
        store.slow_s = 0

        clock.pass_s(GRACE_S)
        assert (await stage.refresh(held)).status_code == 200
    await store.aclose()


class SlowAnswers(SqliteStore):
    """Takes its time to store an answer."""

    clock: Clock
    slow_s = 0.0

    async def put(self, key: str, value: bytes, *, ttl_s: float | None = None) -> None:
        await super().put(key, value, ttl_s=None if key.startswith("answer:") else ttl_s)
        if key.startswith("answer:"):
            self.clock.pass_s(self.slow_s)


async def test_using_the_successor_closes_the_window(stage: Stage) -> None:
    held = await stage.connect()
    second = {**(await stage.refresh(held)).json(), "client_id": held["client_id"]}
    third = {**(await stage.refresh(second)).json(), "client_id": held["client_id"]}

    answer = await stage.refresh(held)

    assert answer.json()["error"] == "invalid_grant"
    assert not await stage.may(third["access_token"])
    assert (await stage.refresh(third)).json()["error"] == "invalid_grant"


@pytest.mark.parametrize("used", [False, True], ids=["unused", "used before"])
async def test_another_client_is_refused_and_nothing_is_revoked(stage: Stage, used: bool) -> None:
    held = await stage.connect()
    if used:
        await stage.refresh(held)
        stage.clock.pass_s(GRACE_S + 1)

    answer = await stage.refresh(held, client_id=await stage.public_client())

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
    assert await stage.may(held["access_token"])
    if not used:
        assert (await stage.refresh(held)).status_code == 200


@pytest.mark.parametrize(
    ("change", "status", "error"),
    [
        pytest.param({"refresh_token": ""}, 400, "invalid_request", id="no token"),
        pytest.param({"refresh_token": "vrt_unknown"}, 400, "invalid_grant", id="unknown token"),
        pytest.param({"refresh_token": "x" * 9000}, 400, "invalid_grant", id="long token"),
        pytest.param({"resource": "https://other.example/mcp"}, 400, "invalid_target", id="another resource"),
        pytest.param({"scope": "health:write"}, 400, "invalid_scope", id="unknown scope"),
        pytest.param({"scope": "health:read health:write"}, 400, "invalid_scope", id="more scope"),
        pytest.param({"client_id": ""}, 401, "invalid_client", id="no client"),
        pytest.param({"client_secret": "x"}, 401, "invalid_client", id="a secret from a public client"),
    ],
)
async def test_a_wrong_attempt_is_refused_and_spends_nothing(
    stage: Stage, change: dict[str, str], status: int, error: str
) -> None:
    held = await stage.connect()

    answer = await stage.refresh(held, **change)

    assert (answer.status_code, answer.json()["error"]) == (status, error)
    assert answer.json()["error_description"]
    raw = [value async for _, value in stage.store.scan("refresh:")]
    assert all(b'"successor":null' in each for each in raw)
    assert (await stage.refresh(held)).status_code == 200


@pytest.mark.parametrize("scope", ["", "health:read", "offline_access", "health:read offline_access"])
async def test_the_scope_is_kept_or_narrowed(stage: Stage, scope: str) -> None:
    held = await stage.connect()

    answer = await stage.refresh(held, scope=scope)

    assert answer.json()["scope"] == "health:read"


async def test_an_access_token_is_no_refresh_token(stage: Stage) -> None:
    held = await stage.connect()

    assert (await stage.refresh(held, refresh_token=held["access_token"])).json()["error"] == "invalid_grant"
    assert not await stage.may(held["refresh_token"])


async def test_the_binding_to_owner_resource_and_client_survives_ten_refreshes(stage: Stage) -> None:
    held = await stage.connect()
    before = await stage.server.verifier.verify(held["access_token"])

    for _ in range(10):
        stage.clock.pass_s(3600)
        held |= (await stage.refresh(held)).json()

    assert await stage.server.verifier.verify(held["access_token"]) == before


async def test_thirty_days_slide(stage: Stage) -> None:
    held = await stage.connect()
    for _ in range(4):
        stage.clock.pass_s(REFRESH_LIFE_S - 1)
        answer = await stage.refresh(held)
        assert answer.status_code == 200
        held |= answer.json()

    stage.clock.pass_s(REFRESH_LIFE_S)

    assert REFRESH_LIFE_S == 30 * 24 * 3600
    assert (await stage.refresh(held)).json()["error"] in {"invalid_grant", "invalid_client"}


async def test_what_the_owner_ended_cannot_be_refreshed(stage: Stage) -> None:
    held = await stage.connect()
    (grant,) = await stage.server.grants.list(OWNER)
    assert await stage.server.grants.revoke(grant.id)

    answer = await stage.refresh(held)

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")


async def test_a_repeated_answer_does_not_bring_a_revoked_access_token_back(stage: Stage) -> None:
    held = await stage.connect()
    new = (await stage.refresh(held)).json()
    await stage.http.post("/revoke", data={"token": new["access_token"], "client_id": held["client_id"]})

    again = await stage.refresh(held)

    assert again.json() == new
    assert not await stage.may(new["access_token"])


async def test_the_store_alone_cannot_open_a_kept_answer(stage: Stage) -> None:
    held = await stage.connect()
    new = (await stage.refresh(held)).json()
    ((key, sealed),) = [each async for each in stage.store.scan("answer:")]

    assert new["refresh_token"].encode() not in sealed
    # Another answer's place, or another token, opens nothing: put it where a second grant's answer belongs.
    other = await stage.connect()
    await stage.refresh(other)
    (theirs,) = [name async for name, _ in stage.store.scan("answer:") if name != key]
    await stage.store.put(theirs, sealed)
    assert (await stage.refresh(other)).json()["error"] == "invalid_grant"


async def test_an_answer_opens_for_the_token_that_it_was_made_for_and_no_other(stage: Stage) -> None:
    held, other = await stage.connect(), await stage.connect()
    await stage.refresh(held)
    rotated = await stage.server.tokens.find_refresh(held["refresh_token"])
    theirs = await stage.server.tokens.find_refresh(other["refresh_token"])
    assert rotated is not None
    assert theirs is not None
    # Someone who can write to the store points another app's token at the same answer.
    forged = replace(theirs, rotated_at=rotated.rotated_at, successor=rotated.successor)
    await stage.store.put(f"refresh:{token_hash(other['refresh_token'])}", to_json(forged))

    answer = await stage.refresh(other)

    assert answer.json()["error"] == "invalid_grant"


async def test_an_answer_is_not_kept_longer_than_the_window(stage: Stage) -> None:
    held = await stage.connect()
    await stage.refresh(held)

    stage.clock.pass_s(GRACE_S + 60)

    assert [key async for key, _ in stage.store.scan("answer:")] == []


class Dies(SqliteStore):
    """Stops answering before its nth write from now on, like a process that is killed."""

    writes_left: int | None = None

    def _count(self) -> None:
        if self.writes_left is not None:
            if self.writes_left == 0:
                raise StoreUnavailable("killed")
            self.writes_left -= 1

    async def put(self, key: str, value: bytes, *, ttl_s: float | None = None) -> None:
        self._count()
        await super().put(key, value, ttl_s=ttl_s)

    async def compare_and_set(
        self, key: str, expected: bytes | None, value: bytes, *, ttl_s: float | None = None
    ) -> bool:
        self._count()
        return await super().compare_and_set(key, expected, value, ttl_s=ttl_s)


async def test_killed_before_any_write_of_a_rotation_exactly_one_family_lives(tmp_path: Path) -> None:
    clock = Clock()
    store = Dies(tmp_path / "vitals.sqlite3", now=clock)
    async with staged(tmp_path, store=store, clock=clock) as stage:
        for survived in range(20):
            held = await stage.connect()
            store.writes_left = survived
            died = await stage.refresh(held)
            store.writes_left = None
            retried = await stage.refresh(held)  # the app's retry, within the window

            assert retried.status_code == 200
            live = {**retried.json(), "client_id": held["client_id"]}
            assert await stage.may(live["access_token"])
            assert (await stage.refresh(live)).status_code == 200
            if died.status_code == 200:
                assert survived == 6  # client, access, refresh, answer, grant, rotation
                break
        else:
            pytest.fail("a rotation never finished")
    await store.aclose()


async def test_killed_before_any_write_of_a_redemption_the_code_is_good_or_spent_and_no_grant_is_half_made(
    tmp_path: Path,
) -> None:
    clock = Clock()
    store = Dies(tmp_path / "vitals.sqlite3", now=clock)
    async with staged(tmp_path, store=store, clock=clock) as stage:
        client_id = await stage.public_client()
        for survived in range(20):
            code = await stage.code(client_id)
            store.writes_left = survived
            died = await stage.redeem(client_id, code)
            store.writes_left = None
            if died.status_code == 200:
                assert survived == 5  # client, access, refresh, code, grant
                assert await stage.may(died.json()["access_token"])
                break
            assert len(await stage.server.grants.list(OWNER)) == survived  # those of the rounds before
            retried = await stage.redeem(client_id, code)
            if survived == 4:  # the code was spent: the app begins anew
                assert retried.json()["error"] == "invalid_grant"
                continue
            assert retried.status_code == 200
            assert await stage.may(retried.json()["access_token"])
        else:
            pytest.fail("a redemption never finished")
        assert len(await stage.server.grants.list(OWNER)) == survived
    await store.aclose()
