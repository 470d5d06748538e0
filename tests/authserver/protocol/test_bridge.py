"""The bridge: a protocol request runs to its end, and hands back what it got."""

from pathlib import Path

import anyio
import httpx2
import pytest
from starlette.applications import Starlette

from app.authserver.protocol import bridge
from app.authserver.protocol.bridge import Bridge, Payload, wait
from app.errors import StoreUnavailable
from app.store.sqlite import SqliteStore
from tests.authserver.stage import Clock, staged

pytestmark = pytest.mark.anyio


async def test_what_a_hook_raises_reaches_the_endpoint() -> None:
    async def fails() -> None:
        raise StoreUnavailable("gone")

    with pytest.raises(StoreUnavailable, match="gone"):
        await Bridge().run(wait, fails)


class Pausing(SqliteStore):
    """Stops before it writes an answer, until a test lets it go on."""

    def arm(self) -> None:
        self.reached, self.go = anyio.Event(), anyio.Event()

    async def put(self, key: str, value: bytes, *, ttl_s: float | None = None) -> None:
        if key.startswith("answer:"):
            self.reached.set()
            await self.go.wait()
        await super().put(key, value, ttl_s=ttl_s)


async def test_a_request_that_is_cancelled_in_the_middle_of_a_rotation_finishes_it(tmp_path: Path) -> None:
    clock = Clock()
    store = Pausing(tmp_path / "vitals.sqlite3", now=clock)
    async with staged(tmp_path, store=store, clock=clock) as stage:
        held = await stage.connect()
        store.arm()
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(stage.refresh, held)
                await store.reached.wait()
                group.cancel_scope.cancel()
                store.go.set()

        raw = [value async for _, value in store.scan("refresh:")]
        assert sum(b'"successor":null' in each for each in raw) == 1
        assert len(raw) == 2
        assert (await stage.refresh(held)).status_code == 200
    await store.aclose()


async def test_a_store_that_hangs_ends_the_request_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "_DEADLINE_S", 0.1)
    clock = Clock()
    store = Pausing(tmp_path / "vitals.sqlite3", now=clock)
    async with staged(tmp_path, store=store, clock=clock) as stage:
        held = await stage.connect()
        store.arm()

        with anyio.fail_after(5):
            answer = await stage.refresh(held)

        assert (answer.status_code, answer.json()["error"]) == (503, "temporarily_unavailable")
        store.go.set()
        assert (await stage.refresh(held)).status_code == 200
    await store.aclose()


def test_a_parameter_without_a_value_counts_as_not_sent() -> None:
    payload = Payload([("scope", ""), ("resource", "a"), ("resource", "b"), ("state", "s")])

    assert payload.data == {"resource": "a", "state": "s"}
    assert payload.datalist == {"resource": ["a", "b"], "state": ["s"]}


async def test_requests_that_all_wait_for_the_store_do_not_wait_for_each_other(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        held = [await stage.connect() for _ in range(60)]
        app = Starlette(routes=stage.server.routes())
        answers: list[int] = []

        async def one(each: dict[str, str]) -> None:
            transport = httpx2.ASGITransport(app)
            async with httpx2.AsyncClient(transport=transport, base_url="https://vitals.example") as http:
                form = {"grant_type": "refresh_token", "refresh_token": each["refresh_token"]}
                answers.append((await http.post("/token", data=form | {"client_id": each["client_id"]})).status_code)

        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                for each in held:
                    group.start_soon(one, each)

        assert answers == [200] * 60
