"""How often Redis is asked for one call: what a far Redis costs, and what many calls cost it."""

import secrets
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from app.store.redis import RedisStore
from tests.app_under_test import Clock, running_app
from tests.cases.asking import told
from tests.redis_server import start_redis
from tests.system.asking import ask

pytestmark = pytest.mark.anyio
OUR_OWN = {"info", "hello", "client|setinfo", "ping", "config|resetstat"}
ONE_DAY: dict[str, Any] = {"collection": "daily_sleep", "day": "2026-03-01"}
LAST_NIGHT: dict[str, Any] = {"collection": "sleep", "day": "last night"}
WITH_RINGS: dict[str, Any] = {"collection": "daily_activity", "start": "2026-03-01", "end": "2026-03-02"}


async def asked_for(redis: Redis) -> Counter[str]:
    stats: dict[str, dict[str, Any]] = await redis.info("commandstats")
    counted = {name.removeprefix("cmdstat_"): stats[name]["calls"] for name in stats}
    return Counter({name: calls for name, calls in counted.items() if name not in OUR_OWN})


@pytest.mark.parametrize(
    ("tool", "arguments", "asked"),
    [
        pytest.param("health_catalog", {}, {"mget": 1, "get": 1}, id="what asks nothing of Oura"),
        pytest.param("health_query", ONE_DAY, {"mget": 1, "get": 1}, id="a question"),
        pytest.param("health_query", WITH_RINGS, {"mget": 1, "get": 1}, id="two questions side by side"),
        pytest.param("health_today", {}, {"mget": 1, "get": 1}, id="a day of everything"),
        pytest.param("health_query", LAST_NIGHT, {"mget": 1, "get": 1}, id="last night, with the clock"),
    ],
)
async def test_a_call_asks_redis_twice(
    tmp_path: Path, tool: str, arguments: dict[str, Any], asked: dict[str, int]
) -> None:
    server, clock = start_redis(tmp_path), Clock()
    try:
        store = RedisStore(server.url, now=clock)
        async with (
            running_app(tmp_path, clock=clock, store=store, SECRET_KEY=secrets.token_urlsafe(32)) as vitals,
            Redis.from_url(server.url) as redis,
        ):
            app = await vitals.connected_app()
            await ask(app)  # so that the zone is known for a second
            before = await asked_for(redis)
            said = await told(app, tool, **arguments)
            after = await asked_for(redis)
    finally:
        server.stop()

    assert "complete" not in said or said["complete"]
    assert dict(after - before) == asked
