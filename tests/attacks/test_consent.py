"""Making the owner, or the owner's browser, say yes to an app that they do not mean."""

import re

import httpx2
import pytest

from app.authserver.owner.consent import plain_name
from app.demo.browser import Browser, forms
from tests.app_under_test import URL, Vitals
from tests.attacks.attacker import REDIRECT, authorize, client_id, handed_over, sign_in

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "name",
    [
        "\u202eedualC\u202c",
        "<script>alert(1)</script><h1>Claude</h1>",
        "Claude\r\n\r\nVerified by vitals",
        "Claude" + "\u0336" * 200,  # struck through, and what stands below with it
        "a" + "\u0301" * 500,
        "\u3164\u2800\u115f\uffa0",  # letters that show nothing
        "\u200b\u2060\ufeff",
        "\U000e0041\U000e0042",
        "x" * 1_000,
        "{{ 7 * 7 }}{% raw %}",
        "</title><meta http-equiv=refresh content='0;url=https://evil.example'>",
    ],
)
async def test_a_name_can_neither_hide_nor_spill_over_nor_be_markup(vitals: Vitals, name: str) -> None:
    http = vitals.http()
    page = (await http.get(authorize(await client_id(http, client_name=name)))).text

    shown = re.search(r"<h1>Allow <bdi>(.*?)</bdi> to read", page, re.DOTALL)
    assert shown is not None
    assert shown[1].strip("\u115f\u1160\u2800\u3164\uffa0 ")
    assert "<" not in shown[1]
    assert "\n" not in shown[1]
    assert "49" not in shown[1]
    assert len(shown[1]) <= 400
    assert not re.search(r"[\u0300-\u036f]{3}|[\u202a-\u202e\u2066-\u2069\u200b-\u200f]", shown[1])
    assert "Not verified" in page
    assert "127.0.0.1:53682" in page


@pytest.mark.parametrize(
    "name", ["Claude", "Claude Code (server)", "Ассистент", "عدرا", "ผู้ช่วย", "सहायक", "Ẩn", "助手 2"]
)
def test_an_honest_name_in_any_script_is_shown_as_it_is(name: str) -> None:
    assert plain_name(name) == name


async def test_the_name_of_a_well_known_app_gives_a_registered_one_no_standing(vitals: Vitals) -> None:
    http = vitals.http()
    client = await client_id(http, "https://evil.example/cb", client_name="Claude")

    page = (await http.get(authorize(client, "https://evil.example/cb"))).text

    assert "Not verified" in page
    assert "<strong>evil.example</strong>" in page
    assert "described at" not in page


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": f"{URL}.evil.example"},
        {"origin": URL, "sec-fetch-site": "cross-site"},
        {"origin": URL, "sec-fetch-site": "same-site"},
        {"referer": "https://evil.example/"},
        {"referer": "http://["},
        {"origin": "http://vitals.test"},
    ],
)
async def test_a_foreign_page_cannot_press_the_button_even_with_a_genuine_form(
    vitals: Vitals, headers: dict[str, str]
) -> None:
    http = vitals.http()
    page = await http.get(authorize(await client_id(http)))
    form = dict(forms(page.text)[0].fields)

    answer = await http.post(f"{URL}/authorize", data={**form, "decision": "approve"}, headers=headers)

    assert answer.status_code == 403
    assert "location" not in answer.headers


async def test_the_attackers_own_form_is_worth_nothing_in_the_owners_browser(vitals: Vitals) -> None:
    attacker, owner = vitals.http(), vitals.http()
    client = await client_id(attacker)
    form = dict(forms((await attacker.get(authorize(client))).text)[0].fields)
    await owner.get(authorize(client))  # the owner has a cookie of ours, and it is another one

    answer = await owner.post(f"{URL}/authorize", data={**form, "decision": "approve"}, headers={"origin": URL})

    assert answer.status_code == 403


async def test_a_form_that_was_shown_for_one_app_approves_no_other(vitals: Vitals) -> None:
    http = vitals.http()
    shown = dict(forms((await http.get(authorize(await client_id(http)))).text)[0].fields)
    other = dict(forms((await http.get(authorize(await client_id(http)))).text)[0].fields)

    swapped = {"csrf": shown["csrf"], "request": other["request"], "decision": "approve"}
    answer = await http.post(f"{URL}/authorize", data=swapped, headers={"origin": URL})

    assert answer.status_code == 403


async def test_what_an_attacker_began_cannot_be_finished_by_the_owners_browser(vitals: Vitals) -> None:
    """The attacker approves its own app and sends the owner the link to Oura."""
    attacker = Browser(vitals.http(), stop_at=REDIRECT)
    await attacker.open(authorize(await client_id(vitals.http())))
    approval = await attacker._http.post(
        f"{URL}/authorize",
        data={**dict(forms(attacker.page)[0].fields), "decision": "approve"},
        headers={"origin": URL},
    )
    owner = Browser(vitals.http(), stop_at=REDIRECT)
    await owner.open(f"{URL}/connections")

    await owner.open(approval.headers["location"])
    await owner.press("owner")

    assert owner.status == 403
    assert not owner.stopped
    assert vitals.simulator.state()["families"] == []  # the owner's code was not even exchanged


async def test_a_code_of_one_sign_in_at_oura_is_no_good_in_another(vitals: Vitals) -> None:
    """Even in the same browser, by the same owner: it was given for a challenge of which another record has the key."""
    jar, codes = vitals.http(), []
    for _ in range(2):
        browser = Browser(jar, stop_at=f"{URL}/callback/oura/")
        await browser.open(authorize(await client_id(jar)))
        await browser.press("approve", {"timezone": "Europe/Berlin"})
        await browser.press("owner")
        codes.append(httpx2.URL(browser.address).params)

    mixed = await jar.get(f"{URL}/callback/oura/", params={"state": codes[0]["state"], "code": codes[1]["code"]})

    assert mixed.status_code == 400
    assert "Start again" in mixed.text
    assert vitals.simulator.state()["families"] == []
    assert await vitals.parts.connections.owners() == []


async def test_nor_does_an_earlier_yes_of_the_owner_carry_over_to_another_app(vitals: Vitals) -> None:
    jar = vitals.http()
    assert "code" in handed_over(await sign_in(vitals, await client_id(jar), http=jar))

    page = await jar.get(authorize(await client_id(jar)))

    assert page.status_code == 200
    assert 'value="approve"' in page.text


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "POST", "PUT", "DELETE"])
async def test_only_a_get_finishes_a_sign_in(vitals: Vitals, method: str) -> None:
    jar = vitals.http()
    browser = Browser(jar, stop_at=f"{URL}/callback/oura/")
    await browser.open(authorize(await client_id(jar)))
    await browser.press("approve")
    await browser.press("owner")
    assert browser.stopped

    answer = await jar.request(method, browser.address)

    assert answer.status_code == 405
    assert vitals.simulator.state()["families"] == []


@pytest.mark.parametrize("path", ["/", "/privacy", "/connections", "/authorize?x", "/callback/oura/?x", "/nothing"])
async def test_no_page_can_be_framed(vitals: Vitals, path: str) -> None:
    answer = await vitals.http().get(f"{URL}{path}", headers={"accept": "text/html"})

    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"
