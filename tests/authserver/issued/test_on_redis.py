"""The same promises on a real Redis, with two servers on it: one winner for a code, one answer for a refresh token."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import httpx2
import pytest

from app.authserver.issued.tokens import GRACE_S
from app.store.redis import RedisStore
from tests.authserver.stage import OWNER, Clock, Stage, staged

pytestmark = pytest.mark.anyio


@pytest.fixture
async def machines(tmp_path: Path, redis_url: str) -> AsyncIterator[tuple[Stage, Stage]]:
    clock = Clock()
    prefix = f"authserver:{tmp_path.name}:"
    one, two = (RedisStore(redis_url, now=clock, prefix=prefix) for _ in range(2))
    async with (
        staged(tmp_path, store=one, clock=clock) as here,
        staged(tmp_path, store=two, clock=clock) as there,
    ):
        yield here, there
    await one.aclose()
    await two.aclose()


async def test_a_code_is_redeemed_once_on_two_machines(machines: tuple[Stage, Stage]) -> None:
    client_id = await machines[0].public_client()
    code = await machines[0].code(client_id)
    answers: list[httpx2.Response] = []

    async def one(stage: Stage) -> None:
        answers.append(await stage.redeem(client_id, code))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for stage in machines * 5:
                group.start_soon(one, stage)

    assert sorted(each.status_code for each in answers) == [200] + [400] * 9


async def test_a_refresh_token_gets_one_answer_on_two_machines(machines: tuple[Stage, Stage]) -> None:
    here, there = machines
    held = await here.connect()
    answers: list[object] = []

    async def one(stage: Stage) -> None:
        answers.append((await stage.refresh(held)).json())

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for stage in machines * 5:
                group.start_soon(one, stage)

    assert answers == [answers[0]] * 10
    assert len([raw async for _, raw in there.store.scan("refresh:") if b'"successor":null' in raw]) == 1
    here.clock.pass_s(GRACE_S + 1)
    assert (await there.refresh(held)).json()["error"] == "invalid_grant"
    assert await here.server.grants.list(OWNER) == []
