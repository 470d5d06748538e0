"""`health_query`: the records of one collection for a range of days, complete or saying where it is not."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import Literal, TypeVar, cast

import anyio
import anyio.to_thread

from app.errors import BadRequest
from app.sources.base import Collection, DateKind, Fetched, Record, Source
from app.tools.arguments import Given, choice, flag, names, text
from app.tools.calling import Call, Definition
from app.tools.caveats.circumstances import SAMPLES, Beside, days_there
from app.tools.caveats.inquiry import LOOK_DAYS, Known, gather
from app.tools.dates.clocks import stamps
from app.tools.dates.owners import SLEEP, counted_by_clock, may_be_near, owners
from app.tools.dates.spans import Span, lies_ahead, span
from app.tools.dates.zones import Here, here
from app.tools.progress import Together
from app.tools.query.answering import Question, fitted, missing
from app.tools.query.fetching import Found, asked, between, whole_days
from app.tools.query.last_night import last_night, means_last_night
from app.tools.query.newest import newest
from app.tools.records.buckets import RESOLUTIONS, measured, samples_in
from app.tools.records.nights import nightless
from app.tools.records.placing import by_day
from app.tools.records.shaping import Shape
from app.tools.rendering import Answer

T = TypeVar("T")

USUAL_DAYS = 7
USUAL_DENSE_DAYS = 2  # today and yesterday: a day of samples can be over a thousand records
MOST_DAYS = 3660
MOST_DENSE_DAYS = 366
_DAY = timedelta(days=1)  # a nap of the evening is filed under the next one
MANY = 2000  # records that are shaped in a thread, so that other requests are not kept waiting

COLLECTION = text(
    "collection",
    "What to read: sleep (each night: stages, HRV, pulse), daily_sleep and daily_readiness (scores), daily_activity "
    "(steps, calories), daily_stress, daily_spo2, heartrate (samples), workout, enhanced_tag (the owner's tags), and "
    "more in health_catalog.",
    example="daily_sleep",
    required=True,
)
START = text("start", "First day: YYYY-MM-DD, or yesterday, last week, 2026-W07, 2026-03.", example="2026-03-01")
END = text("end", "Last day, included.", example="2026-03-07")
DAY = text("day", "One day or such a stretch, instead of start and end; also last night.", example="2026-03-10")
FIELDS = names(
    "fields",
    "Only these fields, dotted if nested, and what is needed to read them.",
    example="score,contributors.deep_sleep",
)
LATEST = flag("latest", "Only the newest record; without dates.")
FORMAT = choice("format", "csv is smaller for tables.", ("json", "csv"), default="json")
DETAIL = choice("detail", "summary leaves out sample series, and names them.", ("summary", "full"), default="summary")
RESOLUTION = choice(
    "resolution",
    "For streams of samples: buckets with n, min, mean, max; hour and day also mean_by_time, which a workout does not "
    "pull up. Left out: raw if it fits, else the finest that does.",
    RESOLUTIONS,
    default=None,
)
TIMEZONE = text("timezone", "IANA zone of the days, or an offset; default the owner's.", example="Europe/Lisbon")


async def run(call: Call, given: Given) -> Answer:
    """Answer one question."""
    source, collection = call.service.sources.find(given[COLLECTION] or "")
    place = await here(call, source, given[TIMEZONE])
    question = _read(call, given, source, collection, place)
    if given[LATEST]:
        return await newest(call, question)
    question, found = await _by_the_owners_clock(call, given, question)
    place, span = question.here, question.span
    if span is not None and span.start > place.latest + _DAY:
        return fitted(question, None, ())
    found = found or await asked(call, question, piecewise=given[RESOLUTION] is not None)
    fetched, rest_after, circumstances = found.fetched, found.rest_after, found.beside
    many = len(fetched.records) > MANY
    came = await _aside(partial(_sorted_out, question, fetched, rest_after, circumstances), many=many)
    fit_it = partial(fitted, came.question, fetched, came.records, rest_after=came.rest_after)
    days = _unexplained(came, fetched)
    if days and (days[-1] - days[0]).days >= LOOK_DAYS:  # then look into those alone that are delivered
        reached = (await _aside(fit_it, many=many)).get("continue_from")
        days = [day for day in days if not isinstance(reached, str) or day <= date.fromisoformat(reached)]
    if days:
        now = datetime.fromtimestamp(call.service.now(), place.zone)
        known = _known(came, circumstances, days)
        evidence = await gather(call.caller, source, collection, days, here=place, now=now, known=known)
        question = replace(came.question, evidence=evidence)
        fit_it = partial(fitted, question, fetched, came.records, rest_after=came.rest_after)
    return await _aside(fit_it, many=many)


async def _aside(work: Callable[[], T], *, many: bool) -> T:
    """Do what takes long for many records in a thread."""
    return await anyio.to_thread.run_sync(work) if many else work()


@dataclass(frozen=True, slots=True)
class _Came:
    """What is to be delivered."""

    question: Question
    records: Sequence[Record]
    rest_after: date | None  # the last day up to which everything came, if the range goes on after it


def _sorted_out(question: Question, fetched: Fetched, rest_after: date | None, circumstances: Beside) -> _Came:
    came = between(fetched.records, question.collection, question.span)
    records, whole_until = whole_days(fetched, came, question)
    held_back = samples_in(came) - samples_in(records)
    there = days_there(records, question.collection, question.here.zone) if question.collection.dense else None
    question = replace(question, beside=circumstances, held_back=held_back, days_there=there)
    if question.collection.name == SLEEP and not question.source.synthetic:
        filed = by_day(records, question.collection, question.here.zone)
        question = replace(question, nightless=tuple(sorted(day for day, found in filed.items() if nightless(found))))
    if question.span is not None and question.span.end > (today := question.here.today):
        days = days_there(records, question.collection, question.here.zone) if there is None else there
        if any(day > today for day in days):  # by another clock than the one asked for it was that day already
            question = replace(question, notes=tuple(note for note in question.notes if note != lies_ahead(today)))
    return _Came(question, records, whole_until if whole_until is not None else rest_after)


def _unexplained(came: _Came, fetched: Fetched) -> list[date]:
    """Return the days that want a reason: all, where nothing came; else those without a record, or without a night."""
    span = came.question.span
    if span is None or (not fetched.complete and came.rest_after is None):
        return []
    if came.records:
        last = span.end if came.rest_after is None else came.rest_after
        nightless = [day for day in came.question.nightless if day <= last]
        return sorted([*missing(came.question, came.records, last=last), *nightless])
    days = (span.end - span.start).days + 1
    return [span.start + timedelta(days=n) for n in range(days)] if fetched.complete else []


def _known(came: _Came, circumstances: Beside, days: Sequence[date]) -> Known:
    """Return what is known already of nights, clocks and rings."""
    collection, zone = came.question.collection, came.question.here.zone
    near = came.question.here.nights
    known = Known(rings=circumstances.rings)
    if not collection.dense or collection.name == SAMPLES:
        known.newest = circumstances.newest
    if collection.dense:
        known.stamps = ()  # its days are the answer's, whatever the owner's clock
    elif collection.clock_field and came.records:
        known.stamps = [at for _, at in stamps(came.records, collection)]
        if collection.date_kind is DateKind.WAKE_DAY:
            known.nights = by_day(came.records, collection, zone)
    elif (around := circumstances.nights) is not None or (
        near is not None and (around := near.of(days[0] - _DAY, days[-1] + _DAY)) is not None
    ):
        sleep = came.question.source.collections[SLEEP]
        known.nights = by_day(around, sleep, zone)
        known.stamps = [at for _, at in stamps(around, sleep)]
    return known


def _read(call: Call, given: Given, source: Source, collection: Collection, place: Here) -> Question:
    resolution = given[RESOLUTION]
    if resolution not in (None, "raw") and not collection.dense:
        raise BadRequest(
            f"resolution is for streams of samples; {collection.qualified} has single records. Leave it out."
        )
    shape = Shape(
        collection=collection,
        zone=place.zone,
        fields=given[FIELDS],
        format=cast('Literal["json", "csv"]', given[FORMAT]),
        full=given[DETAIL] == "full",
        resolution=resolution or "raw",
    )
    if shape.resolution != "raw":
        measured(collection, shape.fields)  # refuses before anything is fetched
    shapes = [shape]
    if collection.dense and resolution is None and not given[LATEST] and _can_bucket(shape):
        shapes += [replace(shape, resolution=coarser) for coarser in RESOLUTIONS[1:]]
    asked, notes = _dates(given, collection, place)
    return Question(
        source, collection, place, asked, tuple(shapes), call.service.answer_max_chars, (*place.notes, *notes)
    )


async def _by_the_owners_clock(call: Call, given: Given, question: Question) -> tuple[Question, Found | None]:
    """Read the question anew by the owner's own clock and nights, if what it means depends on them.

    Returns:
        The question, and what was found already.
    """
    source, collection, place = question.source, question.collection, question.here
    if question.span is None or source.synthetic or question.span.start > place.latest + _DAY:
        return question, None
    hours_of_night = collection.dense and means_last_night((given[DAY], given[START], given[END]))
    if not hours_of_night and (place.named or not _depends_on_today(given, question)):
        return question, None
    if not collection.dense:
        return await _and_as_the_zone_has_it(call, given, question)
    place = await owners(call, source, collection, place)
    if place.clock is None and not hours_of_night:
        return replace(question, here=place), None
    counted = _read(call, given, source, collection, counted_by_clock(place))
    if counted.span is not None and counted.span.end >= place.today - _DAY:
        return counted, None
    return _read(call, given, source, collection, place), None


async def _and_as_the_zone_has_it(call: Call, given: Given, question: Question) -> tuple[Question, Found | None]:
    """Ask for the clock, and meanwhile for the records as the zone has it: where it is the same day, they are those.

    Where it is another, that was a request too many, but neither what came nor how whole it is has to be worked over.
    Samples have to wait: the nights tell to whose days they are counted, and are asked beside them in any case.
    """
    source, collection = question.source, question.collection
    told = Together(call.progress)
    places: list[Here] = []
    found: list[Found] = []
    failures: list[Exception] = []  # raised again below: out of the group they would come wrapped

    async def look() -> None:
        places.append(await owners(call, source, collection, question.here))

    async def ask() -> None:
        found.append(await asked(replace(call, progress=told.part()), question))

    async def kept(step: Callable[[], Awaitable[None]]) -> None:
        try:
            await step()
        except Exception as error:  # noqa: BLE001  # see failures
            failures.append(error)
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for step in (look, ask):
            group.start_soon(kept, step)
    if failures:
        raise failures[0]
    (place,) = places
    anew = _read(call, given, source, collection, place) if place.clock else replace(question, here=place)
    if place.today == question.here.today:
        return anew, found[0]
    return anew, await asked(replace(call, progress=told.part()), anew)


def _depends_on_today(given: Given, question: Question) -> bool:
    """Say whether a question is read otherwise, or reaches to days that may lie ahead, where it is another day."""
    place, span = question.here, question.span
    if span is None or may_be_near(span.end, place):
        return True
    try:
        near = [replace(place, today=day) for day in (place.earliest, place.latest)]
        others = [_dates(given, question.collection, there)[0] for there in near]
    except BadRequest:
        return True
    return any(other != replace(span, notes=other.notes) for other in others if other is not None)


def _dates(given: Given, collection: Collection, place: Here) -> tuple[Span | None, tuple[str, ...]]:
    """Return the days asked for, if the collection and the question have any, and what to say about them."""
    dates = (given[START], given[END], given[DAY])
    if given[LATEST]:
        if collection.date_kind is DateKind.UNDATED:
            raise BadRequest(f"{collection.qualified} is not filed by days, so none is the latest. Leave latest out.")
        if any(dates):
            raise BadRequest(
                "latest gives the newest record whatever the dates: leave out start, end and day, or latest."
            )
        if given[RESOLUTION] not in (None, "raw"):
            raise BadRequest("latest gives one record: leave out resolution, or latest.")
        return None, ()
    if collection.date_kind is DateKind.UNDATED:
        note = f"{collection.qualified} is not filed by days: dates were not applied, this is all of it."
        return None, (note,) if any(dates) else ()
    if means_last_night(dates):
        return last_night(collection, place, dates)
    asked = span(
        *dates,
        today=place.today,
        zone=place.zone,
        usual_days=USUAL_DENSE_DAYS if collection.dense else USUAL_DAYS,
        most_days=MOST_DENSE_DAYS if collection.dense else MOST_DAYS,
    )
    if collection.dense or (asked.since is None and asked.until is None):
        return asked, asked.notes
    # Single records are filed by day, and may run over an instant; only a stream of samples can be cut there.
    days = f"{asked.start} to {asked.end}"
    note = f"Hours were not applied: {collection.qualified} is filed by days, so whole days came, {days}."
    return replace(asked, since=None, until=None), (note, *asked.notes)


def _can_bucket(shape: Shape) -> bool:
    try:
        measured(shape.collection, shape.fields)
    except BadRequest:
        return False
    return True


QUERY = Definition(
    name="health_query",
    title="Read health records",
    description=(
        "Read the records of one collection for a range of days, both ends included, in the owner's time zone. "
        "Without dates: the last 7 days (streams of samples: yesterday and today); start alone runs to today, end "
        "alone covers the 7 days up to it. On a journey timezone may name another place. The answer gives complete "
        "(true: all that the source holds of these days is here; with newest_only, that record), and units with the "
        "kind of every number: a score is 1-100, not a measurement. When truncated, ask again from the "
        "day after continue_from. trimmed counts neighbours outside the range. No record means unknown, not zero."
    ),
    arguments=(COLLECTION, START, END, DAY, FIELDS, LATEST, FORMAT, DETAIL, RESOLUTION, TIMEZONE),
    run=run,
)
