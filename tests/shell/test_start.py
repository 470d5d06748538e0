import io
import logging
import subprocess
import sys
from pathlib import Path

import pytest
import structlog

from app import logs
from tests.processes import run

# What DESIGN.md loads only when it is asked for, and what only other commands need.
HEAVY = ["matplotlib", "numpy", "scipy", "redis", "limits", "app.simulator", "app.demo", "app.store.redis"]


def test_a_start_loads_nothing_that_is_not_needed_to_serve() -> None:
    code = f"import sys, app.main, app.serving; print([name for name in {HEAVY} if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_a_small_command_loads_no_server() -> None:
    code = "import sys, app.cli; print([n for n in ('uvicorn', 'starlette', 'mcp', 'app.parts') if n in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


@pytest.mark.process
def test_the_module_is_the_command(tmp_path: Path) -> None:
    done = run("--version", env={}, folder=tmp_path)

    assert done.returncode == 0
    assert done.stdout.startswith("vitals, version ")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "style"), [(Terminal(), "text"), (io.StringIO(), "json")])
def test_logs_are_text_on_a_terminal_and_json_elsewhere(stream: io.StringIO, style: str) -> None:

    root = logging.getLogger()
    before = root.handlers[:], root.level
    try:
        logs.configure(stream=stream)
        logs.get("m").info("happened", count=1)
    finally:
        root.handlers[:], root.level = before
        logging.captureWarnings(capture=False)
        structlog.reset_defaults()

    assert stream.getvalue().startswith("{") is (style == "json")
    assert ("happened module=m count=1" in stream.getvalue()) is (style == "text")
