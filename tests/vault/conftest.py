"""An owner whose access token has run out, on both stores, and machines that share the store."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from app.store.base import Store
from app.vault.connections import Connection, Connections
from app.vault.rotation import Rotation
from tests.store.conftest import Clock, Place, clock, place, store
from tests.vault.ada import ADA, KEYS, RECONNECT
from tests.vault.single_use import SCOPES, TOKEN_URL, SingleUse

__all__ = ["clock", "place", "store"]

DAY_S = 86_400.0


def connection(clock: Clock, *, left_s: float = -1, life_s: float = DAY_S, **fields: Any) -> Connection:
    """What a sign-in stored, with so much of the access token's life left."""
    values: dict[str, Any] = {
        "source": "oura",
        "owner": ADA.owner,
        "account_id": "account-ada",
        "access_token": "access-0",
        "refresh_token": "refresh-0",
        "expires_at": clock() + left_s,
        "obtained_at": clock() + left_s - life_s,
        "scopes": SCOPES,
        "token_url": TOKEN_URL,
        "timezone": "Europe/Helsinki",
    }
    return Connection(**{**values, **fields})


@dataclass
class Machine:
    """One process, as far as the store is concerned."""

    store: Store
    connections: Connections
    rotation: Rotation

    async def load(self) -> Connection:
        held = await self.connections.load(ADA.owner)
        assert held is not None
        return held


Machines = Callable[..., Machine]


@pytest.fixture
def oura() -> SingleUse:
    return SingleUse()


@pytest.fixture
async def machines(place: Place, oura: SingleUse) -> AsyncGenerator[Machines]:
    async with AsyncExitStack() as stack:

        def start(*, store: Store | None = None, **settings: Any) -> Machine:
            opened = store or place.open()
            connections = Connections(opened, KEYS)
            values = {"endpoint": oura, "now": place.clock, "reconnect_url": RECONNECT, **settings}
            rotation = Rotation(connections=connections, store=opened, **values)
            stack.push_async_callback(opened.aclose)
            stack.push_async_callback(rotation.drain)
            return Machine(opened, connections, rotation)

        yield start


@pytest.fixture
async def machine(machines: Machines, clock: Clock) -> Machine:
    """A machine whose owner's access token has just run out."""
    machine = machines()
    await machine.connections.connect(connection(clock))
    return machine
