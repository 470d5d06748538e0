"""A source that is down is spared, and a call about it still says what there is."""

from pathlib import Path

import httpx2
import pytest

from app.sources.oura.breaker import FAILURES
from app.sources.question import Terms
from tests.app_under_test import running_app
from tests.cases.asking import refused, told
from tests.sources.bent import CANARY, bent_app, without_pauses
from tests.sources.fakes import FakePages

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("without_pauses")]
__all__ = ["without_pauses"]


async def test_a_token_endpoint_that_is_down_is_not_asked_anew_by_every_call(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        vitals.simulator.expire_access_tokens()
        vitals.simulator.faults.add("html", "/oauth/token", status=503, times=None)
        for _ in range(10):
            said = await refused(app, "health_query", collection="daily_sleep", day="2026-03-08")
        requests = [seen for seen in vitals.simulator.log if seen.path == "/oauth/token"]

    assert "could not be renewed (attempt 2). It is kept. The next attempt is possible in" in said
    assert len(requests) == 3  # the sign-in, the first attempt, and the one that shows where the owner stands


async def test_endless_pages_stop_at_a_limit_and_say_so(tmp_path: Path) -> None:
    pages = cursors = 0

    async def another(request: httpx2.Request) -> httpx2.Response:
        nonlocal pages, cursors
        cursors += 1
        pages += request.url.path.endswith("/daily_sleep")
        return httpx2.Response(200, json={"data": [], "next_token": f"{CANARY}-{cursors}"})

    async with bent_app(tmp_path) as (_, app, bent):
        bent.act = another
        answer = await told(app, "health_query", collection="daily_sleep", day="2026-03-08")

    assert pages == Terms(FakePages([])).window_pages
    assert answer["complete"] is False
    assert "limit of pages" in answer["failures"][0]
    assert CANARY not in str(answer)


async def test_one_question_that_finds_oura_down_spares_it_the_next_ones(tmp_path: Path) -> None:
    asked = 0

    async def failing(request: httpx2.Request) -> httpx2.Response:
        nonlocal asked
        asked += 1
        return httpx2.Response(502, json={})

    async with bent_app(tmp_path) as (_, app, bent):
        bent.act = failing
        for _ in range(FAILURES):
            await refused(app, "health_query", collection="sleep", day="2026-03-08")
        sent = asked
        said = [await refused(app, "health_query", collection="sleep", day="2026-03-08")]
        assert asked == sent
        await refused(app, "health_query", collection="workout", day="2026-03-08")  # so it is not `sleep` alone
        sent = asked
        said += [
            await refused(app, "health_query", collection=name, day="2026-03-08")
            for name in ("sleep", "workout", "heartrate", "daily_stress")
        ]
        said.append(await refused(app, "health_today"))

    assert asked == sent
    assert "Oura's sleep has been failing for" in said[0]
    assert all("Oura has been failing for" in text and "HTTP 502" in text for text in said[1:])


async def test_a_day_that_holds_what_one_collection_could_not_bring_still_has_the_others(tmp_path: Path) -> None:
    async def one_is_down(request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/daily_readiness"):
            return httpx2.Response(502, json={})
        return await bent.straight.handle_async_request(request)

    async with bent_app(tmp_path) as (_, app, bent):
        bent.act = one_is_down
        answers = [await told(app, "health_today") for _ in range(3)]

    for answer in answers:
        assert answer["complete"] is False
        assert answer["sleep_score"]
        assert "HTTP 502" in str(answer)
