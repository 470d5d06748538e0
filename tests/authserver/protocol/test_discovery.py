"""Discovery: the four addresses, exact strings, and JSON where nothing is."""

import httpx2
import pytest

from tests.authserver.stage import ISSUER, RESOURCE, Stage

pytestmark = pytest.mark.anyio

RESOURCE_AT = "/.well-known/oauth-protected-resource"
SERVER_AT = "/.well-known/oauth-authorization-server"
DOCUMENTS = [
    RESOURCE_AT,
    RESOURCE_AT + "/mcp",
    RESOURCE_AT + "/mcp/",
    SERVER_AT,
    SERVER_AT + "/mcp",
    SERVER_AT + "/mcp/",
]


@pytest.mark.parametrize("root", [RESOURCE_AT, SERVER_AT])
async def test_both_addresses_of_a_document_give_the_same_content(stage: Stage, root: str) -> None:
    at_root = await stage.http.get(root)

    for end in ("/mcp", "/mcp/"):
        inserted = await stage.http.get(root + end)
        assert (inserted.status_code, inserted.content) == (200, at_root.content)


async def test_the_resource_metadata_names_the_exact_resource_and_issuer(stage: Stage) -> None:
    found = (await stage.http.get(RESOURCE_AT)).json()

    assert found["resource"] == RESOURCE
    assert found["authorization_servers"] == [ISSUER]
    assert found["scopes_supported"] == ["health:read"]


async def test_the_server_metadata_says_what_clients_decide_by(stage: Stage) -> None:
    found = (await stage.http.get(SERVER_AT)).json()

    assert found == {
        "issuer": ISSUER,
        "authorization_endpoint": ISSUER + "/authorize",
        "token_endpoint": ISSUER + "/token",
        "registration_endpoint": ISSUER + "/register",
        "revocation_endpoint": ISSUER + "/revoke",
        "scopes_supported": ["health:read", "offline_access"],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_post", "client_secret_basic"],
        "revocation_endpoint_auth_methods_supported": ["none", "client_secret_post", "client_secret_basic"],
        "code_challenge_methods_supported": ["S256"],
        "client_id_metadata_document_supported": True,
        "authorization_response_iss_parameter_supported": True,
    }


@pytest.mark.parametrize("path", DOCUMENTS)
async def test_no_document_reflects_the_host_header(stage: Stage, path: str) -> None:
    honest = await stage.http.get(path)
    hostile = await stage.http.get(path, headers={"host": "evil.example", "x-forwarded-host": "evil.example"})

    assert hostile.content == honest.content
    assert b"evil" not in hostile.content


@pytest.mark.parametrize("path", DOCUMENTS)
async def test_a_document_is_cacheable_public_and_answers_head_like_get(stage: Stage, path: str) -> None:
    get, head = await stage.http.get(path), await stage.http.head(path)

    assert get.headers["content-type"] == "application/json"
    assert get.headers["cache-control"] == "public, max-age=300"
    assert get.headers["access-control-allow-origin"] == "*"
    assert (head.status_code, dict(head.headers)) == (200, dict(get.headers))
    assert b"null" not in get.content


@pytest.mark.parametrize("path", [*DOCUMENTS, "/.well-known/openid-configuration"])
async def test_a_browser_may_ask_beforehand(stage: Stage, path: str) -> None:
    answer = await stage.http.options(
        path, headers={"origin": "https://app.example", "access-control-request-headers": "mcp-protocol-version"}
    )

    assert answer.status_code == 204
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "mcp-protocol-version" in answer.headers["access-control-allow-headers"].lower()
    assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "/.well-known/openid-configuration",
        "/.well-known/openid-configuration/mcp",
        "/.well-known/oauth-authorization-server/else",
        "/.well-known/oauth-protected-resource/",
        "/.well-known/",
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE"])
async def test_everything_else_there_is_a_json_404(stage: Stage, path: str, method: str) -> None:
    answer = await stage.http.request(method, path)

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/json"
    if method != "HEAD":
        assert answer.json() == {"error": "not_found"}


@pytest.mark.parametrize("path", ["/token", "/register", "/revoke"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
async def test_endpoints_take_post_alone_and_no_foreign_origin(stage: Stage, path: str, method: str) -> None:
    answer: httpx2.Response = await stage.http.request(method, path, headers={"origin": "https://app.example"})

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert "access-control-allow-origin" not in answer.headers
