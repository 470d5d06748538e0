"""A year of everything: each answer of each tool is under the limit and, followed to its end, complete."""

import csv
import io
from collections.abc import AsyncIterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.simulator import Simulator
from app.sources.oura.catalog import COLLECTIONS
from tests.tools.fakes import Connector
from tests.tools.test_against_simulator import DATED, DENSE, NOW, connected, simulator

__all__ = ["simulator"]

pytestmark = pytest.mark.anyio

START, END = date(2025, 11, 21), date(2026, 11, 20)
SERIES = sorted(name for name, collection in COLLECTIONS.items() if collection.series)
CAP = 100_000  # `Connector.ask` holds every answer against it


async def parts(asked: Connector, since: date = START, **question: Any) -> AsyncIterator[dict[str, Any]]:
    """Ask, and go on from `continue_from` until an answer is complete."""
    while True:
        answer = await asked.ask("health_query", start=str(since), end=str(END), **question)
        yield answer
        if "continue_from" not in answer:
            assert answer["complete"] is True
            return
        assert (answer["complete"], answer["truncated"]) == (False, True)
        reached = date.fromisoformat(answer["continue_from"])
        assert since <= reached < END
        since = reached + timedelta(days=1)


def keys(answer: dict[str, Any], column: str) -> list[str]:
    """What tells the records of an answer apart."""
    if isinstance(answer["data"], str):
        return [row[column] for row in csv.DictReader(io.StringIO(answer["data"], newline=""))]
    return [record[column] for record in answer["data"]]


@pytest.mark.parametrize("form", ["json", "csv"])
@pytest.mark.parametrize("name", DATED)
async def test_every_record_of_a_year_comes_exactly_once(
    simulator: Simulator, tmp_path: Path, name: str, form: str
) -> None:
    got: list[str] = []
    async with connected(simulator, tmp_path, cap=CAP) as asked:
        async for answer in parts(asked, collection=name, format=form):
            found = keys(answer, "id")
            got += [each for each in found if COLLECTIONS[name].end_day_field is None or each not in got]
            assert answer["n"] == len(found)

    assert sorted(got) == sorted(str(record["id"]) for record in simulator.truth(name, START, END))


async def test_whole_nights_of_a_quarter_come_exactly_once(simulator: Simulator, tmp_path: Path) -> None:
    got: list[str] = []
    async with connected(simulator, tmp_path, cap=CAP) as asked:
        since, end = date(2026, 1, 1), date(2026, 2, 15)
        while True:
            answer = await asked.ask("health_query", collection="sleep", start=str(since), end=str(end), detail="full")
            got += keys(answer, "id")
            if "continue_from" not in answer:
                break
            since = date.fromisoformat(answer["continue_from"]) + timedelta(days=1)

    assert got == [str(record["id"]) for record in simulator.truth("sleep", "2026-01-01", "2026-02-15")]


@pytest.mark.parametrize("resolution", ["hour", "day", None])
@pytest.mark.parametrize("name", DENSE)
async def test_every_sample_of_a_year_is_counted_exactly_once(
    simulator: Simulator, tmp_path: Path, name: str, resolution: str | None
) -> None:
    samples, buckets = 0, []
    start = START if resolution != "hour" else END - timedelta(days=120)  # of a year it would be read four times
    question = {} if resolution is None else {"resolution": resolution, "format": "csv"}
    async with connected(simulator, tmp_path, cap=CAP) as asked:
        async for answer in parts(asked, start, collection=name, **question):
            samples += answer["samples"]
            buckets += keys(answer, "day" if answer["resolution"] == "day" else "start")

    assert samples == len(simulator.truth(name, start, END, "Europe/Berlin"))
    assert len(buckets) == len(set(buckets))


@pytest.mark.parametrize("name", [name for name in SERIES if name != "sleep"])
async def test_a_year_with_every_series_comes_exactly_once(simulator: Simulator, tmp_path: Path, name: str) -> None:
    got: list[str] = []
    async with connected(simulator, tmp_path, cap=CAP) as asked:
        async for answer in parts(asked, collection=name, detail="full"):
            assert "series_left_out" not in answer
            got += keys(answer, "id")

    assert sorted(got) == sorted(str(record["id"]) for record in simulator.truth(name, START, END))


@pytest.mark.parametrize("name", DENSE)
async def test_every_raw_sample_of_a_month_comes_exactly_once(simulator: Simulator, tmp_path: Path, name: str) -> None:
    start, got, answers = END - timedelta(days=30), [], 0
    async with connected(simulator, tmp_path, cap=CAP) as asked:
        async for answer in parts(asked, start, collection=name, resolution="raw", format="csv"):
            got += keys(answer, "timestamp")
            answers += 1

    assert (answers > 1) is (name == "heartrate")  # the battery reports so seldom that a month fits
    assert got == [str(sample["timestamp"]) for sample in simulator.truth(name, start, END, "Europe/Berlin")]


async def test_pages_and_searches_over_a_year_are_under_the_limit(simulator: Simulator, tmp_path: Path) -> None:
    found: set[str] = set()
    async with connected(simulator, tmp_path, cap=CAP) as asked:
        asked.chatgpt = True
        for query in ("sleep", "my heart rate in March 2026", "2026-03", "how stressed was I last week"):
            found |= {each["id"] for each in (await asked.ask("search", query=query))["results"]}
        days = [f"day:{START + timedelta(days=number)}" for number in range(0, 365, 7)]
        pages = [await asked.ask("fetch", id=each) for each in (*days, *sorted(found))]
        asked.cap = 3_000  # less than a full day's page
        short = [await asked.ask("fetch", id=each) for each in days]

    assert len(found) >= 4
    assert [page["id"] for page in pages] == [*days, *sorted(found)]
    assert all(page["text"] for page in pages)
    assert max(len(page["text"]) for page in pages) > 3_000
    assert all(page["text"] for page in short)


async def test_every_other_answer_is_under_the_limit_too(simulator: Simulator, tmp_path: Path) -> None:
    async with connected(simulator, tmp_path, cap=CAP) as asked:
        today = await asked.ask("health_today", days=31)
        await asked.ask("health_catalog")
        for name in COLLECTIONS:
            await asked.ask("health_catalog", collection=name)
        await asked.ask("health_check")
        for name in ("personal_info", "ring_configuration"):
            assert (await asked.ask("health_query", collection=name))["complete"] is True
    async with connected(simulator, tmp_path / "b", cap=20_000) as asked:
        short = await asked.ask("health_today", days=31)

    assert today["now"].startswith(str(NOW.date()))
    assert today["complete"] is True
    assert len(today["days"]) == 31
    assert (short["complete"], short["truncated"]) == (False, True)
