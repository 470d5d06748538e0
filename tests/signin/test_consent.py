"""`/authorize`: what the page says, and whose yes counts."""

import html
import re
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from app.authserver.owner.consent import parted
from app.authserver.records import Client
from app.web.pages import CONTENT_SECURITY_POLICY
from tests.signin.oura import AUTHORIZE
from tests.signin.stage import PUBLIC_URL, REDIRECT, Stage, answer, form, staged

pytestmark = pytest.mark.anyio


async def test_the_page_names_the_app_the_host_of_the_result_and_that_nobody_vouches_for_the_name(stage: Stage) -> None:
    page = await stage.browser().get("/authorize", await stage.params(name="Claude Code (vitals)"))

    assert page.status_code == 200
    assert "Claude Code (vitals)" in page.text
    assert "<strong>app.test</strong>" in page.text
    assert "Not verified" in page.text
    assert "vitals.test" in page.text
    assert "sign in at Oura" in page.text
    assert "Heart rate" in page.text


@pytest.mark.parametrize(
    ("redirect", "words"),
    [
        pytest.param("http://127.0.0.1:43210/callback", ["this computer", "127.0.0.1:43210"], id="loopback"),
        pytest.param("http://localhost:43210/callback", ["this computer", "localhost:43210"], id="localhost"),
        pytest.param("cursor://anysphere.cursor-mcp/oauth/callback", ["the Cursor app"], id="cursor"),
    ],
)
async def test_a_result_that_stays_on_this_computer_is_named_so_and_warned_about(
    stage: Stage, redirect: str, words: list[str]
) -> None:
    page = await stage.browser().get("/authorize", await stage.params(redirect=redirect))

    for word in [*words, "Did you start this yourself, just now?"]:
        assert word in page.text


async def test_a_client_with_a_document_shows_the_host_that_publishes_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = Client("https://assistant.example/client.json", "Assistant", (REDIRECT,), "none", None, True, 0.0)

    async def find(_client_id: str, **_more: object) -> Client:
        return document

    params = await stage.params()
    monkeypatch.setattr(stage.authserver.clients, "find", find)
    page = await stage.browser().get("/authorize", {**params, "client_id": document.client_id})

    assert "<strong>assistant.example</strong>" in page.text
    assert "Not verified" not in page.text
    assert "nor the host that describes this one" in page.text  # the result goes to app.test


async def test_looking_any_number_of_times_stores_nothing_and_keeps_the_cookie(stage: Stage) -> None:
    params = await stage.params()
    before = await stage.records()
    browser = stage.browser()
    cookies = {(await browser.get("/authorize", params)).cookies.get("__Host-vitals-browser") for _ in range(3)}

    assert len(cookies) == 1
    assert await stage.records() == before


async def test_the_cookie_cannot_be_set_by_another_host_nor_read_by_a_script(stage: Stage) -> None:
    page = await stage.browser().get("/authorize", await stage.params())

    cookie = page.headers["set-cookie"]
    assert cookie.startswith("__Host-vitals-browser=")
    for part in ("Secure", "HttpOnly", "Path=/", "SameSite=lax"):
        assert part in cookie
    assert "Domain" not in cookie


async def test_on_http_loopback_the_cookie_is_one_that_every_browser_keeps(tmp_path: Path) -> None:
    async with staged(tmp_path, public_url="http://127.0.0.1:8000") as stage:
        browser = stage.browser()
        page = await browser.get("/authorize", await stage.params())
        assert "Secure" not in page.headers["set-cookie"]
        assert "Strict-Transport-Security" not in page.headers

        went = await browser.post("/authorize", {**form(page), "decision": "approve"})

    assert went.headers["location"].startswith(AUTHORIZE)


async def test_the_page_cannot_be_framed_loads_nothing_foreign_and_leaves_the_way_out_open(stage: Stage) -> None:
    page = await stage.browser().get("/authorize", await stage.params())

    assert page.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert "frame-ancestors 'none'" in CONTENT_SECURITY_POLICY
    assert "form-action" not in CONTENT_SECURITY_POLICY
    assert page.headers["x-frame-options"] == "DENY"
    assert page.headers["referrer-policy"] == "same-origin"
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["strict-transport-security"]
    assert not re.findall(r"""(?:src|href|action)=["'](?!/)""", page.text)


