"""Both stores, as settings that a real process is started with."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.redis_server import RedisServer, start_redis


@dataclass
class Backend:
    """Where the processes of one test keep what they know."""

    settings: dict[str, str]
    folder: Path
    redis: RedisServer | None


@pytest.fixture(params=["sqlite", "redis"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    folder = tmp_path / "store"
    folder.mkdir()
    secret = {"SECRET_KEY": secrets.token_urlsafe(32)}
    if request.param == "sqlite":
        yield Backend(secret, folder, None)
        return
    server = start_redis(folder)  # one of its own: the store's keys carry no prefix per test
    yield Backend({**secret, "REDIS_URL": server.url}, folder, server)
    server.stop()
