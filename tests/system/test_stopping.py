"""Asked to stop while it is being asked: every request is answered, a renewal is finished, and it is over in 10 s."""

import asyncio
import signal
import socket
import time
from pathlib import Path

import anyio
import pytest

from app.demo.walk import App
from tests.processes import Oura, Process, free_port, simulated_oura, until, vitals
from tests.system.apps import app_through, ask_once, signed_in, until_held
from tests.system.conftest import Backend
from tests.system.steady import Steady, ask_steadily

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]

PLATFORM_S = 10  # docker stop kills after so long unless told otherwise
DAY = {"collection": "daily_activity", "day": "2026-03-10"}


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def ended(process: Process, signalled_at: float) -> float:
    """Wait for the end, which must be a good one; return how long it took."""
    assert process.popen.wait(60) == 0
    return time.monotonic() - signalled_at


async def stop_while_oura_hangs(oura: Oura, process: Process, app: App) -> tuple[list[str], float]:
    """Let the app ask, and tell the process to stop while Oura holds its answer back; return what is said, and when."""
    said: list[str] = []

    async def ask() -> None:
        said.append(await ask_once(process, app))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await until_held(oura)
        process.popen.send_signal(signal.SIGTERM)
        told_at = time.monotonic()
    return said, told_at


@pytest.mark.parametrize("workers", [1, 2])
def test_told_to_stop_under_load_it_cuts_no_request_and_finishes_the_renewal(
    backend: Backend, tmp_path: Path, workers: int
) -> None:
    with simulated_oura() as oura:
        port = free_port()
        env = oura.settings(backend.folder, **backend.settings)
        with vitals("serve", "--workers", str(workers), env=env, folder=tmp_path / "one", port=port) as process:
            app = anyio.run(signed_in, process)

            async def stop_while_asked() -> tuple[list[Steady], float]:
                async with app_through(process, app) as asking, anyio.create_task_group() as group:
                    steady = [
                        # Some wait for the renewal when the stop comes, the others are between two requests.
                        asyncio.create_task(ask_steadily(asking, connections=6, tool="health_query", arguments=DAY)),
                        asyncio.create_task(ask_steadily(asking, connections=12, tool="health_catalog", arguments={})),
                    ]
                    await until(lambda: len(oura.simulator.log) > 40)  # the load is on
                    oura.simulator.faults.add("hold", "/oauth/*")
                    oura.simulator.expire_access_tokens()
                    await until_held(oura)
                    process.popen.send_signal(signal.SIGTERM)
                    told_at = time.monotonic()
                    await until(lambda: not listens(port))  # the stop has begun, on every process
                    oura.simulator.faults.clear()
                    seen = await asyncio.gather(*steady)
                    group.cancel_scope.cancel()
                return seen, told_at

            seen, told_at = anyio.run(stop_while_asked)
            assert ended(process, told_at) < PLATFORM_S
            assert process.logged().count('"stopped"') == workers
        with vitals("serve", env=env, folder=tmp_path / "after", port=port) as process:
            assert anyio.run(ask_once, process, app) == "answered, complete: True"

        for each in seen:
            assert each.cut == []
            assert each.wrong == []
            assert each.answered > 20
            # Of two that share an address one stops listening first, and its clients come to the other as it stops too:
            # what the kernel has accepted by then, no process can take any more.
            assert each.not_taken == 0 or workers > 1
        errors = [error for each in seen for error in each.errors]
        assert [error for error in errors if "This process is shutting down" not in error] == []
        assert oura.simulator.counts.refreshes == 1


def test_told_to_stop_while_oura_hangs_it_answers_ends_in_time_and_tells_the_owner_once(
    backend: Backend, tmp_path: Path
) -> None:
    with simulated_oura() as oura:
        port = free_port()
        env = oura.settings(backend.folder, **backend.settings)
        with vitals("serve", env=env, folder=tmp_path / "one", port=port) as process:
            app = anyio.run(signed_in, process)
            oura.simulator.expire_access_tokens()
            oura.simulator.faults.add("hold", "/oauth/*")

            said, told_at = anyio.run(stop_while_oura_hangs, oura, process, app)
            assert ended(process, told_at) < PLATFORM_S
            assert '"stopped"' in process.logged()
        oura.simulator.faults.clear()
        with vitals("serve", env=env, folder=tmp_path / "after", port=port) as process:
            first, second = (anyio.run(ask_once, process, app) for _ in range(2))

        assert len(said) == 1
        assert "did not answer the renewal" in said[0]
        assert "interrupted" in first  # the simulated Oura had spent the token
        assert "interrupted" not in second
        assert "sign in again" in second
        assert oura.simulator.counts.refreshes == 2


def test_told_to_stop_while_a_question_hangs_at_oura_it_answers_that_it_is_restarted(
    backend: Backend, tmp_path: Path
) -> None:
    with simulated_oura() as oura:
        env = oura.settings(backend.folder, **backend.settings)
        with vitals("serve", env=env, folder=tmp_path / "one") as process:
            app = anyio.run(signed_in, process)
            oura.simulator.faults.add("hold", "/v2/*", times=None)

            said, told_at = anyio.run(stop_while_oura_hangs, oura, process, app)
            assert ended(process, told_at) < PLATFORM_S
            oura.simulator.faults.clear()

        assert len(said) == 1
        assert "This server is being restarted, and nothing had come yet. Ask again in a minute." in said[0]
