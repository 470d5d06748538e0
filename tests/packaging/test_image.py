"""The container image, as far as it can be read without a container engine."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.packaging.tree import text, tracked


def instructions() -> list[tuple[str, str]]:
    joined = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text("Dockerfile"), flags=re.MULTILINE))
    return [(line.split(None, 1)[0], line.split(None, 1)[1].strip()) for line in joined.splitlines() if line.strip()]


def stages() -> list[list[tuple[str, str]]]:
    found: list[list[tuple[str, str]]] = []
    for word, rest in instructions():
        if word == "FROM":
            found.append([])
        if found:
            found[-1].append((word, rest))
    return found


def last(word: str) -> str:
    return [rest for name, rest in stages()[-1] if name == word][-1]


def environment() -> dict[str, str]:
    return dict(re.findall(r"(\w+)=(\S+)", last("ENV")))


@contextmanager
def answering(status: int) -> Iterator[int]:
    class Health(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/healthz" else 404)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- likewise
            pass

    with HTTPServer(("127.0.0.1", 0), Health) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def test_it_is_built_in_one_stage_and_run_in_another() -> None:
    build, run = stages()

    assert build[0][1].endswith(" AS build")
    assert [rest for word, rest in run if word == "COPY"] == ["--from=build /venv /venv"], "the sources stay behind"
    assert [word for word, _ in instructions() if word == "ADD"] == [], "ADD fetches and unpacks"


def test_both_stages_start_from_one_base_whose_digest_can_be_given() -> None:
    assert instructions()[0][0] == "ARG"
    assert re.fullmatch(r"PYTHON=python:3\.\d+-slim-\w+", instructions()[0][1])
    assert [rest for word, rest in instructions() if word == "FROM"] == ["${PYTHON} AS build", "${PYTHON}"]


def test_every_dependency_is_checked_against_its_hash_and_none_is_built() -> None:
    installs = [rest for word, rest in stages()[0] if word == "RUN" and "pip install" in rest]

    assert len(installs) == 2
    assert "--require-hashes --only-binary=:all: -r constraints.txt" in installs[0]
    assert "--no-deps --no-build-isolation ." in installs[1]
    assert "pip uninstall --yes setuptools pip" in installs[1]


def test_it_runs_as_a_numeric_user_that_is_not_root_and_owns_the_volume() -> None:
    uid, gid = last("USER").split(":")

    assert int(uid) >= 1000
    assert int(gid) >= 1000
    assert last("VOLUME") == environment()["DATA_DIR"] == "/data"
    assert f"install -d -o {uid} -g {gid} -m 0700 /data" in last("RUN")


def test_it_listens_where_it_says_and_ends_on_sigterm() -> None:
    assert environment()["HOST"] == "0.0.0.0"
    assert environment()["PORT"] == last("EXPOSE") == "8080"
    assert last("STOPSIGNAL") == "SIGTERM"
    assert json.loads(last("CMD")) == ["vitals", "serve"], "a shell in between would swallow the signal"


def test_no_secret_is_built_in_and_none_is_sent_to_the_builder() -> None:
    assert [name for name in environment() if re.search(r"SECRET|KEY|TOKEN|EMAIL|CLIENT", name)] == []
    assert re.search(r"ARG \w*(SECRET|KEY|TOKEN)", text("Dockerfile")) is None

    ignore = [line for line in text(".dockerignore").splitlines() if line and not line.startswith("#")]
    assert ignore[0] == "*"
    let_in = {line[1:] for line in ignore if line.startswith("!")}
    assert let_in == {"app", "constraints.txt", "pyproject.toml", "README.md", "LICENSE"}
    copied = {name for word, rest in stages()[0] if word == "COPY" for name in rest.split()[:-1]}
    assert copied == let_in


@pytest.mark.parametrize(
    ("status", "code"), [pytest.param(200, 0, id="healthy"), pytest.param(503, 1, id="not-healthy")]
)
def test_the_health_check_asks_the_server_and_says_what_it_found(status: int, code: int) -> None:
    options, _, command = last("HEALTHCHECK").partition("CMD ")
    python, *arguments = json.loads(command)
    assert python == "python"
    assert "--timeout=5s" in options

    with answering(status) as port:
        ran = subprocess.run(
            [sys.executable, *arguments], env={"PORT": str(port)}, capture_output=True, timeout=20, check=False
        )

    assert ran.returncode == code


def test_the_health_check_fails_where_nothing_listens() -> None:
    with answering(200) as port:
        pass
    *_, code = json.loads(last("HEALTHCHECK").partition("CMD ")[2])

    ran = subprocess.run(
        [sys.executable, "-c", code], env={"PORT": str(port)}, capture_output=True, timeout=20, check=False
    )

    assert ran.returncode == 1


def test_everything_that_the_build_copies_is_in_the_repository() -> None:
    for word, rest in stages()[0]:
        if word == "COPY":
            for name in rest.split()[:-1]:
                assert tracked(name), name
