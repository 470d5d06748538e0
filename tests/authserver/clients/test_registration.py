"""Dynamic registration (RFC 7591): what real apps send is taken, what could hurt is not."""

import json
from typing import Any

import pytest

from app.authserver.clients.known import UNUSED_LIFE_S, USED_LIFE_S
from app.authserver.redirects import CURSOR_REDIRECT
from tests.authserver.stage import REDIRECT, Stage, asked

pytestmark = pytest.mark.anyio

CURSOR = {
    "client_name": "Cursor",
    "redirect_uris": [
        CURSOR_REDIRECT,
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "http://localhost:8787/callback",
    ],
}


async def test_an_app_that_names_no_method_becomes_public_and_is_told(stage: Stage) -> None:
    answer = await stage.http.post("/register", json={"redirect_uris": [REDIRECT]})

    assert answer.status_code == 201
    found = answer.json()
    assert found["token_endpoint_auth_method"] == "none"
    assert found["client_id_issued_at"] == int(stage.clock.at)
    assert type(found["client_id_issued_at"]) is int
    assert not found.keys() & {"client_secret", "client_secret_expires_at"}
    assert None not in found.values()
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
async def test_an_app_that_asks_for_a_secret_gets_its_own(stage: Stage, method: str) -> None:
    first = await stage.register(token_endpoint_auth_method=method)
    second = await stage.register(token_endpoint_auth_method=method)

    assert first["token_endpoint_auth_method"] == method
    assert (first["client_secret_expires_at"], type(first["client_secret_expires_at"])) == (0, int)
    assert first["client_secret"] != second["client_secret"]
    async for _, value in stage.store.scan(""):
        assert str(first["client_secret"]).encode() not in value


async def test_a_public_app_gets_no_secret_even_if_it_sends_one(stage: Stage) -> None:
    found = await stage.register(token_endpoint_auth_method="none", client_secret="mine", client_secret_expires_at=0)

    assert "client_secret" not in found


async def test_ids_of_ours_are_no_addresses(stage: Stage) -> None:
    assert str((await stage.register())["client_id"]).startswith("vc_")


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param(CURSOR, id="cursor"),
        pytest.param({"client_name": "Claude Code (server) [x]"}, id="brackets"),
        pytest.param({"client_name": "Zoë's <b>app</b> 🚀"}, id="any letters"),
        pytest.param({"redirect_uris": [f"https://app.example/{n}" for n in range(20)]}, id="20 redirects"),
        pytest.param({"grant_types": ["authorization_code", "urn:ietf:params:oauth:grant-type:jwt-bearer"]}, id="jwt"),
        pytest.param({"response_types": ["code", "token"]}, id="more response types"),
        pytest.param({"scope": "health:read offline_access email", "application_type": "native"}, id="any scope"),
        pytest.param({"client_uri": 7, "logo_uri": "javascript:alert(1)", "jwks": "x", "contacts": {}}, id="junk"),
        pytest.param({"software_statement": "a.b.c", "software_id": None, "tos_uri": None}, id="statement and nulls"),
        pytest.param({"client_name": None, "grant_types": None, "token_endpoint_auth_method": None}, id="nulls"),
        pytest.param(
            {"redirect_uris": ["http://[::1]:9/cb", "http://127.0.0.1/cb", "http://localhost"]}, id="loopback"
        ),
        pytest.param({"redirect_uris": ["https://app.example:8443/cb?x=1&y"]}, id="port and query"),
    ],
)
async def test_what_real_apps_send_is_taken(stage: Stage, metadata: dict[str, object]) -> None:
    found = await stage.register(**metadata)

    assert found["grant_types"] == ["authorization_code", "refresh_token"]
    assert found["response_types"] == ["code"]
    assert found["redirect_uris"] == metadata.get("redirect_uris", [REDIRECT])
    assert None not in found.values()
    assert not found.keys() & {"client_uri", "logo_uri", "jwks", "software_statement"}


@pytest.mark.parametrize(
    "uri",
    [
        pytest.param("javascript:alert(1)", id="javascript"),
        pytest.param("JavaScript://app.example/%0aalert(1)", id="javascript with a host"),
        pytest.param("data:text/html,x", id="data"),
        pytest.param("file:///etc/passwd", id="file"),
        pytest.param("http://app.example/cb", id="http off loopback"),
        pytest.param("http://localhost.evil.example/cb", id="looks like localhost"),
        pytest.param("http://127.0.0.2/cb", id="another loopback address"),
        pytest.param("http://0.0.0.0/cb", id="any address"),
        pytest.param("https://app.example/cb#", id="fragment"),
        pytest.param("https://user@app.example/cb", id="user"),
        pytest.param("http://localhost:80@evil.example/cb", id="user that looks like a host"),
        pytest.param("https://*.app.example/cb", id="wildcard host"),
        pytest.param("https://app.example/*", id="wildcard path"),
        pytest.param("https://app.example/c b", id="space"),
        pytest.param("https://app.example/\r\nSet-Cookie:x", id="line break"),
        pytest.param("https://app.example/\x00", id="control"),
        pytest.param("https://app.example\\@evil.example/", id="backslash"),
        pytest.param("https://app.exämple/cb", id="not ASCII"),
        pytest.param('https://app.example/"', id="quote"),
        pytest.param("https://app.example/%zz", id="bad percent"),
        pytest.param("https://app.example/" + "a" * 1024, id="overlong"),
        pytest.param("https://app.example:99999/", id="port out of range"),
        pytest.param("https://app.example:0/", id="port zero"),
        pytest.param("https://[::1/", id="broken host"),
        pytest.param("https:///cb", id="no host"),
        pytest.param("https:app.example/cb", id="no slashes"),
        pytest.param("//app.example/cb", id="no scheme"),
        pytest.param("/cb", id="relative"),
        pytest.param("cursor://anysphere.cursor-mcp/oauth/callback/", id="almost cursor"),
        pytest.param("cursor://evil/oauth/callback", id="cursor, elsewhere"),
        pytest.param("com.app.example:/cb", id="private-use scheme"),
        pytest.param("https://app.example/cb?iss=https://evil.example", id="iss in the query"),
        pytest.param("https://app.example/cb?%73tate=x", id="state in the query, encoded"),
        pytest.param("", id="empty"),
        pytest.param(7, id="number"),
        pytest.param(None, id="null"),
        pytest.param(["https://app.example/cb"], id="list"),
    ],
)
async def test_a_redirect_uri_that_could_leak_a_code_is_refused(stage: Stage, uri: object) -> None:
    answer = await stage.http.post("/register", json={"redirect_uris": [REDIRECT, uri]})

    assert answer.status_code == 400
    assert answer.json()["error"] == "invalid_redirect_uri"
    assert answer.headers["cache-control"] == "no-store"
    assert "evil" not in answer.text


