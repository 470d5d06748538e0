"""One question to a source on its way: its windows side by side, the pages of each, the records of all put together."""

import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import partial

import anyio
import anyio.abc
import anyio.to_thread

from app.errors import SourceBusy, SourceError, SourceUnreachable, VitalsError
from app.identity import Caller
from app.sources.base import Collection, DateRange, Digest, Fetched, Progress
from app.sources.days import Sieve
from app.sources.ending import Ending
from app.sources.hauls import MANY, Basket, Digested, Haul, Whole
from app.sources.pages import Pages
from app.sources.windows import Window, windows

_TIME_UP = "the time for one answer was up; ask for fewer days at a time"
_RESTART = "this server was restarted; ask again in a minute"
GIVE_UP_AFTER = 3  # failed windows of one question: the source is down, so stop asking it


@dataclass(frozen=True, slots=True)
class Terms:
    """How a source is asked."""

    pages: Pages  # the source's wire
    parallel: int = 8  # windows of one question asked side by side
    window_pages: int = 200  # pages after which a window is given up: a source that never ends would be asked for ever
    question_pages: int = 2000  # the same for a whole question; a year of heart rate is about 450
    question_s: float = 38  # the same in seconds; a call may leave less, see `tools.calling.ASK_S`
    synthetic: bool = False  # sample data with fixed days, see `days.Sieve`
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep  # until the time is up
    clock: Callable[[], float] = time.monotonic
    ending: Ending = field(default_factory=Ending)  # shared by all questions of this process


@dataclass(slots=True)
class _Tally:
    """What all windows of one question share."""

    pages: int = 0
    asked: int = 0  # counted before a page is asked for, so that windows side by side respect the limit together
    trimmed: int = 0
    failed: int = 0
    rate_limited: bool = False
    cycle: bool = False
    late: str | None = None  # why it had to end
    fatal: VitalsError | None = None
    first_error: SourceError | None = None


