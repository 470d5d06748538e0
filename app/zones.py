"""Time zones by their IANA names, as settings, browsers, people and models write them."""

import functools
import zoneinfo

_THE_MACHINES_OWN = frozenset({"localtime", "posixrules", "Factory"})  # files that are listed and name no zone


def known_zones() -> tuple[str, ...]:
    """Return every name. Only listed ones are zones here, since `ZoneInfo` opens any file under its path."""
    return tuple(_by_folded().values())


def find_zone(name: str) -> str | None:
    """Return the IANA name in its own spelling, whatever the case it is asked in; None if there is none."""
    return _by_folded().get(name.casefold())


@functools.cache
def _by_folded() -> dict[str, str]:
    # At the first use and not at the start: it walks through some six hundred files.
    return {name.casefold(): name for name in zoneinfo.available_timezones() - _THE_MACHINES_OWN}
