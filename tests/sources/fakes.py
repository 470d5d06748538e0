"""A source in memory that behaves: it filters by what is asked, serves pages, and fails where it is told to."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import anyio

from app.identity import Caller
from app.sources.base import Collection, DateRange, Record
from app.sources.days import day_in, instant_in
from app.sources.oura import wire
from app.sources.pages import Page
from app.sources.windows import Window

ADA = Caller(owner="ada", grant="g1", client_id="app", scopes=frozenset({"health:read"}))
HELSINKI = ZoneInfo("Europe/Helsinki")


def days(start: str, end: str, zone: ZoneInfo = HELSINKI) -> DateRange:
    return DateRange(date.fromisoformat(start), date.fromisoformat(end), zone)


def samples(first: datetime, count: int, *, every_s: int = 60) -> list[Record]:
    stamps = (first.astimezone(UTC) + timedelta(seconds=n * every_s) for n in range(count))
    return [{"timestamp": at.isoformat(), "bpm": 60 + n % 9} for n, at in enumerate(stamps)]


@dataclass
class Asked:
    """One request as the source saw it."""

    params: Mapping[str, str]
    next_token: str | None


@dataclass
class FakePages:
    """Holds records; its documents' filter is as odd as Oura's: by `day`, the end left out."""

    records: list[Record]
    page_size: int = 1000
    both_ends: bool = False  # samples at exactly the end of a window are given too
    fault: Callable[[Asked, int], Exception | None] = lambda asked, n: None  # by request and its number
    repeat_cursor: bool = False
    endless: bool = False
    gate: anyio.Event | None = None  # answers wait for it
    asked: list[Asked] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    between: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint

    def question(
        self, collection: Collection, window: Window | None, *, fields: tuple[str, ...], latest: bool
    ) -> Mapping[str, str]:
        return wire.question(collection, window, fields=fields, latest=latest)

    async def page(
        self, caller: Caller, collection: Collection, params: Mapping[str, str], *, next_token: str | None = None
    ) -> Page:
        asked = Asked(params, next_token)
        self.asked.append(asked)
        number = len(self.asked)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await self.between()
            if self.gate is not None:
                await self.gate.wait()
            if (error := self.fault(asked, number)) is not None:
                raise error
        finally:
            self.at_once -= 1
        found = [record for record in self.records if self._matches(record, params)]
        at = int(next_token or 0)
        rows = tuple(dict(record) for record in found[at : at + self.page_size])
        cursor = str(at + self.page_size) if at + self.page_size < len(found) else None
        if self.repeat_cursor and cursor is not None:
            cursor = str(self.page_size)
        if self.endless:
            cursor = str(at + 1)
        return Page(rows, cursor)

    def _matches(self, record: Record, params: Mapping[str, str]) -> bool:
        if "start_datetime" in params:
            stamp = instant_in(record["timestamp"])
            start, end = instant_in(params["start_datetime"]), instant_in(params["end_datetime"])
            assert stamp is not None
            assert start is not None
            assert end is not None
            return start <= stamp < end or (self.both_ends and stamp == end)
        if "start_date" in params:
            day = day_in(record.get("day") or record.get("start_day"))
            return day is None or date.fromisoformat(params["start_date"]) <= day < date.fromisoformat(
                params["end_date"]
            )
        return True
