"""What the owner ticks at Oura for one app is for that app, though all apps share one sign-in there."""

from pathlib import Path

import pytest

from app.demo.walk import App
from app.simulator import SCOPES
from tests.app_under_test import Vitals, running_app
from tests.cases.asking import refused, told

pytestmark = pytest.mark.anyio

EVERYTHING = frozenset(SCOPES)
HEART = {"collection": "heartrate", "day": "2026-03-09", "resolution": "hour"}


async def approved(vitals: Vitals, ticked: frozenset[str]) -> App:
    """An app for which the owner ticked these at Oura."""
    vitals.simulator.client.scopes = ticked
    return await vitals.connected_app()


async def test_an_app_does_not_get_what_was_ticked_for_a_later_one(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        narrow = await approved(vitals, EVERYTHING - {"heartrate"})
        wide = await approved(vitals, EVERYTHING)
        asked_before = len(vitals.simulator.log)

        said = await refused(narrow, "health_query", **HEART)
        await narrow.token(grant_type="refresh_token", refresh_token=narrow.refresh_token)
        said_later = await refused(narrow, "health_query", **HEART)

        assert said == said_later
        assert "did not tick the scope `heartrate` at Oura when approving this app" in said
        assert len(vitals.simulator.log) == asked_before
        assert (await told(wide, "health_query", **HEART))["n"] > 0
        assert (await told(narrow, "health_query", collection="daily_sleep"))["n"] > 0


async def test_the_check_tells_an_app_what_was_kept_from_it_alone(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        narrow = await approved(vitals, EVERYTHING - {"heartrate"})
        wide = await approved(vitals, EVERYTHING)

        (source,) = (await told(narrow, "health_check"))["sources"]
        advice = (await told(narrow, "health_check"))["what_to_do"]
        (all_of_it,) = (await told(wide, "health_check"))["sources"]

    assert source["scopes_not_for_this_app"] == ["heartrate"]
    assert "heartrate" not in source["scopes_granted"]
    assert any("connect this app again with these ticked" in line for line in advice)
    assert "scopes_not_for_this_app" not in all_of_it
    assert "heartrate" in all_of_it["scopes_granted"]


async def test_what_is_left_out_for_a_later_app_is_gone_for_all_and_each_is_told_how_to_get_it_back(
    tmp_path: Path,
) -> None:
    async with running_app(tmp_path) as vitals:
        first = await approved(vitals, EVERYTHING)
        await approved(vitals, EVERYTHING - {"heartrate"})

        said = await refused(first, "health_query", **HEART)

    assert "the scope `heartrate` is missing. Sign in at Oura again with that scope ticked" in said


async def test_where_oura_does_not_say_what_was_ticked_an_app_has_no_limit_of_its_own(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        oura = vitals.simulator.client
        oura.scope_in_token = oura.scope_in_refresh = oura.scope_in_callback = False
        app = await approved(vitals, EVERYTHING)

        assert (await told(app, "health_query", **HEART))["n"] > 0


async def test_of_the_profile_an_app_gets_what_was_ticked_for_it_and_not_what_the_sign_in_opens(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        narrow = await approved(vitals, EVERYTHING - {"personal"})
        wide = await approved(vitals, EVERYTHING)

        (little,) = (await told(narrow, "health_query", collection="personal_info"))["data"]
        (all_of_it,) = (await told(wide, "health_query", collection="personal_info"))["data"]

    assert None not in all_of_it.values()
    assert {name for name, value in little.items() if value is not None} == {"id", "email"}
    assert little.keys() == all_of_it.keys()
