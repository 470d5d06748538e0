"""/authorize, before anyone is asked: which requests pass, and where the errors of the others may go."""

from pathlib import Path

import pytest

from app.authserver.redirects import CURSOR_REDIRECT, error_location, success_location
from tests.authserver.stage import CHALLENGE, ISSUER, REDIRECT, RESOURCE, Stage, asked, query, staged

pytestmark = pytest.mark.anyio


async def test_a_good_request_comes_out_as_it_was_meant(stage: Stage) -> None:
    client_id = await stage.public_client()

    request = await stage.server.authorizations.validate(list(asked(client_id).items()))

    assert request.client.client_id == client_id
    assert request.client.host is None
    assert (request.redirect_uri, request.state) == (REDIRECT, "some state")
    assert (request.scopes, request.resource, request.code_challenge) == (("health:read",), RESOURCE, CHALLENGE)


async def test_asking_twice_changes_nothing(stage: Stage) -> None:
    params = list(asked(await stage.public_client()).items())

    assert await stage.server.authorizations.validate(params) == await stage.server.authorizations.validate(params)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"client_id": ""}, id="no client"),
        pytest.param({"client_id": "vc_unknown"}, id="unknown client"),
        pytest.param({"client_id": "grant:x"}, id="client id with a colon"),
        pytest.param({"client_id": "x" * 5000}, id="long client id"),
        pytest.param({"redirect_uri": ""}, id="no redirect"),
        pytest.param({"redirect_uri": "https://evil.example/callback"}, id="another host"),
        pytest.param({"redirect_uri": REDIRECT + "/"}, id="slash added"),
        pytest.param({"redirect_uri": REDIRECT + "?x=1"}, id="query added"),
        pytest.param({"redirect_uri": REDIRECT.upper()}, id="capitals"),
        pytest.param({"redirect_uri": "https://app.example:443/callback"}, id="default port added"),
        pytest.param({"redirect_uri": "https://app.example/../callback"}, id="dot segments"),
        pytest.param({"redirect_uri": "javascript:alert(1)"}, id="javascript"),
        pytest.param({"redirect_uri": 'https://evil.example/"'}, id="characters that Authlib chokes on"),
    ],
)
@pytest.mark.parametrize("also", [{}, {"response_type": "token"}, {"code_challenge": ""}, {"scope": "no"}])
async def test_until_client_and_redirect_are_proven_an_error_is_only_shown(
    stage: Stage, change: dict[str, str], also: dict[str, str]
) -> None:
    bad = await stage.refused(asked(await stage.public_client()) | also | change)

    assert bad.redirect_location is None
    assert "evil" not in str(bad)


@pytest.mark.parametrize("name", ["client_id", "redirect_uri"])
async def test_a_repeated_client_or_redirect_is_only_shown(stage: Stage, name: str) -> None:
    params = asked(await stage.public_client())

    bad = await stage.refused([*params.items(), (name, params[name])])

    assert bad.redirect_location is None


REDIRECTED = [
    pytest.param({"response_type": ""}, "invalid_request", id="no response type"),
    pytest.param({"response_type": "token"}, "unsupported_response_type", id="implicit"),
    pytest.param({"response_type": "code token"}, "unsupported_response_type", id="hybrid"),
    pytest.param({"response_type": '"\\é'}, "unsupported_response_type", id="odd response type"),
    pytest.param({"response_mode": "fragment"}, "invalid_request", id="fragment"),
    pytest.param({"code_challenge": ""}, "invalid_request", id="no challenge"),
    pytest.param({"code_challenge": "", "code_challenge_method": ""}, "invalid_request", id="no PKCE at all"),
    pytest.param({"code_challenge_method": "plain"}, "invalid_request", id="plain"),
    pytest.param({"code_challenge_method": ""}, "invalid_request", id="no method, which means plain"),
    pytest.param({"code_challenge_method": "s256"}, "invalid_request", id="method in small letters"),
    pytest.param({"code_challenge": CHALLENGE[:-1]}, "invalid_request", id="short challenge"),
    pytest.param({"code_challenge": CHALLENGE + "A"}, "invalid_request", id="long challenge"),
    pytest.param({"code_challenge": CHALLENGE + "\n"}, "invalid_request", id="challenge with a line break"),
    pytest.param({"code_challenge": CHALLENGE[:-1] + "="}, "invalid_request", id="padded challenge"),
    pytest.param({"resource": "https://other.example/mcp"}, "invalid_target", id="another host"),
    pytest.param({"resource": ISSUER}, "invalid_target", id="the bare origin"),
    pytest.param({"resource": RESOURCE + "/else"}, "invalid_target", id="below the resource"),
    pytest.param({"resource": RESOURCE + "#x"}, "invalid_target", id="fragment in the resource"),
    pytest.param({"resource": RESOURCE + "?x"}, "invalid_target", id="query in the resource"),
    pytest.param({"resource": RESOURCE.replace("https", "http")}, "invalid_target", id="http resource"),
    pytest.param({"resource": RESOURCE.replace("//", "//a@")}, "invalid_target", id="user in the resource"),
    pytest.param({"resource": "mcp"}, "invalid_target", id="relative resource"),
    pytest.param({"resource": "https://[x/mcp"}, "invalid_target", id="broken resource"),
    pytest.param({"scope": "email"}, "invalid_scope", id="unknown scope"),
    pytest.param({"scope": "email offline_access"}, "invalid_scope", id="unknown scope and offline_access"),
    pytest.param({"scope": 'health:"read'}, "invalid_scope", id="odd scope"),
    pytest.param({"state": "s" * 4097}, "invalid_request", id="overlong state"),
]


