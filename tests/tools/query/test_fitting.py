from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.sources.base import Record
from app.tools.query.fitting import TooLarge, by_day, fit
from app.tools.rendering import Answer, written
from tests.tools.fakes import Connector, FakeSource

FIRST = date(2026, 1, 1)


def day(record: Record) -> date:
    return FIRST + timedelta(days=int(str(record["day"])))


def last(record: Record, first: date) -> date:
    return first + timedelta(days=int(str(record.get("runs", 0))))


def make(records: list[Record], cut: date | None) -> Answer:
    answer: Answer = {"data": records}
    return answer if cut is None else {**answer, "continue_from": cut.isoformat()}


RECORDS = st.lists(st.fixed_dictionaries({"day": st.integers(0, 12), "words": st.text(max_size=60)}), max_size=40).map(
    lambda records: [{**record, "id": n} for n, record in enumerate(sorted(records, key=lambda r: int(str(r["day"]))))]
)


@given(RECORDS, st.integers(60, 2000))
def test_going_on_from_the_cut_gives_each_record_exactly_once(records: list[Record], cap: int) -> None:
    got: list[Record] = []
    rest = records
    try:
        while True:
            answer = fit(by_day(rest, day, last), make, cap=cap)
            assert len(written(answer)) <= cap
            data = answer["data"]
            assert isinstance(data, list)
            got += data
            if "continue_from" not in answer:
                break
            cut = date.fromisoformat(str(answer["continue_from"]))
            assert data, "a cut that delivers nothing would go on for ever"
            rest = [record for record in rest if day(record) > cut]
    except TooLarge as large:
        alone = [record for record in rest if day(record) == large.day]
        assert len(written(make(alone, None))) > cap - 40
        return

    assert got == records


def test_the_cut_falls_where_no_record_runs_on() -> None:
    records: list[Record] = [
        {"id": 0, "day": 0, "words": "x" * 50},
        {"id": 1, "day": 1, "words": "x" * 50, "runs": 3},
        {"id": 2, "day": 2, "words": "x" * 50},
        {"id": 3, "day": 6, "words": "x" * 50},
    ]

    answer = fit(by_day(records, day, last), make, cap=290)

    assert answer["continue_from"] == "2026-01-01"


def test_one_day_over_the_limit_is_too_large() -> None:
    with pytest.raises(TooLarge) as refused:
        fit(by_day([{"day": 0, "words": "x" * 500}, {"day": 1, "words": ""}], day, last), make, cap=300)

    assert refused.value.day == FIRST


@pytest.mark.anyio
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=25),
    st.sampled_from(["json", "csv"]),
    st.integers(3_500, 9_000),
)
async def test_following_an_answer_to_its_end_gives_the_whole_range(counts: list[int], form: str, cap: int) -> None:
    tags: list[Record] = [
        {
            "id": f"{back}-{n}",
            "start_day": (when := (date(2026, 3, 10) - timedelta(days=back)).isoformat()),
            "end_day": None,
            "start_time": f"{when}T09:00:00+01:00",
            "comment": '=x,"\r' * n,
        }
        for back, count in reversed(list(enumerate(counts)))
        for n in range(count)
    ]
    connector = Connector(FakeSource({"enhanced_tag": tags}), cap=cap)
    start, got = "2026-01-01", 0
    for _ in range(40):
        answer = await connector.ask("health_query", collection="enhanced_tag", start=start, end="today", format=form)
        got += answer["n"]
        if "continue_from" not in answer:
            break
        start = (date.fromisoformat(answer["continue_from"]) + timedelta(days=1)).isoformat()

    assert got == len(tags)
