"""`health_today`: last night and today's readiness, with the days before them as they were recorded.

An older night is never called last night: what is not there for today is named with a word for why, and the age of the
newest record says how far back the data goes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta

import anyio

from app.errors import BadRequest, MembershipRequired, NotPermitted, SourceError, VitalsError
from app.identity import Caller
from app.sources.base import Collection, DateRange, Progress, Record, Source
from app.tools.arguments import Given, number, text
from app.tools.calling import Call, Definition
from app.tools.caveats.absence import CONCLUDE, unread
from app.tools.caveats.circumstances import RING_DAYS, Beside, rings_of, told
from app.tools.caveats.evidence import NO_RECORD, RECENT, Evidence
from app.tools.caveats.inquiry import Known, gather
from app.tools.caveats.partial import by_the_newest_sample
from app.tools.dates.clocks import stamps
from app.tools.dates.owners import by_clock
from app.tools.dates.zones import Here, here
from app.tools.progress import Together
from app.tools.records.nights import GOING_ON, night
from app.tools.records.placing import by_day
from app.tools.records.shaping import Shape
from app.tools.rendering import Answer, written
from app.tools.today.parts import NIGHT, READINESS, SLEEP_SCORE, Part, Writer, plain_name
from app.tools.today.rest_mode import RestMode, rest_mode

MOST_SENTENCES = 5  # of evidence
LOOK_BACK_DAYS = 60  # for the age of the newest record when the days asked for hold none

DAYS = number("days", "Days before today to give as well.", low=0, high=31, default=7)
_DAY = timedelta(days=1)

TIMEZONE = text("timezone", "IANA zone of the days, or an offset; default the owner's.", example="Europe/Lisbon")

_BEARABLE = (BadRequest, NotPermitted, MembershipRequired, SourceError)  # the other parts may still be there
_LEAST = {NIGHT: ("type", "bedtime_end", "total_sleep_duration"), READINESS: ("id",), SLEEP_SCORE: ("id",)}
_PARTS = {NIGHT: "sleep", READINESS: "daily_readiness", SLEEP_SCORE: "daily_sleep"}

_CHOSEN = (
    "main is the longest long_sleep of the wake day; any other is under other_long_sleep; naps are the short periods "
    "that count; rest and deleted periods are never sleep; all_sleep_of_day adds up all that count. A night's own "
    "readiness is left out where it repeats the day's. units: sleep.* is for the sleep of any day, last_night too, and "
    "name.* for all that stands under that name. Ids and what only repeats the day are left out; health_query has them."
)
_SCORES = (
    "Scores are grades from 1 to 100, contributors too: a contributor resting_heart_rate or deep_sleep is never bpm or "
    "minutes."
)
_NO_NEWEST = f"newest_record_age is null where {LOOK_BACK_DAYS} days held nothing, or could not be read."
_NEWER_NIGHT = (
    "A newer night is there, of {}, which is a day ahead by the timezone asked for: leave timezone out for it."
)
_ONLY_NAPS = "A day without main has no night, only naps or rest: its all_sleep_of_day is not how long that night was."
_OPEN_APP = "Nights and scores come only after the owner opens the source's app."
_NOT_OVER = "Today is not over: a nap may still add to all_sleep_of_day."
_EVENING = time(18)  # a nap that ends later belongs to the next day
_LATE_NAP = "A nap that ends after 18:00 is filed under tomorrow, {}, and adds nothing to today."
_NAP_OF_TOMORROW = _LATE_NAP + " One is there already: health_query has it."
_PARTLY = (
    "The days under partial were not synced to their end: naps after the newest sample may be missing in them, and so "
    "in their all_sleep_of_day. Their night and scores, where they are there, are as whole as on other days."
)
_OLD_NIGHT = "newest_record_age.sleep is the newest night there is; it is not last night, which is missing."


async def run(call: Call, given: Given) -> Answer:
    """Answer one question."""
    found = {part: call.service.sources.find(name) for part, name in _PARTS.items()}
    source = found[NIGHT][0]
    place = await here(call, source, given[TIMEZONE])
    parts: dict[str, Part] = {}

    told = Together(call.progress)

    async def ask(name: str, source: Source, collection: Collection, progress: Progress) -> None:
        parts[name] = await _ask(call.caller, source, collection, name, place, given[DAYS], progress)

    resting: list[RestMode] = []

    async def ask_rest() -> None:
        resting.append(await rest_mode(call.caller, source, place, given[DAYS]))

    rings = [Beside()]

    async def ask_rings() -> None:
        rings.append(await rings_of(call.caller, source))

    async with anyio.create_task_group() as group:
        if given[DAYS] + 1 >= RING_DAYS:
            group.start_soon(ask_rings)
        for name, (its_source, collection) in found.items():
            group.start_soon(ask, name, its_source, collection, told.part())
        group.start_soon(ask_rest)
    parts = {name: parts[name] for name in _PARTS}
    place = by_clock(place, call.service.now(), parts[NIGHT].stamps)
    if failures := [part.failure for part in parts.values() if part.failure is not None]:
        grave = [failure for failure in failures if not isinstance(failure, _BEARABLE)]
        if grave or len(failures) == len(parts):
            raise (grave or failures)[0]
    evidence = await _evidence(call, source, place, parts, given[DAYS])
    synthetic = any(its_source.synthetic for its_source, _ in found.values())
    for days in range(given[DAYS], -1, -1):
        answer = _answer(parts, evidence, resting[0], rings[-1], days, cut=given[DAYS] - days, synthetic=synthetic)
        if len(written(answer)) <= call.service.answer_max_chars:
            break
    return answer


async def _ask(
    caller: Caller, source: Source, collection: Collection, name: str, place: Here, days: int, progress: Progress
) -> Part:
    try:
        fetched = await source.fetch(caller, collection, _around(place, days), progress=progress)
        records = by_day(fetched.records, collection, place.zone)
        known = [at for _, at in stamps(fetched.records, collection)]
        part = Part(name, collection, records, {}, fetched, stamps=known)
    except VitalsError as failure:
        return Part(name, collection, {}, {}, None, failure)
    if part.newest(place.today if place.named else place.latest) is not None or not fetched.complete:
        return part
    fields = Shape(collection, place.zone, fields=_LEAST[name]).at_source
    try:
        found = await source.fetch(caller, collection, _back(place, LOOK_BACK_DAYS), fields=fields)
    except _BEARABLE as failure:
        return replace(part, age_failure=failure)  # what came is there all the same
    except VitalsError as failure:
        return Part(name, collection, {}, {}, None, failure)
    older = [at for _, at in stamps(found.records, collection)]
    return replace(part, older=by_day(found.records, collection, place.zone), stamps=[*known, *older])


async def _evidence(call: Call, source: Source, place: Here, parts: Mapping[str, Part], days: int) -> Evidence:
    """Look for reasons where a day has no record at all."""
    asked = [place.today - timedelta(days=back) for back in range(days, -1, -1)]
    missing = sorted({day for part in parts.values() for day in part.missing(asked)})
    now = datetime.fromtimestamp(call.service.now(), tz=UTC).astimezone(place.zone)
    night_part = parts[NIGHT]
    known = Known(nights=night_part.records, stamps=night_part.stamps)
    return await gather(call.caller, source, night_part.collection, missing, here=place, now=now, known=known)


def _around(place: Here, days: int) -> DateRange:
    """Return the days to ask for: by the owner's own clock today may be another day than by the zone.

    A night that is going on may be filed under the day on which it will end.
    """
    return DateRange(place.earliest - timedelta(days=days), place.latest + _DAY, place.zone)


def _back(place: Here, days: int) -> DateRange:
    return DateRange(place.today - timedelta(days=days), place.today, place.zone)


def _answer(
    parts: Mapping[str, Part],
    evidence: Evidence,
    resting: RestMode,
    rings: Beside,
    days: int,
    *,
    cut: int = 0,
    synthetic: bool = False,
) -> Answer:
    """Write the answer.

    Args:
        parts: What came.
        evidence: Why some of it did not; also the owner's zone and clock.
        resting: When rest mode was on.
        rings: Which rings there were.
        days: How many days before today to give.
        cut: How many more were asked for and do not fit.
        synthetic: Whether it is sample data.
    """
    place = evidence.here
    writer = Writer(parts, evidence)
    before = [writer.day(place.today - timedelta(days=back)) for back in range(days, 0, -1)]
    today = writer.today()
    now = evidence.now.astimezone(place.own)
    answer: Answer = {"today": place.today.isoformat(), "now": now.isoformat(timespec="minutes")}
    whole = all(part.fetched and part.fetched.complete for part in parts.values())
    answer |= {"timezone": place.zone.key, "complete": whole and not cut}
    if cut:
        answer["truncated"] = True
    if synthetic:
        answer["synthetic"] = True
    answer |= today
    if partly := _partly(evidence, [place.today - timedelta(days=back) for back in range(days, -1, -1)]):
        answer["partial"] = partly
    if writer.seen:
        answer["evidence"] = writer.seen[-MOST_SENTENCES:]
    if going_on := _going_on(parts[NIGHT], place):
        answer["in_progress"] = {name: going_on.get(name) for name in ("day", "bedtime_start")}
    answer["newest_record_age"] = {
        plain_name(name): _age(part.newest(place.today), place.today) for name, part in parts.items()
    }
    rested, about_rest = resting.told(place.today - timedelta(days=days), place.today)
    answer |= rested
    notes = [
        *place.notes,
        *((_PARTLY,) if partly else ()),
        *_of_today(today, parts[NIGHT], evidence),
        *_of_what_is_there(parts, writer, place),
    ]
    if going_on:
        notes.append(GOING_ON)
    nights = [
        one for back in range(days, -1, -1) for one in parts[NIGHT].records.get(place.today - timedelta(back), ())
    ]
    known, about = told(parts[NIGHT].collection, nights, rings, _back(place, days), guessed=place.guessed)
    answer |= known
    notes += [*about_rest, *_elsewhere(evidence), *about, *(CONCLUDE[word] for word in writer.words)]
    if NO_RECORD in writer.words:
        notes += unread(parts[READINESS].collection, evidence)
    notes += _of_missing(parts[NIGHT], [place.today - timedelta(days=back) for back in range(days + 1)], today)
    if cut:
        notes.append(f"The {cut} oldest of the days asked for do not fit: ask health_query for them.")
    notes += _of_the_newest(parts, place.today)
    answer["collections"] = {plain_name(name): part.collection.qualified for name, part in parts.items()}
    answer["units"] = writer.units
    answer |= writer.marks
    answer["notes"] = [*notes, *writer.notes]
    answer["days"] = before  # last: it is the longest, and some hosts cut what is long
    return answer


def _of_today(today: Answer, nights: Part, evidence: Evidence) -> list[str]:
    """Say what may still be added to today, and from the evening on where naps go instead."""
    if _elsewhere(evidence):
        return []  # naps go by the owner's clock, and it is not the one that was asked for
    now = evidence.now.astimezone(evidence.here.own)
    last, tomorrow = today.get(NIGHT), now.date() + _DAY
    if night(nights.records.get(tomorrow, ())).naps:
        return [_NAP_OF_TOMORROW.format(tomorrow)]
    if not isinstance(last, dict) or "all_sleep_of_day" not in last:
        return []
    return [_NOT_OVER if now.time() < _EVENING else _LATE_NAP.format(tomorrow)]


def _of_what_is_there(parts: Mapping[str, Part], writer: Writer, place: Here) -> list[str]:
    """Say how to read it, and what of the last days may still change; of what is late is said where it is missing."""
    late = parts[NIGHT].collection.recent_notes
    recent = (part for part in parts.values() if any(day >= place.today - RECENT for day in part.records))
    changing = dict.fromkeys(note for part in recent for note in part.collection.recent_notes if note not in late)
    return [*([_CHOSEN, _SCORES] if writer.units else ()), *changing]


def _of_the_newest(parts: Mapping[str, Part], today: date) -> list[str]:
    """Say where the newest record is not there, or is not of the day that it could be taken for."""
    nights = parts[NIGHT]
    notes = [_NO_NEWEST] if any(part.newest(today) is None for part in parts.values()) else []
    if nights.newest(today) is not None and not nights.there(today):
        notes.append(_OLD_NIGHT)
    if newer := [day for day in nights.records if day > today and nights.there(day)]:
        notes.append(_NEWER_NIGHT.format(max(newer)))
    return notes


def _of_missing(nights: Part, days: Sequence[date], today: Answer) -> list[str]:
    """Say what not to conclude from days without a night, and what may still bring it."""
    absent = today.get("missing")
    waiting = isinstance(absent, dict) and NO_RECORD in absent.values()
    return [*([_ONLY_NAPS] if any(map(nights.only_naps, days)) else ()), *([_OPEN_APP] if waiting else ())]


def _partly(evidence: Evidence, days: Sequence[date]) -> dict[str, str]:
    """Return the days before today that the source knows in part alone, where evidence had to be looked for."""
    clock = evidence.here.own
    newest = evidence.newest.astimezone(clock) if evidence.newest else None
    if newest is None or newest.date() >= evidence.here.today or newest.date() not in days:
        return {}
    said = by_the_newest_sample(newest.date(), clock, evidence.here.today, newest)
    return {str(newest.date()): said} if said else {}


def _age(newest: date | None, today: date) -> Answer | None:
    return None if newest is None else {"day": newest.isoformat(), "days_ago": (today - newest).days}


def _elsewhere(evidence: Evidence) -> list[str]:
    """Say what time it is by the clock of the newest night, where the question named another zone."""
    if not evidence.here.named:
        return []  # then now is by that clock, and it is said
    there = evidence.now.astimezone(evidence.clocks.at(evidence.now)) if evidence.clocks else evidence.now
    if there.utcoffset() == evidence.now.utcoffset():
        return []
    said = there.isoformat(timespec="minutes")
    return [f"now is by {evidence.here.zone.key}; by the clock of the owner's newest night it is {said}."]


def _going_on(part: Part, place: Here) -> Record | None:
    """Return the night in progress, today's or the one that will end tomorrow."""
    found = [one for day in (0, 1) for one in part.records.get(place.today + timedelta(days=day), ())]
    return next(iter(night(found).in_progress), None)


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
