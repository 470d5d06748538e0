import pytest

from app.identity import READ_SCOPE
from tests.shell.web import CALLER, LIVE, Web

pytestmark = pytest.mark.anyio

CHALLENGE = (
    'Bearer resource_metadata="https://vitals.example.com/.well-known/oauth-protected-resource/mcp", '
    f'scope="{READ_SCOPE}"'
)
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
@pytest.mark.parametrize("method", METHODS)
async def test_without_a_token_every_method_gets_401_and_the_bare_challenge(method: str, path: str) -> None:
    web = Web()

    answer = await web.ask(method, path, token=None, headers={"origin": "https://claude.ai"})

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == CHALLENGE
    assert web.sdk.requests == []


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"not json", b"\xff" * 100, b"x" * 5_000_000])
@pytest.mark.parametrize("accept", ["", "text/html", "application/json"])
async def test_without_a_token_no_body_and_no_accept_changes_the_401(body: bytes, accept: str) -> None:
    answer = await Web().ask("POST", "/mcp", token=None, content=body, headers={"accept": accept})

    assert answer.status_code == 401
    assert answer.json()["error"] == "unauthorized"


async def test_a_live_token_reaches_the_server_with_its_caller() -> None:
    web = Web()

    answer = await web.call()

    assert answer.status_code == 200
    assert web.sdk.requests[0]["vitals.caller"] == CALLER


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
async def test_the_scheme_is_read_in_any_case(scheme: str) -> None:
    assert (await Web().call(token=None, headers={"authorization": f"{scheme} {LIVE}"})).status_code == 200


@pytest.mark.parametrize("method", METHODS)
async def test_a_bad_token_gets_401_that_says_so_and_does_not_repeat_it(method: str) -> None:
    web = Web()

    answer = await web.ask(method, "/mcp", token="canary-token")

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith(CHALLENGE + ', error="invalid_token", error_description=')
    assert "canary" not in answer.text + str(answer.headers)
    assert web.sdk.requests == []


@pytest.mark.parametrize(
    "value", ["Bearer", "Bearer ", f"Bearer {LIVE} more", f"Bearer {LIVE},Bearer x", "Bearer tök€n"]
)
async def test_what_is_not_one_token_is_no_token(value: str) -> None:
    web = Web()

    answer = await web.ask("POST", "/mcp", token=None, headers={b"authorization": value.encode()})

    assert answer.status_code == 401
    assert web.sdk.requests == []


@pytest.mark.parametrize("value", ["", "Basic bGl2ZS10b2tlbg==", f"Bearer{LIVE}", LIVE, f"Token {LIVE}"])
async def test_another_scheme_counts_as_not_signed_in(value: str) -> None:
    answer = await Web().ask("POST", "/mcp", token=None, headers={"authorization": value})

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == CHALLENGE


async def test_two_authorization_headers_are_refused_even_if_one_is_good() -> None:
    web = Web()

    answer = await web.call(headers={b"Authorization": b"Basic x"})

    assert answer.status_code == 401
    assert web.sdk.requests == []


@pytest.mark.parametrize("query", [f"access_token={LIVE}", f"token={LIVE}", f"authorization=Bearer+{LIVE}"])
async def test_a_token_in_the_address_is_never_accepted(query: str) -> None:
    answer = await Web().ask("POST", f"/mcp?{query}", token=None, content=b"{}")

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == CHALLENGE


async def test_a_token_in_the_body_is_never_accepted() -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}

    assert (
        await Web().ask("POST", "/mcp", token=None, content=f"access_token={LIVE}", headers=form)
    ).status_code == 401


async def test_a_missing_scope_is_403_and_names_what_is_held_and_what_is_needed() -> None:
    answer = await Web().call(token="narrow")

    assert answer.status_code == 403
    assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]
    assert f'scope="{READ_SCOPE} other:scope"' in answer.headers["www-authenticate"]


async def test_a_store_that_is_down_lets_nobody_in_and_says_to_come_back() -> None:
    web = Web()

    answer = await web.call(token="store-down")

    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0
    assert "canary" not in answer.text
    assert web.sdk.requests == []
