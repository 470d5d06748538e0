"""What a model gets when Oura falters: what retries mended is whole, what they did not is named and gone on from."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import anyio
import httpx2
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from app.simulator import Person, Simulator
from tests.tools.fakes import Connector
from tests.tools.test_against_simulator import NOW, connected

pytestmark = pytest.mark.anyio

HEART = "/v2/usercollection/heartrate"
DAYS = {"start": "2026-03-01", "end": "2026-03-12"}  # three windows of four days
HOURLY = {"collection": "heartrate", "resolution": "hour", **DAYS}
_LONGEST_WAIT_S = 30.0  # what is longer is the time for a whole question, which is never up here


@dataclass
class Waits:
    """Time that passes only where somebody waits."""

    at: float = 0.0
    taken: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        if seconds > _LONGEST_WAIT_S:
            await anyio.sleep_forever()
        self.taken.append(seconds)
        self.at += seconds
        await anyio.lowlevel.checkpoint()

    def clock(self) -> float:
        return self.at


@dataclass
class OneWindow:
    """An Oura that answers one window with an error, while armed."""

    inner: ASGIApp
    path: str
    start: str
    status: int
    headers: tuple[tuple[bytes, bytes], ...] = ()
    armed: bool = True
    refused: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        query = parse_qsl(scope["query_string"].decode())
        begins = [value for name, value in query if name in ("start_date", "start_datetime")]
        if self.armed and scope["path"] == self.path and begins and begins[0].startswith(self.start):
            self.refused += 1
            await send({"type": "http.response.start", "status": self.status, "headers": list(self.headers)})
            await send({"type": "http.response.body", "body": b'{"detail":"no"}'})
            return
        await self.inner(scope, receive, send)


@asynccontextmanager
async def asking(simulator: Simulator, folder: Path, waits: Waits) -> AsyncIterator[Connector]:
    simulator.faults.cut_error = lambda: httpx2.ReadError("cut")
    async with connected(simulator, folder, sleep=waits.sleep, clock=waits.clock) as asked:
        yield asked


def life() -> Simulator:
    return Simulator(now=NOW.timestamp, person=Person(odd=False))


async def test_a_rate_limit_that_passes_is_waited_out_and_said(tmp_path: Path) -> None:
    simulator, waits = life(), Waits()
    simulator.faults.add("status", HEART, status=429, seconds=3)
    async with asking(simulator, tmp_path, waits) as asked:
        answer = await asked.ask("health_query", **HOURLY)

    assert waits.taken == [3.0]
    assert (answer["complete"], answer["rate_limited"]) == (True, True)
    assert answer["samples"] == len(simulator.truth("heartrate", **DAYS, zone="Europe/Berlin"))
    assert "failures" not in answer


async def test_a_rate_limit_that_nobody_waits_out_says_when_to_ask_again_and_that_nothing_is_missing(
    tmp_path: Path,
) -> None:
    simulator, waits = life(), Waits()
    simulator.faults.add("status", "/v2/usercollection/*", times=None, status=429, seconds=120)
    async with asking(simulator, tmp_path, waits) as asked:
        said = [await asked.refused("health_query", collection="daily_sleep", **DAYS) for _ in range(2)]
        asked_of_oura = simulator.counts.data["/v2/usercollection/daily_sleep"]
        waits.at += 121
        simulator.faults.clear()
        answer = await asked.ask("health_query", collection="daily_sleep", **DAYS)

    assert waits.taken == []
    assert asked_of_oura == 1  # whoever asks before the time is told without a request
    assert all("120 s" in text and "not missing data" in text for text in said)
    assert (answer["n"], answer["complete"]) == (12, True)
    assert "rate_limited" not in answer


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"kind": "status", "status": 500}, id="500"),
        pytest.param({"kind": "status", "status": 503}, id="503"),
        pytest.param({"kind": "html", "status": 502}, id="a web page"),
        pytest.param({"kind": "cut"}, id="cut"),
        pytest.param({"kind": "cut_before"}, id="no answer"),
    ],
)
async def test_a_failure_that_passes_leaves_no_trace_in_the_answer(tmp_path: Path, fault: dict[str, Any]) -> None:
    simulator, waits = life(), Waits()
    async with asking(simulator, tmp_path, waits) as asked:
        before = await asked.ask("health_query", **HOURLY)
        simulator.faults.add(path=HEART, **fault)
        after = await asked.ask("health_query", **HOURLY)

    assert waits.taken == [0.5]
    assert after == before
    assert after["complete"] is True


@pytest.mark.parametrize(
    ("status", "headers", "tries"),
    [
        pytest.param(500, (), 2, id="500"),
        pytest.param(429, ((b"retry-after", b"20"),), 1, id="429 for long"),
        pytest.param(429, ((b"retry-after", b"4"),), 3, id="429 again and again"),
    ],
)
@pytest.mark.parametrize("resolution", ["hour", "raw"])
async def test_a_window_that_fails_for_good_is_named_and_gone_on_from(
    tmp_path: Path, status: int, headers: tuple[tuple[bytes, bytes], ...], tries: int, resolution: str
) -> None:
    simulator, waits = life(), Waits()
    simulator.app = failing = OneWindow(simulator.app, HEART, "2026-03-05", status, headers)
    question = {**HOURLY, "resolution": resolution, "format": "csv"}
    async with asking(simulator, tmp_path, waits) as asked:
        asked.cap = 2_000_000
        first = await asked.ask("health_query", **question)
        failing.armed = False
        waits.at += 60
        since = date.fromisoformat(first["continue_from"]) + timedelta(days=1)
        rest = await asked.ask("health_query", **{**question, "start": str(since)})

    assert failing.refused == tries
    assert (first["complete"], first["truncated"]) == (False, True)
    assert first.get("rate_limited", False) == (status == 429)
    assert f"HTTP {status}" in " ".join(first["failures"])
    assert "2026-03-05" in " ".join(first["failures"])
    assert f"ask again with start={since}" in " ".join(first["notes"]).lower()
    assert ("stop and say so" in " ".join(first["notes"])) == (since == date(2026, 3, 1))  # else it leads onward
    assert "days_without_record" not in first  # what did not arrive is not missing
    assert simulator.counts.data["/v2/usercollection/daily_activity"] == 0  # nor looked into
    assert rest["complete"] is True
    size = "n" if resolution == "raw" else "samples"
    # A 429 that is not waited out holds up every window of the process, so windows beside it may break off too.
    assert first["continue_from"] == "2026-03-04" or (status, resolution) == (429, "hour")
    kept = 0 if since == date(2026, 3, 1) else first[size]
    assert kept == len(simulator.truth("heartrate", "2026-03-01", first["continue_from"], "Europe/Berlin"))
    assert kept + rest[size] == len(simulator.truth("heartrate", **DAYS, zone="Europe/Berlin"))


async def test_documents_of_a_window_that_fails_for_good_are_delivered_up_to_it(tmp_path: Path) -> None:
    simulator, waits = life(), Waits()
    path = "/v2/usercollection/daily_activity"  # of which a year is one window
    simulator.app = OneWindow(simulator.app, path, "2025-12-31", 500)  # the second, two days of margin before it
    span = {"start": "2025-01-01", "end": "2026-06-30"}
    async with asking(simulator, tmp_path, waits) as asked:
        first = await asked.ask("health_query", collection="daily_activity", fields="steps", **span)

    assert (first["complete"], first["truncated"], first["continue_from"]) == (False, True, "2026-01-01")
    assert first["failures"] == [failure for failure in first["failures"] if failure.startswith("2026-01-02 to")]
    assert [record["day"] for record in first["data"]] == [
        record["day"] for record in simulator.truth("daily_activity", "2025-01-01", "2026-01-01")
    ]


async def test_where_nothing_arrives_it_is_a_failure_and_no_empty_answer(tmp_path: Path) -> None:
    simulator, waits = life(), Waits()
    simulator.faults.add("status", "/v2/usercollection/*", times=None, status=503)
    async with asking(simulator, tmp_path, waits) as asked:
        said = await asked.refused("health_query", **HOURLY)
        today = await asked.refused("health_today")

    assert "503" in said
    assert "again" in said
    assert "isError" not in today
    assert "again" in today


@pytest.mark.parametrize("name", ["heartrate", "daily_sleep"])
async def test_an_answer_that_sends_a_model_back_to_its_own_question_says_when_to_stop(
    tmp_path: Path, name: str
) -> None:
    simulator = life()
    simulator.faults.add("repeat_cursor", f"/v2/usercollection/{name}", times=None)
    async with asking(simulator, tmp_path, Waits()) as asked:
        answer = await asked.ask("health_query", collection=name, **DAYS)
        (onward,) = [note for note in answer["notes"] if "sk again with" in note]
        found = re.search(r"start=(?P<start>[0-9-]+), end=(?P<end>[0-9-]+)", onward)
        assert found is not None
        again = await asked.ask("health_query", collection=name, **found.groupdict())

    assert answer["complete"] is False
    assert found.groupdict() == DAYS  # so whoever did no more than what it says would go round for ever
    assert again == answer
    assert "take that answer instead" in onward
    assert onward.endswith("If it comes back the same, it is the source's fault: stop and say so.")
