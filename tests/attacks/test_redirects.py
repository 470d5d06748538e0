"""Getting the answer to an approval sent somewhere else than the owner was shown."""

import pytest

from app.authserver.clients.cimd import BadDocument, check_client_id
from tests.app_under_test import URL, Vitals
from tests.attacks.attacker import REDIRECT, authorize, client_id, handed_over, register, sign_in

pytestmark = pytest.mark.anyio


async def test_a_loopback_port_in_odd_digits_is_a_page_and_neither_a_fault_nor_a_way_out(vitals: Vitals) -> None:
    http = vitals.http()
    client = await client_id(http, "http://127.0.0.1/callback")

    for port in ["١٢٣", "\uff10\uff10\uff18\uff10", "²", "0", "65536", "+80", " 80", "0x50", "8_0", "80@evil.example"]:
        answer = await http.get(authorize(client, f"http://127.0.0.1:{port}/callback"))

        assert answer.status_code == 400, port
        assert "location" not in answer.headers


RESEMBLING = (
    "https://app.example:443/cb",
    "https://APP.example/cb",
    "https://app.example/cb/",
    "https://app.example/cb?",
    "https://app.example/cb#",
    "https://app.example/%63b",
    "https://app.example/x/../cb",
    "https://app.example\\@evil.example/cb",
    "https://app.example@evil.example/cb",
    "https://app.example/cb\n",
    " https://app.example/cb",
    "//app.example/cb",
    "http://127.0.0.1@evil.example/cb",
    "http://127.0.0.1.evil.example/cb",
    "http://127.0.0.1\t/cb",
    "http://127.0.0.1:80/cb/../x",
    "http://localhost/cb",
    "http://[::1]/cb",
    "https://127.0.0.1/cb",
)


async def test_only_the_registered_address_is_ever_sent_to_also_with_an_error(vitals: Vitals) -> None:
    http = vitals.http()
    client = await client_id(http, "https://app.example/cb", "http://127.0.0.1/cb")

    wrong: dict[str, str]
    for wrong in ({}, {"response_type": "token"}, {"code_challenge": "short"}, {"scope": "nothing"}):
        for sent in RESEMBLING:
            answer = await http.get(authorize(client, sent, **wrong))

            assert answer.status_code == 400, (sent, wrong)
            assert "location" not in answer.headers


MISREAD = (
    "https://claude.ai%E3%80%82evil.example/cb",  # a browser reads a dot
    "https://claude.ai%2f.evil.example/cb",
    "https://e%76il.example/cb",
    "https://claude.ai;evil.example/cb",
    "https://claude.ai,evil.example/cb",
    "https://claude.ai(evil)/cb",
    "https://claude.ai=evil/cb",
    "https://claude.ai@evil.example/cb",
    "https://claude.ai\\evil.example/cb",
    "https://[claude.ai]/cb",
    "https://\u0441laude.ai/cb",
    "https://claude.ai:0/cb",
    "https:claude.ai/cb",
    "https:///claude.ai",
    "HTTPS://claude.ai/cb",
    "https://app.example/cb?%63ode=mine",
    "javascript:alert(1)//https://claude.ai",
    "data:text/html,x",
    "http://127.0.0.1.evil.example/cb",
    "http://[::ffff:127.0.0.1]/cb",
    "http://2130706433/cb",
    "cursor://anysphere.cursor-mcp/oauth/callback/",
    "CURSOR://anysphere.cursor-mcp/oauth/callback",
)


async def test_an_address_that_browsers_and_people_read_differently_is_not_registered(vitals: Vitals) -> None:
    http = vitals.http()
    for uri in MISREAD:
        answer = await register(http, uri)

        assert answer.status_code == 400, uri
        assert answer.json()["error"] == "invalid_redirect_uri"


HONEST = (
    "https://claude.ai/api/mcp/auth_callback",
    "https://xn--80ak6aa92e.example/cb",
    "https://192.0.2.1:8443/cb",
    "https://[2001:db8::1]/cb",
    "http://[::1]:7777/cb",
    "https://under_score.example/cb",
)


async def test_an_honest_address_still_is(vitals: Vitals) -> None:
    http = vitals.http()
    for uri in HONEST:
        assert (await register(http, uri)).status_code == 201, uri


@pytest.mark.parametrize(
    "address",
    ["https://claude.ai%E3%80%82evil.example/doc", "https://claude.ai;x/doc", "https://[2001:db8::1].evil.example/doc"],
)
def test_nor_is_such_an_address_the_name_of_an_app(address: str) -> None:
    with pytest.raises(BadDocument):
        check_client_id(address, loopback_host=None)


async def test_this_server_itself_is_no_apps_redirect_and_a_code_of_ours_does_nothing_there(vitals: Vitals) -> None:
    """A code of ours sent to the address that takes Oura's codes, with a state of the attacker's."""
    http = vitals.http()
    for ours in (f"{URL}/callback/oura/", f"{URL}/connections/disconnect", f"{URL}:443/x"):
        assert (await register(http, ours, REDIRECT)).json()["error"] == "invalid_redirect_uri"
    client = await client_id(http)
    theirs = await sign_in(vitals, client)
    code = handed_over(theirs)["code"]
    exchanges = len(vitals.simulator.log)

    answer = await vitals.http().get(f"{URL}/callback/oura/", params={"code": code, "state": "mine", "iss": URL})

    assert answer.status_code == 400
    assert len(vitals.simulator.log) == exchanges
    assert code not in answer.text
