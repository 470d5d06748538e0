"""What a request to /token must look like before anything in it counts."""

import json
from urllib.parse import quote_plus

import pytest

from tests.authserver.stage import RESOURCE, VERIFIER, Stage, redemption

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("path", ["/token", "/revoke"])
@pytest.mark.parametrize(
    ("body", "media"),
    [
        pytest.param(json.dumps({"grant_type": "refresh_token"}).encode(), "application/json", id="JSON"),
        pytest.param(b"grant_type=refresh_token", "text/plain", id="text"),
        pytest.param(b"grant_type=refresh_token", "", id="no type"),
        pytest.param(b"--x\r\n\r\n--x--", "multipart/form-data; boundary=x", id="multipart"),
        pytest.param(b"grant_type=%ff%fe", "application/x-www-form-urlencoded", id="not UTF-8"),
        pytest.param(b"a=1&" * 60, "application/x-www-form-urlencoded", id="too many fields"),
        pytest.param(b"token=a&token=b&grant_type=x", "application/x-www-form-urlencoded", id="repeated"),
        pytest.param(b"", "application/x-www-form-urlencoded", id="empty"),
        pytest.param(b"%%%&&&===", "application/x-www-form-urlencoded", id="noise"),
    ],
)
async def test_a_body_that_is_no_form_is_a_json_error(stage: Stage, path: str, body: bytes, media: str) -> None:
    answer = await stage.http.post(path, content=body, headers={"content-type": media})

    assert answer.status_code in {400, 401}
    assert answer.json()["error"] in {"invalid_request", "unsupported_grant_type", "invalid_client"}
    assert answer.headers["cache-control"] == "no-store"


FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("media", "more", "good"),
    [
        pytest.param(FORM, "", True, id="a form"),
        pytest.param("Application/X-WWW-Form-Urlencoded ; charset=utf-8", "", True, id="a form, written otherwise"),
        pytest.param("text/plain", "", False, id="what a foreign page can send without asking"),
        pytest.param("application/json", "", False, id="called JSON"),
        pytest.param(FORM, "&code_verifier=" + VERIFIER, False, id="verifier repeated"),
        pytest.param(FORM, "&grant_type=authorization_code", False, id="grant type repeated"),
        pytest.param(FORM, "&unknown=1&unknown=2", False, id="unknown parameter repeated"),
    ],
)
async def test_a_good_request_must_also_be_sent_as_a_form_with_each_parameter_once(
    stage: Stage, media: str, more: str, good: bool
) -> None:
    client_id = await stage.public_client()
    form = redemption(client_id, await stage.code(client_id))
    body = "&".join(f"{name}={quote_plus(value)}" for name, value in form.items()) + more

    answer = await stage.http.post("/token", content=body, headers={"content-type": media})

    assert answer.status_code == (200 if good else 400)
    assert answer.json().get("error") == (None if good else "invalid_request")


async def test_a_large_form_is_a_413(stage: Stage) -> None:
    answer = await stage.token(grant_type="authorization_code", code="x" * 70_000)

    assert (answer.status_code, answer.json()["error"]) == (413, "invalid_request")


async def test_two_resources_are_refused(stage: Stage) -> None:
    client_id = await stage.public_client()
    form = [*redemption(client_id, await stage.code(client_id)).items(), ("resource", RESOURCE)]
    body = "&".join(f"{name}={quote_plus(value)}" for name, value in form)

    answer = await stage.http.post(
        "/token", content=body, headers={"content-type": "application/x-www-form-urlencoded; charset=UTF-8"}
    )

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_target")


async def test_what_is_in_the_query_counts_for_nothing(stage: Stage) -> None:
    client_id = await stage.public_client()
    form = redemption(client_id, await stage.code(client_id))

    answer = await stage.http.post(
        "/token", params=form, content=b"", headers={"content-type": "application/x-www-form-urlencoded"}
    )

    assert answer.status_code == 400


async def test_a_resource_spelt_with_a_slash_is_the_same(stage: Stage) -> None:
    client_id = await stage.public_client()

    answer = await stage.redeem(
        client_id, await stage.code(client_id, resource=RESOURCE + "/"), resource="HTTPS://VITALS.EXAMPLE/mcp/"
    )

    assert await stage.may(answer.json()["access_token"])


async def test_the_store_out_of_reach_is_a_503_not_a_guess(stage: Stage) -> None:
    client_id = await stage.public_client()
    form = redemption(client_id, await stage.code(client_id))
    await stage.store.aclose()

    answer = await stage.token(**form)

    assert (answer.status_code, answer.json()["error"]) == (503, "temporarily_unavailable")