async def test_no_goes_back_with_access_denied_state_and_iss(stage: Stage) -> None:
    here = "http://127.0.0.1:43210/callback"
    params = await stage.params(redirect=here)
    before = await stage.records()
    page = await stage.browser().decide(params, "deny")

    assert page.status_code == 303
    assert page.headers["location"].startswith(here + "?")
    told = answer(page)
    assert (told["error"], told["state"], told["iss"]) == ("access_denied", "app-state", PUBLIC_URL)
    assert await stage.records() == before


async def test_a_no_to_an_app_that_nobody_knows_leads_nowhere_by_itself(stage: Stage) -> None:
    page = await stage.browser().decide(await stage.params(), "deny")

    assert page.status_code == 200
    assert "Nothing was connected" in page.text
    assert "http-equiv" not in page.text
    (link,) = re.findall(r'<a class="button plain" href="([^"]+)">Back to app\.test</a>', page.text)
    told = dict(parse_qsl(urlsplit(html.unescape(link)).query))
    assert (told["error"], told["state"], told["iss"]) == ("access_denied", "app-state", PUBLIC_URL)


@pytest.mark.parametrize(
    ("redirect", "words", "strong"),
    [
        pytest.param("https://claude.ai/api/mcp/auth_callback", "just connected", False, id="known"),
        pytest.param("http://127.0.0.1:43210/callback", "any program here", True, id="loopback"),
        pytest.param(REDIRECT, "<strong>app.test</strong></span> is not an app that vitals knows", True, id="unknown"),
        pytest.param(
            "https://claude.ai.api.evil.example/cb",
            "claude.<wbr>ai.<wbr>api.<wbr><strong>evil.example</strong></span> is not an app that vitals knows",
            True,
            id="a host that begins like a known one",
        ),
        pytest.param("https://claude.ai:8443/cb", "is not an app that vitals knows", True, id="another port"),
    ],
)
async def test_every_page_asks_whether_it_was_started_just_now_and_warns_where_nobody_is_known(
    stage: Stage, redirect: str, words: str, strong: bool
) -> None:
    page = await stage.browser().get("/authorize", await stage.params(name="Claude", redirect=redirect))

    assert page.text.count("Did you start this yourself, just now?") == 1
    assert words in page.text
    assert ('class="notice"' in page.text) is strong


async def test_the_page_says_that_the_app_may_read_the_address_and_what_unticking_does(stage: Stage) -> None:
    page = await stage.browser().get("/authorize", await stage.params())

    assert "the app can read it too" in page.text
    assert "any of these but the email address" in page.text
    assert "unticking also takes it from apps that were connected before" in page.text


@pytest.mark.parametrize(
    ("host", "parts"),
    [
        ("evil.example", ([], "evil.example")),
        ("a.b.evil.example", (["a", "b"], "evil.example")),
        ("claude.evil.co.uk", (["claude"], "evil.co.uk")),
        ("203.0.113.7:8443", ([], "203.0.113.7:8443")),
    ],
)
def test_the_end_of_a_host_is_set_off(host: str, parts: tuple[list[str], str]) -> None:
    assert parted(host) == parts


async def test_yes_stores_one_sign_in_and_goes_to_oura_with_its_state(stage: Stage) -> None:
    page = await stage.browser().decide(await stage.params(), timezone="Europe/Helsinki")

    assert page.status_code == 303
    assert page.headers["location"].startswith(AUTHORIZE)
    assert answer(page)["redirect_uri"] == f"{PUBLIC_URL}/callback/oura/"
    (key,) = await stage.records("signin:")
    assert answer(page)["state"] not in key


async def test_the_record_of_a_sign_in_shows_nothing_to_who_reads_the_store(stage: Stage) -> None:
    await stage.browser().approve(await stage.params(), timezone="Europe/Helsinki")

    (record,) = (await stage.records("signin:")).values()
    for word in (b"app-state", b"app.test", b"Helsinki"):
        assert word not in record


