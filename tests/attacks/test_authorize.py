"""What a stranger can make of a link to /authorize: an app's request in every wrong form, and where its error goes."""

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2
import pytest

from app.demo.browser import forms
from tests.app_under_test import URL, Vitals, running_app
from tests.attacks.attacker import CHALLENGE, REDIRECT, authorize, client_id

pytestmark = pytest.mark.anyio

OAUTH_TEXT = re.compile(r"[\x20-\x21\x23-\x5b\x5d-\x7e]+")  # RFC 6749 section 4.1.2.1
WELL_KNOWN = "https://claude.ai/api/mcp/auth_callback"
EVIL = "https://evil.example/sign-in-at-oura"


def told(answer: httpx2.Response) -> dict[str, str]:
    """What a redirect to the app carries, each once."""
    assert answer.status_code == 303, answer.text
    address, _, query = answer.headers["location"].partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    assert address == REDIRECT
    assert len({name for name, _ in pairs}) == len(pairs)
    return dict(pairs)


def request(client: str, *more: tuple[str, str], without: Iterable[str] = ()) -> str:
    """An authorization request with parameters left out or added, repeated ones included."""
    asked = parse_qsl(urlsplit(authorize(client)).query)
    return f"{URL}/authorize?{urlencode([*(pair for pair in asked if pair[0] not in without), *more])}"


UNPROVEN: list[tuple[tuple[str, ...], list[tuple[str, str]]]] = [
    (("client_id",), []),
    (("client_id",), [("client_id", "vc_nobody")]),
    ((), [("client_id", "vc_nobody")]),
    (("client_id",), [("client_id", "https://nobody.invalid/client.json")]),
    (("redirect_uri",), []),
    (("redirect_uri",), [("redirect_uri", EVIL)]),
    ((), [("redirect_uri", EVIL)]),
    ((), [("redirect_uri", REDIRECT)]),
    (("redirect_uri",), [("redirect_uri", REDIRECT + "/")]),
    (("redirect_uri",), [("redirect_uri", REDIRECT + "#")]),
]


async def test_until_app_and_address_are_proven_there_is_a_page_and_no_way_on(vitals: Vitals) -> None:
    http = vitals.http()
    client = await client_id(http)

    for without, more in UNPROVEN:
        for wrong in ([], [("response_type", "token")], [("scope", "nothing")]):
            answer = await http.get(request(client, *more, *wrong, without=without))

            assert answer.status_code == 400, more
            assert "location" not in answer.headers
            assert "evil" not in answer.text
            assert "http-equiv" not in answer.text


FAULTS: list[tuple[str, tuple[str, ...], list[tuple[str, str]]]] = [
    ("invalid_request", ("response_type",), []),
    ("unsupported_response_type", ("response_type",), [("response_type", "token")]),
    ("unsupported_response_type", ("response_type",), [("response_type", "code id_token")]),
    ("unsupported_response_type", ("response_type",), [("response_type", 'ä"\\')]),
    ("invalid_request", ("code_challenge",), []),
    ("invalid_request", ("code_challenge", "code_challenge_method"), []),
    ("invalid_request", ("code_challenge_method",), []),
    ("invalid_request", ("code_challenge_method",), [("code_challenge_method", "plain")]),
    ("invalid_request", ("code_challenge",), [("code_challenge", CHALLENGE[:-1])]),
    ("invalid_target", (), [("resource", "https://other.example/mcp")]),
    ("invalid_target", (), [("resource", f"{URL}/mcp#x")]),
    ("invalid_target", (), [("resource", URL)]),
    ("invalid_target", (), [("resource", "/mcp")]),
    ("invalid_target", (), [("resource", f"{URL}/mcp"), ("resource", f"{URL}/mcp")]),
    ("invalid_target", (), [("resource", f"{URL}/mcp"), ("resource", "https://other.example/mcp")]),
    ("invalid_scope", (), [("scope", "email")]),
    ("invalid_scope", (), [("scope", 'health:"read\\é')]),
    ("invalid_request", (), [("scope", "health:read"), ("scope", "health:read")]),
    ("invalid_request", (), [("code_challenge", CHALLENGE)]),
    ("invalid_request", (), [("response_type", "code")]),
    ("invalid_request", (), [("response_mode", "fragment")]),
]


@pytest.mark.parametrize(("error", "without", "more"), FAULTS)
async def test_after_that_the_app_is_told_with_its_state_and_our_name_once(
    vitals: Vitals, error: str, without: tuple[str, ...], more: list[tuple[str, str]]
) -> None:
    http = vitals.http()

    found = told(await http.get(request(await client_id(http), *more, without=without)))

    assert (found["error"], found["state"], found["iss"]) == (error, "the app's own", URL)
    assert "code" not in found
    assert OAUTH_TEXT.fullmatch(found["error"])
    assert OAUTH_TEXT.fullmatch(found["error_description"])


async def test_a_state_that_came_twice_comes_back_not_at_all(vitals: Vitals) -> None:
    http = vitals.http()

    found = told(await http.get(request(await client_id(http), ("state", "another"))))

    assert found["error"] == "invalid_request"
    assert "state" not in found


