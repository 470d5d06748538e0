from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import BadRequest
from app.tools.dates.spans import moment, span, today, zone_named

ZONE = ZoneInfo("America/Los_Angeles")
TODAY = date(2026, 3, 10)


def asked(start: str | None = None, end: str | None = None, day: str | None = None) -> tuple[date, date]:
    found = span(start, end, day, today=TODAY, zone=ZONE, usual_days=7, most_days=3660)
    return found.start, found.end


@pytest.mark.parametrize(
    ("text", "day"),
    [
        pytest.param("2026-03-01", date(2026, 3, 1), id="day"),
        pytest.param(" 2026-03-01 ", date(2026, 3, 1), id="blanks"),
        pytest.param("2024-02-29", date(2024, 2, 29), id="leap day"),
        pytest.param("today", TODAY, id="today"),
        pytest.param("Yesterday", date(2026, 3, 9), id="yesterday"),
        pytest.param("2026-03-10T05:30:00Z", date(2026, 3, 9), id="instant in UTC is the evening before"),
        pytest.param("2026-03-10T05:30:00+00:00", date(2026, 3, 9), id="instant with offset"),
        pytest.param("2026-03-09T23:40:00-07:00", date(2026, 3, 9), id="instant of the zone"),
    ],
)
def test_a_date_is_read_in_the_owners_zone(text: str, day: date) -> None:
    assert moment("start", text, today=TODAY, zone=ZONE).first == day


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2026-02-30", "not in the calendar"),
        ("2025-02-29", "not in the calendar"),
        ("2026-13-01", "not in the calendar"),
        ("20260310", "not a date"),
        ("2026-W10-2", "not a date"),
        ("2026-W60", "not in the calendar"),
        ("2026-W00", "not in the calendar"),
        ("2026-13", "not in the calendar"),
        ("2026-00", "not in the calendar"),
        ("last 0 days", "not in the calendar"),
        ("1990-W01", "outside"),
        ("1999", "not a date"),
        ("someday", "not a date"),
        ("10/03/2026", "not a date"),
        ("next tuesday", "not a date"),
        ("30 February 2026", "not in the calendar"),
        ("31 april", "not in the calendar"),
        ("0 march", "not in the calendar"),
        ("2026-Q5", "not a date"),
        ("this weekend", "not a date"),
        ("tonight", "not a date"),
        ("mar", "not a date"),
        ("marathon 10", "not a date"),
        ("\u0662\u0660\u0662\u0666-03-01", "not a date"),
        ("2026-03-10T09:00:00", "no UTC offset"),
        ("2026-03-10T25:00:00Z", "not in the calendar"),
        ("0001-01-01", "outside"),
        ("9999-12-31", "outside"),
        ("9999-12-31T23:00:00-10:00", "outside"),
        ("2026-03-01\n2026", "not a date"),
    ],
)
def test_what_is_no_date_is_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(BadRequest, match=r"^start=") as refused:
        moment("start", text, today=TODAY, zone=ZONE)

    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        ("last night", "2026-03-10", "2026-03-10"),
        ("Last  Week", "2026-03-02", "2026-03-08"),
        ("last_week", "2026-03-02", "2026-03-08"),
        ("this week", "2026-03-09", "2026-03-10"),
        ("this month", "2026-03-01", "2026-03-10"),
        ("last month", "2026-02-01", "2026-02-28"),
        ("this year", "2026-01-01", "2026-03-10"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("2026-W07", "2026-02-09", "2026-02-15"),
        ("2020-W53", "2020-12-28", "2021-01-03"),
        ("2024-02", "2024-02-01", "2024-02-29"),
        ("2025", "2025-01-01", "2025-12-31"),
        ("last 7 days", "2026-03-04", "2026-03-10"),
        ("past 2 weeks", "2026-02-25", "2026-03-10"),
        ("3 days ago", "2026-03-07", "2026-03-07"),
        ("tuesday", "2026-03-10", "2026-03-10"),
        ("last tuesday", "2026-03-03", "2026-03-03"),
        ("sunday", "2026-03-08", "2026-03-08"),
        ("march", "2026-03-01", "2026-03-10"),
        ("december", "2025-12-01", "2025-12-31"),
        ("February 2024", "2024-02-01", "2024-02-29"),
        ("2026-Q1", "2026-01-01", "2026-03-31"),
        ("Q4 2025", "2025-10-01", "2025-12-31"),
        ("this quarter", "2026-01-01", "2026-03-10"),
        ("last quarter", "2025-10-01", "2025-12-31"),
        ("last weekend", "2026-03-07", "2026-03-08"),
        ("past week", "2026-03-04", "2026-03-10"),
        ("this morning", "2026-03-10", "2026-03-10"),
        ("10 March 2026", "2026-03-10", "2026-03-10"),
        ("March 9, 2026", "2026-03-09", "2026-03-09"),
        ("1st of Sept. 2025", "2025-09-01", "2025-09-01"),
        ("3 mar", "2026-03-03", "2026-03-03"),
        ("March 11", "2025-03-11", "2025-03-11"),
        ("may 5", "2025-05-05", "2025-05-05"),
        ("29 February", "2024-02-29", "2024-02-29"),
    ],
)
def test_words_for_days_become_dates_and_are_echoed(words: str, first: str, last: str) -> None:
    found = span(None, None, words, today=TODAY, zone=ZONE, usual_days=7, most_days=3660)

    assert (found.start.isoformat(), found.end.isoformat()) == (first, last)
    assert words in found.notes[0]
    assert first in found.notes[0]
    assert last in found.notes[0]
    assert asked(start=words, end=words) == (found.start, found.end)


