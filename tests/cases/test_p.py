"""CASES.md, section P, through the whole connector: faults read in other connectors."""

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import anyio
import httpx2
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from app.authserver.clients.cimd import Fetched
from app.errors import SettingsError
from app.settings import NAMES
from app.simulator import Simulator
from app.sources.oura.catalog import COLLECTIONS
from tests.app_under_test import NOON, OURA, URL, Clock, running_app
from tests.cases.asking import CHALLENGE, REDIRECT, heading, journey, refused, told
from tests.cases.shelf import shelf
from tests.cases.test_a import token_requests

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
MARK = '"><script>alert(1)</script>'
HTML = b"<!DOCTYPE html><html><title>Just a moment...</title><p>reading 4242</p></html>"


@pytest.mark.parametrize("key", ["changeme", "secret", "x" * 31, "change-me-" * 4, "00000000" * 8, "vitals" * 6])
async def test_p1_a_known_or_short_secret_refuses_the_start(tmp_path: Path, key: str) -> None:
    with pytest.raises(SettingsError) as caught:
        async with running_app(tmp_path, SECRET_KEY=key):
            pass

    assert str(caught.value).startswith("SECRET_KEY")
    assert "vitals secret" in str(caught.value)


async def test_p1_two_installations_share_no_key(tmp_path: Path) -> None:
    kept = []
    for name in ("one", "two"):
        async with running_app(tmp_path / name):
            kept.append((tmp_path / name / "secret_key").read_text())

    assert kept[0] != kept[1]


