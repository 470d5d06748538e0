"""Client ID metadata documents: which addresses and documents count, for how long, and what serves in hard times."""

import json
from pathlib import Path

import pytest

from app.authserver.clients.cimd import FRESH_MAX_S, FRESH_MIN_S, RETRY_S, STALE_MAX_S, DocumentUnavailable, Fetched
from app.authserver.clients.pinned import PINNED
from app.authserver.records import BadAuthorization
from tests.authserver.stage import REDIRECT, Stage, asked, staged

pytestmark = pytest.mark.anyio

APP = "https://app.example/oauth/client.json"


def document(client_id: str = APP, **changes: object) -> bytes:
    found = {
        "client_id": client_id,
        "client_name": "Document App",
        "redirect_uris": [REDIRECT],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": "none",
    } | changes
    return json.dumps({name: value for name, value in found.items() if value is not None}).encode()


def publish(stage: Stage, body: bytes | None = None, *, at: str = APP, cache_control: str = "", age: str = "") -> None:
    stage.web.documents[at] = Fetched(document(at) if body is None else body, cache_control, age)


async def accepted(stage: Stage, client_id: str = APP, redirect: str = REDIRECT) -> bool:
    params = list(asked(client_id, redirect_uri=redirect).items())
    found = await stage.server.authorizations.validate(params)
    return found.client.client_id == client_id


async def test_an_app_known_by_its_document_connects_and_its_host_is_known(stage: Stage) -> None:
    publish(stage)

    request = await stage.server.authorizations.validate(list(asked(APP).items()))
    held = await stage.connect(APP)

    assert (request.client.name, request.client.host, request.client.document) == ("Document App", "app.example", True)
    assert await stage.may(held["access_token"])
    assert (await stage.refresh(held)).status_code == 200
    assert stage.web.asked == [APP]


@pytest.mark.parametrize(
    "client_id",
    [
        pytest.param("https://app.example:8443/client.json", id="port"),
        pytest.param("https://app.example/client.json?v=1", id="query"),
        pytest.param("https://app.example/a/b/", id="slash at the end"),
        pytest.param("https://app.example/.well-known/client", id="a dot that is no dot segment"),
        pytest.param("https://APP.example/client.json", id="capitals, compared as they are"),
        pytest.param("https://93.184.216.34/client.json", id="public address"),
    ],
)
async def test_an_address_by_the_rules_is_fetched_as_it_was_sent(stage: Stage, client_id: str) -> None:
    publish(stage, at=client_id)

    assert await accepted(stage, client_id)
    assert stage.web.asked == [client_id]


@pytest.mark.parametrize(
    "client_id",
    [
        pytest.param("http://app.example/client.json", id="http"),
        pytest.param("http://127.0.0.1:9000/client.json", id="http on loopback, for a server that is not"),
        pytest.param("https://app.example", id="no path"),
        pytest.param("https://app.example/", id="root"),
        pytest.param("https://app.example?x", id="query for a path"),
        pytest.param("https://app.example/./client.json", id="dot segment"),
        pytest.param("https://app.example/a/../client.json", id="two dots"),
        pytest.param("https://app.example/a/%2e%2E/client.json", id="encoded dots"),
        pytest.param("https://app.example/a/.%2e", id="half encoded dots"),
        pytest.param("https://app.example/client.json#x", id="fragment"),
        pytest.param("https://app.example/client.json#", id="empty fragment"),
        pytest.param("https://user@app.example/client.json", id="user"),
        pytest.param("https://user:pw@app.example/client.json", id="user and password"),
        pytest.param("https://app.example\\@evil.example/x", id="backslash"),
        pytest.param("https://app.example/cli ent", id="space"),
        pytest.param("https://app.example/\r\nHost: evil.example", id="line break"),
        pytest.param("https://äpp.example/client.json", id="not ASCII"),
        pytest.param("https://app.example/" + "a" * 1024, id="overlong"),
        pytest.param("https:///client.json", id="no host"),
        pytest.param("https:app.example/client.json", id="no slashes"),
        pytest.param("https://[::1/client.json", id="broken host"),
        pytest.param("https://app.example:99999/client.json", id="no such port"),
        pytest.param("HTTPS://app.example/client.json", id="scheme in capitals"),
    ],
)
async def test_an_address_outside_the_rules_is_never_fetched(stage: Stage, client_id: str) -> None:
    publish(stage, at=client_id)

    bad = await stage.refused(asked(client_id))

    assert (bad.error, bad.redirect_location) == ("invalid_client", None)
    assert stage.web.asked == []


