"""The Caddyfile in a real Caddy, in front of a server of our own."""

import http.client
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import IO

import pytest

from tests.packaging.tree import ROOT
from tests.processes import free_port

CADDY = shutil.which("caddy") or ""
pytestmark = [pytest.mark.process, pytest.mark.skipif(not CADDY, reason="caddy is not installed")]


class Upstream(HTTPServer):
    """Answers with the headers that it got; `/stream` sends a second event only after the first was seen."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.first_seen = threading.Event()


class Answer(BaseHTTPRequestHandler):
    server: Upstream

    def do_GET(self) -> None:
        streamed = self.path == "/stream"
        body = b"" if streamed else json.dumps(dict(self.headers)).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if streamed else "application/json")
        if not streamed:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        if streamed:
            self.wfile.write(b"data: one\n\n")
            self.wfile.flush()
            self.wfile.write(b"data: two\n\n" if self.server.first_seen.wait(timeout=20) else b"data: late\n\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- likewise
        pass


def adapted(**environment: str) -> dict[str, object]:
    ran = subprocess.run(
        [CADDY, "adapt", "--adapter", "caddyfile", "--config", str(ROOT / "deploy/Caddyfile")],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    config: dict[str, object] = json.loads(ran.stdout)
    return config


@contextmanager
def caddy(config: dict[str, object], home: Path) -> Iterator[None]:
    file = home / "caddy.json"
    file.write_text(json.dumps(config | {"admin": {"disabled": True}}))
    environment = {
        "HOME": str(home),
        "XDG_DATA_HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "PATH": os.environ["PATH"],
    }
    with subprocess.Popen(
        [CADDY, "run", "--config", str(file)], env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr
            _until(process.stderr, "serving initial configuration")
            drain = threading.Thread(target=process.stderr.read, daemon=True)
            drain.start()
            yield
        finally:
            process.terminate()
            process.wait(timeout=20)


def _until(lines: IO[str], wanted: str) -> None:
    seen = []
    for line in lines:
        seen.append(line)
        if wanted in line:
            return
    raise AssertionError("".join(seen))


@pytest.fixture
def front(tmp_path: Path) -> Iterator[tuple[int, Upstream]]:
    """A port where Caddy listens without TLS, with the server behind it."""
    port = free_port()
    with Upstream() as upstream:
        thread = threading.Thread(target=upstream.serve_forever, daemon=True)
        thread.start()
        config = adapted(VITALS_DOMAIN=f"http://127.0.0.1:{port}", VITALS_UPSTREAM=f"127.0.0.1:{upstream.server_port}")
        with caddy(config, tmp_path):
            yield port, upstream
        upstream.shutdown()
        thread.join()


def test_a_domain_is_all_it_needs_for_https() -> None:
    config = json.dumps(adapted(VITALS_DOMAIN="vitals.example.com"))

    assert '"listen": [":443"]' in config
    assert '"host": ["vitals.example.com"]' in config
    assert '"dial": "127.0.0.1:8000"' in config


def test_the_host_arrives_as_sent_and_a_forged_forwarded_header_does_not(front: tuple[int, Upstream]) -> None:
    port, _ = front
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    client.request("GET", "/headers", headers={"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"})
    seen = {name.lower(): value for name, value in json.loads(client.getresponse().read()).items()}
    client.close()

    assert seen["host"] == f"127.0.0.1:{port}"
    assert seen["x-forwarded-for"] == "127.0.0.1"
    assert seen["x-forwarded-proto"] == "http"


def test_an_event_is_passed_on_before_the_next_one_exists(front: tuple[int, Upstream]) -> None:
    port, upstream = front
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    client.request("GET", "/stream")
    answer = client.getresponse()
    first = answer.readline()
    upstream.first_seen.set()
    rest = answer.read()
    client.close()

    assert first == b"data: one\n"
    assert b"data: two" in rest
