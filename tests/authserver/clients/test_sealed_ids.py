"""Registrations beyond the day's records: the id holds them, nothing is written, and all else is as ever."""

import base64
import dataclasses
from string import ascii_letters, digits

import pytest

from app.authserver.clients.known import UNUSED_LIFE_S, USED_LIFE_S
from app.authserver.clients.sealed_ids import MAX_CHARS, PREFIX, SealedIds
from app.authserver.limits.allowances import CLIENT_RECORDS
from app.authserver.records import Client
from app.store.crypto import Keys
from tests.authserver.stage import REDIRECT, Stage, redemption

pytestmark = pytest.mark.anyio

CLIENT = Client(
    "vc_x", "Zoë's app", ("https://a.example/cb", "http://localhost/cb"), "none", None, False, 1_800_000_000.5
)


async def crowded(stage: Stage) -> None:
    """Use up the day's records."""
    for _ in range(CLIENT_RECORDS.amount):
        assert await stage.server.gate.spend(CLIENT_RECORDS)
    assert not await stage.server.gate.spend(CLIENT_RECORDS)


async def client_records(stage: Stage) -> list[str]:
    return [key async for key, _ in stage.store.scan("client:")]


@pytest.mark.parametrize("method", ["none", "client_secret_post", "client_secret_basic"])
async def test_an_app_connects_with_an_id_that_holds_it_and_only_then_becomes_a_record(
    stage: Stage, method: str
) -> None:
    await crowded(stage)
    held = await stage.register(token_endpoint_auth_method=method)
    client_id, secret = str(held["client_id"]), str(held.get("client_secret", ""))
    assert await client_records(stage) == []

    form, headers = {}, {}
    if method == "client_secret_post":
        form = {"client_secret": secret}
    if method == "client_secret_basic":
        headers = {"authorization": "Basic " + base64.b64encode(f"{client_id}:{secret}".encode()).decode()}
    code = await stage.code(client_id)
    answer = await stage.http.post("/token", data=redemption(client_id, code, **form), headers=headers)

    assert answer.status_code == 200, answer.text
    assert client_id.startswith(PREFIX)
    assert len(await client_records(stage)) == 1
    assert client_id not in (await client_records(stage))[0]


async def test_a_secret_is_asked_for_and_compared(stage: Stage) -> None:
    await crowded(stage)
    held = await stage.register(token_endpoint_auth_method="client_secret_post")
    client_id = str(held["client_id"])
    code = await stage.code(client_id)

    without = await stage.redeem(client_id, code)
    wrong = await stage.redeem(client_id, code, client_secret="vcs_wrong")
    right = await stage.redeem(client_id, code, client_secret=str(held["client_secret"]))

    assert [each.status_code for each in (without, wrong, right)] == [401, 401, 200]


async def test_it_is_forgotten_after_a_day_unless_it_was_used(stage: Stage) -> None:
    await crowded(stage)
    unused, used = await stage.public_client(), await stage.connect()
    stage.clock.pass_s(UNUSED_LIFE_S)

    assert await stage.server.clients.find(unused) is None
    assert (await stage.refresh(used)).status_code == 200
    stage.clock.pass_s(USED_LIFE_S - 1)
    assert await stage.server.clients.find(used["client_id"]) is not None


async def test_ordinary_days_give_short_ids(stage: Stage) -> None:
    assert len(await stage.public_client()) < 40


async def test_a_registration_too_long_for_an_id_hears_what_would_do_and_when_this_one_would(stage: Stage) -> None:
    await crowded(stage)
    stage.clock.pass_s(3 * 3600)
    uris = [f"https://app.example/{n}/{'x' * 900}" for n in range(5)]
    answer = await stage.http.post("/register", json={"redirect_uris": uris})
    shorter = await stage.http.post("/register", json={"redirect_uris": [each[:180] for each in uris]})
    left = await client_records(stage)
    stage.clock.pass_s(int(answer.headers["retry-after"]))
    later = await stage.http.post("/register", json={"redirect_uris": uris})

    assert answer.status_code == 429
    assert answer.headers["retry-after"] == f"{21 * 3600}"
    assert answer.json()["error"] == "temporarily_unavailable"
    assert "900 characters" in answer.json()["error_description"]
    assert "21 hours" in answer.json()["error_description"]
    assert left == []
    assert (shorter.status_code, later.status_code) == (201, 201)


async def test_nor_does_it_come_back_a_moment_too_early(stage: Stage) -> None:
    await crowded(stage)
    body = {"redirect_uris": [f"https://app.example/{'x' * 900}{n}" for n in range(5)]}
    answer = await stage.http.post("/register", json=body)
    stage.clock.pass_s(int(answer.headers["retry-after"]) - 1)

    assert (await stage.http.post("/register", json=body)).status_code == 429


@pytest.mark.parametrize(
    "uris",
    [
        pytest.param(["https://claude.ai/api/mcp/auth_callback"], id="claude"),
        pytest.param([REDIRECT + "/" + "y" * 40] * 6, id="six addresses"),
        pytest.param([f"https://app.example/callback/{n}" for n in range(20)], id="twenty"),
    ],
)
def test_what_apps_register_fits(uris: list[str]) -> None:
    ids = SealedIds(Keys([b"k" * 32]))
    sealed = ids.seal(dataclasses.replace(CLIENT, redirect_uris=tuple(uris)))

    assert sealed is not None
    assert len(sealed.client_id) <= MAX_CHARS
    assert ids.open(sealed.client_id) == sealed


def test_nobody_else_can_make_or_change_one() -> None:
    ids = SealedIds(Keys([b"k" * 32]))
    sealed = ids.seal(CLIENT)
    assert sealed is not None
    changed = [
        sealed.client_id[:position]
        + ("A" if sealed.client_id[position] != "A" else "B")
        + sealed.client_id[position + 1 :]
        for position in range(len(PREFIX), len(sealed.client_id))
    ]

    assert [ids.open(each) for each in changed] == [None] * len(changed)
    assert SealedIds(Keys([b"other" * 8])).open(sealed.client_id) is None
    assert [ids.open(PREFIX + each) for each in ("", "A", "AAAA", "A" * 200)] == [None] * 4


@pytest.mark.parametrize("name", ["a", "ab", "abc"])  # with each, another number of bits of the last letter is unused
def test_a_client_has_one_id_and_no_other_spelling_of_it(name: str) -> None:
    ids = SealedIds(Keys([b"k" * 32]))
    sealed = ids.seal(dataclasses.replace(CLIENT, name=name))
    assert sealed is not None
    others = {sealed.client_id[:-1] + letter for letter in ascii_letters + digits + "-_"} - {sealed.client_id}

    assert [each for each in others if ids.open(each) is not None] == []


def test_a_changed_key_still_opens_those_of_the_former() -> None:
    sealed = SealedIds(Keys([b"k" * 32])).seal(CLIENT)

    assert sealed is not None
    assert SealedIds(Keys([b"new" * 12, b"k" * 32])).open(sealed.client_id) == sealed