async def test_a_yes_from_another_browser_is_refused(stage: Stage) -> None:
    params = await stage.params()
    page = await stage.browser().get("/authorize", params)
    other = stage.browser()
    await other.get("/authorize", params)
    stolen = await other.post("/authorize", {**form(page), "decision": "approve"})

    assert stolen.status_code == 403
    assert await stage.records("signin:") == {}


async def test_a_yes_without_the_cookie_is_refused(stage: Stage) -> None:
    page = await stage.browser().get("/authorize", await stage.params())
    refused = await stage.browser().post("/authorize", {**form(page), "decision": "approve"})

    assert refused.status_code == 403
    assert "cookie" in refused.text
    assert await stage.records("signin:") == {}


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"origin": "https://evil.test"}, id="foreign origin"),
        pytest.param({"origin": "null"}, id="opaque origin"),
        pytest.param({"origin": PUBLIC_URL, "sec-fetch-site": "cross-site"}, id="cross-site"),
        pytest.param({"origin": PUBLIC_URL, "sec-fetch-site": "same-site"}, id="same-site is not same-origin"),
        pytest.param({"sec-fetch-site": "none"}, id="typed by hand"),
        pytest.param({"referer": "https://evil.test/page"}, id="foreign referer"),
        pytest.param({"referer": "https://vitals.test.evil.test/"}, id="a host that starts like ours"),
        pytest.param({"referer": "https://[broken/"}, id="broken referer"),
        pytest.param({"origin": f"{PUBLIC_URL}:8443"}, id="another port"),
        pytest.param({"origin": "http://vitals.test"}, id="another scheme"),
    ],
)
async def test_a_form_from_elsewhere_is_refused_even_with_a_good_token(stage: Stage, headers: dict[str, str]) -> None:
    browser = stage.browser()
    page = await browser.get("/authorize", await stage.params())
    refused = await browser.post("/authorize", {**form(page), "decision": "approve"}, headers)

    assert refused.status_code == 403
    assert await stage.records("signin:") == {}


@pytest.mark.parametrize(
    "headers", [pytest.param({}, id="silent"), pytest.param({"referer": f"{PUBLIC_URL}/authorize?x=y"}, id="referer")]
)
async def test_a_request_that_names_no_origin_needs_the_token_alone(stage: Stage, headers: dict[str, str]) -> None:
    browser = stage.browser()
    page = await browser.get("/authorize", await stage.params())
    went = await browser.post("/authorize", {**form(page), "decision": "approve"}, headers)
    without = await browser.post("/authorize", {**form(page), "csrf": "1.x", "decision": "approve"}, headers)

    assert went.headers["location"].startswith(AUTHORIZE)
    assert without.status_code == 403


@pytest.mark.parametrize("name", ["redirect_uri", "scope", "client_id", "state", "code_challenge", "resource"])
async def test_a_request_changed_after_it_was_shown_is_refused(stage: Stage, name: str) -> None:
    browser = stage.browser()
    params = await stage.params()
    page = await browser.get("/authorize", params)
    other = await browser.get("/authorize", {**params, name: params[name] + "x"} if name == "state" else params)
    fields = form(page)
    changed = fields["request"].replace(f"{name}=", f"{name}=x", 1) if name != "state" else form(other)["request"]
    refused = await browser.post("/authorize", {**fields, "request": changed, "decision": "approve"})

    assert refused.status_code == 403
    assert await stage.records("signin:") == {}


async def test_two_tabs_of_one_browser_are_both_good_and_so_is_the_back_button(stage: Stage) -> None:
    browser = stage.browser()
    first, second = [await browser.get("/authorize", await stage.params(name=name)) for name in ("One", "Two")]

    for page in (first, second, first):
        went = await browser.post("/authorize", {**form(page), "decision": "approve"})
        assert went.headers["location"].startswith(AUTHORIZE)
    assert len(await stage.records("signin:")) == 3


