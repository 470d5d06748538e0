"""A token endpoint on a loopback port for tests with real processes: single-use tokens, the family dies on reuse."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs


class TokenServer(ThreadingHTTPServer):
    """What it was asked and what it thinks of the family."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.valid = "refresh-0"
        self.alive = True
        self.lenient = False  # takes a spent token again; the last answer counts
        self.presented: list[str] = []
        self.kill_asker: int | None = None  # a process that is killed once its token is spent, before the answer
        self.turn = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/token"

    def redeem(self, refresh_token: str) -> tuple[int, dict[str, object]]:
        with self.turn:
            self.presented.append(refresh_token)
            if not self.alive or (refresh_token != self.valid and not self.lenient):
                self.alive = False
                return 400, {"error": "invalid_grant"}
            n = len(self.presented)
            self.valid = f"refresh-{n}"
            return 200, {"access_token": f"access-{n}", "refresh_token": self.valid, "expires_in": 86_400}


class _Handler(BaseHTTPRequestHandler):
    server: TokenServer

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        status, answer = self.server.redeem(form["refresh_token"][0])
        if self.server.kill_asker is not None:
            os.kill(self.server.kill_asker, signal.SIGKILL)
            return
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
        """Say nothing."""


@contextmanager
def token_server() -> Iterator[TokenServer]:
    server = TokenServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
