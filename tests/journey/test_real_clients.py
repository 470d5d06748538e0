"""Real MCP clients sign in at a running `vitals demo` and call a tool."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from app.demo.browser import Browser
from tests.node import node_for
from tests.processes import Process, vitals

pytestmark = pytest.mark.process
REDIRECT = "http://127.0.0.1:53683/callback"
QUESTION = {"collection": "daily_sleep", "start": "2026-02-02", "end": "2026-02-08"}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("demo")
    with vitals("demo", env={"TMPDIR": str(folder)}, folder=folder / "run") as process:
        yield process


async def signed_in(address: str) -> str:
    """Do what the owner does in a browser; return where it ended."""
    async with httpx2.AsyncClient(trust_env=False, timeout=30) as http:
        browser = Browser(http, stop_at=REDIRECT)
        await browser.open(address)
        await browser.press("approve")
        await browser.press("owner")
        assert browser.stopped
        return browser.address


class Memory:
    """What a client keeps."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class SignsIn:
    """The two handlers of the SDK: opens the browser, waits for the result."""

    def __init__(self) -> None:
        self.ended = ""

    async def open(self, address: str) -> None:
        self.ended = await signed_in(address)

    async def wait(self) -> AuthorizationCodeResult:
        query = parse_qs(urlsplit(self.ended).query)
        return AuthorizationCodeResult(code=query["code"][0], state=query["state"][0], iss=query["iss"][0])


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
async def test_the_client_of_today_signs_in_and_gets_an_answer_with_progress(mode: str, demo: Process) -> None:
    person, memory, told = SignsIn(), Memory(), []
    auth = OAuthClientProvider(
        demo.mcp_url,
        OAuthClientMetadata(client_name="Client of 2026", redirect_uris=[AnyUrl(REDIRECT)]),
        memory,
        redirect_handler=person.open,
        callback_handler=person.wait,
    )

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    with anyio.fail_after(60):
        async with (
            httpx2.AsyncClient(auth=auth, trust_env=False, timeout=30) as http,
            Client(streamable_http_client(demo.mcp_url, http_client=http), mode=mode) as client,
        ):
            tools = [tool.name for tool in (await client.list_tools()).tools]
            answer = await client.call_tool("health_query", QUESTION, progress_callback=progress)

    assert "health_query" in tools
    assert not answer.is_error
    assert answer.structured_content is not None
    assert answer.structured_content["complete"] is True
    assert told
    assert memory.tokens is not None
    assert memory.tokens.refresh_token


def speak(command: list[str]) -> dict[str, Any]:
    """Run a client that prints the address to sign in at; tell it where that ended, and return what it found."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={}
    ) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        address = client.stdout.readline()
        if address:
            client.stdin.write(anyio.run(signed_in, address.strip()) + "\n")
            client.stdin.flush()
        out, err = client.communicate(timeout=60)
    assert client.returncode == 0, err
    facts: dict[str, Any] = json.loads(out)
    return facts


def served_well(facts: dict[str, Any]) -> bool:
    """Whether a client was let in, found the tools, and got a whole answer with progress before it."""
    told = facts["server"], facts["error"], facts["complete"], facts["progress"] > 0
    return told == ("vitals", False, True, True) and "health_query" in facts["tools"]


def test_the_client_of_last_year_signs_in_and_gets_an_answer_with_progress(demo: Process) -> None:
    python = os.environ.get("VITALS_MCP1_PYTHON", "")
    if not python:
        pytest.skip("VITALS_MCP1_PYTHON names no Python with mcp 1.x (mcp1); it cannot share an environment with 2.x.")

    facts = speak([python, str(Path(__file__).with_name("client_v1.py")), demo.mcp_url])

    assert served_well(facts), facts


def test_the_client_in_typescript_signs_in_refreshes_and_gets_an_answer_with_progress(demo: Process) -> None:
    modules = Path(os.environ.get("VITALS_CONFORMANCE", "/nowhere"), "node_modules")
    sdk = modules / "@modelcontextprotocol" / "sdk"
    if not sdk.is_dir():
        pytest.skip("No TypeScript SDK. Run `npm ci` in .ci/conformance and name that folder in VITALS_CONFORMANCE.")
    node = node_for(modules)
    if node is None:
        pytest.skip("The TypeScript SDK needs Node.")

    facts = speak([node, str(Path(__file__).with_name("client_ts.mjs")), str(sdk), demo.mcp_url])

    assert served_well(facts), facts
