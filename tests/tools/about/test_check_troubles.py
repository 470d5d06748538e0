"""`health_check` while something is wrong: it is named, and never called nothing. Through the whole connector."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.app_under_test import running_app
from tests.cases.asking import told
from tests.sources.bent import without_pauses

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("without_pauses")]
__all__ = ["without_pauses"]

ASKED = {"name": "health_query", "arguments": {"collection": "daily_sleep", "day": "2026-03-01"}}
NOTHING = "Nothing: the sign-in stands"


@pytest.mark.parametrize(
    ("path", "fault", "facts", "words"),
    [
        pytest.param("/oauth/*", {"status": 500}, {"renewal_failed": "unknown"}, "no clear end", id="renewal fails"),
        pytest.param(
            "/oauth/*",
            {"status": 401, "body": {"error": "invalid_client"}},
            {"renewal_failed": "misconfigured"},
            "OURA_CLIENT_SECRET",
            id="client id refused",
        ),
        pytest.param(
            "/v2/usercollection/daily_sleep",
            {"status": 403, "body": {}},
            {"refused_403": ["daily_sleep"]},
            "membership",
            id="membership ended",
        ),
        pytest.param("/v2/*", {"status": 503}, {}, "Oura has been failing for", id="the source is down"),
        pytest.param(
            "/v2/usercollection/daily_sleep",
            {"status": 503},
            {},
            r"Oura's daily_sleep has been failing for \d+ s \(last: HTTP 503\): nothing is wrong with the sign-in\.",
            id="one collection is broken",
        ),
    ],
)
async def test_what_failed_last_is_told_until_it_works_again(
    tmp_path: Path, path: str, fault: dict[str, Any], facts: dict[str, object], words: str
) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        sound = await told(app, "health_check")
        if path.startswith("/oauth"):
            vitals.simulator.expire_access_tokens()
        vitals.simulator.faults.add("status", path, times=None, **fault)
        for _ in range(3 if fault["status"] == 503 else 1):
            await app.call("tools/call", ASKED)
        if path == "/v2/*":
            await app.call("tools/call", {**ASKED, "arguments": {"collection": "workout", "day": "2026-03-01"}})

        bad = await told(app, "health_check")

    assert sound["what_to_do"][0].startswith(NOTHING)
    assert {name: bad["sources"][0].get(name) for name in facts} == facts
    assert any(re.search(words, step) for step in bad["what_to_do"])
    assert not any(NOTHING in step for step in bad["what_to_do"])


async def test_what_was_mended_is_told_no_more(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        vitals.simulator.expire_access_tokens()
        vitals.simulator.faults.add("status", "/oauth/*", times=None, status=401, body={"error": "invalid_client"})
        await app.call("tools/call", ASKED)
        vitals.simulator.faults.clear()
        vitals.clock.at += 400
        await told(app, "health_query", **ASKED["arguments"])  # type: ignore[arg-type]  # the table above
        vitals.simulator.faults.add("status", "/v2/*", status=403, body={})
        await app.call("tools/call", ASKED)
        await told(app, "health_query", **ASKED["arguments"])  # type: ignore[arg-type]  # the table above

        good = await told(app, "health_check")

    assert good["what_to_do"][0].startswith(NOTHING)
    assert not {"renewal_failed", "refused_403"} & good["sources"][0].keys()


async def test_an_ended_connection_has_no_token_that_expires_later(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        vitals.simulator.expire_access_tokens()
        vitals.simulator.faults.add("status", "/oauth/*", times=None, status=400, body={"error": "invalid_grant"})
        await app.call("tools/call", ASKED)

        said = (await told(app, "health_check"))["sources"][0]

    assert (said["state"], said["ended_why"]) == ("ended", "refused")
    assert not [name for name in said if name.startswith("access_token")]
