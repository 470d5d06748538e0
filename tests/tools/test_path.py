"""The one path of every call: who asks, what was sent, what a failure says."""

import logging
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from app.errors import (
    BadRequest,
    MembershipRequired,
    NotPermitted,
    ReconnectRequired,
    SealBroken,
    SourceBusy,
    SourceChanged,
    SourceUnreachable,
    StoreUnavailable,
    TokenRefused,
    VitalsError,
)
from app.tools.arguments import meant
from app.tools.query.tool import QUERY
from tests.tools.fakes import OWNER, Connector, FakeSource

pytestmark = pytest.mark.anyio

TOOLS = ("health_today", "health_query", "health_catalog", "health_check")
SECRET = "_0XBPWQQ-a-token-and-61-beats"


@pytest.mark.parametrize("tool", TOOLS)
async def test_no_tool_answers_without_a_proven_caller(tool: str) -> None:
    connector = Connector(FakeSource(), caller=None)

    said = (
        await connector.refused(tool, collection="sleep") if tool == "health_query" else await connector.refused(tool)
    )

    assert "no proven identity" in said
    assert connector.source.asked == []


@pytest.mark.parametrize("tool", TOOLS)
async def test_no_tool_answers_without_the_scope(tool: str) -> None:
    connector = Connector(FakeSource(), caller=replace(OWNER, scopes=frozenset({"offline_access"})))

    said = (
        await connector.refused(tool, collection="sleep") if tool == "health_query" else await connector.refused(tool)
    )

    assert "health:read" in said
    assert connector.source.asked == []


@pytest.mark.parametrize("name", ["limit", "cursor", "page", "next_token", "offset"])
async def test_nothing_that_pages_is_taken_or_passed_over_in_silence(name: str) -> None:
    said = await Connector(FakeSource()).refused("health_query", collection="sleep", **{name: 1})

    assert repr(name) in said
    assert "continue_from" in said


async def test_a_misspelt_argument_is_named_with_the_one_meant() -> None:
    said = await Connector(FakeSource()).refused("health_query", collection="sleep", feilds="score")

    assert "'feilds'" in said
    assert "Did you mean fields?" in said


@pytest.mark.parametrize(
    ("name", "guess"),
    [
        ("detial", "detail"), ("start_date", "start"), ("end_date", "end"), ("time_zone", "timezone"),
        ("Collection", "collection"), ("evil", None), ("x", None), ("user_id", None), ("metric", None),
    ],
)  # fmt: skip
def test_an_argument_is_guessed_only_where_it_was_surely_meant(name: str, guess: str | None) -> None:
    assert meant(name, [argument.name for argument in QUERY.arguments]) == guess


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param({}, "needs the argument collection", id="required"),
        pytest.param({"collection": "sleep", "start": 5}, "start must be a text", id="number for text"),
        pytest.param({"collection": "sleep", "format": "xml"}, "json, csv", id="choice"),
        pytest.param({"collection": "sleep", "latest": "maybe"}, "latest must be true or false", id="flag"),
        pytest.param({"collection": "sleep", "fields": [1]}, "fields must be a list of names", id="names"),
        pytest.param({"collection": "sleep", "resolution": "hour"}, "streams of samples", id="resolution"),
        pytest.param({"collection": "sleep", "day": "2026-02-30"}, "2026-02-30", id="impossible day"),
        pytest.param({"collection": "sleep", "day": "today", "start": "today"}, "day stands alone", id="day and start"),
        pytest.param({"collection": "sleep", "start": "2026-03-09", "end": "2026-03-01"}, "Swap", id="reversed"),
        pytest.param(
            {"collection": "sleep", "latest": True, "start": "2026-03-01"}, "leave out start", id="latest+start"
        ),
        pytest.param({"collection": "sleep", "latest": True, "day": "today"}, "leave out start", id="latest+day"),
        pytest.param(
            {"collection": "heartrate", "latest": True, "resolution": "day"}, "one record", id="latest+buckets"
        ),
        pytest.param({"collection": "personal_info", "latest": True}, "not filed by days", id="latest of undated"),
        pytest.param({"collection": "sleep", "timezone": "Mars/Base"}, "timezone='Mars/Base'", id="zone"),
        pytest.param({"collection": "slep"}, "slep", id="collection"),
        pytest.param({"collection": "s" * 4_000_000}, "at most 200", id="long text"),
        pytest.param({"collection": "sleep", "fields": ["x"] * 101}, "at most 100", id="many names"),
        pytest.param({"collection": "sleep", "x" * 4_000_000: 1}, "has no argument", id="long name"),
        pytest.param({"collection": "heartrate", "resolution": "hour", "fields": "source"}, "bpm", id="no measurement"),
        pytest.param({"collection": "heartrate", "start": "2020-01-01"}, "366", id="too long"),
    ],
)
async def test_a_malformed_question_is_refused_in_words(arguments: dict[str, object], words: str) -> None:
    connector = Connector(FakeSource())

    said = await connector.refused("health_query", **arguments)

    assert words in said
    assert "pydantic" not in said
    assert "\n" not in said
    assert len(said) < 1000
    assert connector.source.asked == []


