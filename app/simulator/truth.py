"""The right answer for a range of local days, worked out from the records alone, not from the request filters."""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from app.simulator.archive import Archive
from app.simulator.world import DENSE, Record

_DAY = timedelta(days=1)
_LONGEST = {
    "rest_mode_period": timedelta(days=4_000),
    "enhanced_tag": timedelta(days=60),
}  # others last no longer than a day


def truth(archive: Archive, collection: str, start: date, end: date, zone: ZoneInfo | None = None) -> list[Record]:
    """Return the records whose own day lies in the inclusive range, oldest first, as Oura sends them.

    Args:
        archive: Where they are.
        collection: Any of the 19; the two without days give everything they hold.
        start: First local day.
        end: Last local day.
        zone: For heart rate and battery, which carry no offset: whose days are meant. Home, if not said.
    """
    if collection == "ring_configuration":
        return archive.rings()
    if collection == "personal_info":
        return [archive.personal_info(frozenset({"personal", "email"}))]
    if collection in DENSE:
        return _samples(archive, collection, start, end, zone or ZoneInfo(archive.world.person.zone))
    near = archive.between(collection, start - _LONGEST.get(collection, _DAY), end + _DAY)
    return [record for record in near if _touches(collection, record, start.isoformat(), end.isoformat())]


def _touches(collection: str, record: Record, start: str, end: str) -> bool:
    if collection == "rest_mode_period":
        return bool(record["start_day"] <= end and (record["end_day"] is None or record["end_day"] >= start))
    if collection == "enhanced_tag":
        return bool(record["start_day"] <= end and (record["end_day"] or record["start_day"]) >= start)
    return bool(start <= record["day"] <= end)


def _samples(archive: Archive, collection: str, start: date, end: date, zone: ZoneInfo) -> list[Record]:
    lower = datetime.combine(start, time(), zone).timestamp()
    upper = datetime.combine(end + _DAY, time(), zone).timestamp()
    now = archive.world.horizon()
    rows: list[Record] = []
    day, last = start - 2 * _DAY, end + 2 * _DAY  # the person may be a day away from that zone's calendar
    while day <= last:
        samples = archive.samples(collection, day)
        if samples.times and samples.times[-1] >= lower and samples.times[0] < upper:
            inside = [at for at, when in enumerate(samples.times) if lower <= when < upper and when <= now]
            if inside:
                rows += archive.rows(collection, samples, inside[0], inside[-1] + 1)
        day += _DAY
    return rows