@pytest.mark.parametrize(
    ("change", "error"),
    [
        pytest.param({"redirect_uris": []}, "invalid_redirect_uri", id="no redirects"),
        pytest.param({"redirect_uris": None}, "invalid_redirect_uri", id="null redirects"),
        pytest.param({"redirect_uris": REDIRECT}, "invalid_redirect_uri", id="redirects as text"),
        pytest.param({"redirect_uris": [REDIRECT] * 21}, "invalid_redirect_uri", id="21 redirects"),
        pytest.param({"token_endpoint_auth_method": "private_key_jwt"}, "invalid_client_metadata", id="key"),
        pytest.param({"token_endpoint_auth_method": "tls_client_auth"}, "invalid_client_metadata", id="tls"),
        pytest.param({"token_endpoint_auth_method": ["none"]}, "invalid_client_metadata", id="method as list"),
        pytest.param({"grant_types": ["client_credentials"]}, "invalid_client_metadata", id="no code grant"),
        pytest.param({"grant_types": "authorization_code"}, "invalid_client_metadata", id="grants as text"),
        pytest.param({"response_types": ["token"]}, "invalid_client_metadata", id="no code response"),
        pytest.param({"response_types": [{}]}, "invalid_client_metadata", id="response types of objects"),
        pytest.param({"client_name": {"en": "App"}}, "invalid_client_metadata", id="name as object"),
    ],
)
async def test_metadata_that_cannot_work_here_is_refused_with_the_reason(
    stage: Stage, change: dict[str, Any], error: str
) -> None:
    answer = await stage.http.post("/register", json={"redirect_uris": [REDIRECT], **change})

    assert (answer.status_code, answer.json()["error"]) == (400, error)
    assert answer.json()["error_description"]


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"7", b'"x"', b"{}", b"\xff\xfe", b"[" * 5000, b'{"redirect_uris": [' * 500],
    ids=["empty", "cut", "list", "null", "number", "text", "no members", "not UTF-8", "deep", "deep objects"],
)
async def test_a_body_that_is_no_metadata_is_a_400_and_the_next_one_is_served(stage: Stage, body: bytes) -> None:
    answer = await stage.http.post("/register", content=body, headers={"content-type": "application/json"})

    assert answer.status_code == 400
    assert answer.json()["error"] in {"invalid_client_metadata", "invalid_redirect_uri"}
    await stage.register()


async def test_a_large_body_is_refused_without_reading_it_all(stage: Stage) -> None:
    sent = 0

    async def endless() -> Any:
        nonlocal sent
        while sent < 100 * 1024 * 1024:
            sent += 16 * 1024
            yield b"x" * 16 * 1024

    answer = await stage.http.post("/register", content=endless(), headers={"content-type": "application/json"})

    assert answer.status_code == 413
    assert answer.json()["error"] == "invalid_request"
    assert sent < 1024 * 1024


async def test_a_name_is_cut_and_loses_what_cannot_be_seen(stage: Stage) -> None:
    found = await stage.register(client_name="  A\u202eB\n" + "c" * 500)

    assert found["client_name"] == "AB" + "c" * 198


async def test_an_app_that_nobody_uses_is_forgotten(stage: Stage) -> None:
    client_id = await stage.public_client()

    stage.clock.pass_s(UNUSED_LIFE_S - 1)
    await stage.server.authorizations.validate(list(asked(client_id).items()))
    stage.clock.pass_s(2)
    bad = await stage.refused(asked(client_id))

    assert (bad.error, bad.redirect_location) == ("invalid_client", None)


async def test_an_app_that_comes_back_is_kept(stage: Stage) -> None:
    held = await stage.connect()
    for _ in range(3):
        stage.clock.pass_s(29 * 24 * 3600)
        held |= (await stage.refresh(held)).json()
    stage.clock.pass_s(USED_LIFE_S - 1)

    found = await stage.server.authorizations.validate(list(asked(held["client_id"]).items()))
    assert found.client.client_id == held["client_id"]


async def test_what_is_stored_of_an_app_is_its_name_and_addresses(stage: Stage) -> None:
    found = await stage.register()
    raw = await stage.store.get(f"client:{found['client_id']}")

    assert raw is not None
    assert json.loads(raw) == {
        "client_id": found["client_id"],
        "name": "App",
        "redirect_uris": [REDIRECT],
        "auth_method": "none",
        "secret_hash": None,
        "document": False,
        "created_at": stage.clock.at,
    }
