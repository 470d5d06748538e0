"""`health_today`: last night and today's readiness, with the days before them as they were recorded.

An older night is never called last night: what is not there for today is named with a word for why, and the age of the
newest record says how far back the data goes.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta

import anyio

from app.errors import MembershipRequired, NotPermitted, SourceError, VitalsError
from app.identity import Caller
from app.sources.base import Collection, DateRange, Progress, Record, Source
from app.tools.arguments import Given, number, text
from app.tools.calling import Call, Definition
from app.tools.day_parts import NIGHT, READINESS, SLEEP_SCORE, Part, Writer
from app.tools.nights import night
from app.tools.progress import Together
from app.tools.records import day_of
from app.tools.rendering import Answer, written
from app.tools.shaping import Shape
from app.tools.zones import Here, here

LOOK_BACK_DAYS = 60  # for the age of the newest record when the days asked for hold none

DAYS = number("days", "Days before today to give as well.", low=0, high=31, default=7)
TIMEZONE = text("timezone", "IANA zone of the days; default the owner's.", example="Europe/Lisbon")

_BEARABLE = (NotPermitted, MembershipRequired, SourceError)  # the other parts may still be there
_PARTS = {NIGHT: "sleep", READINESS: "daily_readiness", SLEEP_SCORE: "daily_sleep"}

_CHOSEN = (
    "main is the longest long_sleep of the wake day; naps are the other counted periods; rest and deleted periods are "
    "never sleep; all_sleep_of_day adds up main and naps. A night's own readiness is left out where it repeats the "
    "day's. units: sleep.* is for main and naps of any day."
)
_NO_NEWEST = f"newest_record_age is null where {LOOK_BACK_DAYS} days held nothing, or could not be read."


async def run(call: Call, given: Given) -> Answer:
    """Answer one question."""
    found = {part: call.service.sources.find(name) for part, name in _PARTS.items()}
    source = found[NIGHT][0]
    place = await here(call, source, given[TIMEZONE])
    parts: dict[str, Part] = {}

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
        answer = _answer(call, place, parts, days, cut=given[DAYS] - days, synthetic=synthetic)
        if len(written(answer)) <= call.service.answer_max_chars:
            break
    return answer


async def _ask(
    caller: Caller, source: Source, collection: Collection, name: str, place: Here, days: int, progress: Progress
) -> Part:
    try:
        fetched = await source.fetch(caller, collection, _back(place, days), progress=progress)
        records = _filed(fetched.records, collection, place)
        newest = max((day for day in records if day <= place.today), default=None)
        if newest is None and fetched.complete:
            fields = Shape(collection, place.zone, fields=("id",)).at_source
            older = await source.fetch(caller, collection, _back(place, LOOK_BACK_DAYS), fields=fields)
            newest = max(_filed(older.records, collection, place), default=None)
    except VitalsError as failure:
        return Part(name, collection, {}, None, None, failure)
    return Part(name, collection, records, newest, fetched)


def _back(place: Here, days: int) -> DateRange:
    return DateRange(place.today - timedelta(days=days), place.today, place.zone)


def _filed(records: Sequence[Record], collection: Collection, place: Here) -> dict[date, list[Record]]:
    filed: dict[date, list[Record]] = {}
    for record in records:
        if day := day_of(record, collection, place.zone):
            filed.setdefault(day, []).append(record)
    return filed


def _answer(
    call: Call, place: Here, parts: Mapping[str, Part], days: int, *, cut: int = 0, synthetic: bool = False
) -> Answer:
    """Write the answer.

    Args:
        call: Gives the clock.
        place: The owner's zone and day.
        parts: What came.
        days: How many days before today to give.
        cut: How many more were asked for and do not fit.
        synthetic: Whether it is sample data.
    """
    writer = Writer(parts, today=place.today)
    today = writer.today()
    before = [writer.day(place.today - timedelta(days=back)) for back in range(days, 0, -1)]
    now = datetime.fromtimestamp(call.service.now(), tz=UTC).astimezone(place.zone)
    answer: Answer = {"today": place.today.isoformat(), "now": now.isoformat(timespec="minutes")}
    whole = all(part.fetched and part.fetched.complete for part in parts.values())
    answer |= {"timezone": place.zone.key, "complete": whole and not cut}
    if cut:
        answer["truncated"] = True
    if synthetic:
        answer["synthetic"] = True
    answer |= today
    if going_on := night(parts[NIGHT].records.get(place.today, ())).in_progress:
        answer["in_progress"] = {"bedtime_start": going_on[0].get("bedtime_start")}
    answer["newest_record_age"] = {
        name: {"day": part.newest.isoformat(), "days": (place.today - part.newest).days} if part.newest else None
        for name, part in parts.items()
    }
    notes = [*place.notes, _CHOSEN]
    if cut:
        notes.append(f"The {cut} oldest of the days asked for do not fit: ask health_query for them.")
    if any(part.newest is None for part in parts.values()):
        notes.append(_NO_NEWEST)
    answer["collections"] = {name: part.collection.qualified for name, part in parts.items()}
    answer["units"] = writer.units
    answer["notes"] = [*notes, *writer.notes]
    answer["days"] = before  # last: it is the longest, and some hosts cut what is long
    return answer


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
