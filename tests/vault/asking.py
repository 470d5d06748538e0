"""What several tests here ask of a machine."""

from dataclasses import replace

import pytest

from app.errors import ReconnectRequired
from tests.vault.ada import ADA
from tests.vault.conftest import Machine


async def round_trips(machine: Machine, count: int = 20) -> None:
    """Let everybody else do what they would do now, rightly or wrongly."""
    for _ in range(count):
        await machine.store.ping()


async def refusal(machine: Machine, *, refused: str | None = None) -> str:
    """What the owner is told when there is no token."""
    with pytest.raises(ReconnectRequired) as caught:
        await machine.rotation.access_token(replace(ADA), refused=refused)  # each call has a caller of its own
    return str(caught.value)
