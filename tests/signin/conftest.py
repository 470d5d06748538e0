"""A stage for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.signin.stage import Stage, staged


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as built:
        yield built
