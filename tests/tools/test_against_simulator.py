"""The tools over the real source and the simulated Oura: what a model gets, against what Oura holds."""

import csv
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final, cast
from zoneinfo import ZoneInfo

import httpx2
import pytest

from app.identity import Caller
from app.simulator import Simulator
from app.sources.base import DateKind
from app.sources.oura.catalog import COLLECTIONS
from app.sources.oura.source import OuraSource
from app.store.crypto import Keys
from app.store.sqlite import SqliteStore
from app.vault.connections import Connection, Connections
from tests.tools.fakes import ALL_SCOPES, OWNER, Connector, FakeSource

pytestmark = pytest.mark.anyio

NOW: Final = datetime(2026, 11, 20, 9, tzinfo=UTC)
BERLIN: Final = ZoneInfo("Europe/Berlin")
DATED: Final = sorted(name for name, c in COLLECTIONS.items() if not c.dense and c.date_kind is not DateKind.UNDATED)
DENSE: Final = sorted(name for name, c in COLLECTIONS.items() if c.dense)


class Tokens:
    def __init__(self, simulator: Simulator, scopes: frozenset[str]) -> None:
        self._token = str(simulator.sign_in(scopes=scopes)["access_token"])

    async def access_token(self, caller: Caller, *, refused: str | None = None) -> str:
        assert refused is None
        return self._token


@pytest.fixture(scope="module")
def simulator() -> Simulator:
    return Simulator(now=NOW.timestamp)


@asynccontextmanager
async def connected(
    simulator: Simulator,
    folder: Path,
    *,
    cap: int = 100_000,
    now: datetime = NOW,
    zone: str | None = "Europe/Berlin",
    scopes: frozenset[str] = ALL_SCOPES | {"email"},
    **timing: Any,
) -> AsyncIterator[Connector]:
    """Give a connector to the simulator.

    Args:
        simulator: The Oura.
        folder: For the store.
        cap: Characters of an answer at most.
        now: The moment.
        zone: What the browser said.
        scopes: What Oura granted.
        timing: `sleep` and `clock` of the source, where waits are not to be real.
    """
    store = SqliteStore(folder / "store.db", now=now.timestamp)
    connections = Connections(store, Keys([b"k" * 32]))
    await connections.connect(
        Connection(
            source="oura",
            owner=OWNER.owner,
            account_id=simulator.person.account_id,
            access_token="a" * 45,
            refresh_token="r" * 45,
            expires_at=now.timestamp() + 1000,
            obtained_at=now.timestamp() - 60,
            scopes=scopes,
            token_url="https://oura.test/token",
            timezone=zone,
        )
    )
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=simulator.app)) as http:
        oura = OuraSource(
            http=http,
            api_url="http://oura.test",
            tokens=Tokens(simulator, scopes),
            connections=connections,
            sandbox=False,
            now=now.timestamp,
            **timing,
        )
        yield Connector(cast(FakeSource, oura), cap=cap, now=now)
    await store.aclose()


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-03-10", "2026-03-10"),
        ("2026-05-01", "2026-05-31"),
        ("2026-10-24", "2026-10-26"),
        ("2025-12-30", "2026-01-02"),
    ],
)
@pytest.mark.parametrize("name", DATED)
async def test_the_records_are_those_of_the_range(
    simulator: Simulator, tmp_path: Path, name: str, start: str, end: str
) -> None:
    async with connected(simulator, tmp_path, cap=10_000_000) as asked:
        answer = await asked.ask("health_query", collection=name, start=start, end=end, detail="full")

    truth = simulator.truth(name, start, end)
    assert sorted(map(str, answer["data"])) == sorted(map(str, truth))
    assert answer["n"] == len(truth)
    assert answer["complete"] is True
    assert "unknown_fields" not in answer
    assert ("empty" in answer) == (not truth)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
@pytest.mark.parametrize("name", DENSE)
async def test_samples_are_those_of_the_local_day(simulator: Simulator, tmp_path: Path, name: str, zone: str) -> None:
    async with connected(simulator, tmp_path, cap=10_000_000) as asked:
        answer = await asked.ask("health_query", collection=name, day="2026-10-25", timezone=zone)

    truth = simulator.truth(name, "2026-10-25", "2026-10-25", zone)
    assert [r["timestamp"] for r in answer["data"]] == [r["timestamp"] for r in truth]
    assert answer["timezone"] == zone