class Question:
    """One question on its way."""

    def __init__(
        self,
        terms: Terms,
        caller: Caller,
        collection: Collection,
        days: DateRange | None,
        fields: tuple[str, ...],
        latest: bool,
        told: Progress,
        digest: Digest | None = None,
        *,
        limit_s: float,
    ) -> None:
        self._terms = terms
        self._caller = caller
        self._collection = collection
        self._days = days
        self._fields = fields and tuple(sorted({*fields, *needed(collection)}))
        self._latest = latest
        self._told = told
        self._limit_s = limit_s
        self._tally = _Tally()
        sieve = Sieve(collection, days, synthetic=terms.synthetic)
        self._basket: Basket = Whole(sieve, frozenset(self._fields))
        if digest is not None and days is not None:
            self._basket = Digested(sieve, days, digest)

    async def answer(self) -> Fetched:
        """Ask window by window, several side by side, and put together what came until the time was up."""
        hauls: list[Haul] = []
        rest: Iterator[Window | None] = iter([None]) if self._days is None else windows(self._collection, self._days)
        if self._limit_s <= 0:
            raise _out_of_time(_TIME_UP)

        async def stop_after(wait: Callable[[], Awaitable[None]], why: str) -> None:
            await wait()
            self._tally.late = why
            workers.cancel_scope.cancel()

        async with anyio.create_task_group() as alarm:
            async with anyio.create_task_group() as workers:
                alarm.start_soon(stop_after, partial(self._terms.sleep, self._limit_s), _TIME_UP)
                alarm.start_soon(stop_after, self._terms.ending.over, _RESTART)
                for _ in range(self._terms.parallel):
                    workers.start_soon(self._work, rest, hauls, workers)
            alarm.cancel_scope.cancel()
        if self._tally.late is not None:
            _note_what_is_late(hauls, rest, self._tally.late)
        if sum(len(haul.kept) for haul in hauls) <= MANY:
            return self._joined(hauls)
        return await anyio.to_thread.run_sync(self._joined, hauls)

    async def _work(self, rest: Iterator[Window | None], hauls: list[Haul], workers: anyio.abc.TaskGroup) -> None:
        """Ask one window after another, as long as there are any."""
        for window in rest:
            haul = Haul(window)
            hauls.append(haul)  # in order, since windows are drawn in order
            await self._haul(haul)
            self._basket.done(haul)
            haul.over = True
            if self._tally.fatal is not None:
                workers.cancel_scope.cancel()
                return

    async def _haul(self, haul: Haul) -> None:
        """Fetch one window; what goes wrong with it is noted, so that the others go on."""
        try:
            await self._walk(haul)
        except SourceError as error:
            self._tally.failed += 1
            self._tally.first_error = self._tally.first_error or error
            self._tally.rate_limited |= isinstance(error, SourceBusy) and error.status == 429
            haul.failure = f"{error} {haul.arrived()}"
        except VitalsError as error:
            self._tally.fatal = self._tally.fatal or error

    async def _walk(self, haul: Haul) -> None:
        terms, tally = self._terms, self._tally
        params = terms.pages.question(self._collection, haul.window, fields=self._fields, latest=self._latest)
        cursor: str | None = None
        cursors: set[str] = set()
        for _ in range(terms.window_pages):
            if tally.failed >= GIVE_UP_AFTER:
                haul.failure = (
                    f"Not asked any further, since {GIVE_UP_AFTER} other windows had failed. {haul.arrived()}"
                )
                return
            if tally.asked >= terms.question_pages:
                break
            tally.asked += 1
            page = await terms.pages.page(self._caller, self._collection, params, next_token=cursor)
            trimmed = await self._basket.take(page.records, haul)
            tally.trimmed += trimmed
            tally.rate_limited |= page.rate_limited
            tally.pages += 1  # after the last wait before it is told, so that no number is told twice
            await self._told(tally.pages, None, f"{tally.pages} pages of {self._collection.qualified}")
            if page.next_token is None:
                return
            if page.next_token in cursors:
                tally.cycle = True
                haul.failure = f"The source repeated a page cursor, so no further page was asked for. {haul.arrived()}"
                return
            cursors.add(cursor := page.next_token)
        advice = "ask for a shorter range, but if it was a single day, it is the source's fault: stop and say so"
        haul.failure = f"Stopped at the limit of pages for one question; {advice}. {haul.arrived()}"

    def _joined(self, hauls: list[Haul]) -> Fetched:
        tally = self._tally
        if tally.fatal is not None:
            raise tally.fatal
        if tally.pages == 0 and tally.first_error is not None:
            raise tally.first_error
        if tally.pages == 0 and tally.late is not None:
            raise _out_of_time(tally.late)
        ordered = self._basket.records(hauls)
        if self._days is not None or self._latest:  # without days the source's own order says something: rings by age
            ordered.sort(key=lambda kept: kept.order)
        if self._latest:
            ordered = ordered[-1:]
        failures = _failures(hauls)
        return Fetched(
            records=tuple(kept.record for kept in ordered),
            pages=tally.pages,
            complete=not failures,
            trimmed=tally.trimmed,
            pagination_cycle=tally.cycle,
            rate_limited=tally.rate_limited,
            failures=failures,
            whole_until=self._whole_until(hauls),
        )

    def _whole_until(self, hauls: list[Haul]) -> date | None:
        """Return the last day up to which everything arrived; None if everything did, or if there are no days.

        Samples come oldest first, so of a window that broke off the days before its newest sample are whole. Nothing is
        known about the order of other records.
        """
        for haul in hauls:
            if haul.failure is None or haul.window is None or self._days is None:
                continue
            first, newest = haul.window.first, haul.newest_s if self._collection.dense else None
            reached = datetime.fromtimestamp(newest, self._days.zone).date() if newest is not None else first
            return max(first, min(reached, haul.window.last)) - timedelta(days=1)
        return None


def needed(collection: Collection) -> frozenset[str]:
    """Return the top-level fields that a record must keep so that it can be told apart, dated and ordered."""
    names = {"id", *collection.day_fields, *collection.stamp_fields, collection.end_day_field}
    return frozenset(name for name in names if name is not None) & {f.name.split(".", 1)[0] for f in collection.fields}


def _out_of_time(why: str) -> SourceError:
    if why == _RESTART:
        return SourceUnreachable("This server is being restarted, and nothing had come yet. Ask again in a minute.")
    return SourceUnreachable(
        "The time for one answer was up before anything came. Ask for fewer days, or again in a minute."
    )


def _note_what_is_late(hauls: list[Haul], rest: Iterator[Window | None], why: str) -> None:
    """Note the windows that were not whole when the time was up, and those that nobody had come to ask for."""
    hauls += [Haul(window) for window in rest]
    for haul in hauls:
        if not haul.over:
            haul.failure = f"Not here when {why}. {haul.arrived()}"


def _failures(hauls: list[Haul]) -> tuple[str, ...]:
    """Say what is missing, neighbouring windows that failed alike in one sentence."""
    found: list[tuple[str, Window | None, Window | None]] = []
    for haul in hauls:
        if haul.failure is None:
            continue
        if found and found[-1][0] == haul.failure:
            found[-1] = (haul.failure, found[-1][1], haul.window)
        else:
            found.append((haul.failure, haul.window, haul.window))
    return tuple(f"{_dates(first, last)}{failure}" for failure, first, last in found)


def _dates(first: Window | None, last: Window | None) -> str:
    if first is None or last is None:
        return ""
    return f"{first.first}: " if first.first == last.last else f"{first.first} to {last.last}: "
