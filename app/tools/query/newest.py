"""The newest record of a collection, its age, and what else its day holds: it is never taken for the whole day."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from app.sources.base import Collection, DateKind, DateRange, Fetched, Record
from app.tools.calling import Call
from app.tools.caveats.circumstances import Beside, clock_of, newest_sample
from app.tools.dates.owners import SLEEP, counted_by_clock, owners
from app.tools.dates.spans import Span
from app.tools.dates.zones import Here
from app.tools.progress import Together
from app.tools.query.answering import Question, answer
from app.tools.records.nights import GOING_ON, NEVER, night
from app.tools.records.placing import day_of, end_day_of, stamp
from app.tools.rendering import Answer

LOOK_BACK_DAYS: Final = (7, 60, 366)  # where the source cannot be asked for the newest record
_DAY: Final = timedelta(days=1)


async def newest(call: Call, question: Question) -> Answer:
    """Answer with the newest record: of sleep with one that is over, if there is any."""
    collection, place = question.collection, question.here
    fetched, looked = await _fetched(call, question)
    records = (_candidates(fetched.records, collection, looked) or fetched.records)[-1:]
    known: Answer = {"newest_only": True} if records else {}
    notes: tuple[str, ...] = ()
    if records and not place.named and not question.source.synthetic:
        place = await owners(call, question.source, collection, place)
        place = counted_by_clock(place) if collection.dense else place
    day = day_of(records[0], collection, place.zone) if records else None
    if not records and looked is not None:
        notes = (f"Nothing was found back to {looked.start}; older records would need start and end.",)
    elif day is not None and not collection.dense:
        days = DateRange(day, day, place.zone)
        sampled = await newest_sample(call.caller, question.source, collection, days, today=place.today)
        question = replace(question, span=Span(day, day), beside=Beside(newest=sampled))
        others, notes = _others(fetched, records[0], collection, day, place)
        known |= others
    elif records and (at := stamp(records[0], collection)) is not None:
        notes = (_only("sample", day or at.date()),)
        if not question.source.synthetic:
            offset, about = await clock_of(call.caller, question.source, at, place)
            known |= offset
            notes = (*notes, *about)
    question = replace(question, here=place, notes=(*notes, *place.notes))
    said = answer(question, question.shapes[0], fetched, records)
    data = said.pop("data")
    if day is not None:
        age_days = max(0, (place.today - day).days)  # a nap of this evening is filed under tomorrow
        said |= {"start": day.isoformat(), "end": day.isoformat(), "age_days": age_days}
    elif looked is not None:
        said |= {"start": looked.start.isoformat(), "end": place.today.isoformat()}
    return {**said, **known, "data": data}


async def _fetched(call: Call, question: Question) -> tuple[Fetched, DateRange | None]:
    """Ask for the newest record directly where the source can, else look back further and further.

    Returns:
        What came, in order of time, and how far was looked.
    """
    source, collection, place = question.source, question.collection, question.here
    fields = question.shapes[0].at_source
    if collection.dense:
        found = await source.fetch(call.caller, collection, None, fields=fields, latest=True, progress=call.progress)
        return found, None
    told = Together(call.progress)
    for back in LOOK_BACK_DAYS:
        # What lies ahead too: where the owner is now it may be tomorrow already.
        days = DateRange(place.today - timedelta(days=back - 1), place.latest + _DAY, place.zone)
        found = await source.fetch(call.caller, collection, days, fields=fields, progress=told.part())
        if _candidates(found.records, collection, days) or not found.complete:
            break
    return found, days


def _candidates(records: Sequence[Record], collection: Collection, days: DateRange | None) -> Sequence[Record]:
    """Return the records of which the last is the newest there is.

    One that lasts counts on every day, so that an old one comes with the days of now: a newer one may have begun and
    ended before these. A night in progress stands for none that is over, and rest is no sleep.
    """
    if collection.date_kind is DateKind.SPAN and days is not None:
        return [one for one in records if (day := day_of(one, collection, days.zone)) and day >= days.start]
    if collection.name == SLEEP:
        going_on = night(records).in_progress
        return [one for one in records if one not in going_on and one.get("type") not in NEVER]
    return records


def _others(
    fetched: Fetched, record: Record, collection: Collection, day: date, place: Here
) -> tuple[Answer, tuple[str, ...]]:
    """Return what else there is of the day of the newest record, or after it, and a note."""
    said: Answer = {}
    notes: list[str] = []
    going_on = [one for one in night(fetched.records).in_progress if collection.name == SLEEP and one is not record]
    if running := sorted({str(found) for one in going_on if (found := day_of(one, collection, place.zone))}):
        said["in_progress"] = running
        notes.append(GOING_ON)
    of_day = []
    for one in fetched.records:
        first = day_of(one, collection, place.zone)
        if one is not record and one not in going_on and first and first <= day <= end_day_of(one, collection, first):
            of_day.append(one)
    if of_day:
        kinds = Counter(str(one.get("type")) for one in of_day)
        said["also_that_day"] = dict(sorted(kinds.items())) if collection.name == SLEEP else len(of_day)
    if of_day or not fetched.complete:
        notes.append(_only("record", day))
    return said, tuple(notes)


def _only(what: str, day: date) -> str:
    return f"This is the newest {what} alone; its day may hold more: for all of it ask with day={day}, without latest."
