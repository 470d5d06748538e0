"""Where a journey can be made: the connector in this process, or a real `vitals demo`; and an app's document."""

import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2

from app.authserver.clients.cimd import DocumentUnavailable, Fetched
from tests.app_under_test import URL, running_app
from tests.processes import vitals

APP_REDIRECT = "http://127.0.0.1:53682/callback"


@dataclass
class Place:
    """A connector, and how to reach it."""

    url: str
    http: Callable[[], httpx2.AsyncClient]
    document_url: str  # where an app publishes `document(...)`
    in_process: bool

    @property
    def mcp_url(self) -> str:
        return f"{self.url}/mcp"


def document(client_id: str) -> bytes:
    """What an app publishes about itself."""
    return json.dumps(
        {
            "client_id": client_id,
            "client_name": "Journey",
            "redirect_uris": [APP_REDIRECT],
            "grant_types": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_method": "none",
        }
    ).encode()


@asynccontextmanager
async def in_this_process(folder: Path) -> AsyncIterator[Place]:
    """The connector behind in-process transports, under https."""
    client_id = "https://journey.test/client.json"

    async def fetch(url: str) -> Fetched:
        if url != client_id:
            raise DocumentUnavailable("its server answered 404.")
        return Fetched(document(client_id))

    async with running_app(folder, fetch_document=fetch) as running:
        yield Place(URL, running.http, client_id, in_process=True)


@contextmanager
def a_demo(folder: Path) -> Iterator[Place]:
    """A real `vitals demo`, and beside it a real web server for the document."""
    with vitals("demo", env={"TMPDIR": str(folder)}, folder=folder / "run") as process, _publishing() as client_id:
        yield Place(process.url, _over_loopback, client_id, in_process=False)


def _over_loopback() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(trust_env=False, timeout=30)


@contextmanager
def _publishing() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = document(f"http://{self.headers['host']}/client.json")
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/client.json"
        server.shutdown()
        thread.join(10)