@pytest.mark.parametrize(("change", "error"), REDIRECTED)
async def test_after_that_an_error_goes_back_with_state_and_iss_once(
    stage: Stage, change: dict[str, str], error: str
) -> None:
    params = asked(await stage.public_client()) | change

    bad = await stage.refused(params)

    assert bad.error == error
    assert bad.redirect_location is not None
    assert bad.redirect_location.startswith(REDIRECT + "?")
    sent = query(bad.redirect_location)
    assert [value for name, value in sent if name == "iss"] == [ISSUER]
    assert [value for name, value in sent if name == "error"] == [error]
    assert dict(sent)["error_description"]
    assert dict(sent).get("state") == (None if len(params["state"]) > 4096 else "some state")
    assert not {"code"} & dict(sent).keys()


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("response_type", "invalid_request"),
        ("scope", "invalid_request"),
        ("state", "invalid_request"),
        ("code_challenge", "invalid_request"),
        ("code_challenge_method", "invalid_request"),
        ("resource", "invalid_target"),
    ],
)
async def test_a_repeated_parameter_is_an_error_even_with_the_same_value(stage: Stage, name: str, error: str) -> None:
    params = asked(await stage.public_client())

    bad = await stage.refused([*params.items(), (name, params[name])])

    assert (bad.error, bad.redirect_location is not None) == (error, True)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"resource": ""}, id="no resource"),
        pytest.param({"resource": RESOURCE + "/"}, id="slash at the end"),
        pytest.param({"resource": "HTTPS://VITALS.example/mcp"}, id="capitals in scheme and host"),
        pytest.param({"resource": "https://vitals.example:443/mcp"}, id="default port"),
        pytest.param({"scope": ""}, id="no scope"),
        pytest.param({"scope": " "}, id="blank scope"),
        pytest.param({"scope": "offline_access"}, id="offline_access alone"),
        pytest.param({"scope": "health:read offline_access"}, id="offline_access beside"),
        pytest.param({"scope": "health:read email profile"}, id="unknown scopes beside"),
        pytest.param({"prompt": "consent"}, id="prompt"),
        pytest.param({"prompt": "none login x"}, id="odd prompt"),
        pytest.param({"response_mode": "query"}, id="response mode"),
        pytest.param({"nonce": "x", "login_hint": "y", "claims": "{}"}, id="unknown parameters"),
    ],
)
async def test_what_clients_send_beside_is_taken_and_bound_to_our_resource_and_scope(
    stage: Stage, change: dict[str, str]
) -> None:
    params = asked(await stage.public_client()) | change

    request = await stage.server.authorizations.validate(list(params.items()))

    assert (request.resource, request.scopes) == (RESOURCE, ("health:read",))


async def test_the_scope_an_app_registered_does_not_bind_it(stage: Stage) -> None:
    client_id = str((await stage.register(scope="something else"))["client_id"])

    request = await stage.server.authorizations.validate(list(asked(client_id).items()))

    assert request.scopes == ("health:read",)


