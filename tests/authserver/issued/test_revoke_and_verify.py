"""/revoke (RFC 7009), the owner's own ending of grants, and what a bearer token must survive at each request."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from app.authserver.issued.verify import TokenInvalid
from app.authserver.records import AccessToken, to_json, token_hash
from app.identity import owner_key
from app.store.sqlite import SqliteStore
from tests.authserver.stage import OWNER, RESOURCE, Clock, Stage, staged

pytestmark = pytest.mark.anyio


class Asked(SqliteStore):
    """Notes each question to the store."""

    def __init__(self, path: Path, *, now: Callable[[], float]) -> None:
        super().__init__(path, now=now)
        self.asked: list[tuple[str, ...]] = []

    async def get_many(self, *keys: str) -> list[bytes | None]:
        self.asked.append(keys)
        return await super().get_many(*keys)


async def revoke(stage: Stage, token: str, client_id: str, **more: str) -> tuple[int, dict[str, str]]:
    answer = await stage.http.post("/revoke", data={"token": token, "client_id": client_id, **more})
    assert answer.headers["cache-control"] == "no-store"
    return answer.status_code, answer.json()


async def test_revoking_an_access_token_ends_that_one_alone(stage: Stage) -> None:
    held = await stage.connect()
    new = (await stage.refresh(held)).json()

    assert (await revoke(stage, held["access_token"], held["client_id"]))[0] == 200

    assert not await stage.may(held["access_token"])
    assert await stage.may(new["access_token"])
    assert len(await stage.server.grants.list(OWNER)) == 1


@pytest.mark.parametrize("which", ["the present one", "one that was used"])
async def test_revoking_a_refresh_token_ends_the_whole_grant(stage: Stage, which: str) -> None:
    held = await stage.connect()
    new = {**(await stage.refresh(held)).json(), "client_id": held["client_id"]}
    bystander = await stage.connect(held["client_id"])
    token = new["refresh_token"] if which == "the present one" else held["refresh_token"]

    assert (await revoke(stage, token, held["client_id"]))[0] == 200

    assert not await stage.may(held["access_token"])
    assert not await stage.may(new["access_token"])
    assert (await stage.refresh(new)).json()["error"] == "invalid_grant"
    assert await stage.may(bystander["access_token"])


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
async def test_an_app_can_revoke_only_its_own(stage: Stage, kind: str) -> None:
    held = await stage.connect()

    status, body = await revoke(stage, held[kind], await stage.public_client())

    assert (status, body["error"]) == (400, "invalid_grant")
    assert await stage.may(held["access_token"])
    assert (await stage.refresh(held)).status_code == 200


@pytest.mark.parametrize("token", ["unknown", "vat_" + "x" * 43, "vrt_" + "x" * 43])
async def test_an_unknown_token_is_revoked_already(stage: Stage, token: str) -> None:
    assert await revoke(stage, token, await stage.public_client()) == (200, {})


@pytest.mark.parametrize("hint", ["access_token", "refresh_token", "id_token", "nonsense"])
@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
async def test_the_hint_decides_nothing(stage: Stage, kind: str, hint: str) -> None:
    held = await stage.connect()

    assert (await revoke(stage, held[kind], held["client_id"], token_type_hint=hint))[0] == 200

    assert not await stage.may(held["access_token"])


@pytest.mark.parametrize(
    ("form", "status", "error"),
    [
        pytest.param({}, 401, "invalid_client", id="nothing"),
        pytest.param({"token": "x"}, 401, "invalid_client", id="no client"),
        pytest.param({"token": "x", "client_id": "vc_unknown"}, 401, "invalid_client", id="unknown client"),
        pytest.param({"client_id": "OURS"}, 400, "invalid_request", id="no token"),
    ],
)
async def test_a_malformed_revocation_is_refused(stage: Stage, form: dict[str, str], status: int, error: str) -> None:
    ours = await stage.public_client()

    answer = await stage.http.post(
        "/revoke", data={n: ours if v == "OURS" else v for n, v in form.items()} or {"a": "b"}
    )

    assert (answer.status_code, answer.json()["error"]) == (status, error)


async def test_a_confidential_app_must_prove_itself_to_revoke(stage: Stage) -> None:
    found = await stage.register(token_endpoint_auth_method="client_secret_post")
    client_id, secret = str(found["client_id"]), str(found["client_secret"])
    token = (await stage.redeem(client_id, await stage.code(client_id), client_secret=secret)).json()["refresh_token"]

    assert (await revoke(stage, token, client_id))[0] == 401
    assert len(await stage.server.grants.list(OWNER)) == 1
    assert (await revoke(stage, token, client_id, client_secret=secret))[0] == 200
    assert await stage.server.grants.list(OWNER) == []


async def test_an_owner_ends_only_what_is_theirs(stage: Stage) -> None:
    held = await stage.connect()
    (grant,) = await stage.server.grants.list(OWNER)
    stranger = owner_key("stranger@example.com")

    assert not await stage.server.grants.revoke(grant.id, owner=stranger)
    assert await stage.server.grants.revoke_all(stranger) == 0
    assert await stage.may(held["access_token"])
    assert await stage.server.grants.revoke(grant.id, owner=OWNER)
    assert not await stage.server.grants.revoke(grant.id, owner=OWNER)
    assert not await stage.server.grants.revoke("gunknown", owner=OWNER)


async def test_ending_everything_leaves_no_live_token_and_nothing_about_the_owner(stage: Stage) -> None:
    held = [await stage.connect() for _ in range(5)]

    assert await stage.server.grants.revoke_all() == 5

    assert not any([await stage.may(each["access_token"]) for each in held])
    assert [raw async for _, raw in stage.store.scan("grant:") if OWNER.encode() in raw] == []


async def refused(stage: Stage, token: str) -> str:
    with pytest.raises(TokenInvalid) as caught:
        await stage.server.verifier.verify(token)
    assert token not in str(caught.value) or len(token) < 8
    return caught.value.reason


@pytest.mark.parametrize(
    "token", ["", "x", "vat_" + "x" * 43, "é", "eyJhbGciOiJub25lIn0.eyJhdWQiOiJ4In0.", "a" * 100_000]
)
async def test_what_was_never_issued_opens_nothing(stage: Stage, token: str) -> None:
    assert await refused(stage, token) == "unknown"


async def test_a_token_and_its_grant_are_read_from_the_store_in_one_go(tmp_path: Path) -> None:
    async with staged(tmp_path, store=Asked(tmp_path / "s.sqlite3", now=Clock())) as stage:
        held = await stage.connect()
        asked = cast("Asked", stage.store).asked
        asked.clear()

        caller = await stage.server.verifier.verify(held["access_token"])

        assert caller.owner == OWNER
        assert len(asked) == 1
        await stage.store.aclose()


async def test_a_token_of_an_earlier_version_which_names_no_grant_goes_on_working(stage: Stage) -> None:
    held = await stage.connect()
    (grant,) = await stage.server.grants.list(OWNER)
    old = "vat_" + "O-_9" * 10 + "xyz"
    record = AccessToken(grant.id, grant.client_id, grant.scopes, RESOURCE, stage.clock() + 60)
    await stage.store.put(f"access:{token_hash(old)}", to_json(record), ttl_s=60)

    assert (await stage.server.verifier.verify(old)).grant == grant.id

    assert (await revoke(stage, held["refresh_token"], held["client_id"]))[0] == 200
    assert await refused(stage, old) == "ended"


async def test_a_token_opens_nothing_with_another_grant_put_into_it(stage: Stage) -> None:
    held, other = await stage.connect(), await stage.connect()
    secret = held["access_token"].partition(".")[2]
    forged = f"{other['access_token'].partition('.')[0]}.{secret}"

    assert await refused(stage, forged) == "unknown"
    # Not even where the store itself were made to know it: what the record says and what the token says must agree.
    raw = await stage.store.get(f"access:{token_hash(held['access_token'])}")
    assert raw is not None
    await stage.store.put(f"access:{token_hash(forged)}", raw)
    assert await refused(stage, forged) == "unknown"


async def test_a_token_by_its_hash_or_key_opens_nothing(stage: Stage) -> None:
    held = await stage.connect()

    assert await refused(stage, token_hash(held["access_token"])) == "unknown"
    assert await refused(stage, "access:" + token_hash(held["access_token"])) == "unknown"


async def test_an_expired_token_is_refused_even_if_the_store_still_has_it(stage: Stage) -> None:
    held = await stage.connect()
    key = f"access:{token_hash(held['access_token'])}"
    raw = await stage.store.get(key)
    assert raw is not None
    await stage.store.put(key, raw)  # no lifetime

    stage.clock.pass_s(3600)

    assert await refused(stage, held["access_token"]) == "expired"


async def test_a_token_for_another_resource_is_refused(stage: Stage) -> None:
    held = await stage.connect()
    (grant,) = await stage.server.grants.list(OWNER)
    foreign = AccessToken(grant.id, grant.client_id, grant.scopes, "https://other.example/mcp", stage.clock.at + 60)
    await stage.store.put(f"access:{token_hash(held['access_token'])}", to_json(foreign))

    assert await refused(stage, held["access_token"]) == "audience"


async def test_after_a_move_to_another_address_old_tokens_and_refresh_tokens_are_refused(tmp_path: Path) -> None:
    clock = Clock()
    store = SqliteStore(tmp_path / "vitals.sqlite3", now=clock)
    async with staged(tmp_path, store=store, clock=clock) as old:
        held = await old.connect()
    async with staged(tmp_path, store=store, clock=clock, issuer="https://new.example") as new:
        assert await refused(new, held["access_token"]) == "audience"
        assert (await new.refresh(held)).json()["error"] == "invalid_grant"
        assert (await new.refresh(held, resource=RESOURCE)).json()["error"] in {"invalid_target", "invalid_grant"}
    await store.aclose()


async def test_without_its_grant_a_token_is_refused(stage: Stage) -> None:
    held = await stage.connect()
    await stage.server.grants.revoke_all(OWNER)

    assert await refused(stage, held["access_token"]) == "ended"


async def test_an_owner_who_was_removed_is_shut_out_at_once(tmp_path: Path) -> None:
    clock = Clock()
    store = SqliteStore(tmp_path / "vitals.sqlite3", now=clock)
    async with staged(tmp_path, store=store, clock=clock) as before:
        held = await before.connect()
    others = frozenset({owner_key("someone.else@example.com")})
    async with staged(tmp_path, store=store, clock=clock, owners=others) as after:
        assert await refused(after, held["access_token"]) == "owner"
        assert (await after.refresh(held)).json()["error"] == "invalid_grant"
    await store.aclose()
