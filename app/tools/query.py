"""`health_query`: the records of one collection for a range of days, complete or saying where it is not."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal, cast

from app.errors import BadRequest
from app.sources.base import Collection, DateKind, DateRange, Fetched, Progress, Record, Source
from app.tools.absence import empty
from app.tools.arguments import Given, choice, flag, names, text
from app.tools.buckets import RESOLUTIONS, measured
from app.tools.calling import Call, Definition
from app.tools.dates import Span, span
from app.tools.fitting import TooLarge, by_day, fit
from app.tools.records import day_of, end_day_of, stamp
from app.tools.rendering import Answer, written
from app.tools.shaping import Shape
from app.tools.zones import Here, here

USUAL_DAYS = 7
USUAL_DENSE_DAYS = 2  # today and yesterday: a day of samples can be over a thousand records
MOST_DAYS = 3660
MOST_DENSE_DAYS = 366
LOOK_BACK_DAYS = (7, 60, 366)  # for the newest record where the source cannot be asked for it
LARGE_CHARS = 40_000  # about 10,000 tokens: worth a word to the model

_HOW_TO_GET_RAW = "For raw samples ask for fewer days with resolution=raw and format=csv."

COLLECTION = text("collection", "Name from health_catalog.", example="daily_sleep", required=True)
START = text("start", "First day, YYYY-MM-DD, today or yesterday.", example="2026-03-01")
END = text("end", "Last day, included.", example="2026-03-07")
DAY = text("day", "One day, instead of start and end.", example="2026-03-10")
FIELDS = names("fields", "Only these fields, dotted if nested.", example="score,contributors.deep_sleep")
LATEST = flag("latest", "Only the newest record; without dates.")
FORMAT = choice("format", "csv is smaller for tables.", ("json", "csv"), default="json")
DETAIL = choice("detail", "summary leaves out sample series, and names them.", ("summary", "full"), default="summary")
RESOLUTION = choice(
    "resolution",
    "For streams of samples: buckets with n, min, mean, max. Left out: raw if it fits, else the finest that does.",
    RESOLUTIONS,
    default=None,
)
TIMEZONE = text("timezone", "IANA zone of the days; default the owner's.", example="Europe/Lisbon")


@dataclass(frozen=True, slots=True)
class _Question:
    """One question, read and checked."""

    source: Source
    collection: Collection
    here: Here
    span: Span | None  # None: a collection without days, or the newest record
    shapes: tuple[Shape, ...]  # in the order of trying
    cap: int
    notes: tuple[str, ...]


async def run(call: Call, given: Given) -> Answer:
    """Answer one question."""
    source, collection = call.service.sources.find(given[COLLECTION] or "")
    place = await here(call, source, given[TIMEZONE])
    question = _read(call, given, source, collection, place)
    if given[LATEST]:
        return await _latest(call, question)
    span = question.span
    if span is not None and span.start > place.today + timedelta(
        days=1
    ):  # a day of grace: the owner may be further east
        return _fitted(question, None, ())
    days = DateRange(span.start, span.end, place.zone) if span else None
    fetched = await source.fetch(
        call.caller, collection, days, fields=question.shapes[0].at_source, progress=call.progress
    )
    return _fitted(question, fetched, _between(fetched.records, collection, span))


def _read(call: Call, given: Given, source: Source, collection: Collection, place: Here) -> _Question:
    resolution = given[RESOLUTION]
    if resolution not in (None, "raw") and not collection.dense:
        raise BadRequest(
            f"resolution is for streams of samples; {collection.qualified} has single records. Leave it out."
        )
    dates = (given[START], given[END], given[DAY])
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
    notes = place.notes
    asked: Span | None = None
    if given[LATEST]:
        if any(date is not None for date in dates):
            raise BadRequest(
                "latest gives the newest record whatever the dates: leave out start, end and day, or latest."
            )
        if resolution not in (None, "raw"):
            raise BadRequest("latest gives one record: leave out resolution, or latest.")
    elif collection.date_kind is DateKind.UNDATED:
        if any(date is not None for date in dates):
            notes += (f"{collection.qualified} is not filed by days: dates were not applied, this is all of it.",)
    else:
        asked = span(
            *dates,
            today=place.today,
            zone=place.zone,
            usual_days=USUAL_DENSE_DAYS if collection.dense else USUAL_DAYS,
            most_days=MOST_DENSE_DAYS if collection.dense else MOST_DAYS,
        )
        notes += asked.notes
        if not collection.dense:
            asked = replace(asked, since=None, until=None)  # single records are filed by day
    return _Question(source, collection, place, asked, tuple(shapes), call.service.answer_max_chars, notes)


def _can_bucket(shape: Shape) -> bool:
    try:
        measured(shape.collection, shape.fields)
    except BadRequest:
        return False
    return True


def _between(records: Sequence[Record], collection: Collection, span: Span | None) -> tuple[Record, ...]:
    """Keep the samples inside the instants asked for, both included."""
    if span is None or (span.since is None and span.until is None):
        return tuple(records)
    kept = []
    for record in records:
        at = stamp(record, collection)
        if at and (span.since is None or at >= span.since) and (span.until is None or at <= span.until):
            kept.append(record)
    return tuple(kept)


def _fitted(question: _Question, fetched: Fetched | None, records: tuple[Record, ...]) -> Answer:
    """Deliver whole if it fits, else at the finest resolution that does, else cut after a whole day."""
    if len(question.shapes) > 1:
        for shape in question.shapes:
            answer = _answer(question, shape, fetched, list(records), None)
            if shape.resolution != "raw":
                _note(answer, f"Raw does not fit, so this is per {shape.resolution}. {_HOW_TO_GET_RAW}")
            if len(written(answer)) <= question.cap:
                return answer
    shape = question.shapes[-1]
    start = question.span.start if question.span else date.min
    try:
        return fit(
            by_day(
                records,
                day=lambda record: max(start, day_of(record, shape.collection, shape.zone) or start),
                last=lambda record, day: end_day_of(record, shape.collection, day),
            ),
            lambda chosen, cut: _answer(question, shape, fetched, chosen, cut),
            cap=question.cap,
        )
    except TooLarge as large:
        raise BadRequest(_advice(question, large)) from None


def _advice(question: _Question, large: TooLarge) -> str:
    what = f"{question.collection.qualified} for {large.day}" if question.span else question.collection.qualified
    ways = ["format=csv", "fewer fields with fields"]
    if question.collection.dense:
        ways.append("resolution=5min, hour or day")
    elif question.shapes[0].full:
        ways.append("detail=summary")
    return (
        f"{what} alone is {large.chars} characters, over the limit of {question.cap} for one answer, and a day is "
        f"never cut in two. Use {', or '.join(ways)}."
    )


def _answer(
    question: _Question, shape: Shape, fetched: Fetched | None, records: list[Record], cut: date | None
) -> Answer:
    collection, span = question.collection, question.span
    answer: Answer = {
        "collection": collection.qualified,
        "start": (span.since or span.start).isoformat() if span else None,
        "end": (span.until or span.end).isoformat() if span else None,
        "timezone": question.here.zone.key,
        "filed_by": str(collection.date_kind),
    }
    delivered = shape.deliver(records)
    data = delivered.pop("data")
    answer["n"] = delivered.pop("n")
    answer |= {
        "pages": fetched.pages if fetched else 0,
        "complete": (fetched is None or fetched.complete) and cut is None,
    }
    if question.source.synthetic:
        answer["synthetic"] = True
    if cut is not None:
        answer |= {"truncated": True, "continue_from": cut.isoformat()}
    if fetched is not None:
        answer |= _arrival(fetched)
    answer |= delivered
    if not records:
        answer["empty"] = empty(collection, fetched, start=span.start if span else None, today=question.here.today)
    notes = [*question.notes, *collection.notes]
    if cut is not None:
        notes.append(f"Cut after {cut} to fit. For the rest ask again with start={cut + timedelta(days=1)}.")
        if any(end_day_of(record, collection, cut) > cut for record in records):
            notes.append("A record that runs on past the cut comes again in the next part, with the same id.")
    answer["notes"] = notes
    answer["data"] = data
    if (chars := len(written(answer))) > LARGE_CHARS:
        answer["large_response"] = (
            f"{chars} characters. Fewer days, fields, format=csv or a resolution make it smaller."
        )
    return answer


def _arrival(fetched: Fetched) -> Answer:
    """Say how the records arrived, as far as it was not plainly."""
    said: Answer = {}
    if fetched.trimmed:
        said["trimmed"] = fetched.trimmed
    if fetched.pagination_cycle:
        said["pagination_cycle"] = True
    if fetched.rate_limited:
        said["rate_limited"] = True
    if fetched.failures:
        said["failures"] = list(fetched.failures)
    if fetched.scopes_refused:
        said["not_permitted"] = sorted(fetched.scopes_refused)
    return said


def _note(answer: Answer, words: str) -> None:
    cast("list[str]", answer["notes"]).append(words)


async def _latest(call: Call, question: _Question) -> Answer:
    """Find the newest record: asked for directly where the source can, else by looking back further and further."""
    collection, place = question.collection, question.here
    if collection.date_kind is DateKind.UNDATED:
        raise BadRequest(f"{collection.qualified} is not filed by days, so none is the latest. Leave latest out.")
    fields = question.shapes[0].at_source
    if collection.dense:
        fetched = await question.source.fetch(
            call.caller, collection, None, fields=fields, latest=True, progress=call.progress
        )
        return _newest(question, fetched, None)
    told = _Onwards(call.progress)
    for back in LOOK_BACK_DAYS:
        days = DateRange(place.today - timedelta(days=back - 1), place.today + timedelta(days=1), place.zone)
        fetched = await question.source.fetch(call.caller, collection, days, fields=fields, progress=told.next())
        if fetched.records or not fetched.complete:
            break
    return _newest(question, fetched, days)


def _newest(question: _Question, fetched: Fetched, days: DateRange | None) -> Answer:
    collection, place = question.collection, question.here
    newest = fetched.records[-1:]
    day = day_of(newest[0], collection, place.zone) if newest else None
    answer = _answer(question, question.shapes[0], fetched, list(newest), None)
    if day is not None:
        answer |= {"start": day.isoformat(), "end": day.isoformat(), "age_days": (place.today - day).days}
    elif days is not None:
        answer |= {"start": days.start.isoformat(), "end": place.today.isoformat()}
        _note(answer, f"Nothing was found back to {days.start}; older records would need start and end.")
    return answer


class _Onwards:
    """Keeps the count of pages rising when one call asks the source several times."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._before = 0
        self._now = 0

    def next(self) -> Progress:
        """Return what to give the next fetch."""
        self._before = self._now

        async def told(done: int, expected: int | None, words: str) -> None:
            self._now = self._before + done
            await self._progress(self._now, None if expected is None else self._before + expected, words)

        return told


QUERY = Definition(
    name="health_query",
    title="Read health records",
    description=(
        "Read the records of one collection for a range of days, both ends included, in the owner's time zone. "
        "Without dates: the last 7 days (streams of samples: yesterday and today). The answer gives complete, and "
        "units with the kind of every number: a score is 1-100, not a measurement. When truncated, ask again from the "
        "day after continue_from. No record for a day means unknown, not zero."
    ),
    arguments=(COLLECTION, START, END, DAY, FIELDS, LATEST, FORMAT, DETAIL, RESOLUTION, TIMEZONE),
    run=run,
)
