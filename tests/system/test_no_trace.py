"""A value planted in the owner's data is in the answer and nowhere else; so are the credentials in no file."""

from collections.abc import Iterable
from pathlib import Path

import anyio
import pytest
from redis import Redis

from app.demo.walk import App
from app.simulator.world import Canary
from tests.processes import Process, simulated_oura, vitals
from tests.system.apps import app_through, signed_in
from tests.system.conftest import Backend

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]

TEXT = "canary-zanzibar-4711"
NUMBER = 918273645


async def ask_for_everything(process: Process, held: App) -> str:
    """Every collection and every tool, in both formats, and some questions that fail; all that was said, joined."""
    said: list[str] = []
    async with app_through(process, held) as app:
        for collection in (await app.ask("health_catalog"))["collections"]:
            for form in ("json", "csv"):
                arguments = {"collection": collection["collection"], "format": form, "detail": "full"}
                if collection["filed_by"] != "no day":
                    arguments["day"] = "2026-03-02"
                said.append(await _text(app, "health_query", arguments))
        said.append(
            await _text(app, "health_query", {"collection": "heartrate", "day": "2026-03-02", "resolution": "raw"})
        )
        said.append(await _text(app, "health_query", {"collection": TEXT}))
        said.append(await _text(app, "health_today", {"days": 7}))
        said.append(await _text(app, "health_check", {}))
    return "\n".join(said)


async def _text(app: App, tool: str, arguments: dict[str, object]) -> str:
    result = await app.call("tools/call", {"name": tool, "arguments": arguments})
    text = result["content"][0]["text"]
    assert isinstance(text, str)
    return text


def _files(folders: Iterable[Path]) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()}


def test_a_reading_is_in_the_answer_and_in_no_file_no_log_and_no_store(backend: Backend, tmp_path: Path) -> None:
    temp, run = tmp_path / "temp", tmp_path / "run"
    temp.mkdir()
    with simulated_oura(canary=Canary(TEXT, NUMBER)) as oura:
        env = oura.settings(backend.folder, LOG_LEVEL="debug", TMPDIR=str(temp), HOME=str(temp), **backend.settings)
        with vitals("serve", env=env, folder=run) as process:
            app = anyio.run(signed_in, process)
            said = anyio.run(ask_for_everything, process, app)
            oura.simulator.expire_access_tokens()
            oura.simulator.faults.add("truncate", "/v2/*")
            oura.simulator.faults.add("wrong_types", "/v2/*")
            said += anyio.run(ask_for_everything, process, app)
            process.stop()
        oura_tokens = oura.simulator.grants._refresh.keys() | {
            token for family in oura.simulator.grants.families for token in family.access
        }
        secrets = [app.access_token, app.refresh_token, oura.simulator.client.client_secret, *oura_tokens]
    if backend.redis is not None:
        redis = Redis.from_url(backend.redis.url)
        redis.config_set("rdbcompression", "no")  # or a value could hide in a compressed string
        redis.save()
        redis.close()
    files = _files([backend.folder, temp, run])

    assert len(oura_tokens) >= 4  # two of each kind, the expired ones among them
    assert said.count(TEXT) >= 4  # tags and workouts, twice
    assert said.count(str(NUMBER)) >= 4  # steps and heart rate
    assert len(files) >= 3
    assert any(name.endswith(("vitals.sqlite3", "dump.rdb")) for name in files)
    assert b"/mcp" in files[str(run / "stderr.log")]  # the log is on, and is looked at
    for planted in [TEXT, str(NUMBER), *secrets]:
        assert [name for name, content in files.items() if planted.encode() in content] == [], planted[:6]
