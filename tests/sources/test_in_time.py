"""A question ends in time: what has arrived by then is delivered, as a part, with what is missing."""

import math
from datetime import UTC, datetime

import anyio
import pytest

from app.errors import ReconnectRequired, SourceUnreachable
from app.sources.base import Fetched
from app.sources.ending import LAST_S, Ending
from app.sources.engine import Engine
from app.sources.oura.catalog import COLLECTIONS
from app.sources.question import Terms
from app.sources.registry import Sources
from app.sources.timed import within
from tests.sources.fakes import ADA, FakePages, days, samples
from tests.tools.fakes import FakeSource

pytestmark = pytest.mark.anyio
HEART, SLEEP = COLLECTIONS["heartrate"], COLLECTIONS["daily_sleep"]


class Alarm:
    """Sleeps until the time is said to be up."""

    def __init__(self) -> None:
        self.seconds = math.nan
        self.up = anyio.Event()

    async def __call__(self, seconds: float) -> None:
        self.seconds = seconds
        await self.up.wait()


class SlowAfter(FakePages):
    """Answers so many requests and none after them, until it is let go."""

    answered: int = 0
    gone_quiet: anyio.Event

    async def page(self, *args: object, **more: object):  # type: ignore[no-untyped-def]  # as its base
        page = await super().page(*args, **more)  # type: ignore[arg-type]
        if len(self.asked) > self.answered:
            self.gone_quiet.set()
            await anyio.sleep_forever()
        return page


async def stopped(pages: SlowAfter, alarm: Alarm, start: str, end: str, *, parallel: int = 1) -> Fetched:
    """Ask, and let the time be up when the source has gone quiet."""
    pages.gone_quiet = anyio.Event()
    engine = Engine(Terms(pages, parallel=parallel, sleep=alarm, clock=lambda: 0.0))
    found: list[Fetched] = []

    async def ask() -> None:
        found.append(await engine.fetch(ADA, HEART, days(start, end)))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await pages.gone_quiet.wait()
            await anyio.wait_all_tasks_blocked()
            alarm.up.set()
    return found[0]


async def test_what_came_before_the_time_was_up_is_delivered_and_the_rest_named() -> None:
    alarm = Alarm()
    pages = SlowAfter(samples(datetime(2026, 3, 1, tzinfo=UTC), 20 * 24, every_s=3600))
    pages.answered = 2  # windows of four days

    fetched = await stopped(pages, alarm, "2026-03-02", "2026-03-20")

    assert alarm.seconds == 38
    assert fetched.complete is False
    assert len(fetched.records) == 8 * 24
    assert str(fetched.whole_until) == "2026-03-09"
    assert len(fetched.failures) == 1  # windows that were not asked for are said in one sentence
    assert fetched.failures[0].startswith("2026-03-10 to 2026-03-20: Not here when the time for one answer was up")


async def test_pages_of_a_window_that_came_before_are_a_part_too() -> None:
    pages = SlowAfter(samples(datetime(2026, 3, 1, 22, tzinfo=UTC), 48, every_s=3600), page_size=36)
    pages.answered = 1

    fetched = await stopped(pages, Alarm(), "2026-03-02", "2026-03-03")

    assert len(fetched.records) == 36
    assert str(fetched.whole_until) == "2026-03-02"
    assert "36 of its records came" in fetched.failures[0]


async def test_where_nothing_came_at_all_it_is_an_error_that_says_so() -> None:
    pages = SlowAfter([])

    with pytest.raises(ExceptionGroup) as caught:
        await stopped(pages, Alarm(), "2026-03-02", "2026-03-03")

    assert caught.group_contains(SourceUnreachable, match="time for one answer was up")


async def test_everything_that_came_in_time_is_complete() -> None:
    alarm = Alarm()
    engine = Engine(Terms(FakePages(samples(datetime(2026, 3, 1, tzinfo=UTC), 24)), sleep=alarm, clock=lambda: 0.0))

    with anyio.fail_after(5):
        fetched = await engine.fetch(ADA, HEART, days("2026-03-01", "2026-03-20"), within_s=20)

    assert alarm.seconds == 20
    assert fetched.complete