@pytest.mark.parametrize(
    ("body", "why"),
    [
        pytest.param(document("https://other.example/client.json"), "client_id", id="another client_id"),
        pytest.param(document(APP + "/"), "client_id", id="client_id with a slash"),
        pytest.param(document(client_id=None), "client_id", id="no client_id"),  # type: ignore[arg-type]  # left out
        pytest.param(document(client_name=None), "client_name", id="no name"),
        pytest.param(document(client_name=7), "client_name", id="name no text"),
        pytest.param(document(redirect_uris=None), "redirect_uris", id="no redirects"),
        pytest.param(document(redirect_uris=[]), "redirect_uris", id="empty redirects"),
        pytest.param(document(redirect_uris=REDIRECT), "redirect_uris", id="redirects as text"),
        pytest.param(document(redirect_uris=[REDIRECT] * 21), "redirect_uris", id="21 redirects"),
        pytest.param(document(redirect_uris=["javascript:x", "data:x"]), "redirect_uris", id="no usable redirect"),
        pytest.param(document(client_secret="x"), "secret", id="secret"),
        pytest.param(document(client_secret_expires_at=0), "secret", id="secret's expiry"),
        pytest.param(document(token_endpoint_auth_method="client_secret_post"), "none", id="post"),
        pytest.param(document(token_endpoint_auth_method="client_secret_basic"), "none", id="basic"),
        pytest.param(document(token_endpoint_auth_method="private_key_jwt"), "none", id="key"),
        pytest.param(
            document(
                token_endpoint_auth_method="private_key_jwt", token_endpoint_auth_methods_supported=["private_key_jwt"]
            ),
            "none",
            id="key and nothing else",
        ),
        pytest.param(b"[]", "JSON object", id="list"),
        pytest.param(b"<html>", "not JSON", id="HTML"),
        pytest.param(b"", "not JSON", id="empty"),
        pytest.param(b"\xff\xfe", "not JSON", id="not UTF-8"),
        pytest.param(b"[" * 5000, "JSON", id="deep"),
    ],
)
async def test_a_document_that_describes_no_client_of_ours_is_refused_with_the_reason(
    stage: Stage, body: bytes, why: str
) -> None:
    publish(stage, body)

    bad = await stage.refused(asked(APP))

    assert (bad.error, bad.redirect_location) == ("invalid_client", None)
    assert why in str(bad)
    assert [key async for key, _ in stage.store.scan("cimd:")] == []


async def test_the_two_methods_of_chatgpt_settle_on_none(stage: Stage) -> None:
    publish(
        stage,
        document(
            token_endpoint_auth_method="private_key_jwt",
            token_endpoint_auth_methods_supported=["none", "private_key_jwt"],
            token_endpoint_auth_signing_alg="RS256",
            jwks_uri="https://app.example/jwks.json",
            logo_uri="https://app.example/logo.png",
        ),
    )

    held = await stage.connect(APP)

    assert await stage.may(held["access_token"])
    assert stage.web.asked == [APP]  # and no other address of the document


async def test_redirects_that_are_not_served_are_left_out_and_the_others_work(stage: Stage) -> None:
    publish(stage, document(redirect_uris=["vscode://x/y", "javascript:alert(1)", "http://app.example/", REDIRECT]))

    assert await accepted(stage)
    for uri in ("vscode://x/y", "javascript:alert(1)", "http://app.example/"):
        assert (await stage.refused(asked(APP, redirect_uri=uri))).redirect_location is None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
