"""However many ask, on however many processes, Oura's single-use token is spent once (issue cases T1, T3)."""

from pathlib import Path

import anyio
import pytest

from tests.processes import free_port, simulated_oura, vitals
from tests.system.apps import app_through, ask_at_once, signed_in
from tests.system.conftest import Backend

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]


def test_fifty_calls_on_two_processes_after_expiry_are_one_renewal_and_fifty_answers(
    backend: Backend, tmp_path: Path
) -> None:
    with simulated_oura() as oura:
        port = free_port()
        env = oura.settings(backend.folder, PUBLIC_URL=f"http://127.0.0.1:{port}", **backend.settings)
        with (
            vitals("serve", env=env, folder=tmp_path / "one", port=port) as one,
            vitals("serve", env=env, folder=tmp_path / "two") as two,
        ):
            app = anyio.run(signed_in, one)
            for _ in range(2):  # and the successor works as well as the first
                refreshes_before = oura.simulator.counts.refreshes
                assert oura.simulator.expire_access_tokens() == 1

                said = anyio.run(ask_at_once, [one, two], app, 50)

                assert said == ["answered, complete: True"] * 50
                assert oura.simulator.counts.refreshes - refreshes_before == 1
            assert oura.simulator.counts.exchanges == 1
            assert [family["alive"] for family in _families(oura.simulator.state())] == [True]


def test_ten_refreshes_by_an_app_are_no_call_to_oura(backend: Backend, tmp_path: Path) -> None:
    with simulated_oura() as oura:
        env = oura.settings(backend.folder, **backend.settings)
        with vitals("serve", env=env, folder=tmp_path / "one") as process:
            app = anyio.run(signed_in, process)
            seen_before = len(oura.simulator.log)

            async def refresh_ten_times() -> set[str]:
                got = {app.access_token}
                async with app_through(process, app) as asking:
                    for _ in range(10):
                        await asking.token(grant_type="refresh_token", refresh_token=asking.refresh_token)
                        got.add(asking.access_token)
                    assert (await asking.ask("health_check"))["sources"][0]["state"] == "live"
                return got

            assert len(anyio.run(refresh_ten_times)) == 11
            assert len(oura.simulator.log) == seen_before


def _families(state: dict[str, object]) -> list[dict[str, object]]:
    families = state["families"]
    assert isinstance(families, list)
    return families
