"""A SECRET_KEY that was changed, lost or exposed: which one is missing is said, and nothing is erased for it."""

import secrets
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from app.checking import check_configuration
from app.errors import SettingsError, StoreUnavailable
from app.settings import load_settings
from app.store.crypto import Keys
from tests.app_under_test import URL, Vitals, running_app
from tests.system.asking import ask, consent_page, heading, lead, outage_lines

pytestmark = pytest.mark.anyio

OLD, NEW = secrets.token_urlsafe(32), secrets.token_urlsafe(32)


def key_id(secret: str) -> str:
    return Keys([secret.encode()]).ids[0]


def sealed(folder: Path) -> dict[str, bytes]:
    """What is stored of the owner's sign-in, byte by byte."""
    with closing(sqlite3.connect(folder / "vitals.sqlite3")) as raw:
        rows = raw.execute("SELECT key, value FROM records WHERE key LIKE 'conn:%' OR key LIKE 'pin:%'")
        return dict(rows.fetchall())


async def doctor(folder: Path, vitals: Vitals, **settings: str) -> list[str]:
    """What the doctor says with the settings of a connector, its lines about the store."""
    given = {"OURA_CLIENT_ID": "x", "OURA_CLIENT_SECRET": "y", "OURA_OWNER_EMAIL": vitals.simulator.person.email}
    read = load_settings({**given, "DATA_DIR": str(folder), **settings})
    return [f"{line.mark} {line.text}" for line in await check_configuration(read, vitals.clock)]


async def test_a_key_that_was_changed_is_named_everywhere_and_brings_all_back_when_it_is_put_back(
    tmp_path: Path,
) -> None:
    async with running_app(tmp_path, SECRET_KEY=OLD) as first:
        app = await first.connected_app()
    before = sealed(tmp_path)

    with capture_logs() as written:
        async with running_app(tmp_path, clock=first.clock, simulator=first.simulator, SECRET_KEY=NEW) as vitals:
            async with vitals.http() as app.http:
                said = await ask(app)
                browser = await consent_page(vitals, app)
                await browser.press("approve", {"timezone": "Europe/Berlin"})
                await browser.press("owner")
            doctored = await doctor(tmp_path, vitals, SECRET_KEY=NEW)
    kept = sealed(tmp_path)
    async with (
        running_app(tmp_path, clock=first.clock, simulator=first.simulator, SECRET_KEY=f"{NEW},{OLD}") as vitals,
        vitals.http() as app.http,
    ):
        healed = await ask(app)
        doctored_after = await doctor(tmp_path, vitals, SECRET_KEY=f"{NEW},{OLD}")

    assert f"its key ({key_id(OLD)}) is not among the keys that this server has. Nothing was erased" in str(said)
    assert heading(browser.page) == "A sign-in from before is in the way"
    assert "It is left as it is, and the new one was not kept" in lead(browser.page)
    assert f"its key ({key_id(OLD)})" in browser.page
    assert any(line.startswith("RED A sign-in at Oura does not open.") and key_id(OLD) in line for line in doctored)
    [(_, reason)] = [line for line in outage_lines(written) if line[0] == "store_needs_attention"]
    assert f"sealed under key {key_id(OLD)}, which is not in SECRET_KEY (it holds {key_id(NEW)})" in reason
    assert kept == before
    assert healed["structuredContent"]["complete"] is True
    assert f"ok  SECRET_KEY seals with key {key_id(NEW)} and still opens what {key_id(OLD)} sealed" in str(
        doctored_after
    )
    for secret in (OLD, NEW):
        assert secret not in str(written) + str(said) + browser.page + str(doctored)