async def test_p2_nothing_that_anyone_sends_comes_back_as_markup(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        walk = await journey(vitals)
        good = {
            "response_type": "code",
            "client_id": walk.app.client_id,
            "redirect_uri": REDIRECT,
            "scope": "health:read",
            "state": "s",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "resource": vitals.mcp_url,
        }
        http = vitals.http()
        seen: list[tuple[str, httpx2.Response]] = []
        for name in (*good, "error", MARK):
            query = urlencode({**good, name: MARK})
            seen.append((name, await http.get(f"{URL}/authorize?{query}", headers={"accept": "text/html"})))
        for path in ("/callback/oura/", "/callback/oura"):
            for name in ("state", "code", "error", "error_description", "scope"):
                answer = await http.get(f"{URL}{path}?{urlencode({name: MARK})}")
                seen.append((path, answer))
        for path in ("/", "/privacy", "/connections", f"/{MARK}", "/static/" + MARK, "/.well-known/" + MARK):
            for accept in ("text/html", "application/json"):
                answer = await http.get(f"{URL}{path}?{urlencode({'x': MARK})}", headers={"accept": accept})
                seen.append((path, answer))
        forged = {"request": MARK, "csrf": MARK, "decision": MARK, "timezone": MARK, "grant": MARK}
        for path in ("/authorize", "/connections/signin", "/connections/end", "/connections/disconnect"):
            answer = await http.post(f"{URL}{path}", data=forged, headers={"origin": URL, "accept": "text/html"})
            seen.append((path, answer))
        form = {**good, "grant_type": MARK, "code": MARK, "refresh_token": MARK, "token": MARK}
        for path in ("/token", "/revoke"):
            for name in form:
                answer = await http.post(URL + path, data={**form, name: MARK})
                seen.append((path, answer))
        seen.append(
            ("/register", await http.post(f"{URL}/register", json={"redirect_uris": [MARK], "client_name": MARK}))
        )
        seen.append(("/mcp", await http.post(vitals.mcp_url, headers={"authorization": f"Bearer {MARK}"})))

        for what, answer in seen:
            assert "<script>alert" not in answer.text or _is_json(answer), what
            assert "<script>" not in answer.headers.get("location", ""), what
            assert "<script>" not in answer.headers.get("www-authenticate", ""), what
            assert answer.headers["x-content-type-options"] == "nosniff"


async def test_p2_a_name_a_zone_and_what_oura_says_are_text_on_our_pages(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        http = vitals.http()
        asked = {"client_name": MARK, "redirect_uris": [REDIRECT]}
        client = (await http.post(f"{URL}/register", json=asked)).json()
        walk = await journey(vitals, client_id=client["client_id"])
        consent = walk.browser.page
        await walk.browser.press("approve", {"timezone": MARK})
        typed = walk.browser.page
        await walk.browser.press("approve", {"timezone": "Europe/Berlin"})
        state = parse_qs(urlsplit(walk.browser.address).query)["state"][0]
        query = urlencode({"state": state, "error": MARK, "error_description": MARK})
        await walk.browser.open(f"{URL}/callback/oura/?{query}")
        ended = walk.browser.page

    assert heading(typed) == heading(consent)
    assert heading(ended) == "Oura reported an error"
    for page in (consent, typed, ended):
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert" in page


def _is_json(answer: httpx2.Response) -> bool:
    return answer.headers["content-type"].startswith("application/json")


# P3: what each setting changes, seen from outside. Those that only a process has are in tests/shell.
IN_PROCESSES = {
    "HOST": "tests/shell/test_processes.py::test_the_port_and_host_settings_are_what_serve_listens_on",
    "PORT": "tests/shell/test_processes.py::test_the_port_and_host_settings_are_what_serve_listens_on",
    "LOG_LEVEL": "tests/shell/test_logs.py::test_libraries_are_silent_below_a_warning_even_when_we_debug",
    "LOG_FORMAT": "tests/shell/test_logs.py::test_text_is_one_line_per_event",
    "REDIS_URL": "tests/system/test_one_renewal.py::test_ten_refreshes_by_an_app_are_no_call_to_oura",
    "DATA_DIR": "tests/cases/test_p.py::test_p1_two_installations_share_no_key",
    "SECRET_KEY": "tests/cases/test_p.py::test_p1_a_known_or_short_secret_refuses_the_start",
    "OURA_SANDBOX": "tests/cases/test_d_words.py::test_d32_in_sandbox_mode_every_answer_of_every_tool_is_synthetic",
    "TIMEZONE": "tests/cases/test_d.py::test_d5_today_is_the_owners_day_for_every_tool_that_knows_one",
    "FORWARDED_ALLOW_IPS": "tests/attacks/test_floods.py::"
    "test_behind_a_proxy_that_is_not_named_nobody_is_locked_out_and_the_log_names_the_setting",
    "CHATGPT_TOOLS": "tests/journey/test_chatgpt.py::test_with_chatgpt_tools_on_an_app_finds_a_day_and_reads_it",
}
HERE = {
    "PUBLIC_URL", "OURA_CLIENT_ID", "OURA_CLIENT_SECRET", "OURA_OWNER_EMAIL", "OURA_API_URL", "OURA_AUTHORIZE_URL",
    "OURA_TOKEN_URLS", "OURA_REVOKE_URLS", "OURA_SCOPES", "ANSWER_MAX_CHARS",
}  # fmt: skip


def test_p3_every_setting_is_exercised_and_the_readme_names_each() -> None:
    readme = (ROOT / "README.md").read_text()

    assert set(IN_PROCESSES) | HERE == set(NAMES)
    assert [name for name in NAMES if f"`{name}`" not in readme] == []
    for node in IN_PROCESSES.values():
        path, _, function = node.partition("::")
        assert re.search(rf"^(async )?def {function}\(", (ROOT / path).read_text(), re.MULTILINE), node


async def test_p3_each_setting_about_oura_changes_what_oura_is_sent(tmp_path: Path) -> None:
    posted: list[tuple[str, dict[str, list[str]]]] = []
    got: list[str] = []

    def oura(request: httpx2.Request) -> httpx2.Response:
        if request.method == "POST":
            posted.append((str(request.url.copy_with(query=None)), parse_qs(request.content.decode())))
            answer = {"access_token": "a", "refresh_token": "r", "token_type": "bearer"}
            return httpx2.Response(200, json=answer)
        got.append(str(request.url))
        return httpx2.Response(200, json={"id": "someone", "email": "nobody@example.com"})

    async with running_app(
        tmp_path,
        PUBLIC_URL="https://elsewhere.test",
        OURA_CLIENT_ID="client-7",
        OURA_CLIENT_SECRET="secret-7",
        OURA_OWNER_EMAIL="somebody@example.com",
        OURA_API_URL="https://api-7.test",
        OURA_AUTHORIZE_URL="https://authorize-7.test/a",
        OURA_TOKEN_URLS="https://token-7.test/t",
        OURA_REVOKE_URLS="https://revoke-7.test/r",
        OURA_SCOPES="email daily",
    ) as vitals:
        vitals.parts.http._transport = httpx2.MockTransport(oura)
        transport = httpx2.ASGITransport(vitals.app)
        async with httpx2.AsyncClient(transport=transport, base_url="https://elsewhere.test") as http:
            made = await http.get("/connections")
            csrf = re.findall(r'name="csrf" value="([^"]+)"', made.text)[0]
            sent = await http.post(
                "/connections/signin", data={"csrf": csrf, "timezone": ""}, headers={"origin": "https://elsewhere.test"}
            )
            asked = urlsplit(sent.headers["location"])
            query = {name: values[0] for name, values in parse_qs(asked.query).items()}
            page = await http.get(f"/callback/oura/?{urlencode({'code': 'c', 'state': query['state']})}")

    assert (asked.netloc, asked.path) == ("authorize-7.test", "/a")
    assert (query["client_id"], query["scope"]) == ("client-7", "email daily")
    assert query["redirect_uri"] == "https://elsewhere.test/callback/oura/"
    assert posted[0][0] == "https://token-7.test/t"
    assert (posted[0][1]["client_id"], posted[0][1]["client_secret"]) == (["client-7"], ["secret-7"])
    assert got == ["https://api-7.test/v2/usercollection/personal_info"]
    assert {url for url, _ in posted[1:]} == {"https://revoke-7.test/r"}
    assert heading(page.text) == "This connector belongs to someone else"


async def test_p3_the_size_of_an_answer_is_what_the_setting_says(tmp_path: Path) -> None:
    async with running_app(tmp_path, ANSWER_MAX_CHARS="20000") as vitals:
        app = await vitals.connected_app()
        result = await app.call(
            "tools/call", {"name": "health_query", "arguments": {"collection": "sleep", "start": "2026-01-01"}}
        )

    text = result["content"][0]["text"]
    assert 5_000 < len(text) <= 20_000
    assert json.loads(text)["truncated"] is True


async def test_p4_a_call_under_way_on_the_apps_old_token_is_answered_after_a_refresh(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        vitals.simulator.faults.add("hold", "/v2/usercollection/sleep")
        answers = []

        async def ask() -> None:
            answers.append(await told(app, "health_query", collection="sleep"))

        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(ask)
                await vitals.simulator.faults.spent.wait()
                old = app.access_token
                await app.token(grant_type="refresh_token", refresh_token=app.refresh_token)
                vitals.simulator.faults.release()
        app.access_token = old
        vitals.clock.at += 3599
        await told(app, "health_query", collection="sleep")

    assert answers[0]["complete"] is True


class Gate:
    """Keeps the first request for a path outside until it is opened."""

    def __init__(self, inner: ASGIApp, path: str) -> None:
        self.inner = inner
        self.path = path
        self.arrived, self.open = anyio.Event(), anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == self.path and not self.arrived.is_set():
            self.arrived.set()
            await self.open.wait()
        await self.inner(scope, receive, send)


async def test_p4_a_call_under_way_on_the_old_token_of_oura_is_answered_after_a_renewal(tmp_path: Path) -> None:
    clock = Clock()
    simulator = Simulator(now=clock, refresh_ends_access=True)  # the harder reading of what a renewal does to it
    simulator.app = gate = Gate(simulator.app, "/v2/usercollection/workout")
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        app = await vitals.connected_app()
        said = []

        async def ask(name: str) -> None:
            said.append(await told(app, "health_query", collection=name))

        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(ask, "workout")  # sent with the old token, looked at after it has died
                await gate.arrived.wait()
                simulator.expire_access_tokens()
                await ask("sleep")
                gate.open.set()

    assert [answer["complete"] for answer in said] == [True, True]
    assert simulator.counts.refreshes == 1


async def test_p5_the_page_says_where_the_result_goes_for_each_kind_of_app(tmp_path: Path) -> None:
    async def from_web(url: str) -> Fetched:
        body = {"client_id": url, "client_name": "Claude", "redirect_uris": ["https://paper.example/done"]}
        return Fetched(json.dumps(body).encode(), "", "")

    async with running_app(tmp_path, fetch_document=from_web) as vitals:
        http = vitals.http()
        pages = {}
        for redirect, shown in (
            ("https://collector.example/callback", "collector.example"),
            ("https://collector.example:8443/callback", "collector.example:8443"),
            ("http://127.0.0.1:9999/callback", "127.0.0.1:9999"),
            ("http://localhost:9999/callback", "localhost:9999"),
            ("cursor://anysphere.cursor-mcp/oauth/callback", "the Cursor app"),
        ):
            asked = {"client_name": "Claude", "redirect_uris": [redirect]}
            client = (await http.post(f"{URL}/register", json=asked)).json()
            walk = await journey(vitals, client_id=client["client_id"], redirect_uri=redirect)
            pages[shown] = walk.browser.page
        paper = await journey(vitals, client_id="https://a.example/c.json", redirect_uri="https://paper.example/done")
        pages["paper.example"] = paper.browser.page

    for shown, page in pages.items():
        goes_to = re.findall(r"<dt>Result goes to</dt>\s*<dd[^>]*>(.*?)</dd>", page, re.DOTALL)[0]
        assert shown in re.sub(r"<[^>]*>", "", goes_to)  # its end is set off, and it may break at dots


@pytest.mark.parametrize(
    ("status", "kind", "body", "words"),
    [
        pytest.param(200, "application/json", b'{"error":"boom","data":[{"id":"4242"}]}', "error inside", id="error"),
        pytest.param(200, "application/json", b'{"detail":"Internal trouble"}', "error inside", id="detail"),
        pytest.param(200, "application/json", b'{"errors":[{"message":"x"}]}', "error inside", id="errors"),
        pytest.param(200, "text/html", HTML, "web page", id="html 200"),
        pytest.param(200, "application/json", HTML, "web page", id="html that says it is json"),
        pytest.param(403, "text/html", HTML, "web page", id="html 403"),
        pytest.param(503, "text/html", HTML, "web page", id="html 503"),
        pytest.param(404, "text/html", HTML, "web page", id="html 404"),
        pytest.param(401, "text/html", HTML, "web page", id="html 401"),
        pytest.param(200, "application/json", b'{"data":{"4242":1}}', "no list", id="an object"),
        pytest.param(200, "application/json", b'{"data":[4242]}', "no list", id="numbers"),
        pytest.param(200, "application/json", b'[{"id":"4242"}]', "documented JSON", id="a bare list"),
        pytest.param(200, "application/json", b'{"data":[{"id":"4242"', "documented JSON", id="half of it"),
        pytest.param(200, "application/json", b"", "documented JSON", id="nothing"),
        pytest.param(204, "application/json", b"", "204", id="204"),
        pytest.param(302, "text/plain", b"", "302", id="redirect"),
    ],
)
async def test_p6_what_is_no_answer_is_a_named_upstream_error_in_all_collections(
    tmp_path: Path, status: int, kind: str, body: bytes, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.sources.oura.client._RETRY_WAIT_S", 0)
    clock = Clock()
    simulator = Simulator(now=clock)
    held = shelf(simulator)
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        app = await vitals.connected_app()
        held.answers = dict.fromkeys(COLLECTIONS, (status, kind, body))
        said = [await refused(app, "health_query", collection=name) for name in COLLECTIONS]
        said += [
            await refused(app, "health_today"),
            await refused(app, "health_query", collection="heartrate", latest=True),
        ]

        for text in said:
            assert words in text
            assert "source" in text
            assert "4242" not in text
            assert "<" not in text
        assert vitals.simulator.counts.refreshes == 0
        assert (await told(app, "health_check"))["sources"][0]["state"] == "live"


@pytest.mark.parametrize(
    ("status", "kind", "body"),
    [
        pytest.param(200, "application/json", b'{"error":"boom"}', id="error"),
        pytest.param(200, "text/html", HTML, id="html 200"),
        pytest.param(502, "text/html", HTML, id="html 502"),
        pytest.param(200, "application/json", b'{"data":[]}', id="another shape"),
        pytest.param(200, "application/json", b'{"id":""}', id="an empty id"),
    ],
)
async def test_p6_at_sign_in_an_account_that_cannot_be_read_is_nobody(
    tmp_path: Path, status: int, kind: str, body: bytes
) -> None:
    clock = Clock(NOON)
    simulator = Simulator(now=clock)
    held = shelf(simulator)
    held.answers["personal_info"] = (status, kind, body)
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        walk = await journey(vitals, "approve", "owner")
        stored = [key async for key, _ in vitals.parts.store.scan("") if key.startswith(("conn:", "code:"))]

    assert heading(walk.browser.page) == "Oura did not answer"
    assert "temporarily_unavailable" in walk.browser.page
    assert "4242" not in walk.browser.page
    assert stored == []
    assert simulator.grants.families[0].ended_why == "revoked"


@pytest.mark.parametrize("body", [{"error": "invalid_grant"}, {}, [], "text"], ids=["error", "empty", "list", "text"])
async def test_p6_a_token_endpoint_that_answers_200_without_tokens_is_no_renewal(tmp_path: Path, body: object) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        vitals.simulator.expire_access_tokens()
        vitals.simulator.faults.add("status", "/oauth/*", status=200, body=body, times=None)
        said = await refused(app, "health_query", collection="sleep")
        check = await told(app, "health_check")

    assert "token endpoint answered 200" in said
    assert len(token_requests(vitals)) == 2
    assert check["sources"][0]["state"] == "live"
    assert OURA not in said
