"""`deploy/STORAGE.md` names every record that is ever written, with its lifetime and an example."""

import re
import sqlite3
from pathlib import Path

import pytest

from app.demo.browser import Browser
from tests.app_under_test import NOON, URL, running_app
from tests.journey.places import in_this_process
from tests.journey.test_whole_way import approve, client_of, learn, pkce
from tests.packaging.tree import ROOT

pytestmark = pytest.mark.anyio

TEXT = (ROOT / "deploy" / "STORAGE.md").read_text()
ROWS = dict(re.findall(r"^\| `(\w+):[^`]*` \|.*\| ([^|]*) \|$", TEXT, re.MULTILINE))

# Lifetimes as the table words them, in seconds; None: for good. More than one where a record changes its life.
LIVES: dict[str, set[float | None]] = {
    "conn": {None},
    "pin": {None},
    "intent": {None},
    "client": {86_400, 90 * 86_400},
    "grant": {31 * 86_400, 3600},
    "access": {3600},
    "refresh": {30 * 86_400},
    "answer": {180},
    "code": {60, 3600},
    "cimd": {86_400, 90 * 86_400},
    "signin": {600, 3600},
    "owner": {900},
    "rate": {600, 86_400},
}


def _records(folder: Path) -> list[tuple[str, float | None]]:
    with sqlite3.connect(folder / "vitals.sqlite3") as database:
        return [
            (key, None if until is None else round(until - NOON))
            for key, until in database.execute("SELECT key, expires_at FROM records")
        ]


async def _live_through_everything(folder: Path) -> set[tuple[str, float | None]]:
    """Sign in as an app and as the owner, ask, renew on both sides, deny, end; return kinds and lifetimes seen."""
    seen: set[tuple[str, float | None]] = set()

    def look() -> None:
        seen.update((key.partition(":")[0], life) for key, life in _records(folder))

    async with running_app(folder) as vitals:
        app = await vitals.connected_app()
        look()
        await app.token(grant_type="refresh_token", refresh_token=app.refresh_token)
        vitals.simulator.expire_access_tokens()
        await app.ask("health_today", days=0)
        look()
        browser = Browser(vitals.http(), stop_at="nowhere:")
        await browser.open(f"{URL}/connections")
        await browser.press("", {"timezone": "Europe/Berlin"})
        look()
        await browser.press("owner")
        look()
        await vitals.parts.authserver.grants.revoke_all()
        look()
    return seen


async def _a_documented_client(folder: Path) -> set[tuple[str, float | None]]:
    async with in_this_process(folder) as place, place.http() as http:
        server = await learn(place, http)
        client_id = await client_of("document", place, server, http)
        await approve(place, server, client_id, pkce()[1])
        return {(key.partition(":")[0], life) for key, life in _records(folder)}


async def test_every_record_that_is_written_stands_in_the_table_with_its_lifetime(tmp_path: Path) -> None:
    seen = await _live_through_everything(tmp_path / "one") | await _a_documented_client(tmp_path / "two")

    assert {kind for kind, _ in seen} == set(ROWS) == set(LIVES)
    assert {(kind, life) for kind, life in seen if life not in LIVES[kind]} == set()


def test_every_kind_of_record_has_an_example() -> None:
    examples = TEXT.partition("## Examples")[2]

    assert [kind for kind in ROWS if f"`{kind}:" not in examples] == []