async def test_without_any_time_left_nothing_is_sent() -> None:
    pages = FakePages([])

    with pytest.raises(SourceUnreachable, match="time"):
        await Engine(Terms(pages)).fetch(ADA, SLEEP, days("2026-03-01", "2026-03-02"), within_s=0)
    assert pages.asked == []


async def test_whoever_hangs_up_leaves_no_alarm_behind() -> None:
    alarm, pages = Alarm(), FakePages([], gate=anyio.Event())
    engine = Engine(Terms(pages, sleep=alarm, clock=lambda: 0.0))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(engine.fetch, ADA, SLEEP, days("2026-03-01", "2026-03-02"))
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()

    assert pages.at_once == 0


async def test_all_questions_of_one_call_share_its_time() -> None:
    at = 100.0
    given: list[float | None] = []

    class Watched(FakeSource):
        async def fetch(self, *args: object, **more: object) -> Fetched:
            given.append(more["within_s"])  # type: ignore[arg-type]
            return Fetched(records=(), pages=1, complete=True)

    (source,) = within(Sources([Watched()]), 30, clock=lambda: at)
    for _ in range(3):
        await source.fetch(ADA, SLEEP, days("2026-03-01", "2026-03-02"))
        at += 12
    await source.fetch(ADA, SLEEP, None, within_s=1000)

    assert given == [30, 18, 6, -6]


async def test_a_process_that_is_told_to_stop_answers_with_what_has_come_and_says_why() -> None:
    waited, ready = Alarm(), Alarm()
    ending = Ending(sleep=ready, clock=lambda: 100.0)
    pages = SlowAfter(samples(datetime(2026, 3, 1, tzinfo=UTC), 20 * 24, every_s=3600))
    pages.answered, pages.gone_quiet = 2, anyio.Event()
    engine = Engine(Terms(pages, parallel=1, sleep=waited, ending=ending))
    found: list[Fetched] = []

    async def ask() -> None:
        found.append(await engine.fetch(ADA, HEART, days("2026-03-02", "2026-03-20")))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await pages.gone_quiet.wait()
            ending.begin()
            await anyio.wait_all_tasks_blocked()
            assert ready.seconds == LAST_S
            assert found == []
            ready.up.set()

    assert found[0].complete is False
    assert len(found[0].records) == 8 * 24
    assert "this server was restarted; ask again in a minute" in found[0].failures[0]


async def test_a_question_that_comes_after_the_stop_has_only_what_is_left_of_the_time() -> None:
    clock = [100.0]
    ready = Alarm()
    ending = Ending(sleep=ready, clock=lambda: clock[0])
    ending.begin()
    ending.begin()  # said again by each connection
    clock[0] += LAST_S - 1
    pages = SlowAfter([])
    pages.gone_quiet = anyio.Event()
    engine = Engine(Terms(pages, sleep=Alarm(), ending=ending))
    ready.up.set()

    with anyio.fail_after(5), pytest.raises(SourceUnreachable, match="being restarted"):
        await engine.fetch(ADA, HEART, days("2026-03-02", "2026-03-20"))

    assert ready.seconds == 1


class EndedOnce(FakeSource):
    """Tells in full only to whoever asks first."""

    told = False

    async def fetch(self, *_args: object, **_more: object) -> Fetched:
        first, self.told = not self.told, True
        raise ReconnectRequired("It was interrupted." if first else "It has ended.")


async def test_what_is_told_once_of_an_ended_sign_in_is_told_to_all_questions_of_the_call() -> None:
    (seen,) = within(Sources([EndedOnce()]), 10)

    for _ in range(2):
        with pytest.raises(ReconnectRequired, match="interrupted"):
            await seen.fetch(ADA, SLEEP, days("2026-03-02", "2026-03-03"))
