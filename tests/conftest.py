"""Fixtures that every area uses."""

import pytest

from tests.redis_server import redis_server, redis_url

__all__ = ["anyio_backend", "redis_server", "redis_url"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
