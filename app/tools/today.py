"""`health_today`: last night and today's readiness, with the days before them as they were recorded.

An older night is never called last night: what is not there for today is named with a word for why, and the age of the
newest record says how far back the data goes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import anyio

from app.errors import MembershipRequired, NotPermitted, SourceError, VitalsError
from app.identity import Caller
from app.sources.base import Collection, DateRange, Fetched, Progress, Record, Source
from app.tools.arguments import Given, number, text
from app.tools.calling import Call, Definition
from app.tools.nights import Night, night
from app.tools.progress import Together
from app.tools.records import day_of
from app.tools.rendering import Answer, written
from app.tools.shaping import Shape, merged
from app.tools.zones import Here, here

_UTC = ZoneInfo("UTC")  # records that are not samples need no zone

LOOK_BACK_DAYS = 60  # for the age of the newest record when the days asked for hold none

DAYS = number("days", "Days before today to give as well.", low=0, high=31, default=7)
TIMEZONE = text("timezone", "IANA zone of the days; default the owner's.", example="Europe/Lisbon")

# What a part is called in the answer, and the collection it comes from.
_PARTS = {"last_night": "sleep", "readiness": "daily_readiness", "sleep_score": "daily_sleep"}

_CHOSEN = (
    "main is the longest long_sleep of the wake day; naps are the other counted periods; rest and deleted periods are "
    "never sleep; all_sleep_of_day adds up main and naps."
)


@dataclass(frozen=True, slots=True)
class _Part:
    """What one collection brought, by day."""

    name: str
    collection: Collection
    records: Mapping[date, Sequence[Record]]
    newest: date | None
    fetched: Fetched | None
    failure: VitalsError | None = None


async def run(call: Call, given: Given) -> Answer:
    """Answer one question."""
    found = {part: call.service.sources.find(name) for part, name in _PARTS.items()}
    source = found["last_night"][0]
    place = await here(call, source, given[TIMEZONE])
    parts: dict[str, _Part] = {}

    told = Together(call.progress)

    async def ask(name: str, source: Source, collection: Collection, progress: Progress) -> None:
        parts[name] = await _ask(call.caller, source, collection, name, place, given[DAYS], progress)

    async with anyio.create_task_group() as group:
        for name, (its_source, collection) in found.items():
            group.start_soon(ask, name, its_source, collection, told.part())
    parts = {name: parts[name] for name in _PARTS}
    if failures := [part.failure for part in parts.values() if part.failure is not None]:
        grave = [failure for failure in failures if not isinstance(failure, _BEARABLE)]
        if grave or len(failures) == len(parts):
            raise (grave or failures)[0]
    synthetic = any(its_source.synthetic for its_source, _ in found.values())
    for days in range(given[DAYS], -1, -1):
        answer = _answer(call, place, parts, days, synthetic=synthetic)
        if days < given[DAYS]:
            answer["truncated"] = True
        if len(written(answer)) <= call.service.answer_max_chars:
            break
    return answer


_BEARABLE = (NotPermitted, MembershipRequired, SourceError)  # the other parts may still be there


async def _ask(
    caller: Caller, source: Source, collection: Collection, name: str, place: Here, days: int, progress: Progress
) -> _Part:
    try:
        fetched = await source.fetch(caller, collection, _back(place, days), progress=progress)
        records = _filed(fetched.records, collection, place)
        newest = max((day for day in records if day <= place.today), default=None)
        if newest is None and fetched.complete:
            fields = Shape(collection, place.zone, fields=("id",)).at_source
            older = await source.fetch(caller, collection, _back(place, LOOK_BACK_DAYS), fields=fields)
            newest = max(_filed(older.records, collection, place), default=None)
    except VitalsError as failure:
        return _Part(name, collection, {}, None, None, failure)
    return _Part(name, collection, records, newest, fetched)


def _back(place: Here, days: int) -> DateRange:
    return DateRange(place.today - timedelta(days=days), place.today, place.zone)


def _filed(records: Sequence[Record], collection: Collection, place: Here) -> dict[date, list[Record]]:
    filed: dict[date, list[Record]] = {}
    for record in records:
        if day := day_of(record, collection, place.zone):
            filed.setdefault(day, []).append(record)
    return filed


def _answer(call: Call, place: Here, parts: Mapping[str, _Part], days: int, *, synthetic: bool) -> Answer:
    writer = _Writer(parts)
    today = {name: writer.part(part, place.today) for name, part in parts.items()}
    missing = {name: writer.why(part, place.today) for name, part in parts.items() if not _there(part, place.today)}
    now = datetime.fromtimestamp(call.service.now(), tz=UTC).astimezone(place.zone)
    answer: Answer = {"today": place.today.isoformat(), "now": now.isoformat(timespec="minutes")}
    answer |= {"timezone": place.zone.key, "complete": all(p.fetched and p.fetched.complete for p in parts.values())}
    if synthetic:
        answer["synthetic"] = True
    answer |= {name: value for name, value in today.items() if value is not None}
    if missing:
        answer["missing"] = missing
    if going_on := night(parts["last_night"].records.get(place.today, ())).in_progress:
        answer["in_progress"] = {"bedtime_start": going_on[0].get("bedtime_start")}
    answer["newest_record_age"] = {
        name: {"day": part.newest.isoformat(), "days": (place.today - part.newest).days} if part.newest else None
        for name, part in parts.items()
    }
    answer["days"] = [writer.day(place.today - timedelta(days=back)) for back in range(days, 0, -1)]
    answer["units"] = writer.units
    answer["notes"] = [*place.notes, _CHOSEN, *writer.notes]
    return answer


def _there(part: _Part, day: date) -> bool:
    records = part.records.get(day, ())
    if part.name == "last_night":
        return night(records).main is not None
    return any(record.get("score") is not None for record in records)


class _Writer:
    """Writes records of several collections, gathering units and words on the way."""

    def __init__(self, parts: Mapping[str, _Part]) -> None:
        self._parts = parts
        self.units: dict[str, object] = {}
        self.notes: list[str] = [f"{part.name}: {part.failure}" for part in parts.values() if part.failure is not None]

    def part(self, part: _Part, day: date) -> Answer | None:
        """Return what a part has for a day, or None."""
        records = part.records.get(day, ())
        if not records:
            return None
        if part.name != "last_night":
            return self._plain(part, records)[-1]
        return self._night(part, night(records))

    def day(self, day: date) -> Answer:
        """Return one of the days before: each part, raw, and the names of those that are not there."""
        row: Answer = {"day": day.isoformat()}
        for name, part in self._parts.items():
            if (value := self.part(part, day)) is not None:
                row["sleep" if name == "last_night" else name] = value
        if absent := {n: self.why(p, day) for n, p in self._parts.items() if not _there(p, day)}:
            row["missing"] = {"sleep" if name == "last_night" else name: word for name, word in absent.items()}
        return row

    def why(self, part: _Part, day: date) -> str:
        """Return one word for why a part is not there."""
        if isinstance(part.failure, NotPermitted):
            return "not_permitted"
        if isinstance(part.failure, MembershipRequired):
            return "no_membership"
        if part.failure is not None or (part.fetched and not part.fetched.complete):
            return "incomplete"
        records = part.records.get(day, ())
        if part.name == "last_night":
            if night(records).in_progress:
                return "in_progress"
            return "no_long_sleep" if records else "no_record"
        return "not_computed_yet" if records else "no_record"

    def _night(self, part: _Part, sorted_out: Night) -> Answer:
        said: Answer = {}
        if sorted_out.main is not None:
            said["main"] = self._plain(part, [sorted_out.main])[0]
        if sorted_out.naps:
            said["naps"] = self._plain(part, sorted_out.naps)
        if sorted_out.asleep_s is not None:
            said["all_sleep_of_day"] = sorted_out.asleep_s
            self.units["all_sleep_of_day"] = {"unit": "s", "kind": "measurement"}
        if sorted_out.not_counted:
            said["not_counted"] = [
                {name: record.get(name) for name in ("type", "bedtime_start", "bedtime_end")}
                for record in sorted_out.not_counted
            ]
        return said

    def _plain(self, part: _Part, records: Sequence[Record]) -> list[Record]:
        delivered = Shape(part.collection, _UTC).deliver(records)
        units = delivered["units"]
        if isinstance(units, dict):
            self.units |= merged(units, part.collection.name)
        data = delivered["data"]
        return data if isinstance(data, list) else []


TODAY = Definition(
    name="health_today",
    title="Last night and today",
    description=(
        "Last night's sleep, today's readiness and sleep score, and the same for the days before, as recorded: no "
        "averages, no judgement. What is not there is named under missing with a reason; newest_record_age says how "
        "old the newest data is. An older night is never last night."
    ),
    arguments=(DAYS, TIMEZONE),
    run=run,
)
