import ast
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from app import logs
from tests.shell.web import Web

LEVELS = {"debug", "info", "warning", "error", "exception", "critical", "log"}


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_listed_fields_are_written_and_others_only_named(written: io.StringIO) -> None:
    logs.get("m").info("happened", status=200, reading="canary", token="canary")

    (line,) = lines(written)
    assert line["status"] == 200
    assert line["dropped"] == "reading,token"
    assert "canary" not in written.getvalue()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("/mcp?access_token=canary", "/mcp"),
        ("https://x.example/cb?code=canary#f", "https://x.example/cb"),
        ({"hr": "canary"}, "dict"),
        (ValueError("canary"), "ValueError"),
        (b"canary", "bytes"),
        ("two\nlines", "two lines"),
        ("a" * 1000, "a" * 500),
    ],
)
def test_a_value_is_one_short_plain_line_without_a_query(value: object, shown: str, written: io.StringIO) -> None:
    logs.get("m").info("happened", reason=value)

    assert lines(written)[0]["reason"] == shown


def test_a_librarys_text_arguments_and_traceback_are_not_written(written: io.StringIO) -> None:
    library = logging.getLogger("mcp.server.lowlevel")
    library.warning("Invalid header %s", "canary")
    try:
        raise ValueError("canary")
    except ValueError:
        library.exception("handler for canary raised")

    assert "canary" not in written.getvalue()
    assert lines(written)[1]["error"] == "ValueError"
    assert lines(written)[1]["where"].startswith("shell/test_logs.py:")


def test_the_place_of_an_error_is_our_own_line_even_where_libraries_live_under_a_folder_called_app() -> None:
    library: dict[str, Any] = {}
    ours: dict[str, Any] = {"library": library}
    exec(compile("def fail(): return 1 / 0", "/app/venv/lib/library.py", "exec"), library)
    exec(compile("def ask(): library['fail']()", str(Path(logs.__file__).parent / "tools/x.py"), "exec"), ours)

    with pytest.raises(ZeroDivisionError) as caught:
        ours["ask"]()

    assert logs.place(caught.value) == "tools/x.py:1"


@pytest.mark.parametrize(
    "name", ["mcp", "uvicorn.error", "uvicorn.access", "httpx2", "httpcore2.http11", "authlib", "asyncio", "new"]
)
def test_libraries_are_silent_below_a_warning_even_when_we_debug(name: str, written: io.StringIO) -> None:
    logging.getLogger(name).info("GET https://api.example/x?token=canary")
    logging.getLogger(name).debug("body: canary")

    assert written.getvalue() == ""


def test_our_own_standard_library_records_keep_their_fixed_text_and_listed_fields(written: io.StringIO) -> None:
    ours = logging.getLogger("app.tools.x")
    ours.info("tool refused: %s", "canary", extra={"tool": "health_query", "reading": "canary"})

    (line,) = lines(written)
    assert line["tool"] == "health_query"
    assert "canary" not in written.getvalue()


def test_text_is_one_line_per_event() -> None:
    stream = io.StringIO()
    line = logs.as_text(None, "", {"timestamp": "2026-03-10T09:00:01Z", "level": "info", "event": "started", "port": 1})

    assert line == "09:00:01 info    started port=1"
    assert stream.getvalue() == ""


@pytest.mark.anyio
async def test_a_request_is_logged_without_address_query_header_or_body(written: io.StringIO) -> None:
    web = Web()
    await web.ask("POST", "/mcp?canary=1", content=b'{"canary": 1}', headers={"x-canary": "canary"})
    await web.ask("GET", "/canary?canary")
    await web.ask("GET", "/broken")
    await web.ask("POST", "/mcp", token="canary")

    logged = [(line["method"], line["path"], line["status"]) for line in lines(written) if line["event"] == "request"]
    assert logged == [("POST", "/mcp", 200), ("GET", "other", 404), ("GET", "/broken", 500), ("POST", "/mcp", 401)]
    assert "canary" not in written.getvalue()


@pytest.mark.anyio
async def test_a_platforms_probes_are_not_logged(written: io.StringIO) -> None:
    await Web().ask("GET", "/healthz")

    assert written.getvalue() == ""


def test_every_log_call_in_the_code_has_a_fixed_text_and_listed_fields() -> None:
    faults = [fault for path in sorted(Path("app").rglob("*.py")) for fault in _faults(path)]

    assert faults == []


def _faults(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LEVELS):
            continue
        if not (
            isinstance(node.func.value, ast.Name) and node.func.value.id in {"log", "logger", "_log", "_logger", "LOG"}
        ):
            continue
        place = f"{path}:{node.lineno}"
        if not node.args or not isinstance(node.args[0], ast.Constant):
            yield f"{place}: the event must be a fixed text"
        names = {keyword.arg for keyword in node.keywords} - {"extra"}
        for keyword in node.keywords:
            if keyword.arg == "extra" and isinstance(keyword.value, ast.Dict):
                names |= {str(key.value) for key in keyword.value.keys if isinstance(key, ast.Constant)}
        for name in sorted(str(name) for name in names if name not in logs.FIELDS):
            yield f"{place}: {name} is not a listed field"


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("Invalid HTTP request received.", "client_sent_no_valid_http"),
        ("Child process [7] failed to start, stopping the parent process.", "process_did_not_start"),
        ("a canary of another text", "library_log"),
    ],
)
def test_what_the_server_says_often_has_a_name_of_its_own(
    text: str, event: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    try:
        logs.configure(style="json")
        logging.getLogger("uvicorn.error").warning(text)
    finally:
        root.handlers[:], root.level = before
        logging.captureWarnings(capture=False)
        structlog.reset_defaults()

    written = capsys.readouterr().err
    assert f'"event":"{event}"' in written
    assert "canary" not in written
