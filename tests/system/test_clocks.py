"""Machines whose clocks are ten minutes apart: what one hands out is good at the other, for as long as it should be."""

import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import httpx2
import pytest

from app.demo.walk import App, WalkFailed, discover, sign_in
from app.simulator import Simulator
from app.store.redis import RedisStore
from tests.app_under_test import OURA, URL, Clock, Vitals, running_app
from tests.processes import free_port
from tests.system.conftest import Backend
from tests.system.kills import Forked, world
from tests.system.scenarios import Client, client_of, connected

pytestmark = pytest.mark.anyio

TEN_MINUTES_S = 600.0


@dataclass
class Wrong(Clock):
    """A clock that is wrong by so many seconds and passes as every other, plus what a test lets pass."""

    at: float = 0
    passed: Clock | None = None

    def __call__(self) -> float:
        return time.time() + self.at + (self.passed.at if self.passed else 0)


class Balanced(httpx2.AsyncBaseTransport):
    """Sends each path to one of the machines, as a load balancer may."""

    def __init__(self, machines: Mapping[str, Vitals]) -> None:
        self._machines = {path: httpx2.ASGITransport(machine.app) for path, machine in machines.items()}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        path = max((each for each in self._machines if request.url.path.startswith(each)), key=len)
        return await self._machines[path].handle_async_request(request)


@dataclass
class Pair:
    """Two machines, the first slow and the second fast, or the other way round."""

    first: Vitals
    second: Vitals
    simulator: Simulator
    passed: Clock  # what all clocks, Redis's too, show more than at the beginning

    def http(self, machines: Mapping[str, Vitals]) -> httpx2.AsyncClient:
        oura = httpx2.ASGITransport(self.simulator.app)
        return httpx2.AsyncClient(mounts={URL: Balanced(machines), OURA: oura}, trust_env=False)

    def at(self, machine: Vitals, app: App) -> App:
        """The same app, whose requests all reach one machine."""
        return replace(app, http=self.http({"/": machine}))

    async def app(self, *, exchanged_at: Vitals) -> App:
        """An app whose owner approved it on the first machine and came back from Oura to the second."""
        app = await discover(self.http({"/": self.first, "/token": exchanged_at}), f"{URL}/mcp", print)
        await sign_in(app, self.http({"/": self.first, "/callback": self.second}), print)
        return app


@pytest.fixture(params=[TEN_MINUTES_S, -TEN_MINUTES_S], ids=["then fast", "then slow"])
async def pair(
    request: pytest.FixtureRequest, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Pair]:
    passed, prefix, key = Clock(at=0), f"t{secrets.token_hex(4)}:", secrets.token_urlsafe(32)
    simulator = Simulator(now=Wrong(passed=passed))
    asked = RedisStore._time

    async def later(store: RedisStore) -> float:
        return await asked(store) + passed.at

    monkeypatch.setattr(RedisStore, "_time", later)

    @asynccontextmanager
    async def machine(wrong_by_s: float) -> AsyncIterator[Vitals]:
        clock = Wrong(wrong_by_s / 2, passed)
        store = RedisStore(redis_url, now=clock, prefix=prefix, by_server_clock=True)
        async with running_app(tmp_path, simulator=simulator, clock=clock, store=store, SECRET_KEY=key) as vitals:
            yield vitals

    async with machine(-request.param) as first, machine(request.param) as second:
        yield Pair(first, second, simulator, passed)


async def test_a_sign_in_a_code_and_tokens_pass_from_one_to_the_other(pair: Pair) -> None:
    for exchanged_at in (pair.first, pair.second):
        app = await pair.app(exchanged_at=exchanged_at)

        for machine in (pair.first, pair.second):
            assert await pair.at(machine, app).ask("health_check")


