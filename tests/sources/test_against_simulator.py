"""All 19 collections, held against the simulated Oura's own truth: exactly the right records, everywhere."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import chain
from typing import Final
from zoneinfo import ZoneInfo

import httpx2
import pytest

from app.errors import SourceChanged, SourceUnreachable
from app.identity import Caller
from app.simulator import Person, Rules, Simulator
from app.sources.base import DateKind, Fetched, Record
from app.sources.engine import Engine
from app.sources.oura.catalog import COLLECTIONS
from app.sources.oura.client import OuraClient
from app.sources.question import Terms
from tests.sources.fakes import ADA, days

NOW: Final = datetime(2026, 11, 20, 9, tzinfo=UTC).timestamp()
ZONES: Final = (
    "Pacific/Pago_Pago",  # -11
    "Pacific/Honolulu",
    "America/Denver",
    "America/St_Johns",  # half hours
    "America/Santiago",  # midnight does not exist once a year
    "UTC",
    "Europe/Helsinki",
    "Asia/Kathmandu",  # quarter hours
    "Asia/Tokyo",
    "Australia/Lord_Howe",  # clocks change by half an hour
    "Pacific/Auckland",
    "Pacific/Kiritimati",  # +14
)
RANGES: Final = (
    pytest.param("2026-03-10", "2026-03-10", id="one day"),
    pytest.param("2026-06-01", "2026-06-03", id="three days"),
    pytest.param("2026-05-01", "2026-05-31", id="a month"),
    pytest.param("2025-12-30", "2026-01-02", id="the year's end"),
    pytest.param("2024-02-28", "2024-03-01", id="a leap day"),
    pytest.param("2026-03-28", "2026-03-30", id="clocks forward"),
    pytest.param("2026-10-24", "2026-10-26", id="clocks back"),
    pytest.param("2026-02-08", "2026-02-17", id="a journey to +14"),
    pytest.param("2026-05-19", "2026-05-27", id="a journey to -11"),
    pytest.param("2026-11-19", "2026-11-21", id="today and tomorrow"),
)
RESIDENCES: Final = ("Pacific/Pago_Pago", "America/St_Johns", "Asia/Kathmandu", "Pacific/Kiritimati")
DENSE: Final = sorted(name for name, c in COLLECTIONS.items() if c.dense)
DATED: Final = sorted(name for name, c in COLLECTIONS.items() if not c.dense)


class Tokens:
    """The token of one sign-in."""

    def __init__(self, simulator: Simulator) -> None:
        self._token = str(simulator.sign_in()["access_token"])

    async def access_token(self, caller: Caller, *, refused: str | None = None) -> str:
        assert refused is None
        return self._token


async def no_wait(wait_s: float) -> None:
    """Return at once."""


@asynccontextmanager
async def engine(simulator: Simulator) -> AsyncIterator[Engine]:
    simulator.faults.cut_error = lambda: httpx2.ReadError("cut")
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=simulator.app)) as http:
        yield Engine(Terms(OuraClient(http=http, api_url="http://oura.test", tokens=Tokens(simulator), sleep=no_wait)))


async def fetch(simulator: Simulator, name: str, start: str, end: str, zone: str) -> Fetched:
    async with engine(simulator) as asked:
        return await asked.fetch(ADA, COLLECTIONS[name], days(start, end, ZoneInfo(zone)))


def unordered(records: list[Record] | tuple[Record, ...]) -> list[str]:
    return sorted(str(sorted(record.items())) for record in records)


@pytest.fixture(scope="module")
def simulator() -> Simulator:
    return Simulator(now=lambda: NOW)


@pytest.fixture(scope="module")
def harder() -> Simulator:
    """Every bare end date loses its day, every end of samples is included, and pages are small."""
    return Simulator(
        now=lambda: NOW,
        rules=Rules(exclusive_end=frozenset(COLLECTIONS), dense_end_inclusive=True, page_size=3, dense_page_size=500),
    )


@pytest.mark.anyio
@pytest.mark.parametrize(("start", "end"), RANGES)
@pytest.mark.parametrize("name", DATED)
async def test_documents_are_exactly_those_of_the_range(simulator: Simulator, name: str, start: str, end: str) -> None:
    got = await fetch(simulator, name, start, end, "Europe/Berlin")

    assert unordered(got.records) == unordered(simulator.truth(name, start, end))
    assert got.complete


@pytest.mark.anyio
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(("start", "end"), RANGES)
@pytest.mark.parametrize("name", DENSE)
async def test_samples_are_exactly_those_of_the_owners_local_days(
    simulator: Simulator, name: str, start: str, end: str, zone: str
) -> None:
    got = await fetch(simulator, name, start, end, zone)

    assert [r["timestamp"] for r in got.records] == [r["timestamp"] for r in simulator.truth(name, start, end, zone)]
    assert got.complete


@pytest.mark.anyio
@pytest.mark.parametrize(("start", "end"), RANGES)
@pytest.mark.parametrize("name", DATED)
async def test_documents_are_right_also_where_oura_is_harder(
    harder: Simulator, name: str, start: str, end: str
) -> None:
    got = await fetch(harder, name, start, end, "America/Denver")

    assert unordered(got.records) == unordered(harder.truth(name, start, end))
    assert got.complete


@pytest.fixture(scope="module")
def residents() -> dict[str, Simulator]:
    """The harder Oura of people who live at the ends of the clock: there UTC dates and local days differ most."""
    rules = Rules(exclusive_end=frozenset(COLLECTIONS))
    return {zone: Simulator(now=lambda: NOW, person=Person(zone=zone), rules=rules) for zone in RESIDENCES}


@pytest.mark.anyio
@pytest.mark.parametrize("zone", RESIDENCES)
@pytest.mark.parametrize("name", DATED)
async def test_documents_of_each_single_day_are_right_wherever_one_lives(
    residents: dict[str, Simulator], name: str, zone: str
) -> None:
    for day in ("2026-05-08", "2026-05-09", "2026-05-10", "2026-05-11", "2026-05-12", "2026-05-13"):
        got = await fetch(residents[zone], name, day, day, zone)

        assert unordered(got.records) == unordered(residents[zone].truth(name, day, day))


@pytest.mark.anyio
@pytest.mark.parametrize("name", DENSE)
async def test_samples_are_right_also_where_the_end_is_included(harder: Simulator, name: str) -> None:
    got = await fetch(harder, name, "2026-03-27", "2026-04-04", "Europe/Berlin")

    expected = harder.truth(name, "2026-03-27", "2026-04-04", "Europe/Berlin")
    assert [r["timestamp"] for r in got.records] == [r["timestamp"] for r in expected]


@pytest.mark.parametrize("name", sorted(COLLECTIONS))
def test_the_simulated_year_puts_every_collection_to_the_test(simulator: Simulator, name: str) -> None:
    """A truth that is empty everywhere would prove nothing."""
    held = chain.from_iterable(simulator.truth(name, str(p.values[0]), str(p.values[1])) for p in RANGES)

    assert next(held, None) is not None


@pytest.mark.parametrize("name", DATED)
def test_every_simulated_field_is_in_the_catalogue(simulator: Simulator, name: str) -> None:
    known = {f.name.split(".", 1)[0] for f in COLLECTIONS[name].fields}

    for record in simulator.truth(name, "2026-03-01", "2026-05-31"):
        assert set(record) <= known


@pytest.mark.anyio
async def test_a_record_changed_by_the_year_is_not_needed_to_find_an_open_rest_period(simulator: Simulator) -> None:
    periods = simulator.truth("rest_mode_period", "2024-01-01", "2026-11-20")

    for period in periods:
        inside = str(period["end_day"] or "2026-11-20")
        got = await fetch(simulator, "rest_mode_period", inside, inside, "Europe/Berlin")
        assert period in got.records


@pytest.mark.anyio
async def test_ninety_five_days_of_heart_rate_are_whole() -> None:  # D25
    sim = Simulator(now=lambda: NOW)

    got = await fetch(sim, "heartrate", "2026-01-10", "2026-04-14", "Europe/Berlin")

    expected = sim.truth("heartrate", "2026-01-10", "2026-04-14", "Europe/Berlin")
    assert [r["timestamp"] for r in got.records] == [r["timestamp"] for r in expected]
    assert got.complete


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["daily_sleep", "sleep", "heartrate", "workout"])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        pytest.param("status", {"status": 429, "seconds": 1}, id="429"),
        pytest.param("html", {"status": 502}, id="502 as HTML"),
        pytest.param("status", {"status": 500}, id="500"),
        pytest.param("cut_before", {}, id="cut before"),
        pytest.param("cut", {}, id="cut after"),
    ],
)
async def test_one_fault_on_the_way_costs_nothing(name: str, kind: str, options: dict[str, int]) -> None:
    sim = Simulator(now=lambda: NOW)
    sim.faults.add(kind, "/v2/*", **options)  # type: ignore[arg-type] # a literal, parametrised

    got = await fetch(sim, name, "2026-05-01", "2026-05-09", "Europe/Berlin")

    assert unordered(got.records) == unordered(sim.truth(name, "2026-05-01", "2026-05-09", "Europe/Berlin"))
    assert got.complete
    assert got.rate_limited == (options.get("status") == 429)


@pytest.mark.anyio
async def test_a_repeated_cursor_and_an_endless_list_end_and_are_said() -> None:
    sim = Simulator(now=lambda: NOW)
    sim.faults.add("repeat_cursor", "/v2/*", times=None)

    cycled = await fetch(sim, "daily_sleep", "2026-05-01", "2026-05-09", "Europe/Berlin")

    assert (cycled.pagination_cycle, cycled.complete) == (True, False)
    assert unordered(cycled.records) == unordered(sim.truth("daily_sleep", "2026-05-01", "2026-05-09"))

    sim.faults.clear()
    sim.faults.add("endless", "/v2/*", times=None)

    endless = await fetch(sim, "daily_sleep", "2026-05-01", "2026-05-09", "Europe/Berlin")

    assert not endless.complete
    assert not endless.pagination_cycle
    assert endless.pages == 200


@pytest.mark.parametrize("kind", ["truncate", "wrong_types"])
@pytest.mark.anyio
async def test_an_answer_of_another_shape_is_never_data(kind: str) -> None:
    sim = Simulator(now=lambda: NOW)
    sim.faults.add(kind, "/v2/*", times=None)  # type: ignore[arg-type] # a literal, parametrised

    with pytest.raises((SourceChanged, SourceUnreachable)):
        await fetch(sim, "daily_sleep", "2026-05-01", "2026-05-09", "Europe/Berlin")


def test_undated_collections_are_the_two_that_oura_has() -> None:
    assert {n for n, c in COLLECTIONS.items() if c.date_kind is DateKind.UNDATED} == {
        "personal_info",
        "ring_configuration",
    }
