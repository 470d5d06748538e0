import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.sources.base import Record
from app.sources.oura.catalog import COLLECTIONS
from app.tools.records.tables import table

TAG = COLLECTIONS["enhanced_tag"]
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
CELLS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def back(cell: str) -> str:
    return cell.removeprefix("'")


@given(st.lists(st.fixed_dictionaries({"id": WORDS, "comment": CELLS, "custom_name": CELLS}), min_size=1, max_size=5))
def test_a_csv_reader_gives_every_value_back(records: list[Record]) -> None:
    written = table(records, TAG)
    head, *rows = rows_of(written.text)

    assert len(rows) == len(records)
    for row, record in zip(rows, records, strict=True):
        for name, cell in zip(head, row, strict=True):
            value = record[name]
            if value is None:
                assert cell == ""
            elif isinstance(value, str):
                assert back(cell) == value
            else:
                assert json.loads(cell) == value


@given(st.lists(st.fixed_dictionaries({"id": WORDS, "comment": WORDS}), min_size=1, max_size=5))
def test_each_record_is_one_line_that_ends_with_crlf(records: list[Record]) -> None:
    text = table(records, TAG).text

    outside = "".join(part for n, part in enumerate(text.split('"')) if n % 2 == 0)
    assert outside.count("\r\n") == len(records) + 1
    assert outside.replace("\r\n", "").count("\n") == outside.replace("\r\n", "").count("\r") == 0


@pytest.mark.parametrize("comment", ["=1+1", "+49", "-1", "@home", "\tx", "\rx", "\nx", "'quoted'", '="a",b'])
def test_a_text_that_a_spreadsheet_would_run_is_guarded_and_counted(comment: str) -> None:
    written = table([{"id": "a", "comment": comment}, {"id": "b", "comment": "tea"}], TAG)

    assert rows_of(written.text)[1][1] == "'" + comment
    assert written.guarded == 1


def test_numbers_are_never_guarded() -> None:
    written = table([{"id": "a", "temperature_deviation": -0.31}], COLLECTIONS["daily_readiness"])

    assert written.text == "id,temperature_deviation\r\na,-0.31\r\n"
    assert written.guarded == 0


def test_objects_become_columns_and_lists_and_series_become_json() -> None:
    series = {"interval": 300, "items": [50, None], "timestamp": "t"}
    written = table(
        [{"id": "a", "readiness": {"score": 70, "contributors": {"hrv_balance": 78}}, "heart_rate": series}],
        COLLECTIONS["sleep"],
    )

    head, row = rows_of(written.text)
    assert head == ["id", "readiness.score", "readiness.contributors.hrv_balance", "heart_rate"]
    assert row[:3] == ["a", "70", "78"]
    assert json.loads(row[3]) == series


def test_null_where_others_have_an_object_is_empty_cells() -> None:
    written = table(
        [{"id": "a", "spo2_percentage": {"average": 97.1}}, {"id": "b", "spo2_percentage": None}],
        COLLECTIONS["daily_spo2"],
    )

    assert written.text == "id,spo2_percentage.average\r\na,97.1\r\nb,\r\n"
    assert written.uneven == ("spo2_percentage.average",)


def test_columns_stand_in_one_order_whatever_came_first() -> None:
    one: Record = {"zeta": 1, "score": 70, "alpha": 2, "day": "2026-03-10", "id": "a"}
    other: Record = dict(reversed(one.items()))

    assert table([one], COLLECTIONS["daily_sleep"]).text == table([other], COLLECTIONS["daily_sleep"]).text
    assert table([one], COLLECTIONS["daily_sleep"]).text.startswith("id,day,score,alpha,zeta\r\n")


def test_no_records_are_no_text() -> None:
    assert table([], TAG).text == ""
