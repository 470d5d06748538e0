"""A process that dies while a renewal is under way: what the next one finds, and what it says."""

import signal
from pathlib import Path

import anyio
import pytest

from app.demo.walk import App
from tests.processes import Oura, Process, free_port, simulated_oura, vitals
from tests.system.apps import app_through, ask_once, signed_in, until_held
from tests.system.conftest import Backend

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]


# In real time, a lease of half a minute: on one store. `test_kills` shows the same on both with a clock that jumps.
@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_killed_between_spend_and_store_the_owner_is_told_once_and_oura_asked_once(
    backend: Backend, tmp_path: Path
) -> None:
    with simulated_oura() as oura:
        port = free_port()
        env = oura.settings(backend.folder, **backend.settings)
        with vitals("serve", env=env, folder=tmp_path / "killed", port=port) as process:
            app = anyio.run(signed_in, process)
            oura.simulator.expire_access_tokens()
            oura.simulator.faults.add("hold", "/oauth/*")
            kill_while_oura_keeps_its_answer(oura, process, app)
        oura.simulator.faults.clear()
        spent = oura.simulator.counts.refreshes
        assert spent == 1

        with vitals("serve", env=env, folder=tmp_path / "after", port=port) as process:
            first, second, third = (anyio.run(ask_once, process, app) for _ in range(3))

        assert "interrupted" in first
        assert f"sign in again at {process.url}/connections" in first
        assert "interrupted" not in second
        assert f"sign in again at {process.url}/connections" in second
        assert third == second
        assert oura.simulator.counts.refreshes == spent + 1  # the one attempt that had to show it


def test_killed_before_anything_was_sent_nothing_is_lost(backend: Backend, tmp_path: Path) -> None:
    with simulated_oura() as oura:
        port = free_port()
        env = oura.settings(backend.folder, **backend.settings)
        with vitals("serve", env=env, folder=tmp_path / "killed", port=port) as process:
            app = anyio.run(signed_in, process)
            oura.simulator.expire_access_tokens()
            oura.simulator.faults.add("hold", "/v2/*", times=None)  # each 401 that would lead to a renewal
            kill_while_oura_keeps_its_answer(oura, process, app)
        oura.simulator.faults.clear()

        with vitals("serve", env=env, folder=tmp_path / "after", port=port) as process:
            assert anyio.run(ask_once, process, app) == "answered, complete: True"
        assert oura.simulator.counts.refreshes == 1


def kill_while_oura_keeps_its_answer(oura: Oura, process: Process, app: App) -> None:
    """Let the app ask, and kill the connector while Oura has handled a request and sent nothing yet."""

    async def ask_and_kill() -> None:
        async with app_through(process, app) as asking, anyio.create_task_group() as group:
            group.start_soon(asking.ask, "health_today")
            await until_held(oura)
            process.popen.send_signal(signal.SIGKILL)
            group.cancel_scope.cancel()

    anyio.run(ask_and_kill)
    process.popen.wait(30)
