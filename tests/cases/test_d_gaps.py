"""CASES.md, D22, inside a range that is not empty: each day without a record has its word, from the same evidence."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.simulator import Person, Simulator
from app.simulator.watch import Seen
from app.sources.base import DateKind
from app.sources.oura.catalog import COLLECTIONS
from tests.app_under_test import Clock, running_app
from tests.cases.asking import asking, told
from tests.cases.oura_records import BERLIN, DATED, DENSE, NINE, document, night, sample

pytestmark = pytest.mark.anyio

DAILY = tuple(n for n in DATED if not COLLECTIONS[n].entered and not COLLECTIONS[n].occasional)
NIGHTLY = tuple(n for n in DAILY if COLLECTIONS[n].date_kind is DateKind.WAKE_DAY)
FEBRUARY = {"start": "2026-02-01", "end": "2026-02-28"}
GEN2 = {"id": "r", "set_up_at": "2024-01-05T09:12:00+00:00", "hardware_type": "gen2"}
GEN3 = {"id": "s", "set_up_at": "2026-03-05T08:00:00+00:00", "hardware_type": "gen3"}


def days_in(stretches: list[str]) -> list[str]:
    """Write `2026-03-01 to 2026-03-03` as its days."""
    found = []
    for stretch in stretches:
        first, _, last = stretch.partition(" to ")
        day = date.fromisoformat(first)
        while day <= date.fromisoformat(last or first):
            found.append(str(day))
            day += timedelta(days=1)
    return found


def words_by_day(answer: dict[str, Any]) -> dict[str, str]:
    """Return the word of each day; a day with two is a fault."""
    pairs = [(day, word) for word, named in answer.get("days_without_record", {}).items() for day in days_in(named)]
    assert len(pairs) == len({day for day, _ in pairs})
    return dict(pairs)


def beside(log: list[Seen], name: str) -> list[str]:
    """Return what was asked beyond the question itself, in any order."""
    asked = [seen.path.rpartition("/")[2] for seen in log if "latest" in seen.query or not seen.path.endswith(name)]
    return sorted(asked)


async def test_d22_every_missing_day_of_a_month_has_one_word_in_every_daily_collection(tmp_path: Path) -> None:
    clock = Clock(NINE.timestamp())
    simulator = Simulator(now=clock, person=Person())
    every = [str(date(2026, 2, day)) for day in range(1, 29)]
    drawer = [day for day in every if not simulator.archive.world.plan(date.fromisoformat(day)).worn]
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        app = await vitals.connected_app()
        for name in DAILY:
            answer = await told(app, "health_query", collection=name, **FEBRUARY)
            there = {str(record["day"]) for record in simulator.truth(name, "2026-02-01", "2026-02-28")}

            words = words_by_day(answer)
            assert sorted(words) == [day for day in every if day not in there], name
            assert answer["complete"] is True
            unworn = [day for day in drawer if day in words]
            assert {words[day] for day in unworn} <= {"not_worn"}, name
            assert any("not worn" in said for said in answer["evidence"]) if unworn else True
        samples = await told(app, "health_query", collection="heartrate", resolution="day", **FEBRUARY)

    assert len(drawer) >= 3
    gone = [day for day in every if day not in {bucket["day"] for bucket in samples["data"]}]
    assert words_by_day(samples) == dict.fromkeys(gone, "not_worn")
    assert gone


async def test_d22_days_after_the_newest_sample_are_unsynced_and_days_ahead_are_ahead(tmp_path: Path) -> None:
    clock = Clock(NINE.timestamp())
    simulator = Simulator(now=clock, person=Person(odd=False))
    simulator.synced_until = clock.at - 36 * 3600  # Sunday, 21:00
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        app = await vitals.connected_app()
        for name in (*DAILY, "heartrate"):
            coarse = {"resolution": "day"} if name == "heartrate" else {}
            answer = await told(app, "health_query", collection=name, start="2026-03-06", end="2026-03-12", **coarse)

            words = words_by_day(answer)
            assert (words.pop("2026-03-11"), words.pop("2026-03-12")) == ("in_future", "in_future"), name
            assert set(words.values()) == {"not_synced_yet"}, (name, words)
            assert {"2026-03-10", "2026-03-09"} == set(words), name
            assert any("2026-03-08T21:00+01:00, 36 h ago" in said for said in answer["evidence"])
            assert "open the source's app" in " ".join(answer["notes"])


async def test_d22_what_is_not_computed_yet_is_told_from_what_never_was_inside_a_range(tmp_path: Path) -> None:
    days = ("2026-03-06", "2026-03-07", "2026-03-09", "2026-03-10")
    async with asking(tmp_path, at=NINE) as (app, held):
        held.records |= {name: [] for name in (*DATED, *DENSE)}
        held.records["heartrate"] = [sample(NINE - timedelta(minutes=5))]
        held.records["ring_configuration"] = [GEN3]
        held.records["sleep"] = [night(day, f"{day}T00:40:00+01:00", f"{day}T07:05:00+01:00", 22_000) for day in days]
        for name in NIGHTLY[1:]:
            held.records[name] = [document(name, "2026-03-06", score=80)]
            answer = await told(app, "health_query", collection=name, start="2026-03-06", end="2026-03-10")

            assert answer["days_without_record"] == {
                "no_record": ["2026-03-07 to 2026-03-08"],
                "not_computed_yet": ["2026-03-09 to 2026-03-10"],
            }, name
            assert "The sleep of 2026-03-10 is there; what is computed from it is not." in answer["evidence"]
            assert any("may still come" in note for note in answer["notes"])


async def test_d22_what_an_older_ring_lacked_is_told_inside_a_range(tmp_path: Path) -> None:
    async with asking(tmp_path, at=NINE) as (app, held):
        held.records |= {name: [] for name in (*DATED, *DENSE)}
        held.records["heartrate"] = [sample(NINE - timedelta(minutes=5))]
        held.records["ring_configuration"] = [GEN2, GEN3]
        held.records["daily_spo2"] = [document("daily_spo2", f"2026-03-{day:02}") for day in (6, 8, 9, 10)]
        answer = await told(app, "health_query", collection="daily_spo2", start="2026-02-20", end="2026-03-10")

    assert answer["days_without_record"] == {
        "ring_lacks_it": ["2026-02-20 to 2026-03-04"],
        "no_record": ["2026-03-05", "2026-03-07"],
    }
    assert "The ring set up then is a gen2, which does not measure this." in answer["evidence"]


async def test_d22_reasons_cost_four_requests_at_most_and_none_where_no_day_is_missing(tmp_path: Path) -> None:
    clock = Clock(NINE.timestamp())
    simulator = Simulator(now=clock, person=Person())
    witnesses = {
        "sleep": ["daily_activity", "heartrate"],  # the nights that came tell the owner's clock themselves
        "daily_activity": ["heartrate"],  # and no missing thing is its own witness
        "heartrate": ["daily_activity", "heartrate", "sleep"],  # `sleep` was asked beside it, for the owner's clock
        "daily_spo2": ["daily_activity", "heartrate", "ring_configuration", "sleep"],
    }
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        app = await vitals.connected_app()
        for name in (*DAILY, "heartrate"):
            coarse = {"resolution": "day"} if name == "heartrate" else {}
            start = len(simulator.log)
            gaps = await told(app, "health_query", collection=name, start="2026-03-07", end="2026-03-12", **coarse)
            calls = beside(simulator.log[start:], name)
            if name != "daily_spo2":  # whose reasons may lie in the ring
                calls.remove("ring_configuration")  # asked beside ranges of two days and more, for changes in them
            start = len(simulator.log)
            whole = await told(app, "health_query", collection=name, day="2026-03-05", **coarse)
            none = beside(simulator.log[start:], name)

            missing = [day for day, word in words_by_day(gaps).items() if word != "in_future"]
            kind = COLLECTIONS[name]  # asked anyway: the nights for the owner's clock, the newest sample of what grows
            anyway = {"sleep"} - {name} | ({"heartrate"} if kind.grows and not kind.covered_by else set())
            anyway |= {"ring_configuration"} if kind.not_on else set()  # for its changes
            reasons = set(witnesses.get(name, ["daily_activity", "heartrate", "sleep"]) if missing else [])
            if name == "heartrate":
                # The newest sample; the nights for the clock of today, and those of a range that is longer.
                assert (calls, none) == (["heartrate", "sleep", "sleep"], ["sleep"])
                continue
            beside_it = ["sleep"] if name == "daily_stress" else []  # which does not say itself how long its days were
            assert calls == sorted([*(anyway | reasons), *beside_it]), name
            looked = len(reasons - anyway)
            more = f"{looked} more request{'s' if looked > 1 else ''}"
            assert gaps.get("looked_with") == (more if looked else None)
            assert "days_without_record" not in whole, name
            assert none == beside_it, name


async def test_d22_more_days_than_can_be_looked_into_are_said_to_be_not_looked_up(tmp_path: Path) -> None:
    clock = Clock(NINE.timestamp())
    simulator = Simulator(now=clock, person=Person())
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        app = await vitals.connected_app()
        start = len(simulator.log)
        asked = {"collection": "daily_sleep", "start": "2024-01-01", "end": "2026-03-10", "fields": "score"}
        answer = await told(app, "health_query", **asked)
        calls = beside(simulator.log[start:], "daily_sleep")

    words = words_by_day(answer)
    unlooked = [date.fromisoformat(day) for day, word in words.items() if word == "not_looked_up"]
    looked = [date.fromisoformat(day) for day, word in words.items() if word != "not_looked_up"]
    assert unlooked
    assert looked
    assert max(unlooked) < min(looked)
    assert max(looked) - min(looked) < timedelta(days=364) < max(looked) - max(unlooked)
    assert any(note.startswith("not_looked_up") for note in answer["notes"])
    # The ring for its changes; the nights once for the clock of today, and once for the year.
    assert calls == ["daily_activity", "heartrate", "ring_configuration", "sleep", "sleep"]


async def test_d22_a_cut_answer_explains_the_days_it_delivers_and_no_others(tmp_path: Path) -> None:
    clock = Clock(NINE.timestamp())
    simulator = Simulator(now=clock, person=Person())
    there = {str(record["day"]) for record in simulator.truth("daily_readiness", "2022-01-01", "2026-03-09")}
    words: dict[str, str] = {}
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        app = await vitals.connected_app()
        since, parts = "2022-01-01", 0
        while True:
            question = {"collection": "daily_readiness", "start": since, "end": "2026-03-09"}
            answer = await told(app, "health_query", **question)
            reached = answer.get("continue_from", "2026-03-09")
            found = words_by_day(answer)
            assert not [day for day in found if not since <= day <= reached]
            assert not set(words) & set(found)
            assert "not_worn" in found.values()  # the newest days of each part are looked into
            words |= found
            parts += 1
            if "continue_from" not in answer:
                break
            since = str(date.fromisoformat(reached) + timedelta(days=1))

    assert parts > 2
    first = date(2022, 1, 1)
    every = [str(first + timedelta(days=n)) for n in range((date(2026, 3, 9) - first).days + 1)]
    assert sorted(words) == [day for day in every if day not in there]


async def test_d22_days_that_did_not_arrive_are_never_called_days_without_a_record(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        vitals.simulator.faults.add("endless", "/v2/usercollection/daily_readiness", times=None)
        answer = await told(app, "health_query", collection="daily_readiness", start="2026-02-01", end="2026-02-28")

    assert (answer["complete"], answer["n"] > 0) == (False, True)
    assert "days_without_record" not in answer


async def test_d22_a_day_of_which_only_hours_were_asked_is_never_called_without_samples(tmp_path: Path) -> None:
    async with asking(tmp_path, at=NINE) as (app, held):
        for name in DENSE:
            held.records |= {"sleep": [], name: [sample(NINE.replace(hour=3))]}
            answer = await told(app, "health_query", collection=name, day="last night", resolution="raw")

            assert answer["n"] == 1, name
            assert "days_without_record" not in answer


async def test_d22_what_comes_now_and_then_or_by_hand_has_no_gaps(tmp_path: Path) -> None:
    occasional = [name for name in DATED if COLLECTIONS[name].entered or COLLECTIONS[name].occasional]
    async with asking(tmp_path, at=NINE) as (app, held):
        for name in occasional:
            held.records[name] = [document(name, "2026-03-08")]
            held.asked.clear()
            answer = await told(app, "health_query", collection=name, start="2026-03-01", end="2026-03-09")

            assert answer["n"] == 1
            assert "days_without_record" not in answer, name
            assert [asked for asked, _ in held.asked] == [name]

    assert set(occasional) == {"workout", "session", "enhanced_tag", "tag", "rest_mode_period", "vO2_max"}


async def test_d22_very_many_gaps_are_named_from_the_newest_and_the_rest_counted(tmp_path: Path) -> None:
    every_other = [str(NINE.date() - timedelta(days=back)) for back in range(0, 300, 2)]
    async with asking(tmp_path, at=NINE) as (app, held):
        held.records |= {name: [] for name in (*DATED, *DENSE)}
        held.records["heartrate"] = [sample(NINE - timedelta(minutes=5))]
        held.records["ring_configuration"] = []
        held.records["daily_stress"] = [document("daily_stress", day) for day in reversed(every_other)]
        answer = await told(
            app, "health_query", collection="daily_stress", start=every_other[-1], end="2026-03-10", fields="day"
        )

    named = answer["days_without_record"]["no_record"]
    assert (len(named), named[-1]) == (50, "2026-03-09")
    assert any(note.startswith(f"99 more days before {named[0]} have no record") for note in answer["notes"])


async def test_d22_what_could_not_be_looked_at_is_no_sign_of_anything(tmp_path: Path) -> None:
    async with asking(tmp_path, at=NINE) as (app, held):
        held.records |= {"daily_sleep": [document("daily_sleep", "2026-03-09", score=80)], "sleep": []}
        for name in ("daily_activity", "heartrate"):
            held.answers[name] = (403, "application/json", b'{"detail":"Forbidden"}')
        answer = await told(app, "health_query", collection="daily_sleep", start="2026-03-08", end="2026-03-09")

    assert answer["days_without_record"] == {"no_record": ["2026-03-08"]}
    (note,) = [note for note in answer["notes"] if note.startswith("Not known")]
    assert "synced (heartrate)" in note
    assert "worn (daily_activity)" in note


@pytest.mark.parametrize(
    ("offset", "now_h", "newest_h", "word"),
    [
        pytest.param("-04:00", 7, 5, "not_over_yet", id="west: at 02:00 there the night is not over"),
        pytest.param("-04:00", 13, 10, "not_synced_yet", id="west: at 08:00 there it is, and was not seen to its end"),
        pytest.param("+13:00", 33, -4, "no_record", id="east: it ended before the newest sample, so it was seen"),
        pytest.param("+13:00", 33, -10, "not_synced_yet", id="east: the newest sample is from before its end"),
    ],
)
async def test_d22_whether_a_night_is_over_goes_by_the_owners_own_clock(
    tmp_path: Path, offset: str, now_h: int, newest_h: int, word: str
) -> None:
    midnight = NINE.replace(hour=0)
    async with asking(tmp_path, at=midnight + timedelta(hours=now_h)) as (app, held):
        held.records |= {name: [] for name in (*DATED, *DENSE)}
        held.records["heartrate"] = [sample(midnight + timedelta(hours=newest_h))]
        held.records["sleep"] = [
            night(f"2026-03-{day:02}", f"2026-03-{day:02}T00:10:00{offset}", f"2026-03-{day:02}T07:10:00{offset}", 2500)
            for day in (8, 9)
        ]
        answer = await told(app, "health_query", collection="sleep", start="2026-03-08", end="2026-03-10")

    assert answer["days_without_record"] == {word: ["2026-03-10"]}, answer["evidence"]
    assert BERLIN.key == answer["timezone"]
