"""Answers of collections: pages with their cursors, and the trimming that `fields` does."""

import base64
import binascii
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

import orjson

from app.simulator.archive import Archive
from app.simulator.filters import BadParameter, BadQuery, Rules, date_range, instant_range, select
from app.simulator.world import DENSE, Record

_NO_FIELDS = frozenset({"daily_resilience", "enhanced_tag", "tag"})  # "does not support field selection yet"
_ALWAYS = ("id", "day")
_ALWAYS_DENSE = ("timestamp",)
_DAY = timedelta(days=1)
_LOOK_BACK_DAYS = 60  # for `latest`, after the ring was not worn


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where the next page begins, and of which question. The nonce makes endless pages differ."""

    collection: str
    start: str
    end: str
    offset: int
    nonce: int = 0

    def seal(self) -> str:
        """Write it as the opaque text clients see."""
        plain = orjson.dumps([self.collection, self.start, self.end, self.offset, self.nonce])
        return base64.urlsafe_b64encode(plain).decode().rstrip("=")


def unseal(text: str, collection: str) -> Cursor:
    """Read a cursor.

    Raises:
        BadQuery: It was never given out, or for another collection.
    """
    try:
        plain = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        name, start, end, offset, nonce = orjson.loads(plain)
        cursor = Cursor(str(name), str(start), str(end), int(offset), int(nonce))
    except (binascii.Error, ValueError, TypeError):
        cursor = None
    if cursor is None or cursor.collection != collection or cursor.offset < 0:
        raise BadQuery("Invalid next_token.")
    return cursor


class Pages:
    """Answers list requests."""

    def __init__(self, archive: Archive, rules: Rules) -> None:
        self._archive = archive
        self.rules = rules

    def answer(self, collection: str, params: Mapping[str, str], now_s: float) -> Record:
        """Return the envelope for a collection's list route.

        Raises:
            BadParameter: 422.
            BadQuery: 400.
        """
        cursor = unseal(params["next_token"], collection) if params.get("next_token") else None
        if collection == "ring_configuration":
            rows, more = self._archive.rings(), None
        elif collection in DENSE:
            if _true("latest", params.get("latest")):
                rows, more = self._latest(collection, now_s), None
            else:
                rows, more = self._samples(collection, params, cursor, now_s)
        else:
            rows, more = self._documents(collection, params, cursor, now_s)
        return {"data": _trimmed(collection, rows, params.get("fields")), "next_token": more}

    def _documents(
        self, collection: str, params: Mapping[str, str], cursor: Cursor | None, now_s: float
    ) -> tuple[list[Record], str | None]:
        start, end_date = params.get("start_date"), params.get("end_date")
        if cursor is not None:
            start, end_date = cursor.start, cursor.end
        lower, upper = date_range(start, end_date, now_s)
        offset = cursor.offset if cursor else 0
        found = select(self._archive, collection, lower, upper, self.rules)
        end = offset + self.rules.page_size
        more = Cursor(collection, lower.text, upper.text, end).seal() if end < len(found) else None
        return found[offset:end], more

    def _samples(
        self, collection: str, params: Mapping[str, str], cursor: Cursor | None, now_s: float
    ) -> tuple[list[Record], str | None]:
        start, end = params.get("start_datetime"), params.get("end_datetime")
        if cursor is not None:
            start, end = cursor.start, cursor.end
        lower, upper = instant_range(start, end, now_s, self.rules)
        archive, size = self._archive, self.rules.dense_page_size
        to_skip = cursor.offset if cursor else 0
        last_s = min(upper.instant_s, archive.world.horizon())
        closed = self.rules.dense_end_inclusive or last_s < upper.instant_s
        rows: list[Record] = []
        day = archive.world.where.day_of(lower.instant_s)
        while archive.world.where.span(day)[0] <= last_s:
            samples = archive.samples(collection, day)
            first = bisect_left(samples.times, lower.instant_s)
            last = (bisect_right if closed else bisect_left)(samples.times, last_s)
            skipped = min(to_skip, max(0, last - first))
            to_skip -= skipped
            if first + skipped < last:
                if len(rows) == size:
                    given = (cursor.offset if cursor else 0) + size
                    return rows, Cursor(collection, lower.text, upper.text, given).seal()
                taken = min(last, first + skipped + size - len(rows))
                rows += archive.rows(collection, samples, first + skipped, taken)
                if taken < last:
                    given = (cursor.offset if cursor else 0) + size
                    return rows, Cursor(collection, lower.text, upper.text, given).seal()
            day += _DAY
        return rows, None

    def _latest(self, collection: str, now_s: float) -> list[Record]:
        archive = self._archive
        horizon = min(now_s, archive.world.horizon())
        day: date = archive.world.where.day_of(horizon)
        for _ in range(_LOOK_BACK_DAYS):
            samples = archive.samples(collection, day)
            count = bisect_right(samples.times, horizon)
            if count:
                return archive.rows(collection, samples, count - 1, count)
            day -= _DAY
        return []


def _trimmed(collection: str, rows: list[Record], fields: str | None) -> list[Record]:
    """Keep what `fields` names; unknown names are ignored, and if none is known the whole record comes."""
    if not fields or collection in _NO_FIELDS or not rows:
        return rows
    known = {name for row in rows for name in row}
    wanted = {name.strip() for name in fields.split(",")} & known
    if not wanted:
        return rows
    keep = wanted | set(_ALWAYS_DENSE if collection in DENSE else _ALWAYS)
    return [{name: value for name, value in row.items() if name in keep} for row in rows]


def _true(name: str, text: str | None) -> bool:
    match (text or "false").lower():
        case "true" | "1" | "yes" | "on" | "t" | "y":
            return True
        case "false" | "0" | "no" | "off" | "f" | "n":
            return False
        case _:
            raise BadParameter(
                name, text or "", "bool_parsing", "Input should be a valid boolean, unable to interpret input"
            )
