"""A process is killed at every step of what must never be half done; the next one finds everything right.

The steps are not listed here: a request that nobody kills tells them. `VITALS_KILLS=300` adds so many kills at steps
drawn by lot, the reading ones included.
"""

import os
import random
import signal
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import pytest

from tests.system.conftest import Backend
from tests.system.kills import World, http, world
from tests.system.scenarios import SCENARIOS, client_of

pytestmark = [pytest.mark.anyio, pytest.mark.process, pytest.mark.timeout(600)]

LOTS = int(os.environ.get("VITALS_KILLS", "0"))
NAMED = {
    "rotation": {f"checkpoint {step}" for step in ("leased", "decided", "noted", "spent", "stored", "released")},
    "code exchange": {"before put access", "before compare_and_set code", "after compare_and_set grant"},
    "refresh exchange": {"before put answer", "before compare_and_set refresh", "after compare_and_set refresh"},
    "sign-in": {"before POST /oauth/token", "before compare_and_set conn", "before put code"},
    "revocation": {"before compare_and_set grant", "after compare_and_set grant"},
}


async def steps_of(shared: World, name: str) -> list[str]:
    """Every step of a request that nobody kills, in order."""
    client = await client_of(shared)
    scenario = SCENARIOS[name]()
    await scenario.prepare(client)
    process = shared.start()
    async with client.http:
        await scenario.act(client)
    process.kill()
    return process.steps()


async def kill_at(shared: World, name: str, number: int, step: str) -> bool:
    """Kill at one step; raise if anything is wrong afterwards. Return what `Scenario.verify` does."""
    client = await client_of(shared)
    scenario = SCENARIOS[name]()
    await scenario.prepare(client)
    doomed = shared.start(die_at=number)
    async with client.http:
        with pytest.raises(httpx2.TransportError):
            await scenario.act(client)
    assert doomed.wait() == -signal.SIGKILL
    assert doomed.steps()[-1] == step

    client.http = http()
    async with AsyncExitStack() as stack:

        async def restart() -> None:
            await shared.later()
            stack.callback(shared.start().kill)

        async with client.http:
            try:
                return await scenario.verify(client, restart)
            except AssertionError as exc:
                exc.add_note(f"after a kill at step {number} of {name}: {step}")
                raise


@pytest.mark.parametrize("name", SCENARIOS)
async def test_killed_at_any_step_nothing_is_lost_doubled_or_half_done(
    backend: Backend, tmp_path: Path, name: str
) -> None:
    async with world(backend, tmp_path) as shared:
        steps = await steps_of(shared, name)
        assert set(steps) >= NAMED[name]
        again = [
            await kill_at(shared, name, number, step)
            for number, step in enumerate(steps)
            if not step.startswith(("before get", "before scan"))  # they change nothing: the lots take these in
        ]

    assert any(again), "whenever it was killed, what was asked for could not be had by asking again"


@pytest.mark.skipif(not LOTS, reason="only when VITALS_KILLS says how many")
async def test_killed_at_steps_drawn_by_lot_nothing_is_lost_doubled_or_half_done(
    backend: Backend, tmp_path: Path
) -> None:
    lot, killed = random.Random(4), 0
    async with world(backend, tmp_path) as shared:
        steps = {name: await steps_of(shared, name) for name in SCENARIOS}
        for _ in range(LOTS // 2):  # half on each store
            name = lot.choice(list(SCENARIOS))
            number = lot.randrange(len(steps[name]))
            await kill_at(shared, name, number, steps[name][number])
            killed += 1

    assert killed == LOTS // 2 > 0
