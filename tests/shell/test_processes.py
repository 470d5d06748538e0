import signal
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import anyio
import httpx2
import pytest

from app.demo.walk import App
from tests.processes import Oura, Process, app_at, free_port, process_pause, run, simulated_oura, vitals

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]


async def signed_in(process: Process) -> App:
    async with app_at(process) as app:
        return app


async def ask_today(process: Process, held: App, times: int = 1) -> list[object]:
    async with app_at(process, held) as app:
        return [(await app.ask("health_today", days=0))["today"] for _ in range(times)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_says_where_it_is_and_ends_at_once_when_told(number: int, tmp_path: Path) -> None:
    with vitals("serve", env={"OURA_SANDBOX": "1"}, folder=tmp_path) as process:
        began = time.monotonic()
        code = process.stop(number)

        assert code == 0
        assert time.monotonic() - began < 10
        assert f"{process.url}/mcp" in process.said()
        assert len(process.said().splitlines()) == 1
        assert "Traceback" not in process.logged()
        assert '"stopped"' in process.logged()


def test_serve_under_a_taken_port_is_one_line_and_exit_2(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])

        done = run("serve", "--port", port, env={"OURA_SANDBOX": "1"}, folder=tmp_path)

    assert done.returncode == 2
    assert done.stderr.startswith(f"vitals: Cannot listen on 127.0.0.1 port {port}")
    assert len(done.stderr.splitlines()) == 1


def test_the_port_and_host_settings_are_what_serve_listens_on(tmp_path: Path) -> None:
    port = free_port()
    env = {"OURA_SANDBOX": "1", "HOST": "0.0.0.0", "PORT": "1"}
    with vitals("serve", env=env, folder=tmp_path, port=port) as process:
        assert f"listening on 0.0.0.0 port {port}" in process.said()


def test_two_workers_serve_one_sign_in_and_both_end(tmp_path: Path) -> None:
    with simulated_oura() as oura:
        env = oura.settings(tmp_path)
        with vitals("serve", "--workers", "2", env=env, folder=tmp_path) as process:
            app = anyio.run(signed_in, process)
            assert len(anyio.run(ask_today, process, app, 12)) == 12
            _wait_for(lambda: process.logged().count('"started"') == 2)
            assert process.said().count("listening on 127.0.0.1") == 1

            began = time.monotonic()
            process.stop()
            assert time.monotonic() - began < 10
            assert process.logged().count('"started"') == 2
            assert process.logged().count('"stopped"') == 2


def test_a_restart_loses_no_app_and_no_sign_in(tmp_path: Path) -> None:
    with simulated_oura() as oura:
        env, port = oura.settings(tmp_path), free_port()
        with vitals("serve", env=env, folder=tmp_path, port=port) as before:
            app = anyio.run(signed_in, before)
            before.stop()
        with vitals("serve", env=env, folder=tmp_path, port=port) as after:
            assert anyio.run(ask_today, after, app)

        assert oura.simulator.counts.exchanges == 1


def test_a_renewal_under_way_is_finished_before_the_process_ends(tmp_path: Path) -> None:
    with simulated_oura() as oura:
        env, port = oura.settings(tmp_path), free_port()
        with vitals("serve", env=env, folder=tmp_path, port=port) as process:
            app = anyio.run(signed_in, process)
            oura.simulator.expire_access_tokens()
            oura.simulator.faults.add("hold", "/oauth/*")

            async def hang_up_while_oura_answers() -> None:
                async with app_at(process, app) as asking, anyio.create_task_group() as group:
                    group.start_soon(asking.ask, "health_today")
                    await _held(oura)
                    process.popen.send_signal(signal.SIGTERM)
                    group.cancel_scope.cancel()

            anyio.run(hang_up_while_oura_answers)
            _wait_for(lambda: '"stopping"' in process.logged())
            oura.simulator.faults.clear()
            process.popen.wait(30)
            assert '"stopped"' in process.logged()
        with vitals("serve", env=env, folder=tmp_path, port=port) as after:
            assert anyio.run(ask_today, after, app)

        assert oura.simulator.counts.refreshes == 1


def _wait_for(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < deadline
        process_pause()


async def _held(oura: Oura) -> None:
    with anyio.fail_after(20):
        while not oura.simulator.faults.held:
            await anyio.to_thread.run_sync(process_pause)


@pytest.mark.parametrize("reachable", [True, False])
def test_disconnect_ends_everything_here_and_says_whether_oura_confirmed(reachable: bool, tmp_path: Path) -> None:
    with simulated_oura() as oura:
        env, port = oura.settings(tmp_path), free_port()
        with vitals("serve", env=env, folder=tmp_path, port=port) as process:
            app = anyio.run(signed_in, process)
            if not reachable:
                oura.simulator.faults.add("cut_before", "/oauth/*", times=None)
            done = run("disconnect", env=env, folder=tmp_path)

            async def refused() -> int:
                async with httpx2.AsyncClient(trust_env=False) as http:
                    bearer = {"authorization": f"Bearer {app.access_token}"}
                    return (await http.post(process.mcp_url, headers=bearer)).status_code

            assert anyio.run(refused) == 401
        families = oura.simulator.state()["families"]

    assert done.returncode == (0 if reachable else 1)
    assert "ended: 1" in done.stdout
    assert "erased here: 1" in done.stdout
    assert ("could not be reached" in done.stdout) is not reachable
    assert isinstance(families, list)
    assert [family["alive"] for family in families] == [not reachable]
    database = b"".join(path.read_bytes() for path in (tmp_path / "data").glob("vitals.sqlite3*"))
    assert b"conn:oura" not in database or run("disconnect", env=env, folder=tmp_path).stdout.count("here: 0") == 1


def test_no_setting_of_the_environment_sends_a_worker_elsewhere(tmp_path: Path) -> None:
    dead = f"http://127.0.0.1:{free_port()}"
    with simulated_oura() as oura:
        env = oura.settings(tmp_path, HTTP_PROXY=dead, HTTPS_PROXY=dead, ALL_PROXY=dead, http_proxy=dead)
        with vitals("serve", env=env, folder=tmp_path) as process:
            assert anyio.run(ask_today, process, anyio.run(signed_in, process))


def test_today_is_the_owners_whatever_zone_the_server_is_in(tmp_path: Path) -> None:
    with simulated_oura() as oura, ExitStack() as both:
        servers = []
        for name, zone in (("east", "Pacific/Kiritimati"), ("west", "Pacific/Niue")):  # 25 hours: never one date
            env = oura.settings(tmp_path / name, TIMEZONE="America/Denver", TZ=zone)
            server = both.enter_context(vitals("serve", env=env, folder=tmp_path / name))
            servers.append((server, anyio.run(signed_in, server)))
        east, west, later = (str(anyio.run(ask_today, *server)[0]) for server in (*servers, servers[0]))

    assert east <= west <= later  # midnight may pass in between
