"""CASES.md, section D, through the whole connector: what a refusal and sample data say of themselves."""

from datetime import timedelta
from pathlib import Path

import pytest

from app.simulator import SCOPES, Simulator
from app.sources.oura.catalog import COLLECTIONS
from tests.app_under_test import Clock, running_app
from tests.cases.asking import asking, journey, refused, told
from tests.cases.oura_records import DATED, DENSE, NINE, document, sample
from tests.cases.shelf import shelf

pytestmark = pytest.mark.anyio


async def test_d29_impossible_dates_unknown_fields_and_latest_with_dates_are_never_passed_over(tmp_path: Path) -> None:
    async with asking(tmp_path, at=NINE) as (app, held):
        for name in DATED:
            held.records[name] = [document(name, "2026-03-10", score=70)]
            for argument in ("start", "end", "day"):
                said = await refused(app, "health_query", **{"collection": name, argument: "2026-02-30"})
                assert "2026-02-30" in said
                assert argument in said
            both = await refused(app, "health_query", collection=name, latest=True, start="2026-03-01")
            assert "latest" in both
            answer = await told(app, "health_query", collection=name, day="2026-03-10", fields=["scoer"])
            assert answer["ignored_fields"] == ["scoer"]
            assert answer["n"] == 1
        assert not [query for _, query in held.asked if "02-30" in str(query)]
        for name in DENSE:
            held.records[name] = [sample(NINE - timedelta(hours=1))]
            assert "latest" in await refused(app, "health_query", collection=name, latest=True, day="2026-03-09")
            answer = await told(app, "health_query", collection=name, fields="scoer", resolution="raw")
            assert answer["ignored_fields"] == ["scoer"]


async def test_d32_in_sandbox_mode_every_answer_of_every_tool_is_synthetic(tmp_path: Path) -> None:
    clock = Clock(NINE.timestamp())
    async with running_app(tmp_path, clock=clock, OURA_SANDBOX="1") as vitals:
        walk = await journey(vitals, "approve")
        await walk.tokens()
        app = walk.app
        for name in COLLECTIONS:
            assert (await told(app, "health_catalog", collection=name))["synthetic"] is True
            if name == "personal_info":
                assert "sample data" in await refused(app, "health_query", collection=name)
                continue
            answer = await told(app, "health_query", collection=name)
            assert answer["synthetic"] is True, name
            table = await told(app, "health_query", collection=name, format="csv")
            assert table["synthetic"] is True, name
        for tool in ("health_today", "health_catalog", "health_check"):
            assert (await told(app, tool))["synthetic"] is True, tool


async def test_d33_without_a_membership_the_answer_says_membership_and_not_sign_in(tmp_path: Path) -> None:
    clock = Clock(NINE.timestamp())
    simulator = Simulator(now=clock)
    held = shelf(simulator)
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        app = await vitals.connected_app()
        for name in COLLECTIONS:
            held.answers[name] = (403, "application/json", b'{"detail":"Forbidden"}')
            said = await refused(app, "health_query", collection=name)

            assert "membership" in said, name
            assert "connections" not in said
            assert "ticked" not in said
            assert "gain does not change this" in said
        assert "membership" in await refused(app, "health_today")


async def test_d33_a_403_that_names_a_scope_is_about_the_scope(tmp_path: Path) -> None:
    async with asking(tmp_path, at=NINE) as (app, held):
        for name, collection in COLLECTIONS.items():
            if collection.scope is None:
                continue
            text = f'{{"detail":"Token is not authorized access {collection.scope} scope."}}'
            held.answers[name] = (403, "application/json", text.encode())
            said = await refused(app, "health_query", collection=name)

            assert f"`{collection.scope}`" in said, name
            assert "membership" not in said
            assert "/connections" in said


async def test_d33_where_oura_never_said_what_it_granted_both_reasons_are_named(tmp_path: Path) -> None:
    clock = Clock(NINE.timestamp())
    simulator = Simulator(now=clock)
    simulator.client.scope_in_token = simulator.client.scope_in_callback = False
    held = shelf(simulator)
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        app = await vitals.connected_app()
        held.answers["heartrate"] = (403, "application/json", b'{"detail":"Forbidden"}')
        said = await refused(app, "health_query", collection="heartrate")

    assert said.index("membership") < said.index("`heartrate`")
    assert "does not change this" not in said
    assert set(SCOPES) > {"heartrate"}
