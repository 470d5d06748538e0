"""A simulator on a fixed clock, a client without a socket, and Oura's own document where it is at hand."""

import json
import os
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.simulator import SCOPES, Simulator

NOW = datetime(2026, 4, 2, 9, 0, tzinfo=UTC).timestamp()
Document = dict[str, Any]


class Clock:
    """A clock that moves only when told."""

    def __init__(self, at_s: float = NOW) -> None:
        self.at_s = at_s

    def __call__(self) -> float:
        return self.at_s


class Asker:
    """Asks a simulator in this process, as an application with a token of the owner."""

    def __init__(self, sim: Simulator, http: httpx2.AsyncClient) -> None:
        self.sim = sim
        self.http = http
        self.token = str(sim.sign_in()["access_token"])

    def as_granted(self, *scopes: str, who: str = "owner") -> "Asker":
        other = Asker(self.sim, self.http)
        other.token = str(self.sim.sign_in(who=who, scopes=frozenset(scopes))["access_token"])
        return other

    async def get(self, path: str, /, **params: str) -> httpx2.Response:
        path = path if path.startswith("/") else f"/v2/usercollection/{path}"
        return await self.http.get(path, params=params, headers={"authorization": f"Bearer {self.token}"})

    async def data(self, path: str, /, **params: str) -> list[Document]:
        answer = await self.get(path, **params)
        assert answer.status_code == 200, answer.text
        found: list[Document] = answer.json()["data"]
        return found

    async def all(self, path: str, /, **params: str) -> tuple[list[Document], int]:
        found: list[Document] = []
        for page in range(1, 100):
            body = (await self.get(path, **params)).json()
            found += body["data"]
            if body["next_token"] is None:
                return found, page
            params["next_token"] = body["next_token"]
        raise AssertionError("more than 100 pages")


Connect = Callable[[Simulator], Asker]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """Make askers for simulators of the test's own making."""
    clients: list[httpx2.AsyncClient] = []

    def make(sim: Simulator) -> Asker:
        clients.append(httpx2.AsyncClient(transport=httpx2.ASGITransport(app=sim.app), base_url="http://oura.test"))
        return Asker(sim, clients[-1])

    yield make
    for client in clients:
        await client.aclose()


@pytest.fixture
def sim(clock: Clock) -> Simulator:
    return Simulator(now=clock)


@pytest.fixture
def oura(sim: Simulator, connect: Connect) -> Asker:
    return connect(sim)


@pytest.fixture(scope="session")
def openapi() -> Document:
    """Oura's OpenAPI document; it is not ours to publish, so it lies outside the repository."""
    shared = Path(os.environ.get("VITALS_SHARED") or Path(__file__).parents[3] / "shared")
    file = shared / "oura" / "openapi-1.37.json"
    if not file.is_file():
        pytest.skip(f"No {file.name} below {shared}. Set VITALS_SHARED to the folder that holds oura/{file.name}.")
    document: Document = json.loads(file.read_text())
    return document


ALL_SCOPES = frozenset(SCOPES)
