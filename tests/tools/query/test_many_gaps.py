"""More gaps than one answer names: those left out are counted, so that the rest is not taken for all."""

from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from app.sources.base import Record
from app.sources.oura.catalog import COLLECTIONS
from app.tools.caveats.absence import empty
from app.tools.caveats.evidence import NOT_WORN, Evidence
from app.tools.dates.spans import Span
from app.tools.dates.zones import Here
from tests.tools.fakes import NOW, Connector, FakeSource, sleep

pytestmark = pytest.mark.anyio

LAST = date(2026, 3, 9)
DAYS = [LAST - timedelta(days=back) for back in range(139, -1, -1)]
RANGE = {"start": str(DAYS[0]), "end": str(LAST)}
OFF = DAYS[1::2]  # 70 of them, no two in a row


def left_out(answer: dict[str, Any], of: str) -> list[str]:
    return [note for note in answer["notes"] if of in note]


async def test_nights_without_number_are_counted_where_they_are_not_named() -> None:
    nights: list[Record] = [sleep(str(day), "sleep" if day in OFF else "long_sleep") for day in DAYS]

    answer = await Connector(FakeSource({"sleep": nights})).ask(
        "health_query", collection="sleep", fields="type", **RANGE
    )

    named = [day for days in answer["days_without_night"].values() for day in days]
    assert named == [str(day) for day in OFF[-50:]]
    assert left_out(answer, "have no night") == [
        f"20 more days before {OFF[-50]} have no night; days_without_night leaves them out."
    ]


async def test_days_with_the_ring_off_are_counted_where_they_are_not_named() -> None:
    records: list[Record] = [
        {"id": str(day), "day": str(day), "score": 80, "non_wear_time": 86_400 if day in OFF else 0} for day in DAYS
    ]

    answer = await Connector(FakeSource({"daily_activity": records})).ask(
        "health_query", collection="daily_activity", fields="score", **RANGE
    )

    (said,) = left_out(answer, "the ring was off")
    assert said.startswith(f"On {OFF[-50]}, ")
    assert f", {OFF[-1]} and 20 days before the ring was off" in said


def test_days_of_an_empty_answer_are_counted_where_they_are_not_named() -> None:
    here = Here(ZoneInfo("UTC"), date(2026, 3, 10), date(2026, 3, 10), date(2026, 3, 11))
    evidence = Evidence(here, NOW, unworn={day: f"On {day} it lay in a drawer." for day in OFF})

    said: Any = empty(COLLECTIONS["daily_stress"], None, span=Span(DAYS[0], LAST), today=here.today, evidence=evidence)

    assert [len(days) for days in said["days"].values()] == [50, 50]
    assert said["days"][NOT_WORN][0] == str(OFF[-50])
    assert str(said["note"]).endswith("days leaves out 40 older days.")
