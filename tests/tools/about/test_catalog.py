import pytest

from app.sources.oura.catalog import COLLECTIONS
from tests.tools.fakes import ALL_SCOPES, Connector, FakeSource

pytestmark = pytest.mark.anyio


async def test_all_collections_are_listed_with_fields_units_and_kinds() -> None:
    answer = await Connector(FakeSource()).ask("health_catalog")

    listed = {entry["collection"]: entry for entry in answer["collections"]}
    assert answer["n"] == len(COLLECTIONS) == 19
    assert set(listed) == {collection.qualified for collection in COLLECTIONS.values()}
    assert listed["oura.daily_sleep"]["fields"]["score"] == "score"
    assert listed["oura.sleep"]["fields"]["average_hrv"] == "measurement, ms (RMSSD)"
    assert listed["oura.sleep"]["filed_by"] == "wake day"
    assert listed["oura.heartrate"]["samples"] is True
    for entry in listed.values():
        assert entry["carries"]
        assert entry["fields"]


async def test_what_was_granted_is_said_and_unknown_is_not_no() -> None:
    some = Connector(FakeSource(scopes=frozenset({"daily"})))
    unknown = Connector(FakeSource(scopes=None))
    nobody = Connector(FakeSource(scopes=None, facts={"credential": "oauth", "state": "none"}))

    granted = {e["collection"]: e["granted"] for e in (await some.ask("health_catalog"))["collections"]}

    assert granted["oura.daily_sleep"] is True
    assert granted["oura.heartrate"] is False
    assert granted["oura.daily_stress"] is True
    for asked in (unknown, nobody):
        entries = (await asked.ask("health_catalog"))["collections"]
        assert all(entry["granted"] is None for entry in entries if entry["scope"] is not None)


async def test_one_collection_comes_in_full() -> None:
    answer = await Connector(FakeSource()).ask("health_catalog", collection="daily_stress")

    fields = {field["name"]: field for field in answer["fields"]}
    assert fields["stress_high"]["unit"] == "s"
    assert fields["stress_high"]["meaning"]
    assert set(fields["day_summary"]["values"]) >= {"restored", "normal", "stressful"}
    assert answer["notes"]


async def test_the_catalogue_asks_for_no_data() -> None:
    connector = Connector(FakeSource())

    await connector.ask("health_catalog")

    assert connector.source.asked == []


async def test_the_check_tells_facts_about_the_token_and_what_the_missing_scopes_unlock() -> None:
    facts: dict[str, object] = {
        "credential": "oauth",
        "state": "live",
        "scopes_granted": frozenset(ALL_SCOPES - {"heartrate"}),
        "scopes_missing": frozenset({"heartrate"}),
        "access_token_age_s": 120.4,
        "access_token_length": 45,
    }

    answer = await Connector(FakeSource(facts=facts)).ask("health_check")

    said = answer["sources"][0]
    assert (said["credential"], said["state"], said["access_token_age_s"]) == ("oauth", "live", 120)
    assert said["access_token_length"] == 45
    assert said["scopes_missing_unlock"] == {"heartrate": ["oura.heartrate"]}
    assert any("heartrate" in step and "/connections" in step for step in answer["what_to_do"])


async def test_the_check_lets_nothing_through_that_was_not_named() -> None:
    facts: dict[str, object] = {"credential": "oauth", "state": "live", "access_token": "SECRET-1", "debug": "SECRET-2"}

    answer = await Connector(FakeSource(facts=facts)).ask("health_check")

    assert "SECRET" not in str(answer)


async def test_the_check_sends_the_owner_to_sign_in_when_the_connection_ended() -> None:
    answer = await Connector(FakeSource(facts={"credential": "oauth", "state": "ended"})).ask("health_check")

    assert "https://vitals.example/connections" in answer["what_to_do"][0]


async def test_a_sound_connection_needs_nothing() -> None:
    facts: dict[str, object] = {"state": "live", "scopes_granted": ALL_SCOPES, "scopes_missing": frozenset()}

    answer = await Connector(FakeSource(facts=facts)).ask("health_check")

    assert answer["what_to_do"] == [
        "Nothing: the sign-in stands and covers everything. If a question is refused all the same, its text says why."
    ]