async def test_a_code_is_good_for_its_minute_on_both_and_not_longer(pair: Pair) -> None:
    for late_s, good in ((57.0, True), (61.0, False)):
        for exchanged_at in (pair.first, pair.second):
            pair.passed.at = 0
            app = await discover(pair.http({"/": pair.first}), f"{URL}/mcp", print)
            app.http = _Late(pair, {"/": exchanged_at}, late_s)
            if good:
                await sign_in(app, pair.http({"/": pair.first, "/callback": pair.second}), print)
                assert app.access_token
            else:
                with pytest.raises(WalkFailed, match="token: expected 200, got 400"):
                    await sign_in(app, pair.http({"/": pair.first, "/callback": pair.second}), print)


async def test_the_window_of_a_refresh_token_is_the_same_on_both(pair: Pair) -> None:
    app = await pair.app(exchanged_at=pair.first)
    old = app.refresh_token
    first, second = pair.at(pair.first, app), pair.at(pair.second, app)
    await first.token(grant_type="refresh_token", refresh_token=old)

    pair.passed.at = 100
    await second.token(grant_type="refresh_token", refresh_token=old)
    assert second.access_token == first.access_token

    pair.passed.at = 125
    with pytest.raises(WalkFailed, match="token: expected 200, got 400"):
        await second.token(grant_type="refresh_token", refresh_token=old)


async def test_a_renewal_on_one_serves_the_other(pair: Pair) -> None:
    app = await pair.app(exchanged_at=pair.first)
    pair.simulator.expire_access_tokens()

    for machine in (pair.first, pair.second, pair.first):
        answer = await pair.at(machine, app).ask("health_query", collection="daily_activity", day="2026-03-10")
        assert answer["complete"] is True
    assert pair.simulator.counts.refreshes == 1


class _Late(httpx2.AsyncClient):
    """An app that takes its time before it sends its code."""

    def __init__(self, pair: Pair, machines: Mapping[str, Vitals], late_s: float) -> None:
        super().__init__(mounts={URL: Balanced(machines)}, trust_env=False)
        self._pair = pair
        self._late_s = late_s

    async def post(self, *args: object, **kwargs: object) -> httpx2.Response:
        self._pair.passed.at += self._late_s
        return await super().post(*args, **kwargs)  # type: ignore[arg-type]  # passed on as they came


@pytest.mark.process
@pytest.mark.timeout(180)
@pytest.mark.parametrize("wrong_by_s", [(0, 600), (-600, 0, 300, 600)], ids=["two", "four"])
async def test_processes_with_clocks_apart_renew_once_for_each_expiry(
    backend: Backend, tmp_path: Path, wrong_by_s: tuple[float, ...]
) -> None:
    async with world(backend, tmp_path) as shared:
        held = await connected(shared)
        ports = [shared.port, *(free_port() for _ in wrong_by_s[1:])]
        processes = [
            shared.nursery.start(shared.env, port=port, offset_s=wrong, travels=False)
            for port, wrong in zip(ports, wrong_by_s, strict=True)
        ]
        client = await client_of(shared)
        access = (await client.tokens())["access_token"]
        for expiry in (1, 2, 3):
            shared.oura.simulator.expire_access_tokens()

            with anyio.fail_after(60):
                said = await ask_at_once(client, access, processes, times=5)

            assert said == ["answered"] * 5 * len(processes)
            assert shared.oura.simulator.counts.refreshes == expiry
        kept = await shared.parts.connections.load(shared.owner)
        assert kept is not None
        assert (kept.generation, kept.state) == (held.generation + 3, "live")
        assert kept.refresh_token == shared.oura.simulator.grants.families[-1].refresh
        for process in processes:
            process.kill()
        await client.http.aclose()


async def ask_at_once(client: Client, access: str, processes: list[Forked], *, times: int) -> list[str]:
    """Ask each process so many different questions, all at the same moment."""
    said: list[str] = []

    async def ask(process: Forked, number: int) -> None:
        said.append(await client.said(access, at=process.url, day=f"2026-03-{number + 1:02}"))

    async with anyio.create_task_group() as group:
        for number in range(times):
            for process in processes:
                group.start_soon(ask, process, number)
    return said
