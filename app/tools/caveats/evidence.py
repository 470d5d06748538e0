"""Why a day has no record: one word for each missing thing, from what the source itself holds.

Pure; `inquiry` asks the source. Without evidence the word is `no_record`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Final

from app.errors import MembershipRequired, NotPermitted
from app.sources.base import Collection, DateKind, Record
from app.sources.days import instant_in
from app.tools.dates.clocks import Clocks
from app.tools.dates.zones import Here
from app.tools.records.nights import night

NOT_WORN, NOT_SYNCED, NOT_COMPUTED = "not_worn", "not_synced_yet", "not_computed_yet"
NOT_PERMITTED, NO_MEMBERSHIP, LACKS_IT = "not_permitted", "no_membership", "ring_lacks_it"
IN_FUTURE, NO_RECORD, NO_SCORE = "in_future", "no_record", "no_score"
NO_NIGHT: Final = "no_long_sleep"  # naps or rest alone
NO_VALUE: Final = "no_value"  # the same of a record that is for a measurement
BEFORE_RING: Final = "before_first_ring"
NOT_OVER: Final = "not_over_yet"  # a night
INCOMPLETE: Final = "incomplete"  # the source could not be read to the end
NOT_READ: Final = "not_read"  # nothing of it could be read, so nothing is known
NOT_LOOKED_UP: Final = "not_looked_up"  # too long ago to look for a reason

RECENT: Final = timedelta(days=2)  # what is older changes no more, and was synced long ago
COMPUTED_BY: Final = timedelta(days=1)  # what is not computed by then has hardly been waiting for the owner to sync
UNWORN_S: Final = 20 * 3600  # of a day: four hours are left at most
_DAY: Final = timedelta(days=1)
_WHOLE_DAY_S: Final = 23 * 3600  # as long as the shortest day
_UNWORN_SHARE: Final = 0.75  # of the small hours
_NIGHT_OVER: Final = time(6)  # a night whose samples end before was not seen to its end
_ACTIVITY_BEGINS: Final = time(4)
_LAG_S: Final = 1800  # samples are this late without anything being wrong
_SILENT_S: Final = 3 * 3600  # longer than a ring lies in its charger
_SLOT_S: Final = 300  # of `class_5_min`, which begins at 04:00
_SLOTS_AN_HOUR: Final = 12
_OFF_FINGER: Final = "0"
_SO_FAR_SLOTS: Final = 3 * _SLOTS_AN_HOUR  # of a day that is not over: fewer are no evidence
_SO_FAR_SHARE: Final = 0.9


@dataclass(slots=True)
class Evidence:
    """What could be found out about some days."""

    here: Here
    now: datetime
    since: date = date.min  # what is older was not looked into
    clocks: Clocks | None = None  # None: the owner was at home, as far as is known
    unworn: dict[date, str] = field(default_factory=dict)  # day: in words, for the day itself
    unworn_nights: dict[date, str] = field(default_factory=dict)  # the same, by wake day
    newest: datetime | None = None  # sample
    slept: frozenset[date] = frozenset()  # wake days with a complete main sleep
    ring: Mapping[date, str] = field(default_factory=dict)  # hardware worn that day
    first_ring: date | None = None  # set up; None: not known
    rings_read: bool = False
    requests: int = 0
    unread: list[str] = field(default_factory=list)  # collections that would have told more

    def why(self, collection: Collection, day: date) -> tuple[str, str | None]:
        """Return the word for a day without a record, and the evidence in words."""
        if day > self.here.today:
            return IN_FUTURE, f"What comes after {self.here.today}, today, lies ahead."
        if day < self.since:
            return NOT_LOOKED_UP, None
        if self.first_ring is not None and day < self.first_ring:
            return BEFORE_RING, f"The owner's first ring was set up on {self.first_ring}."
        if (ring := self.ring.get(day)) in collection.not_on:
            return LACKS_IT, f"The ring set up then is a {ring}, which does not measure this."
        nightly = collection.date_kind is DateKind.WAKE_DAY
        if day in self.slept and nightly and collection.name != "sleep":
            word = NOT_COMPUTED if day >= self.here.today - COMPUTED_BY else NO_RECORD
            return word, f"The sleep of {day} is there; what is computed from it is not."
        clock = self._clock(collection, day)
        if collection.date_kind is DateKind.ACTIVITY_DAY and self.now < datetime.combine(day, _ACTIVITY_BEGINS, clock):
            return IN_FUTURE, f"It is {self._now_by(clock, day)}: the activity day {day} begins at 04:00."
        if worn := (self.unworn_nights if nightly else self.unworn).get(day):
            return NOT_WORN, worn
        if nightly and self.now < datetime.combine(day, _NIGHT_OVER, clock):
            return NOT_OVER, self._before_its_end(day, clock)
        if (silence := self._silence(day, clock, nightly=nightly)) is not None:
            return NOT_SYNCED, silence
        return NO_RECORD, None

    def _clock(self, collection: Collection, day: date) -> tzinfo:
        """Return whose day it is: samples are counted to the answer's, all else to the owner's own."""
        if collection.dense:
            return self.here.zone
        return self.here.own if self.clocks is None else self.clocks.on(day)

    def _before_its_end(self, day: date, clock: tzinfo) -> str:
        said = "is still to come" if self.now.astimezone(clock).date() < day else "may not be over yet"
        return f"It is {self._now_by(clock, day)}: the night of {day} {said}."

    def _now_by(self, clock: tzinfo, day: date) -> str:
        """Return what time it is by a clock, with the date where that is not the day in question."""
        there = self.now.astimezone(clock)
        return f"{there:%H:%M}" + ("" if there.date() == day else f" on {there.date()} by the owner's clock")

    def _silence(self, day: date, clock: tzinfo, *, nightly: bool) -> str | None:
        """Say that the newest sample is older than the day, or than the night; None if it is not."""
        if self.newest is None:
            return None
        if nightly:
            needed = datetime.combine(day, _NIGHT_OVER, clock)
        else:
            needed = datetime.combine(day if day == self.here.today else day + _DAY, time(), clock)
        age_s = (self.now - self.newest).total_seconds()
        older = self.newest < needed <= self.now and age_s >= _LAG_S
        if not older and not (day == self.here.today and age_s >= _SILENT_S):
            return None
        at = self.newest.astimezone(self.here.zone)
        there = self.newest.astimezone(clock)
        away = there.utcoffset() != at.utcoffset()
        own = f" ({there.isoformat(timespec='minutes')} by the owner's clock)" if away else ""
        return (
            f"The newest heart rate at the source is from {at.isoformat(timespec='minutes')}{own}, "
            f"{age_s / 3600:.0f} h ago: nothing later was synced."
        )


def refused(failure: Exception) -> str:
    """Return the word for what a collection could not be read for."""
    if isinstance(failure, NotPermitted):
        return NOT_PERMITTED
    return NO_MEMBERSHIP if isinstance(failure, MembershipRequired) else NOT_READ


def unscored(record: Record, day: date, today: date, name: str = "score") -> str:
    """Return the word for a record whose score, or whatever else it is for, is empty."""
    if off_s(record) >= UNWORN_S:
        return NOT_WORN
    if day >= today - COMPUTED_BY:
        return NOT_COMPUTED
    return NO_SCORE if name == "score" else NO_VALUE


def worn_by_day(rings: Sequence[Record], days: Sequence[date], here: Here) -> dict[date, str]:
    """Return the hardware that was the newest set up by the end of each day, where it is known."""
    set_up = sorted(
        (at.astimezone(here.zone).date(), str(ring["hardware_type"]))
        for ring in rings
        if (at := instant_in(ring.get("set_up_at"))) and ring.get("hardware_type")
    )
    worn: dict[date, str] = {}
    for day in days:
        before = [hardware for when, hardware in set_up if when <= day]
        if before:
            worn[day] = before[-1]
    return worn


def first_set_up(rings: Sequence[Record], here: Here) -> date | None:
    """Return the day of the first ring, if every ring says when it was set up."""
    known = [instant_in(ring.get("set_up_at")) for ring in rings]
    return min((at.astimezone(here.zone).date() for at in known if at), default=None) if all(known) else None


def slept(nights: Mapping[date, Sequence[Record]]) -> frozenset[date]:
    """Return the wake days with a main sleep that is over."""
    return frozenset(day for day, records in nights.items() if night(records).main is not None)


def read_wear(by_day: Mapping[date, Record], days: Sequence[date], found: Evidence) -> None:
    """Read when the ring was off: of days from their sum, of nights from the small hours."""
    for day in days:
        eve, record = by_day.get(day - _DAY), by_day.get(day)
        unworn_s = off_s(record)
        words = f"On {day} the ring was not worn for {unworn_s / 3600:.0f} h."
        calendar_s = max(unworn_s, _slots(eve, record, hours=24).count(_OFF_FINGER) * _SLOT_S)
        if calendar_s >= UNWORN_S:
            found.unworn[day] = f"On {day} the ring was not worn for {calendar_s / 3600:.0f} h."
        elif reached := _unworn_so_far(eve, record, found.now):
            found.unworn[day] = f"On {day} the ring was not worn up to {reached:%H:%M}, as far as its record goes."
        small_hours = _slots(eve, record, hours=6)
        if small_hours.count(_OFF_FINGER) >= max(1, _UNWORN_SHARE * len(small_hours)):
            found.unworn_nights[day] = f"Between midnight and 06:00 on {day} the ring was not worn."
        elif unworn_s >= (_WHOLE_DAY_S if small_hours else UNWORN_S):
            found.unworn_nights[day] = words


def _unworn_so_far(eve: Record | None, day: Record | None, now: datetime) -> datetime | None:
    """Return until when a day that is not over was recorded, if the ring was off all along and that is not long ago."""
    begun, slots = instant_in(day.get("timestamp")) if day else None, day.get("class_5_min") if day else None
    if begun is None or not isinstance(slots, str):
        return None
    reached = begun + timedelta(seconds=len(slots) * _SLOT_S)
    so_far = _slots(eve, day, hours=24)
    off = so_far.count(_OFF_FINGER)
    lately = timedelta(0) <= now - reached <= timedelta(seconds=_SILENT_S)
    return reached if lately and len(so_far) >= _SO_FAR_SLOTS and off >= _SO_FAR_SHARE * len(so_far) else None


def off_s(record: Record | None) -> float:
    """Return for how long of a day the ring was off, as far as its record says so."""
    value = record.get("non_wear_time") if record else None
    return float(value) if isinstance(value, int | float) else 0.0


def _slots(eve: Record | None, day: Record | None, *, hours: int) -> str:
    """Return how active each five minutes from midnight on were, for so many hours; without what is not said."""
    before, after = (record.get("class_5_min") if record else None for record in (eve, day))
    late = before[20 * _SLOTS_AN_HOUR :] if isinstance(before, str) else ""
    early = after[: (hours - 4) * _SLOTS_AN_HOUR] if isinstance(after, str) else ""
    return late + early
