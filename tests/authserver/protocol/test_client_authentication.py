"""Who asks at /token: the one method a client registered, and no other."""

import base64
from urllib.parse import quote_plus

import pytest

from tests.authserver.stage import Stage, redemption

pytestmark = pytest.mark.anyio


def basic(name: str, secret: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()}


AUTHENTICATION = [
    pytest.param("client_secret_post", "post", True, id="post by post"),
    pytest.param("client_secret_post", "basic", False, id="post by basic"),
    pytest.param("client_secret_post", "none", False, id="post by nothing"),
    pytest.param("client_secret_post", "post wrong", False, id="post, wrong secret"),
    pytest.param("client_secret_basic", "basic", True, id="basic by basic"),
    pytest.param("client_secret_basic", "basic without body", True, id="basic, client_id in the header alone"),
    pytest.param("client_secret_basic", "basic encoded", True, id="basic, form-encoded"),
    pytest.param("client_secret_basic", "post", False, id="basic by post"),
    pytest.param("client_secret_basic", "none", False, id="basic by nothing"),
    pytest.param("client_secret_basic", "basic wrong", False, id="basic, wrong secret"),
    pytest.param("client_secret_basic", "basic empty", False, id="basic, no secret"),
    pytest.param("none", "none", True, id="public by nothing"),
    pytest.param("none", "basic", False, id="public by basic, without a body client_id"),
]


@pytest.mark.parametrize(("registered", "used", "good"), AUTHENTICATION)
async def test_a_client_authenticates_by_the_method_it_registered(
    stage: Stage, registered: str, used: str, good: bool
) -> None:
    found = await stage.register(token_endpoint_auth_method=registered)
    client_id, secret = str(found["client_id"]), str(found.get("client_secret", "x"))
    form = redemption(client_id, await stage.code(client_id))
    headers: dict[str, str] = {}
    match used.split():
        case ["post", *wrong]:
            form["client_secret"] = secret + "x" * len(wrong)
        case ["basic", *how]:
            if how != []:
                del form["client_id"]
            if registered == "none":
                form.pop("client_id", None)
            headers = {
                "wrong": basic(client_id, secret + "x"),
                "empty": basic(client_id, ""),
                "encoded": basic(quote_plus(client_id).replace("_", "%5F"), secret.replace("_", "%5f")),
            }.get("".join(how), basic(client_id, secret))

    answer = await stage.http.post("/token", data=form, headers=headers)

    assert answer.status_code == (200 if good else 401)
    if not good:
        assert answer.json()["error"] == "invalid_client"
        assert answer.headers["www-authenticate"] == 'Basic realm="vitals"'
        assert secret not in answer.text


async def test_two_ways_of_authenticating_at_once_are_refused(stage: Stage) -> None:
    found = await stage.register(token_endpoint_auth_method="client_secret_basic")
    client_id, secret = str(found["client_id"]), str(found["client_secret"])
    form = redemption(client_id, await stage.code(client_id), client_secret=secret)

    answer = await stage.http.post("/token", data=form, headers=basic(client_id, secret))

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


async def test_a_header_and_a_body_that_name_different_clients_are_refused(stage: Stage) -> None:
    public = await stage.public_client()
    found = await stage.register(token_endpoint_auth_method="client_secret_basic")

    answer = await stage.http.post(
        "/token",
        data=redemption(public, await stage.code(public)),
        headers=basic(str(found["client_id"]), str(found["client_secret"])),
    )

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


@pytest.mark.parametrize(
    "header", ["Basic", "Basic !!!", "Basic /////w==", "Basic bm9jb2xvbg==", "Bearer x", "Basic é", "Negotiate x"]
)
async def test_an_unreadable_authorization_header_counts_as_none(stage: Stage, header: str) -> None:
    client_id = await stage.public_client()
    form = redemption(client_id, await stage.code(client_id))

    answer = await stage.http.post("/token", data=form, headers={b"authorization": header.encode("latin-1")})

    assert answer.status_code == 200
