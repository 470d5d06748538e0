import pytest
from starlette.types import Message

from app.web.guard import FORM_BODY_BYTES, MCP_BODY_BYTES
from tests.shell.web import LIVE, Web

pytestmark = pytest.mark.anyio
LOCAL = "http://127.0.0.1:8000"


@pytest.mark.parametrize("host", ["vitals.example.com", "VITALS.example.com", "vitals.example.com:443"])
@pytest.mark.parametrize("path", ["/mcp", "/page"])
async def test_our_own_host_is_answered(host: str, path: str) -> None:
    answer = await Web().ask("POST" if path == "/mcp" else "GET", path, headers={"host": host})

    assert answer.status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "vitals.example.com.evil.example",
        "vitals.example.com:444",
        "127.0.0.1:8000",
        "localhost",
        "",
        "x@y",
    ],
)
@pytest.mark.parametrize("path", ["/mcp", "/page", "/token", "/nothing", "/.well-known/oauth-protected-resource"])
async def test_another_host_is_misdirected_everywhere(host: str, path: str) -> None:
    web = Web()

    answer = await web.ask("GET", path, headers={"host": host})

    assert answer.status_code == 421
    assert "evil" not in answer.text
    assert web.sdk.requests == []


HTML = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/"), ("GET", "/authorize?client_id=evil&state=evil"), ("POST", "/connections/end")]
)
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1:8000", "localhost", '"><b>evil'])
async def test_a_browser_under_another_host_is_shown_our_address_and_sent_nowhere(
    method: str, path: str, host: str
) -> None:
    answer = await Web().ask(method, path, headers={**HTML, "host": host})

    assert answer.status_code == 421
    assert answer.headers["content-type"].startswith("text/html")
    assert "location" not in answer.headers
    assert "refresh" not in answer.headers
    assert 'href="https://vitals.example.com/"' in answer.text
    assert "http-equiv" not in answer.text
    assert "evil" not in answer.text
    assert "127.0.0.1" not in answer.text


@pytest.mark.parametrize("path", ["/mcp", "/token", "/register", "/revoke", "/.well-known/oauth-protected-resource"])
async def test_what_programs_ask_under_another_host_stays_json(path: str) -> None:
    answer = await Web().ask("GET", path, headers={**HTML, "host": "evil.example"})

    assert answer.status_code == 421
    assert answer.json()["error"] == "misdirected_request"
    assert "https://vitals.example.com" in answer.json()["error_description"]
    assert "evil" not in answer.text


async def test_a_platform_may_ask_for_health_by_any_host() -> None:
    for path in ("/healthz", "/readyz"):
        assert (await Web().ask("GET", path, headers={"host": "10.0.0.7:8000"})).status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "[::1]:8000"])
async def test_on_loopback_every_name_of_loopback_is_ours(host: str) -> None:
    assert (await Web(LOCAL).ask("GET", "/page", headers={"host": host})).status_code == 200


@pytest.mark.parametrize("host", ["localhost", "localhost:80", "[::1]"])
async def test_at_the_usual_port_a_browser_leaves_the_port_out(host: str) -> None:
    assert (await Web("http://127.0.0.1").ask("GET", "/page", headers={"host": host})).status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1:8001", "localhost", "rebound.example:8000"])
async def test_on_loopback_another_port_or_name_is_not(host: str) -> None:
    assert (await Web(LOCAL).ask("GET", "/page", headers={"host": host})).status_code == 421


@pytest.mark.parametrize("origin", [None, "https://vitals.example.com", "HTTPS://vitals.example.com"])
async def test_no_origin_or_our_own_is_answered(origin: str | None) -> None:
    assert (await Web().call(headers={"origin": origin} if origin else {})).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "",
        "http://vitals.example.com",
        "https://vitals.example.com:444",
        "http://localhost:6274",
        "https://vitals.example.com.evil.example",
        "file://",
    ],
)
async def test_a_page_of_another_origin_may_not_call(origin: str) -> None:
    web = Web()

    assert (await web.call(headers={"origin": origin})).status_code == 403
    assert web.sdk.requests == []


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:6274", 200),
        ("http://127.0.0.1:1", 200),
        ("http://[::1]:3", 200),
        ("https://evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("http://[bad", 403),
        ("ftp://localhost", 403),
    ],
)
async def test_on_loopback_the_owners_own_tools_may_call(origin: str, status: int) -> None:
    assert (await Web(LOCAL).call(headers={"origin": origin})).status_code == status


@pytest.mark.parametrize(("path", "limit"), [("/mcp", MCP_BODY_BYTES), ("/token", FORM_BODY_BYTES)])
async def test_a_body_up_to_the_limit_is_read_and_one_byte_more_is_413(path: str, limit: int) -> None:
    web = Web()

    fits = await web.ask("POST", path, content=b"x" * limit)
    bursts = await web.ask("POST", path, content=b"x" * (limit + 1))

    assert (fits.status_code, bursts.status_code) == (200, 413)
    assert len(web.sdk.requests) == (1 if path == "/mcp" else 0)


@pytest.mark.parametrize("path", ["/mcp", "/token"])
async def test_a_body_without_a_declared_length_is_not_read_beyond_the_limit(path: str) -> None:
    pulled = 0
    sent: list[Message] = []

    async def endless() -> Message:
        nonlocal pulled
        pulled += 1
        assert pulled < 1000, "it reads without an end"
        return {"type": "http.request", "body": b"x" * 65_536, "more_body": True}

    async def keep(message: Message) -> None:
        sent.append(message)

    headers = [(b"host", b"vitals.example.com"), (b"authorization", f"Bearer {LIVE}".encode())]
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": headers,
        "http_version": "1.1",
        "scheme": "https",
        "server": ("vitals.example.com", 443),
        "root_path": "",
    }
    await Web().app(scope, endless, keep)

    assert sent[0]["status"] == 413
    assert pulled <= MCP_BODY_BYTES // 65_536 + 1


@pytest.mark.parametrize("declared", ["99999999999999999999", "4194305"])
async def test_a_body_declared_too_large_is_refused_unread(declared: str) -> None:
    web = Web()

    answer = await web.call(headers={"content-length": declared})

    assert answer.status_code == 413
    assert answer.headers["connection"] == "close"
    assert web.sdk.requests == []


@pytest.mark.parametrize(("length", "declared"), [(FORM_BODY_BYTES + 1, False), (0, True)], ids=["sent", "declared"])
async def test_a_browser_that_sends_too_much_gets_a_page(length: int, declared: bool) -> None:
    headers = HTML | ({"content-length": "99999999"} if declared else {})

    answer = await Web().ask("POST", "/form", content=b"x" * length, headers=headers)

    assert answer.status_code == 413
    assert answer.headers["connection"] == "close"
    assert answer.headers["content-type"].startswith("text/html")
    assert "nothing was changed" in answer.text


async def test_a_program_that_sends_too_much_is_told_how_much_is_taken() -> None:
    answer = await Web().ask("POST", "/token", content=b"x" * (FORM_BODY_BYTES + 1), headers=HTML)

    assert answer.json()["error"] == "request_too_large"
    assert str(FORM_BODY_BYTES) in answer.json()["error_description"]
