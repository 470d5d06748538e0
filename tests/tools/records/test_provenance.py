"""Every number of every collection goes out with its unit, and what the catalogue does not know is marked."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.simulator import Simulator
from app.sources.base import Kind, Record
from app.sources.oura.catalog import COLLECTIONS
from app.tools.records.provenance import provenance
from tests.tools.fakes import Connector, FakeSource
from tests.tools.test_against_simulator import DATED, NOW, connected, simulator

__all__ = ["simulator"]

pytestmark = pytest.mark.anyio

WORDS = {
    name: fields
    for name, collection in COLLECTIONS.items()
    if (fields := [f.name for f in collection.fields if f.kind is Kind.CATEGORY and f.values])
}


def numbers(value: object, name: str = "") -> Iterator[str]:
    """Dotted names of every number, those inside lists and series too."""
    if isinstance(value, dict):
        for part, inside in value.items():
            yield from numbers(inside, f"{name}.{part}" if name else part)
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item, name)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name


def covered(name: str, units: dict[str, Any]) -> bool:
    """A series' samples are covered by the series; everything else by its own name."""
    return (name in units or f"{name.rpartition('.')[0]}.*" in units) or (
        name.endswith(".items") and units.get(name.removesuffix(".items"), {}).get("kind") == "series"
    )


@pytest.mark.parametrize("name", sorted(COLLECTIONS))
async def test_every_number_of_a_quarter_has_its_unit_and_kind(simulator: Simulator, tmp_path: Path, name: str) -> None:
    days = {"day": "2026-03-10"} if name not in DATED else {"start": "2025-10-15", "end": "2026-01-15"}
    async with connected(simulator, tmp_path, cap=20_000_000) as asked:
        full = await asked.ask("health_query", collection=name, detail="full", **days)
        summary = await asked.ask("health_query", collection=name, **days)

    for answer in (full, summary):
        assert answer["n"] > 0
        assert not [number for number in set(numbers(answer["data"])) if not covered(number, answer["units"])]
        assert all(unit["kind"] != "unknown" for unit in answer["units"].values())
        assert set(answer.get("unknown_fields", ())) <= {"producer_timestamp"}  # seen in live rows, documented nowhere
        assert "unknown_values" not in answer


async def test_every_number_of_health_today_has_its_unit(simulator: Simulator, tmp_path: Path) -> None:
    async with connected(simulator, tmp_path, now=NOW) as asked:
        answer = await asked.ask("health_today", days=31)

    rows = [{**answer, "sleep": answer.get("last_night", {})}, *answer["days"]]
    parts = ("sleep", "readiness", "sleep_score")
    found = {number for row in rows for part in parts for number in numbers(row.get(part, {}), part)}
    plain = {n.replace(f".{k}.", ".") for n in found for k in ("main", "naps", "other_long_sleep") if f".{k}." in n}
    rest = {n for n in found if not any(f".{k}." in n for k in ("main", "naps", "other_long_sleep"))}
    named = (plain | rest) - {"sleep.all_sleep_of_day"}
    assert len(named) > 30
    assert not [name for name in named if not covered(name, answer["units"])]
    assert answer["units"]["readiness.contributors.*"] == {"kind": "score"}
    assert "all_sleep_of_day" in answer["units"]


@pytest.mark.parametrize("name", sorted(WORDS))
async def test_a_new_word_passes_through_untouched_and_is_marked(name: str) -> None:
    collection = COLLECTIONS[name]
    record: dict[str, Any] = {"id": "n", **dict.fromkeys(collection.day_fields, "2026-03-10T10:00:00+00:00")}
    record |= dict.fromkeys(WORDS[name], "shimmering")
    answer = await Connector(FakeSource({name: [record]})).ask(
        "health_query", collection=name, **({} if not collection.day_fields else {"day": "2026-03-10"})
    )

    assert answer["data"] == [record]
    assert answer["unknown_values"] == {field: ["shimmering"] for field in WORDS[name]}


@pytest.mark.parametrize("name", sorted(COLLECTIONS))
async def test_an_unknown_field_passes_through_untouched_and_is_marked(name: str) -> None:
    collection = COLLECTIONS[name]
    record: dict[str, Any] = dict.fromkeys(collection.day_fields, "2026-03-10T10:00:00+00:00")
    record |= {"glow": 3, "halo": {"size": 4.5}, "beads": [{"weight": 5}], "trail": [1, 2]}
    answer = await Connector(FakeSource({name: [record]})).ask(
        "health_query", collection=name, **({} if not collection.day_fields else {"day": "2026-03-10"})
    )

    assert answer["data"] == [record]
    assert answer["unknown_fields"] == ["glow", "halo.size", "beads.weight", "trail"]
    assert {answer["units"][field]["kind"] for field in answer["unknown_fields"]} == {"unknown"}


def test_a_number_that_came_as_text_is_marked_and_unchanged() -> None:
    record: Record = {"id": "s", "day": "2026-03-10", "score": "eighty", "contributors": {"timing": True}}

    assert provenance([record], COLLECTIONS["daily_sleep"]).unknown_values == {
        "score": ["eighty"],
        "contributors.timing": ["bool"],
    }


def test_only_the_owners_own_words_are_free_text() -> None:
    own = {
        "enhanced_tag": ["custom_name", "comment"],
        "tag": ["text", "tags"],
        "workout": ["label"],
        "rest_mode_period": ["episodes.tags"],
    }

    assert {
        name: texts
        for name, collection in COLLECTIONS.items()
        if (texts := [field.name for field in collection.fields if field.kind is Kind.TEXT])
    } == own
    periods: list[Record] = [{"episodes": [{"tags": ["rest"], "timestamp": None}]}]
    assert provenance(periods, COLLECTIONS["rest_mode_period"]).free_text == ["episodes.tags"]
    assert provenance([{"label": None}], COLLECTIONS["workout"]).free_text == []
