"""A collection is found by the name a model gives, and a wrong name is answered with near ones."""

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from app.errors import BadRequest
from app.sources.base import Collection, Source
from app.sources.oura.catalog import COLLECTIONS
from app.sources.registry import Sources


def source(name: str, collections: Mapping[str, Collection]) -> Source:
    return cast("Source", SimpleNamespace(name=name, collections=collections))


OURA = source("oura", COLLECTIONS)
OTHER = source("other", {"sleep": replace(COLLECTIONS["sleep"], source="other")})


@pytest.mark.parametrize("name", ["oura.daily_sleep", "daily_sleep", " Daily_Sleep ", "OURA.daily_sleep"])
def test_a_collection_is_found_by_either_name(name: str) -> None:
    assert Sources([OURA]).find(name) == (OURA, COLLECTIONS["daily_sleep"])


def test_the_odd_spelling_of_vo2_max_is_found_in_any_case() -> None:
    assert Sources([OURA]).find("vo2_max")[1].name == "vO2_max"


def test_a_bare_name_that_two_sources_have_is_asked_back() -> None:
    with pytest.raises(BadRequest, match=r"oura\.sleep, other\.sleep"):
        Sources([OURA, OTHER]).find("sleep")
    assert Sources([OURA, OTHER]).find("other.sleep")[0] is OTHER


def test_a_wrong_name_brings_near_ones_or_all() -> None:
    with pytest.raises(BadRequest, match=r"oura\.heartrate"):
        Sources([OURA]).find("heart_rate")
    with pytest.raises(BadRequest, match=r"There are: .*oura\.workout"):
        Sources([OURA]).find("zzzz")


def test_a_wrong_name_is_repeated_short_and_printable() -> None:
    with pytest.raises(BadRequest) as caught:
        Sources([OURA]).find("\x1b[31m" + "x" * 500)

    assert "\x1b" not in str(caught.value)
    assert "x" * 100 not in str(caught.value)


def test_sources_are_listed_in_order() -> None:
    assert [one.name for one in Sources([OURA, OTHER])] == ["oura", "other"]
    assert len(Sources([OURA, OTHER])) == 2


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("steps", "oura.daily_activity (fields: steps)"),
        ("sleep score", "oura.daily_sleep (fields: score)"),
        ("sleep_score", "oura.daily_sleep (fields: score)"),
        ("Readiness Score", "oura.daily_readiness (fields: score)"),
        ("hrv", "oura.sleep (fields: hrv, average_hrv)"),
        ("my weight", "oura.personal_info (fields: weight)"),
        ("nap", "oura.sleep (fields: type)"),
        ("resting heart rate", "oura.sleep (fields: lowest_heart_rate)"),
        ("deep sleep", "oura.sleep (fields: deep_sleep_duration)"),
        ("calories", "oura.daily_activity (fields: active_calories"),
        ("temperature", "oura.daily_readiness (fields: temperature_deviation"),
        ("blood oxygen", "oura.daily_spo2 ("),
        ("heart rate", "oura.heartrate ("),
        ("vo2max", "oura.vO2_max ("),
        ("meditation", "oura.session (fields: type)"),
        ("oura.steps", "oura.daily_activity (fields: steps)"),
        ("step count", "oura.daily_activity (fields: steps)"),
        ("daly_sleep", "oura.daily_sleep ("),
    ],
)
def test_what_people_speak_of_leads_to_the_collection_that_has_it(asked: str, first: str) -> None:
    with pytest.raises(BadRequest) as caught:
        Sources([OURA]).find(asked)

    assert f"Did you mean {first}" in str(caught.value)


def test_a_grade_is_not_offered_as_what_it_grades() -> None:
    with pytest.raises(BadRequest) as caught:
        Sources([OURA]).find("resting heart rate")

    assert "contributors.resting_heart_rate, a score" in str(caught.value)


@pytest.mark.parametrize("odd", ["", "  ", ".", "the", "\u0130" * 50, "a" * 10_000, "ß", "score " * 2_000])
def test_any_name_is_answered_in_a_few_lines(odd: str) -> None:
    with pytest.raises(BadRequest) as caught:
        Sources([OURA]).find(odd)

    assert len(str(caught.value)) < 700
