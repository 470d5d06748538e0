import pytest

from app.errors import StoreUnavailable
from tests.shell.web import Web

pytestmark = pytest.mark.anyio

EVERYWHERE = [
    ("GET", "/page"),
    ("GET", "/nothing"),
    ("GET", "/broken"),
    ("GET", "/locked"),
    ("GET", "/token"),
    ("POST", "/token"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("POST", "/mcp"),
    ("GET", "/mcp"),
    ("OPTIONS", "/page"),
]
HTML = {"accept": "text/html,*/*;q=0.8"}


@pytest.mark.parametrize(("method", "path"), EVERYWHERE)
@pytest.mark.parametrize("headers", [{}, HTML, {"host": "evil.example"}])
async def test_every_answer_carries_the_security_headers(method: str, path: str, headers: dict[str, str]) -> None:
    answer = await Web().ask(method, path, headers=headers)

    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] in {"no-referrer", "same-origin"}
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert "form-action" not in answer.headers["content-security-policy"]
    assert answer.headers["strict-transport-security"].startswith("max-age=")
    assert "cache-control" in answer.headers
    assert "server" not in answer.headers


async def test_a_route_keeps_what_it_sets_itself() -> None:
    assert (await Web().ask("GET", "/page")).headers["cache-control"] == "max-age=60"


async def test_plain_http_on_loopback_promises_no_https() -> None:
    assert "strict-transport-security" not in (await Web("http://127.0.0.1:8000").ask("GET", "/page")).headers


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/.well-known/openid-configuration", 404),
        ("DELETE", "/page", 405),
        ("GET", "/broken", 500),
        ("GET", "/locked", 503),
    ],
)
async def test_a_program_gets_failures_as_json_without_details(method: str, path: str, status: int) -> None:
    answer = await Web().ask(method, path)

    assert answer.status_code == status
    assert set(answer.json()) == {"error", "error_description"}
    assert "canary" not in answer.text


@pytest.mark.parametrize(("path", "status"), [("/nothing", 404), ("/broken", 500), ("/locked", 503)])
async def test_a_browser_gets_failures_as_a_page_without_details(path: str, status: int) -> None:
    answer = await Web().ask("GET", path, headers=HTML)

    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")
    assert "canary" not in answer.text


async def test_what_only_programs_ask_stays_json_even_for_a_browser() -> None:
    answer = await Web().ask("GET", "/.well-known/nothing", headers=HTML)

    assert answer.json()["error"] == "not_found"


async def test_a_405_names_what_is_allowed() -> None:
    assert "POST" in (await Web().ask("GET", "/token")).headers["allow"]


async def test_addresses_with_a_slash_too_many_are_404_and_never_redirected() -> None:
    assert (await Web().ask("GET", "/page/")).status_code == 404
    assert (await Web().ask("POST", "/token/")).status_code == 404


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_health_and_readiness_answer_get_and_head(method: str) -> None:
    for path in ("/healthz", "/readyz"):
        assert (await Web().ask(method, path)).status_code == 200


async def test_a_store_that_does_not_answer_makes_it_alive_but_not_ready() -> None:
    async def down() -> None:
        raise StoreUnavailable("canary")

    web = Web(ping=down)

    assert (await web.ask("GET", "/healthz")).status_code == 200
    ready = await web.ask("GET", "/readyz")
    assert ready.status_code == 503
    assert "canary" not in ready.text
