"""Which clock the owner lived by: the offset their own records carry near a day, else that of the answer's zone.

On a journey the owner's clock is not the zone's. Whether a night is over, or was synced to its end, is a question to
the clock where the owner was.
"""

import functools
import io
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from app.sources.base import Collection, Record
from app.sources.days import instant_in

NEAR: Final = timedelta(days=3)  # farther from a record the owner may be anywhere
_SHORTEST_STAMP: Final = len("2026-03-10T00:00:00")  # one with an offset is longer


def stamps(records: Iterable[Record], collection: Collection) -> Iterator[tuple[Record, datetime]]:
    """Yield each record with each instant of it that was written with the wearer's own offset."""
    for record in records:
        for name in (collection.clock_field, collection.clock_end_field):
            text = record.get(name) if name else None
            if isinstance(text, str) and len(text) > _SHORTEST_STAMP and (at := instant_in(text)) is not None:
                yield record, at


class Clocks:
    """The owner's clock at any moment, as far as records tell it."""

    def __init__(self, zone: ZoneInfo, known: Iterable[datetime] = ()) -> None:
        """Take what is known.

        Args:
            zone: The answer's.
            known: Instants with the offset that they were recorded with.
        """
        self._zone = zone
        self._known = sorted(known)

    def at(self, moment: datetime) -> ZoneInfo:
        """Return the clock of the newest record up to a moment, else of the first one after it, if it is near."""
        place = bisect_right(self._known, moment)
        for one in (*self._known[max(0, place - 1) : place], *self._known[place : place + 1]):
            if abs(moment - one) <= NEAR:
                away = one.utcoffset() != one.astimezone(self._zone).utcoffset()
                return fixed(one.utcoffset() or timedelta()) if away else self._zone
        return self._zone

    def on(self, day: date) -> ZoneInfo:
        """Return the clock of a day."""
        return self.at(datetime.combine(day, time(12), self._zone))


@functools.lru_cache(maxsize=256)
def fixed(offset: timedelta) -> ZoneInfo:
    """Return a zone that keeps one offset and has its name: `+09:00`.

    Source: RFC 8536 (TZif), version 1: no transitions, one type of local time.
    """
    seconds = int(offset.total_seconds())
    hours, rest = divmod(abs(seconds), 3600)
    name = f"{'-' if seconds < 0 else '+'}{hours:02}:{rest // 60:02}"
    written = name.encode() + b"\0"
    head = b"TZif" + bytes(16) + struct.pack(">6l", 0, 0, 0, 0, 1, len(written))
    return ZoneInfo.from_file(io.BytesIO(head + struct.pack(">lbb", seconds, 0, 0) + written), key=name)