@pytest.mark.parametrize("days", [-1, 32, 2.5, "many", True, [7]])
async def test_a_number_out_of_range_is_refused_with_the_range(days: object) -> None:
    said = await Connector(FakeSource()).refused("health_today", days=days)

    assert "days must be a whole number from 0 to 31" in said


@pytest.mark.parametrize("days", [3, "3", 3.0])
async def test_a_number_is_understood_however_a_host_sends_it(days: object) -> None:
    answer = await Connector(FakeSource()).ask("health_today", days=days)

    assert len(answer["days"]) == 3


async def test_null_and_empty_text_count_as_left_out() -> None:
    answer = await Connector(FakeSource()).ask("health_query", collection="sleep", start=None, end="", fields=None)

    assert answer["end"] == "2026-03-10"


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        pytest.param(BadRequest("The day is wrong."), "The day is wrong.", id="BadRequest"),
        pytest.param(NotPermitted("Scope daily is missing.", scope="daily"), "Scope daily", id="NotPermitted"),
        pytest.param(ReconnectRequired("Open the page."), "Open the page.", id="ReconnectRequired"),
        pytest.param(MembershipRequired("No membership."), "Signing in again does not change", id="MembershipRequired"),
        pytest.param(SourceBusy("429.", status=429, retry_after_s=17), "17 s", id="SourceBusy"),
        pytest.param(SourceBusy("503.", status=503), "in a minute", id="SourceBusy without a wait"),
        pytest.param(SourceUnreachable("Cut."), "could not be reached", id="SourceUnreachable"),
        pytest.param(SourceChanged("HTML."), "could not be read", id="SourceChanged"),
        pytest.param(TokenRefused(SECRET), "even after renewing", id="TokenRefused"),
        pytest.param(StoreUnavailable(SECRET), "own store, so nothing was read. The store does", id="StoreUnavailable"),
        pytest.param(StoreUnavailable(SECRET, outage="full"), "has to make room", id="StoreUnavailable: full"),
        pytest.param(SealBroken(SECRET, missing="3fa2c1d09b7e"), "its key (3fa2c1d09b7e)", id="SealBroken: no key"),
        pytest.param(SealBroken(SECRET), "it is damaged. Nothing was erased", id="SealBroken: damaged"),
        pytest.param(VitalsError("Something."), "Something.", id="VitalsError"),
    ],
)
async def test_each_failure_has_its_words(failure: Exception, words: str) -> None:
    said = await Connector(FakeSource(failing={"sleep": failure})).refused("health_query", collection="sleep")

    assert words in said
    assert SECRET not in said


async def test_an_unforeseen_failure_says_a_reference_and_nothing_of_itself() -> None:
    connector = Connector(FakeSource(failing={"sleep": RuntimeError(SECRET)}))

    with capture_logs() as written:
        said = await connector.refused("health_query", collection="sleep")

    assert SECRET not in said
    assert "RuntimeError" not in said
    assert [line["event"] for line in written] == ["tool_failed"]
    assert written[0]["reference"] in said
    assert written[0]["error"] == "RuntimeError"
    assert SECRET not in str(written)


async def test_a_failure_is_logged_by_kind_and_not_by_text(caplog: pytest.LogCaptureFixture) -> None:
    with capture_logs() as written, caplog.at_level(logging.DEBUG):
        await Connector(FakeSource()).refused("health_query", collection="sleep", day="my-birthday")

    assert [line["error"] for line in written] == ["BadRequest"]
    assert "my-birthday" not in str(written) + caplog.text


@pytest.mark.parametrize("tool", TOOLS)
async def test_no_answer_is_ever_longer_than_the_limit(tool: str) -> None:
    connector = Connector(FakeSource(), cap=150)
    arguments = {"collection": "sleep"} if tool == "health_query" else {}

    said = await connector.refused(tool, **arguments)

    assert "characters" in said