async def test_a_page_older_than_ten_minutes_is_shown_again_instead_of_acted_on(stage: Stage) -> None:
    browser = stage.browser()
    page = await browser.get("/authorize", await stage.params())
    stage.clock.at += 601
    late = await browser.post("/authorize", {**form(page), "decision": "approve"})

    assert late.status_code == 400
    assert "More than ten minutes" in late.text
    assert await stage.records("signin:") == {}
    went = await browser.post("/authorize", {**form(late), "decision": "approve"})
    assert went.headers["location"].startswith(AUTHORIZE)


async def test_a_page_of_exactly_ten_minutes_is_still_good(stage: Stage) -> None:
    browser = stage.browser()
    page = await browser.get("/authorize", await stage.params())
    stage.clock.at += 600
    went = await browser.post("/authorize", {**form(page), "decision": "approve"})

    assert went.headers["location"].startswith(AUTHORIZE)


async def test_consent_is_asked_again_after_a_connection_whatever_changed(stage: Stage) -> None:
    await stage.connect_owner()
    page = await stage.browser().get("/authorize", await stage.params())

    assert page.status_code == 200
    assert 'value="approve"' in page.text


async def test_a_repeated_field_is_refused(stage: Stage) -> None:
    browser = stage.browser()
    fields = form(await browser.get("/authorize", await stage.params()))
    body = "&".join(f"{k}={v}" for k, v in {"csrf": fields["csrf"]}.items()) + "&decision=deny&decision=approve"
    refused = await browser.http.post(
        "/authorize",
        content=body,
        headers={"origin": PUBLIC_URL, "content-type": "application/x-www-form-urlencoded"},
    )

    assert refused.status_code == 400
    assert "twice" in refused.text


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        pytest.param(b"a=" + b"x" * 70_000, "application/x-www-form-urlencoded", id="too large"),
        pytest.param(b"a=%ff", "application/x-www-form-urlencoded", id="not UTF-8"),
        pytest.param(b"&".join(b"f%d=1" % n for n in range(60)), "application/x-www-form-urlencoded", id="many fields"),
        pytest.param(b'{"decision":"approve"}', "application/json", id="JSON"),
        pytest.param(b"decision=approve", "text/plain", id="text"),
    ],
)
async def test_what_is_no_small_form_is_refused(stage: Stage, content: bytes, kind: str) -> None:
    refused = await stage.browser().http.post(
        "/authorize", content=content, headers={"origin": PUBLIC_URL, "content-type": kind}
    )

    assert refused.status_code == (413 if len(content) > 65_536 else 400)


async def test_a_press_on_neither_button_asks_again(stage: Stage) -> None:
    page = await stage.browser().decide(await stage.params(), "maybe")

    assert page.status_code == 400
    assert "one of the two buttons" in page.text
    assert await stage.records("signin:") == {}


async def test_enter_in_the_zone_field_allows_nothing(stage: Stage) -> None:
    page = await stage.browser().get("/authorize", await stage.params())

    buttons = re.findall(r"<button[^>]*>", page.text)
    assert "disabled" in buttons[0]  # the first submit button is the one that Enter presses


async def test_an_unknown_client_or_redirect_gets_a_page_and_no_redirect(stage: Stage) -> None:
    params = await stage.params()
    browser = stage.browser()

    for wrong in ({"client_id": "nobody"}, {"redirect_uri": "https://evil.test/"}):
        page = await browser.get("/authorize", {**params, **wrong})
        assert page.status_code == 400
        assert "location" not in page.headers
        assert "http-equiv" not in page.text


async def test_another_fault_is_told_to_the_app_with_state_and_iss(stage: Stage) -> None:
    here = "http://127.0.0.1:43210/callback"
    params = await stage.params(redirect=here)

    page = await stage.browser().get("/authorize", {**params, "code_challenge_method": "plain"})

    told = answer(page)
    assert page.headers["location"].startswith(here + "?")
    assert (told["error"], told["state"], told["iss"]) == ("invalid_request", "app-state", PUBLIC_URL)


MARKUP = '"><script>alert(1)</script>'
