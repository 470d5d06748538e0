"""A range is cut into windows that the source accepts, without gap or overlap, in every zone."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.sources.base import DateRange
from app.sources.oura.catalog import COLLECTIONS
from app.sources.windows import midnight, windows

HEARTRATE = COLLECTIONS["heartrate"]
IN_ONE_PIECE = replace(HEARTRATE, stride_days=None)
ZONES = sorted(name for name in available_timezones() if "/" in name and not name.startswith("posix"))


def days(start: str, end: str, zone: str = "Europe/Helsinki") -> DateRange:
    return DateRange(date.fromisoformat(start), date.fromisoformat(end), ZoneInfo(zone))


def test_one_day_of_samples_is_asked_from_local_midnight_to_the_next() -> None:  # D7
    (window,) = windows(HEARTRATE, days("2026-07-10", "2026-07-10", "Africa/Maputo"))

    assert window.start is not None
    assert window.start.isoformat() == "2026-07-10T00:00:00+02:00"
    assert window.end is not None
    assert window.end.isoformat() == "2026-07-11T00:00:00+02:00"


def test_95_days_of_samples_are_four_windows_where_nothing_runs_side_by_side() -> None:  # D25
    found = list(windows(IN_ONE_PIECE, days("2026-01-01", "2026-04-05")))

    assert len(found) == 4
    assert all(a.end == b.start for a, b in pairwise(found))


@pytest.mark.parametrize(
    ("start", "zone", "hours"),
    [
        pytest.param("2026-03-29", "Europe/Helsinki", 23, id="spring"),
        pytest.param("2026-10-25", "Europe/Helsinki", 25, id="autumn"),
        pytest.param("2026-04-05", "Australia/Lord_Howe", 24.5, id="half an hour"),
        pytest.param("2026-09-06", "America/Santiago", 23, id="midnight does not exist"),
        pytest.param("2026-11-01", "America/Havana", 25, id="midnight comes twice"),
    ],
)
def test_a_day_on_which_clocks_change_has_its_own_length(start: str, zone: str, hours: float) -> None:
    (window,) = windows(HEARTRATE, days(start, start, zone))

    assert window.start is not None
    assert window.end is not None
    assert window.end.astimezone(UTC) - window.start.astimezone(UTC) == timedelta(hours=hours)


def test_thirty_local_days_with_the_hour_won_in_autumn_are_not_asked_in_one_request() -> None:
    found = list(windows(IN_ONE_PIECE, days("2026-10-10", "2026-11-08")))

    assert [(w.last - w.first).days + 1 for w in found] == [29, 1]


def test_a_day_that_a_zone_skipped_is_not_asked_at_all() -> None:
    assert list(windows(HEARTRATE, days("2011-12-30", "2011-12-30", "Pacific/Apia"))) == []


def test_documents_are_asked_with_a_margin_on_both_sides() -> None:
    (window,) = windows(COLLECTIONS["workout"], days("2026-03-01", "2026-03-01"))

    assert (window.asked_first, window.asked_last) == (date(2026, 2, 27), date(2026, 3, 3))


def test_what_lasts_is_looked_for_far_before_the_range_in_the_first_window_only() -> None:
    tags = replace(COLLECTIONS["enhanced_tag"], window_days=10)

    first, second = windows(tags, days("2026-03-01", "2026-03-20"))

    assert first.asked_first == date(2026, 3, 1) - timedelta(days=368)
    assert second.asked_first == date(2026, 3, 9)


@settings(max_examples=300, deadline=None)
@given(
    start=st.dates(date(2012, 1, 1), date(2035, 1, 1)),
    length=st.integers(0, 400),
    zone=st.sampled_from(ZONES),
    stride=st.sampled_from([None, 1, 4, 7, 30]),
)
def test_windows_tile_the_range_in_every_zone(start: date, length: int, zone: str, stride: int | None) -> None:
    asked = DateRange(start, start + timedelta(days=length), ZoneInfo(zone))

    found = list(windows(replace(HEARTRATE, stride_days=stride), asked))

    # In UTC: Python never calls an instant at which local time repeats itself equal to one written in another zone.
    edges = [(w.start.astimezone(UTC), w.end.astimezone(UTC)) for w in found if w.start and w.end]
    assert len(edges) == len(found)
    assert edges[0][0] == midnight(asked.start, asked.zone)
    assert edges[-1][1] == midnight(asked.end + timedelta(days=1), asked.zone)
    for (_, end), (begin, _) in pairwise(edges):
        assert end == begin
    for begin, end in edges:
        assert timedelta() < end - begin <= timedelta(days=30)


@settings(max_examples=200, deadline=None)
@given(at=st.datetimes(datetime(2012, 1, 1), datetime(2035, 1, 1)), zone=st.sampled_from(ZONES))  # noqa: DTZ001 - UTC below
def test_an_instant_lies_between_the_midnights_of_its_local_day(at: datetime, zone: str) -> None:
    instant, there = at.replace(tzinfo=UTC), ZoneInfo(zone)
    day = instant.astimezone(there).date()

    assert midnight(day, there) <= instant < midnight(day + timedelta(days=1), there)


@settings(max_examples=100, deadline=None)
@given(start=st.dates(date(2012, 1, 1), date(2035, 1, 1)), length=st.integers(0, 900), most=st.integers(1, 400))
def test_windows_of_documents_answer_for_each_day_once(start: date, length: int, most: int) -> None:
    sleep = replace(COLLECTIONS["sleep"], window_days=most)

    found = list(windows(sleep, DateRange(start, start + timedelta(days=length), ZoneInfo("UTC"))))

    answered = [w.first + timedelta(days=n) for w in found for n in range((w.last - w.first).days + 1)]
    assert answered == [start + timedelta(days=n) for n in range(length + 1)]
    assert all((w.last - w.first).days < most for w in found)
