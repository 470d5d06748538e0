"""Rest mode beside the days of `health_today`: whether it is on, and when it was, since scores are not usual in it.

One request beside the others, and not the owner's words in it: those stay with the collection.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from app.errors import NotPermitted, VitalsError
from app.identity import Caller
from app.sources.base import Collection, DateRange, Record, Source
from app.tools.dates.zones import Here
from app.tools.records.placing import day_of, end_day_of
from app.tools.rendering import Answer

_NAME: Final = "rest_mode_period"
_MOST: Final = 3  # periods, the newest
_UTC: Final = ZoneInfo("UTC")  # what is filed by its own day needs no zone


@dataclass(frozen=True, slots=True)
class RestMode:
    """What was found."""

    collection: Collection | None = None  # None: the source has no such thing, or does not let it be read
    periods: Sequence[Record] = ()
    unread: bool = False

    def told(self, first: date, today: date) -> tuple[Answer, list[str]]:
        """Return `rest_mode` and a note, as far as a period counts on the days from `first` to today."""
        if self.collection is None:
            return {}, []
        if self.unread:
            return {}, [f"Whether rest mode is on could not be read ({self.collection.qualified})."]
        found = []
        for record in self.periods:
            begun = day_of(record, self.collection, _UTC)
            if begun is not None and begun <= today and end_day_of(record, self.collection, begun) >= first:
                found.append((begun, end_day_of(record, self.collection, begun)))
        if not found:
            return {}, []
        kept = sorted(sorted(found, key=lambda period: period[1])[-_MOST:])  # an open one ends last
        is_on = any(last >= today for _, last in kept)
        periods = [
            {"start_day": str(begun), "end_day": None if last == date.max else str(last)} for begun, last in kept
        ]
        note = (
            f"The owner {'has' if is_on else 'had'} rest mode on: see rest_mode; end_day null means still on. In it "
            "activity and readiness are not scored as usual, so do not compare those days with others."
        )
        return {"rest_mode": {"on_today": is_on, "periods": periods}}, [note]


async def rest_mode(caller: Caller, source: Source, place: Here, days: int) -> RestMode:
    """Ask for the periods that count on today or one of the days before."""
    collection = source.collections.get(_NAME)
    if collection is None or source.synthetic:
        return RestMode()
    # Wherever the owner may be: what day it is for them is not known yet.
    asked = DateRange(place.earliest - timedelta(days=days), place.latest, place.zone)
    fields = tuple(name for name in (*collection.day_fields, collection.end_day_field) if name)
    try:
        if collection.granted_by(await source.granted(caller)) is False:
            return RestMode()
        fetched = await source.fetch(caller, collection, asked, fields=fields)
    except NotPermitted:
        return RestMode()
    except VitalsError:
        return RestMode(collection, unread=True)
    return RestMode(collection, fetched.records, unread=not fetched.complete)
