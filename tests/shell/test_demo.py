import json
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.processes import free_port, run, vitals

pytestmark = pytest.mark.process

_WITNESS = """
import json, sys, anyio
hosts = []
real = anyio.connect_tcp
async def connect_tcp(remote_host, *args, **kwargs):
    hosts.append(str(remote_host))
    return await real(remote_host, *args, **kwargs)
anyio.connect_tcp = connect_tcp
sys.addaudithook(lambda name, args: hosts.append(str(args[0])) if name == "socket.getaddrinfo" else None)
from app.cli import main
try:
    main(["demo", "--once", "--port", sys.argv[1]])
finally:
    print("HOSTS " + json.dumps(sorted(set(hosts))), flush=True)
"""


def test_once_signs_in_asks_and_ends_well_within_ten_seconds(tmp_path: Path) -> None:
    began = time.monotonic()
    done = run("demo", "--once", "--port", str(free_port()), env={"TMPDIR": str(tmp_path)}, folder=tmp_path)
    took_s = time.monotonic() - began

    assert done.returncode == 0, done.stderr
    assert took_s < 10
    steps = [line.split()[0] for line in done.stdout.splitlines() if not line.startswith((" ", "health"))]
    assert steps == ["ask", "register", "consent", "Oura", "token", "connect", "renew", "leave"]
    # The simulated owner lives by the real clock: while they sleep, the night has a word instead of hours, and another
    # one from 06:00 on, when most nights are over and why this one is not there is not known.
    assert re.search(r"asleep \d+ h \d\d min|last_night: not there \((not_over_yet|no_record)\)", done.stdout)
    assert "records, complete:" in done.stdout
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_once_calls_loopback_and_nobody_else(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", _WITNESS, str(free_port())],
        env={"PYTHONPATH": str(root), "TMPDIR": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    hosts = json.loads(done.stdout.rsplit("HOSTS ", 1)[1])
    assert "127.0.0.1" in hosts
    assert set(hosts) <= {"127.0.0.1", "localhost", "::1", "b'127.0.0.1'"}


def test_the_demo_reads_no_settings_and_keeps_nothing(tmp_path: Path) -> None:
    env = {
        "TMPDIR": str(tmp_path / "tmp"),
        "PUBLIC_URL": "nonsense",
        "DATA_DIR": str(tmp_path / "kept"),
        "REDIS_URL": "x",
    }
    (tmp_path / "tmp").mkdir()
    with vitals("demo", env=env, folder=tmp_path / "run") as process:
        assert f"claude mcp add --transport http vitals {process.mcp_url}" in process.said()
        assert list((tmp_path / "tmp").iterdir()) != []

        assert process.stop(signal.SIGTERM) == 0
        assert "Traceback" not in process.logged()

    assert list((tmp_path / "tmp").iterdir()) == []
    assert not (tmp_path / "kept").exists()


def test_a_taken_port_makes_the_demo_take_the_next_and_say_so(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with vitals("demo", env={}, folder=tmp_path, port=port, ready=False) as process:
            deadline = time.monotonic() + 30
            while "MCP address" not in process.said() and time.monotonic() < deadline:
                time.sleep(0.02)

            assert f"Port {port} is in use" in process.said()
            assert process.stop(signal.SIGINT) == 0
