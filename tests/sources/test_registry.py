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
