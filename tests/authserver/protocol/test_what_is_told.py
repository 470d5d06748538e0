"""What an app developer reads when a request to /token, /revoke or /register is refused: what to send instead."""

import re

import httpx2
import pytest

from app.errors import TooManyRequests
from tests.authserver.stage import RESOURCE, Stage, redemption

pytestmark = pytest.mark.anyio

FORM = "application/x-www-form-urlencoded"
LONG = "x" * 3000

CODES = [
    pytest.param({"grant_type": ""}, 400, "unsupported_grant_type", "authorization_code, refresh_token", id="no type"),
    pytest.param({"grant_type": LONG}, 400, "unsupported_grant_type", "authorization_code, refresh_token", id="type"),
    pytest.param({"client_id": ""}, 401, "invalid_client", "Send client_id", id="no client"),
    pytest.param({"client_id": LONG}, 401, "invalid_client", "register again", id="unknown client"),
    pytest.param({"code": ""}, 400, "invalid_request", "parameter code is missing", id="no code"),
    pytest.param({"code": LONG}, 400, "invalid_grant", "Start the authorization again", id="unknown code"),
    pytest.param({"redirect_uri": ""}, 400, "invalid_grant", "character by character", id="no redirect URI"),
    pytest.param({"redirect_uri": LONG}, 400, "invalid_grant", "character by character", id="another redirect URI"),
    pytest.param({"code_verifier": ""}, 400, "invalid_request", "code_verifier is missing", id="no verifier"),
    pytest.param({"code_verifier": "short"}, 400, "invalid_request", "43 to 128 characters", id="a short verifier"),
    pytest.param({"code_verifier": "w" * 43}, 400, "invalid_grant", "this very authorization", id="another verifier"),
    pytest.param({"resource": LONG}, 400, "invalid_target", f"must be {RESOURCE}", id="another resource"),
]
REFRESHES = [
    pytest.param({"refresh_token": ""}, 400, "invalid_request", "parameter refresh_token is missing", id="no token"),
    pytest.param({"refresh_token": LONG}, 400, "invalid_grant", "Connect again", id="unknown token"),
    pytest.param({"scope": "other"}, 400, "invalid_scope", "Start a new authorization", id="another scope"),
]


def told(answer: httpx2.Response) -> str:
    """Return the description, which must keep to the characters of RFC 6749 and repeat nothing long."""
    said: str = answer.json()["error_description"]
    assert re.fullmatch(r"[\x20-\x21\x23-\x5b\x5d-\x7e]+", said)
    assert "xxxx" not in said
    assert said.endswith(".")
    return said


@pytest.mark.parametrize(("change", "status", "error", "words"), CODES)
async def test_who_redeems_a_code_wrongly_is_told_what_to_send(
    stage: Stage, change: dict[str, str], status: int, error: str, words: str
) -> None:
    client_id = await stage.public_client()
    form = redemption(client_id, await stage.code(client_id))

    answer = await stage.token(**(form | change))

    assert (answer.status_code, answer.json()["error"]) == (status, error)
    assert words in told(answer)


@pytest.mark.parametrize(("change", "status", "error", "words"), REFRESHES)
async def test_who_refreshes_wrongly_is_told_what_to_send(
    stage: Stage, change: dict[str, str], status: int, error: str, words: str
) -> None:
    held = await stage.connect()

    answer = await stage.refresh(held, **change)

    assert (answer.status_code, answer.json()["error"]) == (status, error)
    assert words in told(answer)


async def test_who_ends_no_token_or_anothers_is_told_so(stage: Stage) -> None:
    held = await stage.connect()
    other = await stage.public_client()

    none = await stage.http.post("/revoke", data={"client_id": other})
    anothers = await stage.http.post("/revoke", data={"client_id": other, "token": held["refresh_token"]})

    assert "parameter token is missing" in told(none)
    assert anothers.json()["error"] == "invalid_grant"
    assert "issued to another client" in told(anothers)
    assert await stage.may(held["access_token"])


@pytest.mark.parametrize("path", ["/token", "/revoke"])
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("code=a&code=b", "The parameter code was sent more than once"),
        (f"{LONG}=a&{LONG}=b", "A parameter was sent more than once"),
    ],
    ids=["a name of ours", "any name"],
)
async def test_a_repeated_parameter_is_named_if_it_is_one_of_ours(
    stage: Stage, path: str, body: str, words: str
) -> None:
    answer = await stage.http.post(path, content=body, headers={"content-type": FORM})

    assert words in told(answer)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"5"])
async def test_who_registers_without_metadata_is_told_the_one_member_needed(stage: Stage, body: bytes) -> None:
    answer = await stage.http.post("/register", content=body, headers={"content-type": "application/json"})

    assert answer.json()["error"] == "invalid_client_metadata"
    assert "redirect_uris" in told(answer)


@pytest.mark.parametrize(
    ("seconds", "wait"), [(1, "a second."), (5, "5 seconds."), (60, "a minute."), (61, "2 minutes.")]
)
def test_a_wait_is_told_as_long_as_it_is(seconds: int, wait: str) -> None:
    assert str(TooManyRequests(retry_after_s=seconds)).endswith(f"Try again in {wait}")
