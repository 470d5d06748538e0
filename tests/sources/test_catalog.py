"""The catalogue has every field that Oura documents, with the unit and kind that keep it from being misread."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.sources.base import Collection, DateKind, Field, Kind
from app.sources.oura.catalog import COLLECTIONS, SCOPES

# Names and types of OpenAPI document 1.37; scopes as measured, since the document is wrong there.
DOCUMENTED: dict[str, Any] = json.loads((Path(__file__).parent / "oura_fields.json").read_text())
EVERY = [pytest.param(collection, id=name) for name, collection in COLLECTIONS.items()]
FIELDS = [pytest.param(c, f, id=f"{n}.{f.name}") for n, c in COLLECTIONS.items() for f in c.fields]


def field(path: str) -> Field:
    name, _, rest = path.partition(".")
    return next(f for f in COLLECTIONS[name].fields if f.name == rest)


def test_there_are_nineteen_collections() -> None:
    assert set(COLLECTIONS) == set(DOCUMENTED)
    assert len(COLLECTIONS) == 19


@pytest.mark.parametrize("collection", EVERY)
def test_every_documented_field_is_there_and_no_other(collection: Collection) -> None:
    ours = {f.name for f in collection.fields}
    parents = {name for name in ours if any(other.startswith(f"{name}.") for other in ours)}

    assert ours - parents == set(DOCUMENTED[collection.name]["fields"])
    assert len(ours) == len(collection.fields)


@pytest.mark.parametrize("collection", EVERY)
def test_scope_and_field_selection_are_as_measured(collection: Collection) -> None:
    assert collection.scope == DOCUMENTED[collection.name]["scope"]
    assert collection.takes_fields == DOCUMENTED[collection.name]["takes_fields"]


@pytest.mark.parametrize(("collection", "shown"), FIELDS)
def test_every_number_has_a_unit_or_is_a_score_or_an_id(collection: Collection, shown: Field) -> None:
    documented = DOCUMENTED[collection.name]["fields"].get(shown.name)

    assert shown.meaning
    if documented in ("integer", "number"):
        assert shown.unit or shown.kind in (Kind.SCORE, Kind.ID)
    if shown.kind is Kind.MEASUREMENT or shown.kind is Kind.SERIES:
        assert shown.unit
    if documented == "enum":
        assert shown.kind is Kind.CATEGORY
        assert shown.values


@pytest.mark.parametrize("collection", EVERY)
def test_the_fields_that_date_and_order_a_record_are_fields(collection: Collection) -> None:
    names = {f.name for f in collection.fields}

    assert {*collection.day_fields, *collection.stamp_fields} <= names
    assert collection.end_day_field is None or collection.end_day_field in names
    assert (collection.end_day_field is not None) == (collection.date_kind is DateKind.SPAN)
    assert collection.dense == (collection.date_kind is DateKind.INSTANT)
    assert bool(collection.day_fields) == (collection.date_kind is not DateKind.UNDATED)
    assert collection.carries.endswith(".")


@pytest.mark.parametrize("collection", EVERY)
def test_every_sample_series_is_named_so_that_a_summary_can_leave_it_out(collection: Collection) -> None:
    series = {f.name for f in collection.fields if f.kind is Kind.SERIES and "." not in f.name}

    assert set(collection.series) == series


@pytest.mark.parametrize(
    ("path", "kind", "unit"),
    [
        pytest.param("sleep.average_hrv", Kind.MEASUREMENT, "ms (RMSSD)", id="hrv is RMSSD in ms"),  # D16
        pytest.param("daily_readiness.contributors.hrv_balance", Kind.SCORE, None, id="hrv_balance is a score"),  # D15
        pytest.param("daily_readiness.contributors.resting_heart_rate", Kind.SCORE, None, id="no bpm"),
        pytest.param("sleep.efficiency", Kind.MEASUREMENT, "%", id="efficiency is a percentage"),  # D14
        pytest.param("daily_sleep.contributors.efficiency", Kind.SCORE, None, id="its contributor is not"),
        pytest.param("daily_sleep.contributors.deep_sleep", Kind.SCORE, None, id="not minutes"),
        pytest.param("sleep.deep_sleep_duration", Kind.MEASUREMENT, "s", id="seconds"),
        pytest.param("daily_stress.stress_high", Kind.MEASUREMENT, "s", id="stress is seconds"),  # D19
        pytest.param("daily_activity.high_activity_met_minutes", Kind.MEASUREMENT, "MET min", id="MET minutes"),
        pytest.param("daily_resilience.contributors.sleep_recovery", Kind.SCORE, None, id="resilience"),  # D18
        pytest.param("daily_cardiovascular_age.vascular_age", Kind.MEASUREMENT, "years", id="arteries"),  # D20
        pytest.param("personal_info.weight", Kind.MEASUREMENT, "kg", id="weight"),
        pytest.param("personal_info.height", Kind.MEASUREMENT, "m", id="height"),
        pytest.param("enhanced_tag.comment", Kind.TEXT, None, id="the owner's words"),
        pytest.param("heartrate.bpm", Kind.MEASUREMENT, "bpm", id="bpm"),
    ],
)
def test_what_was_misread_elsewhere_says_what_it_is(path: str, kind: Kind, unit: str | None) -> None:
    assert (field(path).kind, field(path).unit) == (kind, unit)


def test_the_wake_day_is_said_with_every_collection_about_nights() -> None:  # D4
    for name in ("sleep", "daily_sleep", "daily_readiness"):
        assert COLLECTIONS[name].date_kind is DateKind.WAKE_DAY
        assert any("waking up" in note for note in COLLECTIONS[name].notes)


def test_rest_is_said_not_to_be_sleep() -> None:  # D12
    assert any("`rest` and `deleted` are not sleep" in note for note in COLLECTIONS["sleep"].notes)


def test_either_of_two_scopes_unlocks_stress_and_no_answer_is_not_a_no() -> None:
    stress = COLLECTIONS["daily_stress"]

    assert stress.granted_by(frozenset({"daily"})) is True
    assert stress.granted_by(frozenset({"stress"})) is True
    assert stress.granted_by(frozenset({"heartrate"})) is False
    assert stress.granted_by(None) is None


def test_the_scopes_to_ask_for_are_the_ones_that_unlock_something() -> None:
    wanted = "personal email daily heartrate workout session tag spo2 stress heart_health ring_configuration"

    assert " ".join(sorted(SCOPES)) == " ".join(sorted(wanted.split()))