@pytest.mark.parametrize("day", ["2026-03-09", "2026-03-10", "2026-03-13", "2026-03-14", "2026-03-15"])
def test_last_weekend_is_the_newest_that_is_over(day: str) -> None:
    found = span(None, None, "last weekend", today=date.fromisoformat(day), zone=ZONE, usual_days=7, most_days=99)

    assert (found.start, found.end) == (date(2026, 3, 7), date(2026, 3, 8))


@given(st.dates(date(2001, 1, 1), date(2099, 12, 31)), st.sampled_from(["{0} {1}", "{1} {0}", "the {0}th of {1}"]))
def test_a_month_and_a_day_without_a_year_are_the_newest_such_day(today: date, form: str) -> None:
    for month, number in ((today.strftime("%B"), today.day), ("February", 29), ("Dec", 31)):
        found = moment("day", form.format(number, month), today=today, zone=ZONE)

        assert found.first <= today
        assert found.first == found.last
        assert found.first.day == number


def test_a_stretch_as_the_end_alone_is_that_stretch_and_as_the_start_alone_goes_on_to_today() -> None:
    assert asked(end="2026-02") == (date(2026, 2, 1), date(2026, 2, 28))
    assert asked(start="last week") == (date(2026, 3, 2), TODAY)
    assert asked(start="last month", end="last week") == (date(2026, 2, 1), date(2026, 3, 8))


@pytest.mark.parametrize(
    ("start", "end", "notes"),
    [
        (
            "last week",
            None,
            ["start='last week' was read as 2026-03-02, its first day; the range runs to 2026-03-10."],
        ),
        (
            "last month",
            "last week",
            [
                "start='last month' was read as 2026-02-01, its first day.",
                "end='last week' was read as 2026-03-08, its last day.",
            ],
        ),
        ("last week", "last week", ["'last week' was read as 2026-03-02 to 2026-03-08."]),
        (None, "2026-02", ["'2026-02' was read as 2026-02-01 to 2026-02-28."]),
        ("3 days ago", "yesterday", ["'3 days ago' was read as 2026-03-07."]),
    ],
)
def test_of_a_stretch_it_is_said_which_of_its_days_the_range_took(
    start: str | None, end: str | None, notes: list[str]
) -> None:
    found = span(start, end, None, today=TODAY, zone=ZONE, usual_days=7, most_days=3660)

    assert list(found.notes) == notes


