"""However many requests meet a store that fails, the log says it once, and once that it is over."""

import pytest
from structlog.testing import capture_logs

from app.errors import Outage, StoreUnavailable
from app.store.outages import Outages
from tests.store.conftest import Clock


def events(written: object) -> list[str]:
    assert isinstance(written, list)
    return [line["event"] for line in written]


def away(outage: Outage = "unreachable", text: str = "Away.") -> StoreUnavailable:
    return StoreUnavailable(text, outage=outage)


def test_a_hundred_failures_are_one_line_and_the_end_is_one_line(clock: Clock) -> None:
    outages = Outages(clock=clock)

    with capture_logs() as written:
        for number in range(100):
            outages.failed(away(text=f"Away ({number})."), wrote=False)
        for _ in range(100):
            outages.worked(wrote=False)

    assert [(line["event"], line.get("reason")) for line in written] == [
        ("store_unavailable", "Away (0)."),
        ("store_available_again", None),
    ]


def test_a_store_that_never_failed_is_no_news(clock: Clock) -> None:
    with capture_logs() as written:
        Outages(clock=clock).worked(wrote=True)

    assert written == []


@pytest.mark.parametrize(
    ("outage", "wrote"),
    [
        ("full", True),
        ("read_only", True),
        ("unusable", True),
        pytest.param("full", False, id="full, met by one that takes out"),
        pytest.param("read_only", False, id="read-only, met by one that takes out"),
    ],
)
def test_what_can_be_read_says_nothing_about_writing(outage: Outage, wrote: bool, clock: Clock) -> None:
    outages = Outages(clock=clock)

    with capture_logs() as written:
        for _ in range(50):
            outages.failed(away(outage), wrote=wrote)
            outages.worked(wrote=False)
        assert events(written) == ["store_unavailable"]
        outages.worked(wrote=True)

    assert events(written) == ["store_unavailable", "store_available_again"]


def test_an_outage_that_lasts_is_said_again_every_ten_minutes(clock: Clock) -> None:
    outages = Outages(clock=clock)

    with capture_logs() as written:
        for _ in range(21 * 60):
            outages.failed(away(), wrote=False)
            clock.at += 1

    assert events(written) == ["store_unavailable"] * 3


def test_a_store_that_flaps_is_said_once_a_minute_and_an_end_only_after_a_beginning(clock: Clock) -> None:
    outages = Outages(clock=clock)

    with capture_logs() as written:
        for _ in range(120):
            outages.failed(away(), wrote=False)
            outages.worked(wrote=False)
            clock.at += 1

    assert events(written) == ["store_unavailable", "store_available_again"] * 2


def test_another_kind_of_outage_is_news(clock: Clock) -> None:
    outages = Outages(clock=clock)

    with capture_logs() as written:
        outages.failed(away(), wrote=True)
        outages.failed(away("full", "Full."), wrote=True)

    assert [line["reason"] for line in written] == ["Away.", "Full."]
