"""Which zone a question is meant in, and what day it is there."""

from dataclasses import dataclass
from datetime import date
from zoneinfo import ZoneInfo

from app.sources.base import Source
from app.tools.calling import Call
from app.tools.dates import today, zone_named

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
    service = call.service
    zone = zone_named(asked) if asked else service.timezone or await source.timezone(call.caller)
    if zone is None:
        zone = ZoneInfo("UTC")
        return Here(zone, today(service.now(), zone), (_UNKNOWN,))
    return Here(zone, today(service.now(), zone))