async def test_a_key_is_changed_without_losing_anything_by_naming_both_until_all_is_sealed_anew(tmp_path: Path) -> None:
    async with running_app(tmp_path, SECRET_KEY=OLD) as vitals:
        app = await vitals.connected_app()
    rest = {"clock": vitals.clock, "simulator": vitals.simulator}

    async with running_app(tmp_path, SECRET_KEY=f"{NEW},{OLD}", **rest) as vitals, vitals.http() as app.http:  # type: ignore[arg-type]
        vitals.simulator.expire_access_tokens()
        during = await ask(app)  # renews, and so seals anew
    async with running_app(tmp_path, SECRET_KEY=NEW, **rest) as vitals, vitals.http() as app.http:  # type: ignore[arg-type]
        after = await ask(app)
        await app.token(grant_type="refresh_token", refresh_token=app.refresh_token)
        await vitals.connected_app()  # the owner signs in again, whose pin is still under the old key

    assert during["structuredContent"]["complete"] is True
    assert after["structuredContent"]["complete"] is True
    assert vitals.simulator.counts.refreshes == 1


async def test_who_lost_the_key_for_good_ends_the_sign_in_and_begins_anew(tmp_path: Path) -> None:
    async with running_app(tmp_path, SECRET_KEY=OLD) as first:
        await first.connected_app()

    async with running_app(tmp_path, clock=first.clock, simulator=first.simulator, SECRET_KEY=NEW) as vitals:
        for owner in vitals.parts.settings.owners:
            await vitals.parts.connections.erase(owner)  # as `vitals disconnect` does
        said = await ask(await vitals.connected_app())

    assert said["structuredContent"]["complete"] is True


async def test_a_lost_secret_key_file_stops_the_start_and_the_old_one_heals_it(tmp_path: Path) -> None:
    async with running_app(tmp_path) as first:
        app = await first.connected_app()
    key = tmp_path / "secret_key"
    held = key.read_bytes()
    key.unlink()

    with pytest.raises(SettingsError, match="secret_key is missing from DATA_DIR"):
        async with running_app(tmp_path, clock=first.clock, simulator=first.simulator):
            pytest.fail("it started with a key that opens nothing")
    doctored = await doctor(tmp_path, first)
    key.write_bytes(held)
    key.chmod(0o600)
    async with running_app(tmp_path, clock=first.clock, simulator=first.simulator) as vitals, vitals.http() as app.http:
        said = await ask(app)

    assert any(line.startswith("RED The store cannot be used: secret_key is missing") for line in doctored)
    assert said["structuredContent"]["complete"] is True


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("secret_key", "readable by others. Run: chmod 600"),
        ("vitals.sqlite3", "read by other users (mode 0644). Run: chmod"),
    ],
)
async def test_a_file_that_others_can_read_stops_the_start_and_the_doctor_names_the_command(
    tmp_path: Path, name: str, words: str
) -> None:
    async with running_app(tmp_path) as first:
        pass
    (tmp_path / name).chmod(0o644)

    with pytest.raises((SettingsError, StoreUnavailable)) as refused:
        async with running_app(tmp_path):
            pytest.fail("it started with a secret that others can read")

    assert words in str(refused.value)
    assert any(line.startswith("RED") and words in line for line in await doctor(tmp_path, first))


async def test_a_damaged_sign_in_is_not_taken_for_a_missing_key_and_not_written_over(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        with closing(sqlite3.connect(tmp_path / "vitals.sqlite3")) as raw:
            [(key, value)] = raw.execute("SELECT key, value FROM records WHERE key LIKE 'conn:%'")
            raw.execute("UPDATE records SET value = ? WHERE key = ?", (value[:-1] + bytes([value[-1] ^ 1]), key))
            raw.commit()
        before = sealed(tmp_path)
        said = await ask(app)
        again = vitals.browser(stop_at="nowhere:")
        await again.open(f"{URL}/connections")
        await again.press("", {"timezone": "Europe/Berlin"})
        await again.press("owner")

    assert "cannot be opened: it is damaged. Nothing was erased" in str(said)
    assert heading(again.page) == "A sign-in from before is in the way"
    assert sealed(tmp_path) == before