async def test_a_portless_loopback_redirect_takes_any_port(stage: Stage, host: str) -> None:
    publish(stage, document(redirect_uris=["http://localhost/callback", "http://127.0.0.1/callback"]))

    assert await accepted(stage, redirect=f"http://{host}:51234/callback")
    assert (await stage.refused(asked(APP, redirect_uri=f"http://{host}:51234/other"))).redirect_location is None


@pytest.mark.parametrize(
    ("cache_control", "age", "fresh_s"),
    [
        pytest.param("", "", FRESH_MIN_S, id="nothing said"),
        pytest.param("max-age=3600", "", 3600, id="an hour"),
        pytest.param("public, Max-Age=3600, must-revalidate", "600", 3000, id="an hour, ten minutes old"),
        pytest.param('max-age="3600"', "x", 3600, id="quoted, odd age"),
        pytest.param("max-age=1", "", FRESH_MIN_S, id="too short"),
        pytest.param("max-age=99999999999999", "", FRESH_MAX_S, id="too long"),
        pytest.param("no-store, max-age=3600", "", FRESH_MIN_S, id="no-store"),
        pytest.param("no-cache", "", FRESH_MIN_S, id="no-cache"),
        pytest.param("max-age=-5", "", FRESH_MIN_S, id="negative"),
        pytest.param("max-age", "", FRESH_MIN_S, id="no figure"),
    ],
)
async def test_a_document_is_believed_as_long_as_its_server_says_within_bounds(
    stage: Stage, cache_control: str, age: str, fresh_s: float
) -> None:
    publish(stage, cache_control=cache_control, age=age)
    await accepted(stage)

    stage.clock.pass_s(fresh_s - 1)
    await accepted(stage)
    assert len(stage.web.asked) == 1
    stage.clock.pass_s(1)
    await accepted(stage)

    assert len(stage.web.asked) == 2


async def test_a_changed_document_counts_once_the_old_one_is_no_longer_fresh(stage: Stage) -> None:
    publish(stage)
    await accepted(stage)
    publish(stage, document(redirect_uris=["https://app.example/new"]))

    stage.clock.pass_s(FRESH_MIN_S)

    assert await accepted(stage, redirect="https://app.example/new")
    assert (await stage.refused(asked(APP))).redirect_location is None


async def test_a_failed_fetch_is_not_remembered(stage: Stage) -> None:
    await stage.refused(asked(APP))
    publish(stage)

    assert await accepted(stage)
    assert stage.web.asked == [APP, APP]


@pytest.mark.parametrize("failure", ["unreachable", "HTML", "another client_id"])
async def test_an_older_copy_serves_while_the_fetch_fails_but_not_for_ever(stage: Stage, failure: str) -> None:
    publish(stage)
    held = await stage.connect(APP)
    match failure:
        case "unreachable":
            stage.web.documents.clear()
        case "HTML":
            publish(stage, b"<html>challenge</html>")
        case _:
            publish(stage, document("https://other.example/x"))

    stage.clock.pass_s(20 * 24 * 3600)
    assert await accepted(stage)
    answer = await stage.refresh(held)
    assert answer.status_code == 200
    asked_before = len(stage.web.asked)
    assert await accepted(stage)
    assert len(stage.web.asked) == asked_before  # a short pause between attempts
    stage.clock.pass_s(RETRY_S)
    assert await accepted(stage)
    assert len(stage.web.asked) == asked_before + 1
    stage.clock.pass_s(STALE_MAX_S - 20 * 24 * 3600)

    assert (await stage.refused(asked(APP))).error == "invalid_client"


async def test_a_document_that_nobody_used_is_forgotten_after_a_day(stage: Stage) -> None:
    publish(stage)
    await accepted(stage)
    stage.web.documents.clear()

    stage.clock.pass_s(24 * 3600)

    assert (await stage.refused(asked(APP))).error == "invalid_client"
    assert [key async for key, _ in stage.store.scan("cimd:")] == []


