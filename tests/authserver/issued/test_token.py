"""/token with a code: what a redemption must match, what an attempt may cost, and that one of many wins."""

import logging
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from app.authserver.issued.codes import CODE_LIFE_S
from app.authserver.issued.tokens import TokenAnswer, TokenRejected
from app.store.sqlite import SqliteStore
from tests.authserver.stage import OWNER, REDIRECT, RESOURCE, Clock, Stage, asked, staged

pytestmark = pytest.mark.anyio


async def test_a_code_buys_tokens_that_open_the_resource(stage: Stage) -> None:
    client_id = await stage.public_client()

    answer = await stage.redeem(client_id, await stage.code(client_id))

    assert answer.status_code == 200
    assert (answer.headers["cache-control"], answer.headers["content-type"]) == ("no-store", "application/json")
    found = answer.json()
    assert (found["token_type"], found["expires_in"], found["scope"]) == ("Bearer", 3600, "health:read")
    caller = await stage.server.verifier.verify(found["access_token"])
    assert (caller.owner, caller.client_id, caller.scopes) == (OWNER, client_id, frozenset({"health:read"}))


async def test_a_refresh_token_comes_without_offline_access(stage: Stage) -> None:
    client_id = await stage.public_client()

    answer = await stage.redeem(client_id, await stage.code(client_id, scope="health:read"))

    assert answer.json()["refresh_token"].startswith("vrt_")


async def test_the_grant_is_made_at_redemption_and_says_who_and_when(stage: Stage) -> None:
    client_id = await stage.public_client()
    code = await stage.code(client_id)
    assert await stage.server.grants.list(OWNER) == []

    await stage.redeem(client_id, code)

    (grant,) = await stage.server.grants.list(OWNER)
    assert (grant.owner, grant.client_id, grant.client_name) == (OWNER, client_id, "App")
    assert (grant.redirect_uri, grant.resource, grant.scopes) == (REDIRECT, RESOURCE, ("health:read",))
    assert (grant.created_at, grant.refreshed_at, grant.limits) == (stage.clock.at, None, {})


WRONG = [
    pytest.param({"redirect_uri": REDIRECT + "/"}, 400, "invalid_grant", id="another redirect"),
    pytest.param({"redirect_uri": ""}, 400, "invalid_grant", id="no redirect"),
    pytest.param({"code_verifier": "w" * 64}, 400, "invalid_grant", id="another verifier"),
    pytest.param({"code_verifier": ""}, 400, "invalid_request", id="no verifier"),
    pytest.param({"code_verifier": "v" * 42}, 400, "invalid_request", id="short verifier"),
    pytest.param({"code_verifier": "v" * 129}, 400, "invalid_request", id="long verifier"),
    pytest.param({"code_verifier": "v" * 63 + "é"}, 400, "invalid_request", id="odd verifier"),
    pytest.param({"code": ""}, 400, "invalid_request", id="no code"),
    pytest.param({"code": "vco_unknown"}, 400, "invalid_grant", id="unknown code"),
    pytest.param({"resource": "https://other.example/mcp"}, 400, "invalid_target", id="another resource"),
    pytest.param({"grant_type": ""}, 400, "unsupported_grant_type", id="no grant type"),
    pytest.param({"grant_type": "password"}, 400, "unsupported_grant_type", id="password"),
    pytest.param({"grant_type": "client_credentials"}, 400, "unsupported_grant_type", id="client credentials"),
    pytest.param({"client_id": ""}, 401, "invalid_client", id="no client"),
    pytest.param({"client_id": "vc_unknown"}, 401, "invalid_client", id="unknown client"),
    pytest.param({"client_id": "https://evil.example/app.json"}, 401, "invalid_client", id="unfetchable document"),
    pytest.param({"client_secret": "guess"}, 401, "invalid_client", id="a secret from a public client"),
]


@pytest.mark.parametrize(("change", "status", "error"), WRONG)
async def test_a_wrong_attempt_is_refused_and_does_not_spend_the_code(
    stage: Stage, change: dict[str, str], status: int, error: str
) -> None:
    client_id = await stage.public_client()
    code = await stage.code(client_id)

    answer = await stage.redeem(client_id, code, **change)

    assert (answer.status_code, answer.json()["error"]) == (status, error)
    assert answer.headers["cache-control"] == "no-store"
    assert "access_token" not in answer.json()
    assert (await stage.redeem(client_id, code)).status_code == 200


async def test_a_code_is_bound_to_its_client(stage: Stage) -> None:
    mine, other = await stage.public_client(), await stage.public_client()
    code = await stage.code(mine)

    stolen = await stage.redeem(other, code)

    assert (stolen.status_code, stolen.json()["error"]) == (400, "invalid_grant")
    assert (await stage.redeem(mine, code)).status_code == 200


async def test_a_code_lives_sixty_seconds(stage: Stage) -> None:
    client_id = await stage.public_client()
    early, late = await stage.code(client_id), await stage.code(client_id)

    stage.clock.pass_s(CODE_LIFE_S - 1)
    assert (await stage.redeem(client_id, early)).status_code == 200
    stage.clock.pass_s(1)
    answer = await stage.redeem(client_id, late)

    assert CODE_LIFE_S == 60
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")


