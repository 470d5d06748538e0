"""CASES.md, section D, through the whole connector: every number as what it is."""

import re
from pathlib import Path

import pytest

from app.sources.oura.catalog import COLLECTIONS
from tests.cases.asking import asking, told
from tests.cases.oura_records import NINE, document, night

pytestmark = pytest.mark.anyio


async def test_d14_d15_d16_every_number_goes_out_as_what_it_is(tmp_path: Path) -> None:
    graded = {"efficiency": 97, "hrv_balance": 78, "resting_heart_rate": 91}
    async with asking(tmp_path, at=NINE) as (app, held):
        held.records["sleep"] = [
            night(
                "2026-03-10",
                "2026-03-09T23:40:00+01:00",
                "2026-03-10T07:05:00+01:00",
                25_000,
                efficiency=88,
                average_hrv=42,
                lowest_heart_rate=47,
                readiness={"contributors": graded},
            )
        ]
        for name in ("daily_sleep", "daily_readiness"):
            held.records[name] = [document(name, "2026-03-10", score=80, contributors=graded)]
        today = await told(app, "health_today", days=0)
        sleep = await told(app, "health_query", collection="sleep", day="2026-03-10")
        scores = await told(app, "health_query", collection="daily_sleep", day="2026-03-10")
        readiness = await told(app, "health_query", collection="daily_readiness", day="2026-03-10")
        card = await told(app, "health_catalog", collection="sleep")

    assert sleep["data"][0]["efficiency"] == 88
    assert sleep["units"]["efficiency"] == {"unit": "%", "kind": "measurement"}
    assert scores["data"][0]["contributors"]["efficiency"] == 97
    assert scores["units"]["contributors.efficiency"] == {"kind": "score"}
    assert sleep["data"][0]["average_hrv"] == 42
    assert sleep["units"]["average_hrv"] == {"unit": "ms (RMSSD)", "kind": "measurement"}
    assert sleep["units"]["lowest_heart_rate"]["unit"] == "bpm"
    for name in ("hrv_balance", "resting_heart_rate"):
        assert readiness["units"][f"contributors.{name}"] == {"kind": "score"}
        assert sleep["units"][f"readiness.contributors.{name}"] == {"kind": "score"}
        assert today["units"][f"readiness.contributors.{name}"] == {"kind": "score"}
    assert today["units"]["sleep.efficiency"] == {"unit": "%", "kind": "measurement"}
    hrv = next(field for field in card["fields"] if field["name"] == "average_hrv")
    assert hrv["unit"] == "ms (RMSSD)"
    assert "not SDNN" in hrv["meaning"]


async def test_d16_every_heart_rate_variability_of_the_catalogue_is_rmssd_in_ms(tmp_path: Path) -> None:
    async with asking(tmp_path, at=NINE) as (app, _):
        cards = [await told(app, "health_catalog", collection=name) for name in COLLECTIONS]

    hrv = [
        field["unit"]
        for card in cards
        for field in card["fields"]
        if re.fullmatch(r"(average_)?hrv(\.items)?|heart_rate_variability(\.items)?", field["name"])
    ]
    assert len(hrv) == 5
    assert set(hrv) == {"ms (RMSSD)"}


async def test_d18_d19_d20_values_arrive_as_they_were_sent_with_their_unit(tmp_path: Path) -> None:
    async with asking(tmp_path, at=NINE) as (app, held):
        held.records["daily_resilience"] = [
            document("daily_resilience", "2026-03-10", level="solid", contributors={"sleep_recovery": 61.5})
        ]
        held.records["daily_stress"] = [document("daily_stress", "2026-03-10", stress_high=5400)]
        held.records["daily_activity"] = [document("daily_activity", "2026-03-10", high_activity_met_minutes=210)]
        held.records["daily_cardiovascular_age"] = [document("daily_cardiovascular_age", "2026-03-10", vascular_age=38)]
        said = {
            name: await told(app, "health_query", collection=name, day="2026-03-10")
            for name in ("daily_resilience", "daily_stress", "daily_activity", "daily_cardiovascular_age")
        }

    assert said["daily_resilience"]["data"][0]["contributors"]["sleep_recovery"] == 61.5
    assert said["daily_stress"]["data"][0]["stress_high"] == 5400
    assert said["daily_stress"]["units"]["stress_high"] == {"unit": "s", "kind": "measurement"}
    assert any("5400 is 90 minutes" in note for note in said["daily_stress"]["notes"])
    assert said["daily_activity"]["units"]["high_activity_met_minutes"]["unit"] == "MET min"
    assert said["daily_cardiovascular_age"]["data"][0]["vascular_age"] == 38
    assert said["daily_cardiovascular_age"]["units"]["vascular_age"]["unit"] == "years"
