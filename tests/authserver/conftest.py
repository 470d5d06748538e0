"""The stage as a fixture."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.authserver.stage import Stage, staged


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as it:
        yield it