async def test_an_expired_code_is_refused_even_if_the_store_still_has_it(stage: Stage) -> None:
    client_id = await stage.public_client()
    code = await stage.code(client_id)
    ((key, raw),) = [each async for each in stage.store.scan("code:")]
    await stage.store.put(key, raw)  # no lifetime

    stage.clock.pass_s(CODE_LIFE_S)

    assert (await stage.redeem(client_id, code)).json()["error"] == "invalid_grant"
    with pytest.raises(TokenRejected):  # also should it expire between the two looks at it
        await stage.server.codes.redeem(code)


@pytest.mark.parametrize("later_s", [0, 59, 600])
async def test_a_code_that_comes_again_ends_what_it_made(stage: Stage, later_s: float) -> None:
    client_id = await stage.public_client()
    code = await stage.code(client_id)
    held = {**(await stage.redeem(client_id, code)).json(), "client_id": client_id}
    held = {**(await stage.refresh(held)).json(), "client_id": client_id}
    bystander = await stage.connect(client_id)
    stage.clock.pass_s(later_s)

    again = await stage.redeem(client_id, code)

    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert not await stage.may(held["access_token"])
    assert (await stage.refresh(held)).json()["error"] == "invalid_grant"
    assert await stage.may(bystander["access_token"])


async def test_whoever_has_a_used_code_but_not_its_verifier_cannot_end_the_grant(stage: Stage) -> None:
    client_id = await stage.public_client()
    code = await stage.code(client_id)
    held = (await stage.redeem(client_id, code)).json()

    await stage.redeem(client_id, code, code_verifier="w" * 64)
    await stage.redeem(await stage.public_client(), code)

    assert await stage.may(held["access_token"])


async def test_of_many_redemptions_at_once_one_wins(stage: Stage) -> None:
    client_id = await stage.public_client()
    code = await stage.code(client_id)
    statuses: list[int] = []

    async def one() -> None:
        statuses.append((await stage.redeem(client_id, code)).status_code)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(30):  # more than the bridge has threads
                group.start_soon(one)

    assert sorted(statuses) == [200] + [400] * 29


async def test_the_loser_of_a_race_for_a_code_leaves_the_winner_alone_and_nothing_behind(tmp_path: Path) -> None:
    clock = Clock()
    store = SlowCodes(tmp_path / "vitals.sqlite3", now=clock)
    async with staged(tmp_path, store=store, clock=clock) as stage:
        client_id = await stage.public_client()
        code = await stage.code(client_id)
        store.together = 2
        answers = []

        async def one() -> None:
            answers.append(await stage.redeem(client_id, code))

        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(one)
                group.start_soon(one)

        won = next(each for each in answers if each.status_code == 200)
        assert sorted(each.status_code for each in answers) == [200, 400]
        assert await stage.may(won.json()["access_token"])
        assert len(await stage.server.grants.list(OWNER)) == 1
        assert len([key async for key, _ in store.scan("refresh:")]) == 1
        assert len([key async for key, _ in store.scan("access:")]) == 1
    await store.aclose()


class SlowCodes(SqliteStore):
    """Lets the callers that spend a code reach that point together."""

    together = 0

    async def compare_and_set(
        self, key: str, expected: bytes | None, value: bytes, *, ttl_s: float | None = None
    ) -> bool:
        if key.startswith("code:"):
            self.together -= 1
            while self.together > 0:
                await anyio.lowlevel.checkpoint()
        return await super().compare_and_set(key, expected, value, ttl_s=ttl_s)


async def test_a_grant_that_was_ended_before_its_code_was_redeemed_never_opens(stage: Stage) -> None:
    client_id = await stage.public_client()
    value = await stage.code(client_id)
    code = await stage.server.codes.find(value)
    assert code is not None
    await stage.server.grants.revoke(code.grant_id)

    answer = await stage.redeem(client_id, value)

    assert answer.json()["error"] == "invalid_grant"
    assert await stage.server.grants.list(OWNER) == []


async def test_a_code_of_someone_who_is_no_owner_any_more_is_worth_nothing(tmp_path: Path) -> None:
    async with staged(tmp_path, owners=frozenset()) as stage:
        client_id = await stage.public_client()

        answer = await stage.redeem(client_id, await stage.code(client_id))

        assert answer.json()["error"] == "invalid_grant"
        assert await stage.server.grants.list(OWNER) == []


async def test_neither_the_store_nor_the_log_holds_a_token_a_code_or_a_secret(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        found = await stage.register(token_endpoint_auth_method="client_secret_post")
        client_id, secret = str(found["client_id"]), str(found["client_secret"])
        code = await stage.code(client_id)
        first = (await stage.redeem(client_id, code, client_secret=secret)).json() | {"client_id": client_id}
        second = (await stage.refresh(first, client_secret=secret)).json()

    values = [secret, code, *(each[name] for each in (first, second) for name in ("access_token", "refresh_token"))]
    stored = [text async for key, raw in stage.store.scan("") for text in (key, raw.decode("latin-1"))]
    for value in values:
        assert len(value) >= 43
        assert not any(value in text for text in [*stored, caplog.text, *map(str, caplog.records)])


def test_a_token_answer_does_not_show_itself() -> None:
    answer = TokenAnswer(access_token="vat_secret")

    assert "secret" not in f"{answer!r} {answer} {[answer]}"


async def test_a_request_is_validated_the_same_after_its_code_was_spent(stage: Stage) -> None:
    client_id = await stage.public_client()
    before = await stage.server.authorizations.validate(list(asked(client_id).items()))
    await stage.connect(client_id)

    assert await stage.server.authorizations.validate(list(asked(client_id).items())) == before
