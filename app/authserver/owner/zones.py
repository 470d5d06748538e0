"""The owner's time zone as a browser or a person names it."""

from app.errors import BadRequest
from app.zones import find_zone

ZONE_MAX_CHARS = 64


class BadZone(BadRequest):
    """Not an IANA name we know."""


def parse_zone(typed: str) -> str | None:
    """Return the IANA name, in its own spelling; None when the field was left empty.

    Raises:
        BadZone: No such zone.
    """
    wanted = typed.strip().replace(" ", "_")
    if not wanted:
        return None
    name = find_zone(wanted)
    if name is None:
        raise BadZone(
            f"“{typed.strip()[:ZONE_MAX_CHARS]}” is not the name of a time zone. Write it like Europe/Helsinki, or "
            "leave the field empty."
        )
    return name
