"""Each record counts on its own day, by the rule of its collection."""

from datetime import date
from zoneinfo import ZoneInfo

import pytest

from app.sources.base import DateRange, Record
from app.sources.days import Sieve, instant_in, span
from app.sources.oura.catalog import COLLECTIONS
from app.sources.windows import windows

DAY = DateRange(date(2026, 3, 10), date(2026, 3, 10), ZoneInfo("America/Denver"))


def kept(name: str, record: Record, days: DateRange = DAY, *, synthetic: bool = False) -> bool:
    collection = COLLECTIONS[name]
    (window,) = windows(collection, days)
    return Sieve(collection, days, synthetic=synthetic).sift(record, window) is not None


@pytest.mark.parametrize(
    ("name", "record", "counts"),
    [
        pytest.param(
            "sleep",
            {"day": "2026-03-10", "bedtime_start": "2026-03-09T23:40:00-06:00"},
            True,
            id="a night counts on the day of waking up",  # D4
        ),
        pytest.param(
            "sleep", {"day": "2026-03-11", "bedtime_start": "2026-03-10T23:40:00-06:00"}, False, id="not on its evening"
        ),
        pytest.param(
            "workout",
            {"day": "2026-03-10", "start_datetime": "2026-03-10T23:30:00-06:00"},
            True,
            id="a workout counts on the wearer's day, not the UTC one",
        ),
        *(
            pytest.param(
                name,
                {"day": "2026-03-09", "start_datetime": "2026-03-09T23:10:00-06:00", "end_datetime": ended},
                False,
                id=f"a {name} over midnight counts on its first date",
            )
            for name, ended in (("workout", "2026-03-10T00:40:00-06:00"), ("session", "2026-03-10T00:40:00-06:00"))
        ),
        pytest.param(
            "workout",
            {"start_datetime": "2026-03-10T23:30:00-06:00"},
            True,
            id="without a day the instant is read as written",
        ),
        pytest.param("heartrate", {"timestamp": "2026-03-11T05:59:59+00:00"}, True, id="23:59:59 local is in"),
        pytest.param("heartrate", {"timestamp": "2026-03-11T06:00:00Z"}, False, id="00:00 of the next day is out"),
        pytest.param("heartrate", {"timestamp": "2026-03-10T06:00:00.000+00:00"}, True, id="00:00 is in"),
        pytest.param("heartrate", {"timestamp": "2026-03-10T05:59:59+00:00"}, False, id="the evening before is out"),
        pytest.param("enhanced_tag", {"start_day": "2026-03-08", "end_day": "2026-03-12"}, True, id="inside a tag"),
        pytest.param("enhanced_tag", {"start_day": "2026-03-08", "end_day": "2026-03-10"}, True, id="its last day"),
        pytest.param("enhanced_tag", {"start_day": "2026-03-08", "end_day": "2026-03-09"}, False, id="the day after"),
        pytest.param(
            "enhanced_tag", {"start_day": "2026-03-09", "end_day": None}, False, id="a tag without end is one day"
        ),
        pytest.param(
            "rest_mode_period", {"start_day": "2025-11-02", "end_day": None}, True, id="rest without end lasts"
        ),
        pytest.param("rest_mode_period", {"start_day": "2026-03-11", "end_day": None}, False, id="rest begins later"),
        pytest.param(
            "enhanced_tag", {"start_day": "2026-03-10", "end_day": "2026-03-01"}, True, id="an end before its start"
        ),
        pytest.param("daily_sleep", {"day": None}, True, id="undated is kept"),
        pytest.param("daily_sleep", {"day": "soon"}, True, id="unreadable is kept"),
        pytest.param("daily_sleep", {"day": 20260310}, True, id="no text is kept"),
        pytest.param("heartrate", {"bpm": 60}, True, id="a sample without a stamp is kept"),
    ],
)
def test_a_record_counts_on_its_own_day(name: str, record: Record, counts: bool) -> None:
    assert kept(name, record) is counts


def test_sample_data_stamped_far_away_is_kept_and_its_margin_is_not() -> None:
    far: Record = {"day": "2021-01-01", "id": "a"}
    margin: Record = {"day": "2026-03-09", "id": "b"}

    assert kept("vO2_max", far, synthetic=True)
    assert not kept("vO2_max", margin, synthetic=True)
    assert not kept("vO2_max", far)


def test_sample_data_samples_stamped_far_away_are_kept_and_neighbours_are_not() -> None:
    assert kept("heartrate", {"timestamp": "2021-01-01T01:02:03+00:00"}, synthetic=True)
    assert not kept("heartrate", {"timestamp": "2026-03-11T07:00:00+00:00"}, synthetic=True)


def test_a_stamp_without_an_offset_is_taken_as_utc_and_nonsense_as_none() -> None:
    stamp = instant_in("2026-03-10T10:00:00")

    assert stamp is not None
    assert stamp.isoformat() == "2026-03-10T10:00:00+00:00"
    assert instant_in("yesterday") is None
    assert instant_in(7) is None


def test_a_record_without_a_day_has_no_span() -> None:
    assert span(COLLECTIONS["enhanced_tag"], {"comment": "x"}) is None


def identity(name: str, record: Record) -> str:
    collection, days = COLLECTIONS[name], DateRange(date(2026, 3, 9), date(2026, 3, 10), DAY.zone)
    (window,) = windows(collection, days)
    found = Sieve(collection, days).sift(record, window)
    assert found is not None
    return found.identity


@pytest.mark.parametrize(
    ("name", "one", "other", "same"),
    [
        pytest.param(
            "heartrate",
            {"timestamp": "2026-03-10T16:00:00Z", "bpm": 60, "source": "rest"},
            {"timestamp": "2026-03-10T16:00:00Z", "bpm": 150, "source": "workout"},
            False,
            id="two samples of one instant",
        ),
        pytest.param(
            "heartrate",
            {"timestamp": "2026-03-10T16:00:00Z", "bpm": 60, "source": "rest"},
            {"timestamp": "2026-03-10T16:00:00Z", "bpm": 60, "source": "rest"},
            True,
            id="one sample twice",
        ),
        pytest.param(
            "daily_sleep",
            {"id": "a", "day": "2026-03-10", "score": 80},
            {"id": "a", "day": "2026-03-09", "score": 70},
            False,
            id="two days under one id",
        ),
        pytest.param(
            "daily_sleep",
            {"id": "a", "day": "2026-03-10", "score": 80},
            {"id": "a", "day": "2026-03-10", "score": 81},
            True,
            id="a record that changed between two pages",
        ),
    ],
)
def test_only_what_came_twice_is_taken_for_one(name: str, one: Record, other: Record, same: bool) -> None:
    assert (identity(name, one) == identity(name, other)) is same
