"""Which zone a question is meant in, and what day it is there."""

from dataclasses import dataclass
from datetime import date
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from app.sources.base import Source
from app.tools.calling import Call
from app.tools.dates.spans import today, zone_named

_UNKNOWN = (
    "The owner's time zone is not known, so days are in UTC and may be off by one near midnight. "
    "Name it with timezone, or set TIMEZONE on the server."
)


@dataclass(frozen=True, slots=True)
class Here:
    """The owner's zone and day, and what to say about them."""

    zone: ZoneInfo
    today: date
    notes: tuple[str, ...] = ()


async def here(call: Call, source: Source, asked: str | None) -> Here:
    """Decide: the argument, else the setting, else what the source knows from the sign-in, else UTC and a note.

    Raises:
        BadRequest: `asked` names no zone.
    """
    zone = zone_named(asked) if asked else call.service.timezone or await source.timezone(call.caller)
    return at(call, zone)


def at(call: Call, zone: ZoneInfo | None) -> Here:
    """Say what day it is in a zone that was decided on; None: UTC, and a note."""
    notes = () if zone is not None else (_UNKNOWN,)
    zone = zone or ZoneInfo("UTC")
    return Here(zone, today(call.service.now(), zone), notes)


def kept(name: object) -> ZoneInfo | None:
    """Return the zone of a name that was stored; None for none, or one that is no zone (any more)."""
    try:
        return ZoneInfo(name) if isinstance(name, str) else None
    except (ZoneInfoNotFoundError, ValueError):
        return None