@pytest.mark.parametrize(
    ("offset", "hours"), [("-04:00", -4.0), ("+05:30", 5.5), ("+14:00", 14.0), ("\u221203:00", -3.0), ("+00:00", 0.0)]
)
def test_an_offset_that_an_answer_named_is_taken_as_a_zone(offset: str, hours: float) -> None:
    assert zone_named(offset).utcoffset(datetime(2026, 3, 10, tzinfo=UTC)) == timedelta(hours=hours)


@pytest.mark.parametrize("offset", ["+14:01", "-12:30", "+25:00", "+05:60", "4:00", "-04", "+1:00"])
def test_what_is_no_offset_is_refused_with_a_word_on_how_to_write_one(offset: str) -> None:
    with pytest.raises(BadRequest, match="or an offset such as -04:00"):
        zone_named(offset)


def test_what_is_left_out_is_filled_in() -> None:
    assert asked() == (date(2026, 3, 4), TODAY)
    assert asked(start="2026-03-08") == (date(2026, 3, 8), TODAY)
    assert asked(end="2026-02-10") == (date(2026, 2, 4), date(2026, 2, 10))
    assert asked(start="2026-04-01") == (date(2026, 4, 1), date(2026, 4, 1))
    assert asked(day="yesterday") == (date(2026, 3, 9), date(2026, 3, 9))


@pytest.mark.parametrize(
    ("start", "end", "day"),
    [
        pytest.param("2026-03-02", "2026-03-01", None, id="reversed"),
        pytest.param("2026-03-01T12:00:00-08:00", "2026-03-01T11:00:00-08:00", None, id="reversed instants"),
        pytest.param("2026-03-01", None, "2026-03-01", id="day and start"),
        pytest.param(None, "2026-03-01", "2026-03-01", id="day and end"),
        pytest.param("2010-01-01", "2026-03-01", None, id="too long"),
    ],
)
def test_dates_that_contradict_each_other_are_refused(start: str | None, end: str | None, day: str | None) -> None:
    with pytest.raises(BadRequest):
        asked(start, end, day)


def test_days_ahead_are_said_to_be_ahead() -> None:
    found = span("2026-03-09", "2026-03-12", None, today=TODAY, zone=ZONE, usual_days=7, most_days=99)

    assert "2026-03-10" in found.notes[0]


@given(st.text(max_size=40))
def test_any_text_is_a_date_or_a_refusal(text: str) -> None:
    try:
        found = moment("day", text, today=TODAY, zone=ZONE)
    except BadRequest as bad:
        found, said = None, str(bad)

    assert found.first <= found.last if found else "day" in said


@pytest.mark.parametrize("name", ["Europe/Lisbon", "europe/lisbon", "UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_a_zone_is_known_by_its_name(name: str) -> None:
    assert zone_named(name).key.casefold() == name.casefold()


@pytest.mark.parametrize(
    "name", ["", "localtime", "/etc/localtime", "../UTC", "America", "+2", "CEST?", "a\0b", "x" * 999]
)
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(BadRequest, match="IANA") as refused:
        zone_named(name)

    assert len(str(refused.value)) < 400


def test_a_zone_that_was_nearly_right_is_offered() -> None:
    with pytest.raises(BadRequest, match=r"Did you mean Europe/Berlin\?"):
        zone_named("Europe/Berln")


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("Pacific/Kiritimati", date(2026, 3, 11)),
        ("UTC", date(2026, 3, 10)),
        ("America/Los_Angeles", date(2026, 3, 10)),
        ("Pacific/Pago_Pago", date(2026, 3, 10)),
    ],
)
def test_today_is_the_day_of_the_zone(zone: str, day: date) -> None:
    assert today(datetime(2026, 3, 10, 17, tzinfo=UTC).timestamp(), ZoneInfo(zone)) == day
