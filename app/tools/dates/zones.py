"""Which zone a question is meant in, and what day it is there."""

from dataclasses import dataclass, replace
from datetime import date
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from app.sources.base import Record, Source
from app.tools.calling import Call
from app.tools.dates.spans import days_anywhere, today, zone_named

_UNKNOWN = (
    "The owner's time zone is not known, so today and the days of samples are in UTC and may be off by one near "
    "midnight. Name it with timezone, or set TIMEZONE on the server."
)


@dataclass(frozen=True, slots=True)
class Nights:
    """All records of sleep of some days, with their times."""

    records: tuple[Record, ...]
    first: date
    last: date

    def of(self, first: date, last: date) -> tuple[Record, ...] | None:
        """Return what was read, if it is all there is of these days."""
        return self.records if self.first <= first and last <= self.last else None


@dataclass(frozen=True, slots=True)
class Here:
    """The owner's zone and day, and what to say about them."""

    zone: ZoneInfo  # to whose days samples are counted
    today: date
    earliest: date  # that it may be by the owner's own clock, wherever they are
    latest: date
    notes: tuple[str, ...] = ()
    guessed: bool = False  # nobody said which zone it is, so UTC stands for it, and being elsewhere is no journey
    named: bool = False  # the question itself named the zone, so no other clock counts
    clock: ZoneInfo | None = None  # the owner's own, as on a journey; None: as far as is known, the zone's
    away_from: ZoneInfo | None = None  # the zone proper, where samples are counted to the days of the clock instead
    nights: Nights | None = None  # around today; None: not asked, or not to be had

    @property
    def own(self) -> ZoneInfo:
        """The clock the owner lives by now."""
        return self.clock or self.zone

    @property
    def home(self) -> ZoneInfo:
        """The zone proper."""
        return self.away_from or self.zone


async def here(call: Call, source: Source, asked: str | None) -> Here:
    """Decide: the argument, else the setting, else what the source knows from the sign-in, else UTC and a note.

    Raises:
        BadRequest: `asked` names no zone.
    """
    zone = zone_named(asked) if asked else call.service.timezone or await source.timezone(call.caller)
    return replace(at(call, zone), named=bool(asked))


def at(call: Call, zone: ZoneInfo | None) -> Here:
    """Say what day it is in a zone that was decided on; None: UTC, and a note."""
    notes = () if zone is not None else (_UNKNOWN,)
    there = zone or ZoneInfo("UTC")
    near = days_anywhere(call.service.now())
    return Here(there, today(call.service.now(), there), *near, notes, guessed=zone is None)


def kept(name: object) -> ZoneInfo | None:
    """Return the zone of a name that was stored; None for none, or one that is no zone (any more)."""
    try:
        return ZoneInfo(name) if isinstance(name, str) else None
    except (ZoneInfoNotFoundError, ValueError):
        return None
