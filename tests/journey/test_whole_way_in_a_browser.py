"""The whole way with a real Chromium as the owner's browser, against a real `vitals demo`."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import anyio
import pytest
from playwright.async_api import async_playwright

from tests.journey.places import a_demo
from tests.journey.test_whole_way import client_of, learn, pkce, use

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync", "--no-first-run"]

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.browser,
    pytest.mark.process,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH"),
]


@contextmanager
def an_app_listening() -> Iterator[tuple[str, list[str]]]:
    """A native app's callback on a port the system gave it: its address, and the queries that arrived there."""
    arrived: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/callback":
                arrived.append(parts.query)
            body = b"<!doctype html><title>app</title><h1>You can close this page</h1>"
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/callback", arrived
        server.shutdown()
        thread.join(10)


@pytest.mark.parametrize("kind", ["registered", "document"])
async def test_the_owner_approves_in_chromium_and_the_app_asks_refreshes_and_leaves(kind: str, tmp_path: Path) -> None:
    with a_demo(tmp_path) as place, an_app_listening() as (redirect_uri, arrived):
        async with place.http() as http:
            server = await learn(place, http)
            client_id = await client_of(kind, place, server, http)
            verifier, challenge = pkce()
            query = {
                "response_type": "code",
                "client_id": client_id,
                "redirect_uri": redirect_uri,  # registered with another port: on loopback the port is the system's
                "state": "st/ate&1",
                "scope": "health:read offline_access",
                "resource": place.mcp_url,
                "code_challenge": challenge,
                "code_challenge_method": "S256",
            }

            async with async_playwright() as playwright:
                chromium = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
                context = await chromium.new_context(timezone_id="Pacific/Auckland")
                page = await context.new_page()
                await page.goto(f"{server['authorization_endpoint']}?{urlencode(query)}")
                consent = await page.inner_text("body")
                zone_shown = await page.input_value('[name="timezone"]')
                await page.click('button[name="decision"][value="approve"]')
                await page.wait_for_url("**/oauth/authorize*")  # Oura, after the consent
                await page.click('button[value="owner"]')
                with anyio.fail_after(30):
                    await page.wait_for_url(f"{redirect_uri}*")
                await chromium.close()

            assert "Journey" in consent
            assert "127.0.0.1" in consent
            assert zone_shown == "Pacific/Auckland"
            [received] = [parse_qs(each, strict_parsing=True) for each in arrived]
            assert received["iss"] == [place.url]
            assert received["state"] == ["st/ate&1"]
            tokens = await http.post(
                server["token_endpoint"],
                data={
                    "grant_type": "authorization_code",
                    "code": received["code"][0],
                    "client_id": client_id,
                    "redirect_uri": redirect_uri,
                    "code_verifier": verifier,
                    "resource": place.mcp_url,
                },
            )
            assert tokens.status_code == 200
            bearer = {
                "authorization": f"Bearer {tokens.json()['access_token']}",
                "accept": "application/json, text/event-stream",
            }
            await use(place, http, bearer)
            refreshed = await http.post(
                server["token_endpoint"],
                data={
                    "grant_type": "refresh_token",
                    "refresh_token": tokens.json()["refresh_token"],
                    "client_id": client_id,
                },
            )
            assert refreshed.status_code == 200
            await use(place, http, bearer | {"authorization": f"Bearer {refreshed.json()['access_token']}"})
            await http.post(
                server["revocation_endpoint"],
                data={"token": refreshed.json()["refresh_token"], "client_id": client_id},
            )
            assert (await http.post(place.mcp_url, headers=bearer)).status_code == 401
