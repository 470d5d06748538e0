"""HTTP/2 against a real TLS server: Caddy in front of the simulated Oura, which sees what arrived and over what."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from app.simulator import Simulator
from app.sources.engine import Engine
from app.sources.oura.catalog import COLLECTIONS
from app.sources.oura.client import OuraClient
from app.sources.outgoing import outgoing
from app.sources.question import Terms
from tests.packaging.test_caddy import CADDY, caddy
from tests.processes import free_port
from tests.sources.certificates import Pair, pair
from tests.sources.fakes import ADA, days
from tests.sources.test_source import NOW, OneToken

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.process,
    pytest.mark.skipif(not CADDY, reason="caddy is not installed"),
]


@dataclass
class Seen:
    """What arrived at Caddy, as it told the one behind it: the protocol, and the port that it came from."""

    protocols: set[str] = field(default_factory=set)
    lines: set[str] = field(default_factory=set)
    requests: int = 0


def front(certificate: Pair, port: int, behind: int) -> dict[str, object]:
    """Caddy's configuration: TLS with this certificate, HTTP/1.1 and HTTP/2, everything passed on."""
    told = {"X-Protocol": ["{http.request.proto}"], "X-Line": ["{http.request.remote.port}"]}
    files = {"certificate": str(certificate.certificate), "key": str(certificate.key)}
    return {
        "apps": {
            "http": {
                "servers": {
                    "oura": {
                        "listen": [f"127.0.0.1:{port}"],
                        "protocols": ["h1", "h2"],
                        "automatic_https": {"disable": True},
                        "tls_connection_policies": [{}],
                        "routes": [
                            {
                                "handle": [
                                    {
                                        "handler": "reverse_proxy",
                                        "upstreams": [{"dial": f"127.0.0.1:{behind}"}],
                                        "headers": {"request": {"set": told}},
                                    }
                                ]
                            }
                        ],
                    }
                }
            },
            "tls": {"certificates": {"load_files": [files]}},
        }
    }


@asynccontextmanager
async def watched(simulator: Simulator, seen: Seen) -> AsyncIterator[int]:
    """Serve the simulator on loopback, and note what Caddy tells."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            seen.protocols.add(headers["x-protocol"])
            seen.lines.add(headers["x-line"])
            seen.requests += 1
        await simulator.app(scope, receive, send)

    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", ws="none", log_config=None))
    async with anyio.create_task_group() as group:
        group.start_soon(server.serve, [listening])
        with anyio.fail_after(5):
            while not server.started:
                await anyio.lowlevel.checkpoint()
        yield listening.getsockname()[1]
        server.should_exit = True


async def test_a_month_of_heart_rate_comes_over_one_http_2_connection_and_tokens_over_their_own(tmp_path: Path) -> None:
    certificate, seen, port = pair(tmp_path), Seen(), free_port()
    simulator = Simulator(now=lambda: NOW)
    token = OneToken(str(simulator.sign_in()["access_token"]))
    truth = simulator.truth("heartrate", "2026-10-01", "2026-10-31", "Europe/Helsinki")
    async with watched(simulator, seen) as behind:
        with caddy(front(certificate, port, behind), tmp_path):
            root = f"https://127.0.0.1:{port}"
            async with outgoing(verify=certificate.trusting()) as http:
                engine = Engine(Terms(OuraClient(http=http, api_url=root, tokens=token)))
                with anyio.fail_after(60):
                    fetched = await engine.fetch(ADA, COLLECTIONS["heartrate"], days("2026-10-01", "2026-10-31"))
            month = Seen(set(seen.protocols), set(seen.lines), seen.requests)
            async with outgoing(keep_alive=False, verify=certificate.trusting()) as http:
                with anyio.fail_after(20):
                    for _ in range(2):
                        await http.post(f"{root}/oauth/token", data={"refresh_token": "none"})

    assert fetched.complete
    assert len(fetched.records) == len(truth)
    assert month.requests > 30
    assert (month.protocols, len(month.lines)) == ({"HTTP/2.0"}, 1)
    assert (seen.protocols - month.protocols, len(seen.lines - month.lines)) == ({"HTTP/1.1"}, 2)
