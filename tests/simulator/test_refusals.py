"""How Oura says no to a request for data."""

import pytest

from app.simulator import COLLECTIONS, SCOPES, Simulator
from app.simulator.routes import SCOPE
from app.simulator.world import DENSE
from tests.simulator.conftest import Asker, Clock, Connect

SCOPED = sorted(name for name, scope in SCOPE.items() if scope is not None)


@pytest.mark.parametrize("collection", SCOPED)
async def test_a_missing_scope_is_a_401_that_names_it(collection: str, oura: Asker) -> None:
    scope = SCOPE[collection]
    others = [name for name in SCOPES if name != scope]

    refused = await oura.as_granted(*others).get(collection)
    allowed = await oura.as_granted(str(scope)).get(collection)

    assert refused.status_code == 401
    assert refused.json() == {"detail": f"Token is not authorized access {scope} scope."}
    assert allowed.status_code == 200


@pytest.mark.parametrize("collection", COLLECTIONS)
async def test_a_bad_token_is_a_401_without_a_scope_and_none_at_all_a_400(collection: str, oura: Asker) -> None:
    path = f"/v2/usercollection/{collection}"
    bad = await oura.http.get(path, headers={"authorization": "Bearer nonsense"})
    none = await oura.http.get(path)

    assert bad.status_code == 401
    assert "scope" not in bad.text
    assert none.status_code == 400
    assert "Missing auth token" in none.json()["detail"]


async def test_the_profile_gives_only_what_its_scopes_open(oura: Asker) -> None:
    def known(body: dict[str, object]) -> set[str]:
        return {name for name, value in body.items() if value is not None}

    personal = {"id", "age", "weight", "height", "biological_sex"}

    assert known((await oura.as_granted("daily").get("personal_info")).json()) == {"id"}
    assert known((await oura.as_granted("email").get("personal_info")).json()) == {"id", "email"}
    assert known((await oura.as_granted("personal").get("personal_info")).json()) == personal


async def test_without_a_membership_data_is_forbidden_and_the_profile_is_not(oura: Asker) -> None:
    oura.sim.member = False

    forbidden = await oura.get("sleep")

    assert forbidden.status_code == 403
    assert "membership" in forbidden.json()["detail"]
    assert (await oura.get("personal_info")).status_code == 200


@pytest.mark.parametrize(
    "path", ["vo2_max", "Sleep", "blood_glucose", "sleep/made-up", "heartrate/some", "personal_info/some"]
)
async def test_unknown_routes_and_documents_are_404(path: str, oura: Asker) -> None:
    assert (await oura.get(path)).status_code == 404


async def test_a_document_is_not_found_under_another_collection(oura: Asker) -> None:
    [night] = await oura.data("daily_sleep", start_date="2026-03-24", end_date="2026-03-24")

    assert (await oura.get(f"daily_readiness/{night['id']}")).status_code == 404


async def test_the_rate_limit_says_when_to_come_back_and_is_silent_before(clock: Clock, connect: Connect) -> None:
    oura = connect(Simulator(now=clock, rate_limit=2))

    fine = [await oura.get("personal_info") for _ in range(2)]
    refused = await oura.get("personal_info")
    clock.at_s += 301
    later = await oura.get("personal_info")

    assert [answer.status_code for answer in fine] == [200, 200]
    assert not [name for answer in fine for name in answer.headers if name.startswith(("x-ratelimit", "retry-after"))]
    assert refused.status_code == 429
    assert refused.headers["retry-after"].isdecimal()
    assert {"x-ratelimit-limit", "x-ratelimit-window", "x-ratelimit-reset", "x-ratelimit-tier"} <= set(refused.headers)
    assert later.status_code == 200


@pytest.mark.parametrize("collection", [*DENSE, "sleep", "ring_configuration"])
async def test_the_sandbox_takes_any_authorization_and_wants_one(collection: str, oura: Asker) -> None:
    path = f"/v2/sandbox/usercollection/{collection}"

    assert (await oura.http.get(path)).status_code == 400
    assert (await oura.http.get(path, headers={"authorization": "anything"})).status_code == 200


async def test_the_sandbox_is_a_generator_and_not_a_filter(oura: Asker) -> None:
    path = "/v2/sandbox/usercollection/"
    days = {"start_date": "2026-03-01", "end_date": "2026-03-08"}
    hour = {"start_datetime": "2026-03-01T00:00:00Z", "end_datetime": "2026-03-01T01:00:00Z"}
    nights = await oura.data(path + "sleep", **days, fields="id", latest="true")
    [one, *_] = await oura.data(path + "vO2_max", **days)

    assert len(nights) == 7  # of eight days
    assert len(nights[0]["heart_rate"]["items"]) == 10
    assert nights[0]["heart_rate"]["interval"] == 60
    assert one["day"] == "2021-01-01"
    assert len(await oura.data(path + "heartrate", start_datetime="2026-03-01", end_datetime="2026-03-08")) == 2
    assert await oura.data(path + "heartrate", **hour) == []
    assert len(await oura.data(path + "ring_configuration")) == 1
    assert (await oura.get(path + "personal_info")).json() == {"detail": "Not Found"}
    assert (await oura.get(f"{path}sleep/{nights[0]['id']}")).status_code == 500
    assert (await oura.get(f"{path}sleep/made-up")).json() == {"detail": "Invalid sandbox document ID format."}
