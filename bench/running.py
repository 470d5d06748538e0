"""Child processes of the bench: started, awaited by their `/healthz`, measured, and ended by their own id."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[1]
START_S = 60.0
_PAUSE_S = 0.002
_TOOLS = ("rich", "greenlet")  # of the linters and of the browser in the tests


def free_port() -> int:
    """Return a port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Child:
    """A process that serves HTTP on loopback."""

    popen: subprocess.Popen[bytes]
    port: int
    started_in_s: float  # from before the process was made to its first answered /healthz

    @property
    def url(self) -> str:
        """Its origin."""
        return f"http://127.0.0.1:{self.port}"

    def rss_mb(self) -> float:
        """Return its resident memory now."""
        rss: int = psutil.Process(self.popen.pid).memory_info().rss
        return rss / 2**20

    def cpu_s(self) -> float:
        """Return the processor time it has used so far, in seconds."""
        times = psutil.Process(self.popen.pid).cpu_times()
        return float(times.user + times.system)


@contextmanager
def child(*command: str, port: int, env: Mapping[str, str], folder: Path) -> Iterator[Child]:
    """Start `python COMMAND`, wait until it answers, and end it.

    Args:
        command: Arguments of the interpreter, like `-m`, `app`, `serve`.
        port: Where it will listen; the command must say so too.
        env: Its whole environment but for PATH.
        folder: Its working folder, and where its output goes.
    """
    path = os.pathsep.join((str(_without_tools(folder)), str(ROOT)))
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": path, **env}
    with (folder / f"{port}.log").open("wb") as log:
        began = time.perf_counter()
        popen = subprocess.Popen([sys.executable, *command], env=environment, cwd=folder, stdout=log, stderr=log)
        try:
            _wait(popen, port, folder / f"{port}.log")
            yield Child(popen, port, time.perf_counter() - began)
        finally:
            popen.terminate()
            try:
                popen.wait(10)
            except subprocess.TimeoutExpired:
                popen.kill()
                popen.wait(10)


def _without_tools(folder: Path) -> Path:
    """Hide what only a developer's machine has, and what structlog would load because it is there."""
    hidden = folder / "hidden"
    hidden.mkdir(exist_ok=True)
    for name in _TOOLS:
        (hidden / f"{name}.py").write_text("raise ImportError\n")
    return hidden


def _wait(popen: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Return at the first answered GET /healthz; asked by a bare socket, so that the asking costs next to nothing."""
    until = time.perf_counter() + START_S
    while time.perf_counter() < until:
        if popen.poll() is not None:
            raise RuntimeError(f"a child ended with {popen.returncode}: {log.read_text()[-2000:]}")
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as asked:
                asked.sendall(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
                if asked.recv(64).startswith(b"HTTP/1.1 200"):
                    return
        except OSError:
            pass
        time.sleep(_PAUSE_S)
    raise RuntimeError(f"a child did not answer within {START_S:.0f} s")


def silently(_line: str) -> None:
    """Say nothing of the steps of a sign-in."""