async def test_a_year_of_everything_fits_and_followed_to_its_end_is_whole(simulator: Simulator, tmp_path: Path) -> None:
    start, end = date(2025, 11, 21), date(2026, 11, 20)
    async with connected(simulator, tmp_path) as asked:
        for name in DATED:
            got: dict[str, object] = {}
            n = 0
            since = start.isoformat()
            for _ in range(60):
                answer = await asked.ask("health_query", collection=name, start=since, end=end.isoformat())
                n += answer["n"]
                got |= {record["id"]: record for record in answer["data"]}
                if "continue_from" not in answer:
                    break
                since = (date.fromisoformat(answer["continue_from"]) + timedelta(days=1)).isoformat()

            truth = simulator.truth(name, start, end)
            assert set(got) == {record["id"] for record in truth}, name
            assert n == len(truth), name


async def test_raw_samples_followed_to_the_end_of_a_week_are_whole(simulator: Simulator, tmp_path: Path) -> None:
    got: list[str] = []
    since = "2026-03-02"
    async with connected(simulator, tmp_path) as asked:
        for _ in range(9):
            answer = await asked.ask(
                "health_query", collection="heartrate", start=since, end="2026-03-08", resolution="raw", format="csv"
            )
            head, *rows = csv.reader(io.StringIO(answer["data"], newline=""))
            got += [row[head.index("timestamp")] for row in rows]
            if "continue_from" not in answer:
                break
            since = (date.fromisoformat(answer["continue_from"]) + timedelta(days=1)).isoformat()

    assert got == [r["timestamp"] for r in simulator.truth("heartrate", "2026-03-02", "2026-03-08", "Europe/Berlin")]


async def test_a_month_of_heart_rate_by_the_hour_counts_every_sample(simulator: Simulator, tmp_path: Path) -> None:
    async with connected(simulator, tmp_path) as asked:
        answer = await asked.ask(
            "health_query", collection="heartrate", start="2026-03-01", end="2026-03-31", resolution="hour"
        )

    truth = simulator.truth("heartrate", "2026-03-01", "2026-03-31", "Europe/Berlin")
    assert answer["samples"] == len(truth)
    assert sum(bucket["n"] for bucket in answer["data"]) == len(truth)
    assert answer["complete"] is True
    first = [r["bpm"] for r in truth if datetime.fromisoformat(str(r["timestamp"])).astimezone(BERLIN).hour == 0]
    assert answer["data"][0]["start"].startswith("2026-03-01T00:00")
    assert answer["data"][0]["min"] in first


async def test_today_is_the_record_of_today(simulator: Simulator, tmp_path: Path) -> None:
    async with connected(simulator, tmp_path, now=datetime(2026, 3, 12, 17, tzinfo=UTC)) as asked:
        answer = await asked.ask("health_today")

    truth = simulator.truth("daily_sleep", "2026-03-12", "2026-03-12")
    assert answer["today"] == "2026-03-12"
    kept = {name: value for name, value in truth[0].items() if name not in ("id", "day", "timestamp")}
    assert answer["sleep_score"] == kept
    nights = simulator.truth("sleep", "2026-03-12", "2026-03-12")
    longest = max(
        (cast(int, night["total_sleep_duration"]), night["bedtime_end"])
        for night in nights
        if night["type"] == "long_sleep"
    )
    assert answer["last_night"]["main"]["bedtime_end"] == longest[1]


async def test_a_scope_the_owner_did_not_tick_is_refused_without_a_call(simulator: Simulator, tmp_path: Path) -> None:
    before = len(simulator.log)
    async with connected(simulator, tmp_path, scopes=frozenset({"daily"})) as asked:
        said = await asked.refused("health_query", collection="heartrate")
        check: dict[str, Any] = await asked.ask("health_check")

    assert "heartrate" in said
    assert len(simulator.log) == before
    assert check["sources"][0]["scopes_missing_unlock"]["heartrate"] == ["oura.heartrate"]
    assert check["sources"][0]["access_token_age_s"] == 60
    assert "a" * 45 not in str(check)


async def test_undated_collections_are_given_whole(simulator: Simulator, tmp_path: Path) -> None:
    async with connected(simulator, tmp_path) as asked:
        me = await asked.ask("health_query", collection="personal_info")
        rings = await asked.ask("health_query", collection="ring_configuration")

    assert me["data"][0]["id"] == simulator.person.account_id
    assert me["units"]["height"]["unit"] == "m"
    assert rings["n"] >= 1