@pytest.mark.parametrize(
    ("registered", "requested", "good"),
    [
        pytest.param("http://localhost/callback", "http://localhost:51234/callback", True, id="any port"),
        pytest.param("http://127.0.0.1/callback", "http://127.0.0.1:1/callback", True, id="the address"),
        pytest.param("http://[::1]/callback", "http://[::1]:51234/callback", True, id="IPv6"),
        pytest.param("http://localhost:8787/callback", "http://localhost:9999/callback", True, id="another port"),
        pytest.param("http://localhost:8787/callback", "http://localhost/callback", True, id="port left out"),
        pytest.param("http://127.0.0.1:33418/", "http://127.0.0.1:40000/", True, id="VS Code"),
        pytest.param("http://localhost/callback", "http://127.0.0.1:5/callback", False, id="not the other host"),
        pytest.param("http://localhost/callback", "http://localhost:5/callback/", False, id="path exact"),
        pytest.param("http://localhost/callback", "http://localhost:5/callback?x", False, id="query exact"),
        pytest.param("http://localhost/callback", "https://localhost:5/callback", False, id="scheme exact"),
        pytest.param("http://localhost/callback", "http://localhost:70000/callback", False, id="no such port"),
        pytest.param("http://localhost/callback", "http://localhost:0/callback", False, id="port zero"),
        pytest.param("http://localhost/callback", "http://localhost:/callback", False, id="empty port"),
        pytest.param("http://localhost/callback", "http://localhost:5@evil.example/callback", False, id="user"),
        pytest.param("http://localhost/callback", "http://localhost.evil.example/callback", False, id="host exact"),
        pytest.param("http://localhost", "http://localhost:5", True, id="no path"),
        pytest.param("http://localhost", "http://localhost:5/", False, id="no path is no slash"),
        pytest.param("https://app.example/cb", "https://app.example:8443/cb", False, id="https ports count"),
        pytest.param(CURSOR_REDIRECT, CURSOR_REDIRECT, True, id="cursor"),
    ],
)
async def test_the_port_is_free_on_loopback_and_nothing_else_anywhere(
    stage: Stage, registered: str, requested: str, good: bool
) -> None:
    client_id = str((await stage.register(redirect_uris=[registered]))["client_id"])
    params = asked(client_id, redirect_uri=requested)

    if good:
        request = await stage.server.authorizations.validate(list(params.items()))
        assert request.redirect_uri == requested
    else:
        assert (await stage.refused(params)).redirect_location is None


@pytest.mark.parametrize(
    ("uri", "start"),
    [
        ("https://app.example/cb", "https://app.example/cb?"),
        ("https://app.example/cb?a=%41&b", "https://app.example/cb?a=%41&b&"),
        ("https://app.example/cb?", "https://app.example/cb?"),
        (CURSOR_REDIRECT, CURSOR_REDIRECT + "?"),
    ],
)
async def test_an_answer_leaves_the_registered_address_as_it_is(stage: Stage, uri: str, start: str) -> None:
    client_id = str((await stage.register(redirect_uris=[uri]))["client_id"])
    state = 'a&b="><script>\r\n é'
    request = await stage.server.authorizations.validate(list(asked(client_id, redirect_uri=uri, state=state).items()))

    for location in (
        success_location(request, "the code", ISSUER),
        error_location(request, "access_denied", "The owner said no.", ISSUER),
    ):
        assert location.startswith(start)
        assert not set('<>"\r\n ') & set(location)
        sent = query(location)
        assert sent.count(("iss", ISSUER)) == sum(name == "iss" for name, _ in sent) == 1
        assert dict(sent)["state"] == state


async def test_no_state_comes_back_if_none_was_sent(stage: Stage) -> None:
    params = asked(await stage.public_client())
    del params["state"]

    request = await stage.server.authorizations.validate(list(params.items()))

    assert "state" not in dict(query(success_location(request, "c", ISSUER)))


async def test_a_server_on_loopback_works_over_http(tmp_path: Path) -> None:
    async with staged(tmp_path, issuer="http://127.0.0.1:8000") as stage:
        client_id = await stage.public_client()
        code = await stage.code(client_id, resource="http://127.0.0.1:8000/mcp")

        answer = await stage.redeem(client_id, code, resource="http://127.0.0.1:8000/mcp")

        assert answer.status_code == 200
