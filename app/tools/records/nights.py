"""Choosing among the sleep records of one day: the main sleep, other long ones, naps, and what is no sleep at all.

The main sleep is the longest long sleep. Rest and deleted periods are never sleep. A record without an end is a night
still going on: it is named, and never stands for a night that is over.

Source: Oura API v2, `type` of `sleep` (long_sleep over 3 h, sleep, late_nap; rest was rejected, deleted was removed).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.sources.base import Record

MAIN = "long_sleep"
COUNTED = (MAIN, "sleep", "late_nap")
NEVER = ("rest", "deleted")
GOING_ON = "A night is in progress; it counts nowhere until it is over."


@dataclass(frozen=True, slots=True)
class Night:
    """The sleep of one wake day."""

    main: Record | None = None
    naps: tuple[Record, ...] = ()  # counted, and short
    other_long: tuple[Record, ...] = ()  # a long sleep that is not the longest: no nap
    in_progress: tuple[Record, ...] = ()
    not_counted: tuple[Record, ...] = field(default=())  # rest, deleted, and types this version does not know

    @property
    def asleep_s(self) -> int | None:
        """Seconds asleep over all counted periods; None if none says."""
        found = [asleep_s(record) for record in (*((self.main,) if self.main else ()), *self.other_long, *self.naps)]
        known = [seconds for seconds in found if seconds is not None]
        return sum(known) if known else None


def night(records: Sequence[Record]) -> Night:
    """Sort the records of one day."""
    going_on = tuple(r for r in records if r.get("type") not in NEVER and not r.get("bedtime_end"))
    over = [r for r in records if r not in going_on]
    counted = [r for r in over if r.get("type") in COUNTED]
    main = max((r for r in counted if r.get("type") == MAIN), key=_length, default=None)
    return Night(
        main=main,
        naps=tuple(r for r in counted if r.get("type") != MAIN),
        other_long=tuple(r for r in counted if r.get("type") == MAIN and r is not main),
        in_progress=going_on,
        not_counted=tuple(r for r in over if r.get("type") not in COUNTED),
    )


def nightless(records: Sequence[Record]) -> bool:
    """Whether a day has records of sleep, of which none is a night or will be one."""
    sorted_out = night(records)
    return bool(records) and sorted_out.main is None and not sorted_out.in_progress


def asleep_s(record: Record) -> int | None:
    """Return the seconds asleep in one record."""
    value = record.get("total_sleep_duration")
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _length(record: Record) -> tuple[int, float]:
    in_bed = record.get("time_in_bed")
    return (asleep_s(record) or 0, float(in_bed) if isinstance(in_bed, int | float) else 0.0)