@pytest.mark.parametrize(
    ("without", "more"),
    [
        pytest.param((), [], id="as it should be"),
        pytest.param((), [("resource", f"{URL}/mcp")], id="resource"),
        pytest.param((), [("resource", f"{URL.upper().replace('HTTPS', 'https')}/mcp/")], id="resource in capitals"),
        pytest.param((), [("prompt", "consent")], id="prompt"),
        pytest.param((), [("scope", "health:read offline_access")], id="offline_access"),
        pytest.param((), [("scope", "health:read email profile")], id="wider than anything registered"),
        pytest.param((), [("scope", ""), ("resource", ""), ("response_mode", ""), ("prompt", "")], id="without values"),
        pytest.param(("state",), [], id="no state"),
        pytest.param((), [("nobody", "knows"), ("nobody", "this")], id="unknown, twice"),
    ],
)
async def test_whatever_apps_send_beside_leads_to_the_consent_page_each_time_it_is_opened(
    vitals: Vitals, without: tuple[str, ...], more: list[tuple[str, str]]
) -> None:
    http = vitals.http()
    address = request(await client_id(http, scope="something:else"), *more, without=without)

    first = await http.get(address)
    cookies = dict(http.cookies)
    second = await http.get(address)

    for answer in (first, second):
        assert answer.status_code == 200
        assert ("decision", "approve") in forms(answer.text)[0].buttons
    assert len(cookies) == 1
    assert dict(http.cookies) == cookies  # or the page that was shown first would be dead


async def test_a_state_without_a_value_counts_as_none(vitals: Vitals) -> None:
    http = vitals.http()
    address = request(await client_id(http), ("state", ""), ("scope", "nothing"), without=["state"])

    assert "state" not in told(await http.get(address))


@pytest.mark.parametrize("decision", ["deny", "approve"])
async def test_nothing_leads_from_a_link_to_us_to_a_strangers_page(vitals: Vitals, decision: str) -> None:
    """RFC 9700, 4.11.2: anyone may register an address, so an error does not take the browser there by itself."""
    http = vitals.http()
    client = await client_id(http, EVIL)

    for wrong in ({"scope": "nothing"}, {"response_type": "token"}, {"code_challenge": ""}, {"resource": "x"}):
        answer = await http.get(authorize(client, EVIL, **wrong))

        assert answer.status_code == 400
        assert "location" not in answer.headers
        assert "http-equiv" not in answer.text
        (link,) = re.findall(r'<a class="button plain" href="([^"]+)">Back to evil\.example</a>', answer.text)
        assert link.startswith(EVIL + "?error=")
        assert "state=" in link
        assert "iss=" in link
    shown = dict(forms((await http.get(authorize(client, EVIL))).text)[0].fields)
    form = {**shown, "request": urlencode(parse_qsl(urlsplit(authorize(client, EVIL, scope="x")).query))}
    answer = await http.post(f"{URL}/authorize", data={**form, "decision": decision}, headers={"origin": URL})
    assert "location" not in answer.headers  # nor by changing the form that was shown


@pytest.mark.parametrize(
    "redirect",
    [
        "http://localhost:8765/callback",
        "http://[::1]:8765/callback",
        "cursor://anysphere.cursor-mcp/oauth/callback",
        WELL_KNOWN,
        "https://chatgpt.com/connector_platform_oauth_redirect",
    ],
)
async def test_apps_on_this_computer_and_well_known_ones_are_told_at_once(vitals: Vitals, redirect: str) -> None:
    http = vitals.http()
    client = await client_id(http, redirect)

    answer = await http.get(authorize(client, redirect, scope="nothing"))

    assert answer.status_code == 303
    assert answer.headers["location"].startswith(redirect + "?error=invalid_scope&")


@pytest.mark.parametrize("almost", [WELL_KNOWN + "/", WELL_KNOWN + "?x", "https://claude.ai.evil.example/api"])
async def test_no_address_that_only_resembles_theirs_is(vitals: Vitals, almost: str) -> None:
    http = vitals.http()

    answer = await http.get(authorize(await client_id(http, almost), almost, scope="nothing"))

    assert answer.status_code == 400
    assert "location" not in answer.headers


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
async def test_no_script_of_another_site_may_read_the_consent_page(vitals: Vitals, method: str) -> None:
    http = vitals.http()
    headers = {"origin": "https://evil.example", "access-control-request-method": "GET"}

    answer = await http.request(method, authorize(await client_id(http)), headers=headers)

    assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert answer.status_code in {200, 403, 405}


@pytest.mark.parametrize(
    ("asked", "named", "silent"),
    [
        ("email,daily", ["Sleep", "Activity", "Email address"], ["Heart rate", "Workouts", "Tags", "Blood oxygen"]),
        ("email,heartrate,tag", ["Heart rate", "Tags"], ["Sleep", "Workouts"]),
    ],
)
async def test_the_page_names_what_is_asked_of_oura_and_nothing_else(
    tmp_path: Path, asked: str, named: list[str], silent: list[str]
) -> None:
    async with running_app(tmp_path, OURA_SCOPES=asked) as vitals:
        http = vitals.http()
        page = (await http.get(authorize(await client_id(http)))).text

    areas = re.findall(r"<li>(.+?) <span>", page)
    assert set(named) <= set(areas)
    assert not set(silent) & set(areas)
    assert re.findall(r"<code>(\w+)</code>", page) == asked.split(",")