@pytest.mark.parametrize(
    ("client_id", "redirect"),
    [
        ("https://claude.ai/oauth/mcp-oauth-client-metadata", "https://claude.ai/api/mcp/auth_callback"),
        ("https://claude.ai/oauth/mcp-oauth-client-metadata", "https://claude.com/api/mcp/auth_callback"),
        ("https://claude.ai/oauth/claude-code-client-metadata", "http://localhost:51234/callback"),
        ("https://claude.ai/oauth/claude-code-client-metadata", "http://127.0.0.1:51234/callback"),
        ("https://chatgpt.com/oauth/client.json", "https://chatgpt.com/connector_platform_oauth_redirect"),
        ("https://vscode.dev/oauth/client-metadata.json", "http://127.0.0.1:40000/"),
        ("https://vscode.dev/oauth/client-metadata.json", "https://vscode.dev/redirect"),
    ],
)
async def test_well_known_apps_connect_though_their_document_cannot_be_fetched(
    stage: Stage, client_id: str, redirect: str
) -> None:
    assert await accepted(stage, client_id, redirect)
    assert stage.web.asked == [client_id]
    bad = await stage.refused(asked(client_id, redirect_uri="https://evil.example/callback"))
    assert bad.redirect_location is None


async def test_every_pinned_copy_is_one_of_the_documents_named_and_usable(stage: Stage) -> None:
    assert len(PINNED) == 4
    for client_id in PINNED:
        assert (await stage.server.clients.find(client_id)) is not None


async def test_a_published_document_wins_over_the_pinned_one_and_stays_when_it_goes(stage: Stage) -> None:
    client_id = "https://claude.ai/oauth/mcp-oauth-client-metadata"
    assert await accepted(stage, client_id, "https://claude.ai/api/mcp/auth_callback")
    publish(stage, document(client_id, redirect_uris=["https://claude.ai/new"]), at=client_id)
    stage.clock.pass_s(RETRY_S)
    assert await accepted(stage, client_id, "https://claude.ai/new")
    stage.web.documents.clear()
    stage.clock.pass_s(FRESH_MIN_S)

    assert await accepted(stage, client_id, "https://claude.ai/new")
    bad = await stage.refused(asked(client_id, redirect_uri="https://claude.ai/api/mcp/auth_callback"))
    assert bad.redirect_location is None


@pytest.mark.parametrize(
    ("issuer", "client_id", "good"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:9000/client.json", True),
        ("http://127.0.0.1:8000", "https://127.0.0.1:9000/client.json", True),
        ("http://localhost:8000", "http://localhost:9000/client.json", True),
        ("http://127.0.0.1:8000", "http://localhost:9000/client.json", False),
        ("http://127.0.0.1:8000", "http://127.0.0.2:9000/client.json", False),
        ("http://127.0.0.1:8000", "http://app.example/client.json", False),
    ],
)
async def test_a_server_on_loopback_takes_documents_from_that_very_host(
    tmp_path: Path, issuer: str, client_id: str, good: bool
) -> None:
    async with staged(tmp_path, issuer=issuer) as stage:
        publish(stage, at=client_id)
        params = asked(client_id, resource=f"{issuer}/mcp")

        if good:
            await stage.server.authorizations.validate(list(params.items()))
        else:
            assert (await stage.refused(params)).error == "invalid_client"
            assert stage.web.asked == []


@pytest.mark.parametrize(
    "why", ["its host name does not resolve.", "its host is not on the public internet, so it was not called."]
)
async def test_who_asks_does_not_learn_which_names_lead_inside(stage: Stage, why: str) -> None:
    async def fetch(_url: str) -> Fetched:
        raise DocumentUnavailable(why, shown="it could not be fetched.")

    stage.server.clients._documents._fetch = fetch
    with pytest.raises(BadAuthorization) as refused:
        await accepted(stage)

    assert "it could not be fetched." in str(refused.value)
    assert why not in str(refused.value)


async def test_a_document_that_names_this_server_as_the_place_of_the_result_is_refused(stage: Stage) -> None:
    ours = f"{stage.server.issuer}/callback/oura/"
    publish(stage, document(redirect_uris=[ours]))

    with pytest.raises(BadAuthorization, match="this server itself") as refused:
        await accepted(stage, redirect=ours)

    assert refused.value.redirect_location is None
